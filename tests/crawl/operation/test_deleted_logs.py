"""Crawls that go on after their folder was deleted."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback
    from tests.support.redis_fixtures import RedisServer

N_DOCUMENTS = 3


@pytest.fixture(scope="module")
def site(loopback: Loopback) -> RawServer:
    """Return a site of some documents, and one that has no statements."""
    server = loopback(host="127.94.31.6")
    for n in range(N_DOCUMENTS):
        server.pages[f"/{n}"] = loopback.response(b"<> <urn:x:p> <urn:x:o> .")
    server.pages["/none"] = loopback.response(b"# nothing")
    return server


def missing(stderr: str) -> list[str]:
    """Return the line of the summary about missing logs."""
    return [line for line in stderr.splitlines() if line.startswith("missing ")]


def test_deleted_documents_are_missed(commands: Commands, site: RawServer) -> None:
    """If statements or provenance are deleted, each run says so until it is fresh."""
    seeds = [site.url(path) for path in site.pages]
    first = commands.crawl(seeds)
    folder, log = first.folder.parent, first.folder
    assert missing(first.stderr) == []
    shutil.rmtree(log / "quads")
    (line,) = missing(commands.crawl(seeds, folder=folder).stderr)
    assert f"the statements of {N_DOCUMENTS} documents: {log}/quads" in line
    assert "provenance" not in line
    shutil.rmtree(log / "provenance")
    words = ("workers", "-n2", "linkeddata", f"-aseeds={seeds[0]}")
    told = commands.start(*words, folder=folder).wait().stderr
    (line,) = missing(told)
    assert f"the provenance of {N_DOCUMENTS + 1} documents: {log}/provenance" in line
    assert "-a fresh=1" in told
    fresh = commands.crawl(seeds, folder=folder, arguments={"fresh": 1})
    assert missing(fresh.stderr) == []
    assert len(fresh.graphs) == N_DOCUMENTS


def test_machine_that_joins_misses_nothing(
    commands: Commands, site: RawServer, redis_server: RedisServer, tmp_path: Path
) -> None:
    """If the frontier is elsewhere, then a folder that is new to it is no loss."""
    seeds = [site.url(path) for path in site.pages]
    shared: dict[str, Any] = {"REDIS_URL": redis_server.url, "CRAWL_ID": "machines"}

    def crawl(name: str) -> list[str]:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        return missing(commands.crawl(seeds, folder=folder, **shared).stderr)

    assert crawl("one") == crawl("other") == []
    shutil.rmtree(tmp_path / "one")
    (line,) = crawl("one")
    assert f"the statements of {N_DOCUMENTS} documents" in line
