"""Contracts of methods for documents, under `scrapy check`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.product_pages import MICRODATA, PAGE

if TYPE_CHECKING:
    from tests.support.crawl_webs import Loopback
    from tests.support.project import Project
    from tests.support.project_fixtures import StartProject

SPIDER = """
from rdfcrawl import LinkedDataSpider
from scrapy import Request


class Lamps(LinkedDataSpider):
    name = "{name}"
    custom_settings = {{"XROBOTS_POLICY": "ignore"}}

    {kind} parse_document(self, document):
        \"\"\"Names of products.

        @url {url}
        @returns items {n} {n}
        @returns requests 1 1
        @scrapes name
        \"\"\"
        for item in document.items("Product"):
            yield {{"name": item["name"], "n": document.n_quads}}
        yield Request(document.url)
"""


@pytest.fixture(scope="module")
def project(start_project: StartProject, loopback: Loopback) -> Project:
    """Return a project whose spiders have contracts."""
    page = PAGE.format(MICRODATA).encode()
    site = loopback({"/lamp": loopback.response(page, "text/html; charset=utf-8")})
    project = start_project("lamps")
    spiders = ("good", "def", 1), ("later", "async def", 1), ("bad", "def", 2)
    for name, kind, n in spiders:
        text = SPIDER.format(name=name, kind=kind, n=n, url=site.url("/lamp"))
        project.write(f"spiders/{name}.py", text)
    return project


def test_contracts_of_documents_are_checked(project: Project) -> None:
    """If `parse_document` has contracts, then they get what it yields in a crawl."""
    done = project.run("check", "good", "later")
    assert (done.code, "\nOK" in done.stderr) == (0, True), done.stderr
    assert "Ran 6 contracts" in done.stderr
    assert not (project.folder / "crawl").exists()


def test_contracts_that_fail_say_why(project: Project) -> None:
    """If a method yields too few items, then its contract fails with the numbers."""
    done = project.run("check", "bad")
    assert done.code == 1
    assert "[bad] parse_document (@returns post-hook)" in done.stderr
    assert json.dumps("Returned 1 items, expected 2")[1:-1] in done.stderr
