"""Fetchers of users: the page on own fetchers, in a third-party project."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.support.pages import read_page

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import CrawlResult
    from tests.support.project import Project
    from tests.support.project_fixtures import StartProject

_fences = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SETTINGS, MODULE = _fences.findall(read_page("own-fetchers.md"))
SEED = "file://lab/people.ttl"
ESCAPES = "file://lab/..%2F..%2Fscrapy.cfg"


@pytest.fixture(scope="module")
def project(start_project: StartProject) -> Project:
    """Return a project with the fetcher of the page, and a folder that it serves."""
    project = start_project("lab")
    project.add_settings(SETTINGS)
    project.write("fetchers.py", MODULE)
    folder = project.folder / "published"
    (folder / "more").mkdir(parents=True)
    (folder / "people.ttl").write_text(
        f"<#a> <urn:x:knows> <more/b%20c>, <none>, <{ESCAPES}>, <file:///etc/passwd> ."
    )
    link = "<link rel=alternate type=application/n-triples href=c.nt>"
    page = f'{link}<p about="#b" property="schema:name">B</p>'
    (folder / "more" / "b c").write_text(page)
    (folder / "more" / "c.nt").write_text('<urn:x:c> <urn:x:name> "C" .\n' * 9999)
    return project


@pytest.fixture(scope="module")
def crawl(project: Project) -> CrawlResult:
    """Return the result of a crawl of the folder."""
    done = project.run("crawl", "linkeddata", f"-aseeds={SEED}", crawl_id="linkeddata")
    assert done.code == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_folder_is_crawled(crawl: CrawlResult) -> None:
    """If files link to each other, then the crawl reads them as it reads the Web."""
    names = {"people.ttl", "more/b%20c", "more/c.nt"}
    assert crawl.graphs == {f"file://lab/{name}" for name in names}
    assert crawl.statuses("file://lab/more/c.nt") == ["SUCCESSFUL"]
    assert crawl.statistics["fetcher/file/status/200"] == 3


def test_files_outside_the_folder_stay_there(crawl: CrawlResult) -> None:
    """If a link leads out of the folder, then there is nothing."""
    for url in (ESCAPES, "file:///etc/passwd", "file://lab/none"):
        assert crawl.faults(url) == ["not_found"]


def test_command_shows_one_document(project: Project) -> None:
    """If `scrapy rdf` is given a URL of the scheme, then the fetcher is called."""
    done = project.run("rdf", SEED)
    assert done.code == 0, done.stderr
    assert "file://lab/none" in done.stderr
    assert project.run("rdf", "file://lab/none").code == 1


def test_example_of_the_page_is_short() -> None:
    """If a user copies the page, then the class is about 30 lines of code."""
    assert len([line for line in MODULE.splitlines() if line.strip()]) <= 36
