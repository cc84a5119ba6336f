"""Stores of users: the page on own stores in a third-party project, and faults."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.stores.options import StoreOptions
from tests.support.pages import read_page

if TYPE_CHECKING:
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback
    from tests.support.project import Project
    from tests.support.project_fixtures import StartProject

_fences = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FAILING = "tests.support.failing_store."


# The store of the page, in a process that is killed at each of its steps, once.
MORTAL = """

import os
from pathlib import Path


def die(where):
    if not Path(where).exists():
        Path(where).touch()
        os.kill(os.getpid(), 9)


class MortalStore(SqliteStore):
    n_flushes = 0

    async def begin(self, graph, version_ms):
        with open("log", "a") as log:
            print(graph, version_ms, file=log)
        return MortalWriter(self.db, graph, version_ms)

    async def flush(self):
        self.n_flushes += 1
        if self.n_flushes > 1:
            die("before-flush")
        await super().flush()
        if self.n_flushes > 1:
            die("after-flush")


class MortalWriter(SqliteWriter):
    async def end(self):
        if self.graph.endswith("/15"):
            die("before-end")
        await super().end()
        if self.graph.endswith("/25"):
            die("after-end")
"""
DEATHS = ("before-end", "after-end", "before-flush", "after-flush")
N_PAGES = 40


@pytest.fixture(scope="module")
def site(loopback: Loopback) -> RawServer:
    """Return a host with documents of two statements, and one that is broken."""
    pages = (b"<%d>" % n for n in range(N_PAGES))
    index = b"<> <urn:x:p> <bad>, %s ." % b", ".join(pages)
    page = loopback.response(b"<> <urn:x:p> 1, 2 .")
    return loopback(
        {
            "/": loopback.response(index),
            "/bad": loopback.response(b"<> <urn:x:p> 1 . <> <urn:x:p"),
            **{f"/{n}": page for n in range(N_PAGES)},
        }
    )


@pytest.fixture(scope="module")
def project(start_project: StartProject, site: RawServer) -> Project:
    """Return a project whose store was killed in the middle of a crawl, many times."""
    settings, module = _fences.findall(read_page("own-stores.md"))
    project = start_project("lab")
    project.add_settings(settings)
    more = """
        STORE = "mortal:quads.db"
        STORE_CLASSES["mortal"] = "lab.stores.MortalStore"
        FRONTIER_COMMIT_SECS = 0.2
        FRONTIER_LEASE_SECS = 2
        VISIT_MAX_DOCUMENTS = 4
    """
    project.add_settings(more)
    project.write("stores.py", module + MORTAL)
    seeds = f"-aseeds={site.url('/')}"
    done = project.run("workers", "-n1", "linkeddata", seeds, crawl_id="linkeddata")
    assert done.code == 0, done.stderr
    assert "mortal:quads.db" in done.stderr
    assert not (done.folder / "quads").exists()
    return project


def test_store_of_the_page_loses_nothing_when_it_is_killed(
    project: Project, site: RawServer
) -> None:
    """If a store is killed at each step, it has each document once, and complete."""
    with closing(sqlite3.connect(project.folder / "quads.db")) as database:
        found = dict(database.execute("SELECT graph, quads FROM documents"))
    counts = {graph: quads.count(b"\n") for graph, quads in found.items()}
    wanted = {"/": N_PAGES + 1, "/bad": 1, **{f"/{n}": 2 for n in range(N_PAGES)}}
    assert counts == {site.url(path): n for path, n in wanted.items()}
    assert all((project.folder / each).exists() for each in DEATHS)


def test_store_gets_unflushed_documents_again(
    project: Project, site: RawServer
) -> None:
    """If a store is killed, then it gets only unfinished documents again."""
    rows = (project.folder / "log").read_text().splitlines()
    versions: dict[str, list[int]] = {}
    for graph, version in map(str.split, rows):
        versions.setdefault(graph, []).append(int(version))
    assert versions.keys() == {site.url(path) for path in site.pages} - {
        site.url("/robots.txt")
    }
    assert all(found == sorted(found) for found in versions.values())
    assert len(rows) - len(versions) <= len(DEATHS) * N_PAGES // 2
    assert max(map(len, versions.values())) <= len(DEATHS) + 1


def test_crawl_keeps_its_store(project: Project) -> None:
    """If a crawl goes on with another store, then one line says which one it has."""
    done = project.run("crawl", "linkeddata", "-sSTORE=sqlite:quads.db")
    assert done.code == 2
    told = (
        "scrapy: STORE=sqlite:quads.db: crawl linkeddata was begun with"
        " STORE=mortal:quads.db, and keeps it; -a fresh=1 restarts it\n"
    )
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_example_of_the_page_is_short() -> None:
    """If a user copies the page, then a store is no more than 30 lines of code."""
    _, module = _fences.findall(read_page("own-stores.md"))
    assert len([line for line in module.splitlines() if line.strip()]) <= 30


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [
        ("FailingStore", 1, "FailingStore: 'no such table'"),
        ("NoWriterStore", 1, "begin() returned NoneType, which has no method `write`"),
        ("ClosedStore", 2, "STORE: ClosedStore: it may not be opened"),
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
        ("lab:", {}, "STORE=lab:: STORE_CLASSES has no 'lab', only "),
        ("segments", {"segments": None}, "STORE=segments"),
        ("segments", {"Not A Scheme": "lab.Store"}, "'Not A Scheme'"),
        ("lab:", {"lab": "nowhere.to.be.Found"}, "No module named 'nowhere'"),
        ("lab:", {"lab": f"{FAILING}ShortStore"}, "`begin` is called with 2 arguments"),
        ("lab:", ["lab.Store"], "STORE_CLASSES=['lab.Store']: must be a dictionary"),
        ("lab:", {"lab": f"{FAILING}NoStore"}, "`begin` is not an `async def`"),
    ],
)
def test_wrong_stores_are_reported(
    uri: str, classes: dict[str, str | None] | list[str], told: str
) -> None:
    """If a store cannot be opened, then one line names the setting and the mistake."""
    settings = Settings({"STORE": uri, "STORE_CLASSES": classes})
    with pytest.raises(ConfigError, match="STORE") as raised:
        StoreOptions.from_settings(settings).store_class()
    assert told in str(raised.value)
