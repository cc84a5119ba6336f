"""Stores of users: the page on own stores in a project of somebody else, and faults."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from rdfcrawl.errors import ConfigError
from rdfcrawl.stores.options import store_class
from tests.support.pages import read_page

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback
    from tests.support.project_fixtures import StartProject

_fences = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FAILING = "tests.support.failing_store."


def test_store_of_the_page_has_the_documents(
    start_project: StartProject, loopback: Loopback
) -> None:
    """If `STORE` names a store of a project, then it has each document, as a whole."""
    server = loopback(
        {
            "/a": loopback.response(b"<> <urn:x:p> <b>, <bad> ."),
            "/b": loopback.response(b"<> <urn:x:p> 1, 2 ."),
            "/bad": loopback.response(b"<> <urn:x:p> 1 . <> <urn:x:p"),
        }
    )
    settings, module = _fences.findall(read_page("own-stores.md"))
    project = start_project("lab")
    project.add_settings(settings)
    project.write("stores.py", module)
    seeds = f"-aseeds={server.url('/a')}"
    done = project.run("crawl", "linkeddata", seeds, crawl_id="linkeddata")
    assert done.code == 0, done.stderr
    assert "sqlite:quads.db" in done.stderr
    assert not (done.folder / "quads").exists()
    with closing(sqlite3.connect(project.folder / "quads.db")) as database:
        found = dict(database.execute("SELECT graph, quads FROM documents"))
    counts = {graph: quads.count(b"\n") for graph, quads in found.items()}
    wanted = {"/a": 2, "/b": 2, "/bad": 1}
    assert counts == {server.url(path): n for path, n in wanted.items()}


def test_example_of_the_page_is_short() -> None:
    """If somebody reads the page, then a store is no more than 30 lines of code."""
    _, module = _fences.findall(read_page("own-stores.md"))
    assert len([line for line in module.splitlines() if line.strip()]) <= 30


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [
        ("FailingStore", 1, "FailingStore: 'no such table'"),
        ("ClosedStore", 2, "STORE: ClosedStore: nobody may open it"),
    ],
)
def test_store_that_fails_stops_the_crawl(
    commands: Commands, loopback: Loopback, name: str, code: int, told: str
) -> None:
    """If a store fails, then the crawl stops in one line, and another has it all."""
    page = loopback.response(b"<> <urn:x:p> 1 .")
    server = loopback({"/a": page, "/b": page})
    seeds = [server.url("/a"), server.url("/b")]
    classes = json.dumps({"broken": f"{FAILING}{name}"})
    done = commands.crawl(seeds, STORE="broken:", STORE_CLASSES=classes)
    assert done.code == code, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    done = commands.crawl(seeds)
    assert done.code == 0, done.stderr
    assert done.graphs == set(seeds)


@pytest.mark.parametrize(
    ("uri", "classes", "told"),
    [
        ("lab:", {}, "STORE=lab:: STORE_CLASSES has no 'lab', only segments"),
        ("segments", {"segments": None}, "STORE=segments"),
        ("segments", {"Not A Scheme": "lab.Store"}, "'Not A Scheme'"),
        ("lab:", {"lab": "nowhere.to.be.Found"}, "No module named 'nowhere'"),
        ("lab:", {"lab": f"{FAILING}ShortStore"}, "`begin` is called with 2 arguments"),
        ("lab:", ["lab.Store"], "STORE_CLASSES=['lab.Store']: want a dictionary"),
        ("lab:", {"lab": f"{FAILING}NoStore"}, "`begin` is no `async def`"),
    ],
)
def test_wrong_stores_are_told(
    uri: str, classes: dict[str, str | None] | list[str], told: str
) -> None:
    """If a store cannot be had, then one line names the setting and what is wrong."""
    with pytest.raises(ConfigError, match="STORE") as raised:
        store_class(Settings({"STORE": uri, "STORE_CLASSES": classes}))
    assert told in str(raised.value)
