"""Stores of all kinds follow crawls of a web that changes, and survive failures."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.dataweb.config import WebConfig, parse_weights
from rdfcrawl.dataweb.process import run_dataweb
from tests.crawl.operation.test_followers import followers_of, stored
from tests.support.follower_kinds import parquet_rows
from tests.support.scripted_stores import ScriptedStore
from tests.support.small_disk import small_disk
from tests.support.store_http import Answer
from tests.support.store_products import GRAPHDB

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pyoxigraph as ox

    from rdfcrawl.dataweb.process import ServedWeb
    from tests.support.crawl_fixtures import Commands, CrawlResult, RunningCrawl
    from tests.support.store_services import OxigraphService

pytestmark = pytest.mark.service
WEB = WebConfig(
    n_nodes=5,
    degree=3,
    triples=100,
    port=0,
    weights=parse_weights("deref=3,dump=2"),
)


def truth(web: ServedWeb) -> set[str]:
    """Return the statements of the web, each in the graph of its document."""
    lines = set()
    for line in web.truth_path.read_text().splitlines():
        subject, predicate, target, _, _ = line.split()
        document = subject.strip("<>").partition("#")[0]
        lines.add(f"{subject} {predicate} {target} <{document}>")
    return lines


def logged(result: CrawlResult) -> bytes:
    """Return the state of a log, read as `docs/reference/stores.md` describes it."""
    latest: dict[str, tuple[int, list[bytes]]] = {}
    for path in sorted((result.folder / "quads").glob("*.nq.gz")):
        lines: list[bytes] = []
        for line in gzip.decompress(path.read_bytes()).splitlines(keepends=True):
            if line.startswith(b"#\tdocument <"):
                graph, _, version = line[12:].decode().rpartition("> ")
                lines = []
                if latest.get(graph, (0,))[0] <= int(version):
                    latest[graph] = int(version), lines
            else:
                lines.append(line)
    return b"".join(line for _, lines in latest.values() for line in lines)


def begin_crawl(
    commands: Commands,
    web: ServedWeb,
    stores: dict[str, Any],
    folder: Path | None = None,
    **settings: Any,
) -> RunningCrawl:
    """Start a crawl of the full web from scratch, with stores that follow."""
    return commands.start_crawl(
        web.seeds,
        folder=folder,
        arguments={"depth": 200, "scope": "any", "fresh": 1},
        STORES=json.dumps(stores),
        **settings,
    )


def lines_of(quads: Iterable[ox.Quad]) -> set[str]:
    """Return quads as `truth` has them."""
    return {str(quad) for quad in quads}


def in_parquet(path: Path) -> set[str]:
    """Return the statements of a dataset, whose terms are IRIs, read by DuckDB."""
    rows = parquet_rows(path, "subject, predicate, object, graph")
    return {" ".join(f"<{term}>" for term in row) for row in rows}


@pytest.mark.in_turn(2)
def test_failing_stores_equal_the_web_at_last(
    commands: Commands, tmp_path: Path, oxigraph_store: OxigraphService
) -> None:
    """If stores die or are busy, and followers are killed, all is there at last."""
    chance = random.Random(5)
    oxigraph_store.clear()
    config = replace(WEB, first_address="127.92.5.1", latency_ms=60)
    with (
        ScriptedStore(GRAPHDB) as busy,
        run_dataweb(config, tmp_path / "web") as web,
    ):
        busy_until = time.monotonic() + 4
        busy.misdeed = lambda request: (
            Answer(status=503, headers={"Retry-After": "1"})
            if request.is_write and time.monotonic() < busy_until
            else None
        )
        stores: dict[str, Any] = {f"oxigraph:{tmp_path}/oxigraph": {}}
        stores |= {each.uri: each.options for each in (busy, oxigraph_store)}
        running = begin_crawl(commands, web, stores, FRONTIER_COMMIT_SECS=0.2)
        n_killed = 0
        while "outcome       finished" not in running.stderr:
            assert not running.has_ended(), running.stderr
            time.sleep(chance.uniform(0.5, 1.5))
            oxigraph_store.server.end()
            for pid in followers_of(running.process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    n_killed += 1
            oxigraph_store.server.start()
        result = running.wait()
        assert result.code == 0, result.stderr
        wanted = truth(web)
    assert n_killed >= 3
    assert result.statistics["document/status/successful"] == len(
        {line.rpartition(" ")[2] for line in wanted}
    )
    assert {q.removesuffix(" .\n") for q in stored(tmp_path / "oxigraph")} == wanted
    for store in (busy, oxigraph_store):
        assert lines_of(store.quads()) == wanted


@pytest.mark.in_turn(2, rooms=("stores",))
@pytest.mark.parametrize("scheme", ["oxigraph", "parquet"])
def test_full_disk_of_a_store_does_not_concern_the_crawl(
    commands: Commands, tmp_path: Path, scheme: str
) -> None:
    """If a store's disk is full, the crawl goes on, and the store catches up later."""
    place = tmp_path / "disk"
    place.mkdir()
    config = replace(WEB, first_address="127.92.3.1", latency_ms=30)
    with small_disk(place) as disk, run_dataweb(config, tmp_path / "web") as web:
        store = disk.path / "store"
        running = begin_crawl(commands, web, {f"{scheme}:{store}": {}})
        commands.wait_until(lambda: any(disk.path.iterdir()))
        disk.fill(0)
        commands.wait_until(lambda: "outcome       finished" in running.stderr)
        assert not running.has_ended(), running.stderr
        statuses = running.folder / "followers"
        commands.wait_until(
            lambda: any('"waiting"' in x.read_text() for x in statuses.glob("*.json"))
        )
        disk.empty()
        result = running.wait()
        assert result.code == 0, result.stderr
        if scheme == "parquet":
            assert in_parquet(store) == truth(web)
        else:
            assert {q.removesuffix(" .\n") for q in stored(store)} == truth(web)
