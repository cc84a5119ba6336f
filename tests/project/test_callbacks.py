"""The spiders of the page on own spiders, in a third-party project."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.support.pages import read_page

if TYPE_CHECKING:
    from tests.conftest import RawServer
    from tests.support.crawl_webs import Loopback
    from tests.support.project import Project
    from tests.support.project_fixtures import StartProject

_fences = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SPIDERS = [x for x in _fences.findall(read_page("own-spiders.md")) if "class " in x]
NAME = b"<> <http://xmlns.com/foaf/0.1/name> "


@pytest.fixture(scope="module")
def site(loopback: Loopback) -> RawServer:
    """Return a host with people and their names, and with books."""

    def html(body: bytes) -> bytes:
        return loopback.response(body, "text/html")

    return loopback(
        {
            "/ann": loopback.response(NAME + b'"Ann", "A" .'),
            "/people": html(b"<a class=next href=/ann>on</a>"),
            "/books": html(b"<a class=book href=/1>1</a><a class=next href=/more>"),
            "/more": html(b"<a class=book href=/2>2</a>"),
            **{f"/{n}": html(b"<h1>Book %d</h1>" % n) for n in (1, 2)},
        }
    )


@pytest.fixture(scope="module")
def project(start_project: StartProject, site: RawServer) -> Project:
    """Return a project with the spiders of the page, which crawl the site."""
    project = start_project("library")
    text = "\n\n".join(SPIDERS)
    text = text.replace("https://books.example.org/", site.url("/books"))
    project.write("spiders/own.py", text)
    return project


def test_names_of_documents_are_in_the_feed(project: Project, site: RawServer) -> None:
    """If `parse_document` yields items and links, then both are dealt with."""
    seeds = f"-aseeds={site.url('/people')}"
    done = project.run("crawl", "names", seeds, "-O", "names.jl", crawl_id="names")
    assert done.code == 0, done.stderr
    items = [item for item in project.feed("names.jl") if "name" in item]
    assert {item["name"] for item in items} == {"Ann", "A"}
    assert done.graphs == {site.url("/ann")}


def test_books_of_callbacks_are_in_the_feed(project: Project) -> None:
    """If a spider has nothing but callbacks, then the items of each come once."""
    done = project.run("crawl", "books", "-O", "books.jl")
    assert done.code == 0, done.stderr
    books = sorted(item["title"] for item in project.feed("books.jl"))
    assert books == ["Book 1", "Book 2"]


def test_arguments_of_the_page_are_checked(project: Project) -> None:
    """If an own argument is wrong, then one line lists the allowed values."""
    done = project.run("crawl", "people", "-alang=fr")
    assert done.code == 2
    assert "argument lang=fr: must be" in done.stderr
    assert "one of en, de" in done.stderr
    assert "Traceback" not in done.stderr
