"""A SPARQL store has exactly the latest version of each document."""

from __future__ import annotations

import re
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rdfcrawl.stores.followers.following import LogFollowing
from rdfcrawl.stores.followers.log_comparison import compare
from rdfcrawl.stores.followers.sparql import lease
from rdfcrawl.stores.followers.sparql.follower import SparqlFollower
from rdfcrawl.stores.followers.sparql.store import SparqlStore
from rdfcrawl.stores.followers.stored_once import StoredOnce
from rdfcrawl.stores.log.crawl_log import CrawlLog
from tests.support import store_products
from tests.support.examples import few
from tests.support.pages import read_page
from tests.support.scripted_stores import ScriptedStore
from tests.support.written_logs import RawVersion, Written, said_in, truth, write_log

if TYPE_CHECKING:
    from tests.support.store_services import OxigraphService, StoreService

A, B, C = "http://e/a", "http://e/b", "http://e/c"
GRAPHS = (A, B, C, "http://e/other")
pytestmark = pytest.mark.service

METHODS = ("update", "graph-store")

documents = st.builds(
    Written,
    st.sampled_from((A, B, C)),
    st.integers(1, 4),
    st.lists(
        st.tuples(st.sampled_from(GRAPHS), st.sampled_from("xyz")),
        max_size=3,
        unique=True,
    ).map(tuple),
)


class Killed(BaseException):
    """The process of a follower has been killed."""


class Deaths:
    """Kills followers before some of their updates.

    Attributes:
        steps: numbers of updates to survive until the next death.
        is_dead: whether the follower can do nothing any more.
    """

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.is_dead = False

    def before_update(self) -> None:
        """Die, or count."""
        if self.steps and not self.is_dead:
            self.steps[0] -= 1
            if self.steps[0] < 0:
                del self.steps[0]
                self.is_dead = True
        if self.is_dead:
            raise Killed


def follow(root: Path, uri: str, **options: object) -> None:
    """Follow a log to its end."""
    follower = SparqlFollower.from_options(uri, {"concurrency": 1, **options})
    following = LogFollowing(CrawlLog(root), follower, patience_secs=0)
    try:
        following.open()
        following.catch_up()
        assert not following.counts.set_aside
    finally:
        follower.close()


def differences(root: Path, uri: str) -> tuple[int, int, int]:
    """Return how many graphs are missing, stale and surplus."""
    log, follower = CrawlLog(root), SparqlFollower.from_options(uri, {})
    follower.open(log.identity)
    found = compare(log, follower, root)
    follower.close()
    return found.missing.n_graphs, found.stale.n_graphs, found.surplus.n_graphs


def said(store: StoreService) -> set[tuple[str, str]]:
    """Return graph and value of each statement of a store."""
    found = ox.Store()
    found.extend(store.quads())
    return said_in(found)


@pytest.fixture
def oxigraph(oxigraph_store: OxigraphService) -> OxigraphService:
    """Return a running server that has nothing."""
    oxigraph_store.clear()
    return oxigraph_store


@pytest.fixture
def deaths(monkeypatch: pytest.MonkeyPatch) -> Deaths:
    """Return what kills followers; no two live at a time."""
    killer = Deaths()
    for name in ("update", "load"):
        write = getattr(SparqlStore, name)

        def deadly(*given: object, write: Any = write, **more: object) -> object:
            killer.before_update()
            return write(*given, **more)

        monkeypatch.setattr(SparqlStore, name, deadly)
    monkeypatch.setattr(lease, "_is_dead", lambda _: True)
    return killer


@pytest.mark.parametrize("method", METHODS)
@settings(
    max_examples=few(4), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    logs=st.lists(st.lists(documents, max_size=6), min_size=1, max_size=3),
    turns=st.lists(st.integers(0, 2), max_size=6),
    steps=st.lists(st.integers(0, 9), max_size=4),
    batch_bytes=st.sampled_from((1024, 1024 * 1024)),  # short ones have loads
)
def test_versions_only_rise_whatever_order_logs_come_in(
    oxigraph: OxigraphService,
    deaths: Deaths,
    method: str,
    logs: list[list[Written]],
    turns: list[int],
    steps: list[int],
    batch_bytes: int,
) -> None:
    """If logs grow, are read in any order and die anywhere, then the latest is left."""
    oxigraph.clear()
    deaths.steps = steps
    with tempfile.TemporaryDirectory() as name:
        roots = [Path(name, f"log{n}") for n in range(len(logs))]
        left = [list(each) for each in logs]
        for number, turn in enumerate([*turns, *range(len(logs))]):
            which = turn % len(logs)
            n_now = len(left[which]) if number >= len(turns) else 2
            write_log(roots[which], left[which][:n_now], f"w{number}")
            del left[which][:n_now]
            while True:
                try:
                    options = {"method": method, "batch_bytes": batch_bytes}
                    follow(roots[which], oxigraph.uri, **options)
                    break
                except Killed:
                    deaths.is_dead = False
    written = [each for log in logs for each in log]
    assert said(oxigraph) == truth(written)


@pytest.mark.parametrize("method", METHODS)
def test_long_graph_with_blank_nodes_is_the_same_in_the_store(
    tmp_path: Path, oxigraph: OxigraphService, method: str
) -> None:
    """If a graph is longer than a batch, its blank nodes are still one node each."""
    lines = (f'_:b{n // 3} <{B}> "{"x" * 40}{n}" <{A}> .\n' for n in range(3_000))
    write_log(tmp_path, [RawVersion(A, 1, "".join(lines).encode())])
    follow(tmp_path, oxigraph.uri, method=method, batch_bytes=10_000)
    assert differences(tmp_path, oxigraph.uri) == (0, 0, 0)
    follow(tmp_path, oxigraph.uri)
    assert len({quad.subject for quad in oxigraph.quads()}) == 1_000


def test_long_graph_goes_by_the_bulk_loader_of_oxigraph(tmp_path: Path) -> None:
    """If a graph is long, Oxigraph's server is asked to load it without transaction."""
    lines = "".join(f'<{B}> <{B}> "{n}" <{A}> .\n' for n in range(100))
    write_log(tmp_path, [RawVersion(A, 1, lines.encode()), Written(B, 1, [(B, "x")])])
    with ScriptedStore(store_products.OXIGRAPH) as store:
        follow(tmp_path, store.uri, method="graph-store", batch_bytes=1024)
        puts = [each.given for each in store.writes if each.method == "PUT"]
        assert len(store.quads()) == 101
    assert [("no_transaction" in given, given["graph"]) for given in puts] == [
        (True, A),
        (False, B),
    ]


def test_new_documents_are_loaded_together(
    tmp_path: Path, oxigraph: OxigraphService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If many documents are new, Oxigraph loads them at once, and refuses one alone.

    The query of the guide finds those that are complete.
    """
    graphs = [f"http://e/{n}" for n in range(40)]
    quads = [f"_:b{n} <{A}> _:c{n} <{graph}> .\n" for n, graph in enumerate(graphs)]
    quads[30] = f'<{A}> <{A}> "\\q" <{graphs[30]}> .\n'
    new = [RawVersion(g, 1, q.encode()) for g, q in zip(graphs, quads, strict=True)]
    loads: list[int] = []
    load = SparqlStore.load

    def counting(self: SparqlStore, quads: bytes) -> bool:
        loads.append(quads.count(b"\n"))
        return load(self, quads)

    monkeypatch.setattr(SparqlStore, "load", counting)
    write_log(tmp_path, new)
    options = {"concurrency": 1, "batch_bytes": 8192}
    follower = SparqlFollower.from_options(oxigraph.uri, options)
    following = LogFollowing(CrawlLog(tmp_path), follower, patience_secs=0)
    following.open()
    following.catch_up()
    follower.close()
    assert following.counts.set_aside.keys() == {graphs[30]}
    assert loads[:2] == [40, 20]  # then updates take the half, and find the bad one
    found = {quad.graph_name.value for quad in oxigraph.quads()}  # type: ignore[union-attr]
    assert found == {*graphs} - {graphs[30]}
    assert len({quad.subject for quad in oxigraph.quads()}) == 39
    (query,) = re.findall("`(ASK .+)`", read_page("sparql-stores.md"))
    for n, told in (1, b"true"), (30, b"false"):
        whole = query.replace("DOCUMENT", graphs[n])
        answer = oxigraph.ask(f"{oxigraph.origin}/query", query=whole)
        assert told in answer
    left = 'ASK { GRAPH ?g { ?s ?p ?v FILTER(STRENDS(STR(?v), " begun")) } }'
    assert b"false" in oxigraph.ask(f"{oxigraph.origin}/query", query=left)
    monkeypatch.undo()
    write_log(tmp_path, [RawVersion(g, 2, b"") for g in graphs], "later")
    follow(tmp_path, oxigraph.uri, **options)
    assert not oxigraph.quads()


def test_documents_go_by_updates_where_loads_are_unknown(tmp_path: Path) -> None:
    """If a server has no loads of N-Quads, it is asked once, and gets updates."""
    write_log(tmp_path, [Written(f"{A}{n}", 1, [(f"{A}{n}", "x")]) for n in range(30)])
    with ScriptedStore(store_products.OXIGRAPH) as store:
        follow(tmp_path, store.uri, batch_bytes=1024)
        asked = [each for each in store.requests if each.path == "/store"]
        assert len(asked) == 1
        assert len(store.quads()) == 30
    assert "no_transaction" in asked[0].given


def test_store_without_graph_store_protocol_takes_long_graphs(
    tmp_path: Path, oxigraph: OxigraphService
) -> None:
    """If there is only an update interface, a long graph is sent in parts."""
    lines = [f'_:b{n // 3} <{B}> "{"x" * 40}{n}" <{A}> .\n' for n in range(1_500)]
    lines += [f'_:other <{B}> "{n}" <{C}> .\n' for n in range(700)]
    write_log(tmp_path, [RawVersion(A, 1, "".join(lines).encode())])
    uri = f"sparql+{oxigraph.origin}/update"
    follow(tmp_path, uri, query="/query", batch_bytes=10_000)
    assert differences(tmp_path, oxigraph.uri) == (0, 0, 0)


def test_store_that_was_emptied_is_filled_anew(
    tmp_path: Path, oxigraph: OxigraphService
) -> None:
    """If a store loses everything while it is followed, it gets everything again."""
    write_log(tmp_path, [Written(A, 1, [(A, "x")])], "1")
    follower = SparqlFollower.from_options(oxigraph.uri, {})
    following = LogFollowing(CrawlLog(tmp_path), follower, patience_secs=0)
    following.open()
    following.catch_up()
    oxigraph.clear()
    write_log(tmp_path, [Written(B, 1, [(B, "y")])], "2")
    following.catch_up()
    assert said(oxigraph) == {(A, "x"), (B, "y")}
    oxigraph.clear()
    following.end_generation()
    assert said(oxigraph) == {(A, "x"), (B, "y")}
    follower.close()


@pytest.mark.parametrize("method", METHODS)
def test_statements_are_stored_once(
    oxigraph: OxigraphService, tmp_path: Path, deaths: Deaths, method: str
) -> None:
    """If documents have equal statements, a server has them once, despite crashes."""

    def follow_once() -> None:
        options = {"concurrency": 1, "method": method}
        follower = SparqlFollower.from_options(oxigraph.uri, options)
        log = CrawlLog(tmp_path)
        once = StoredOnce(tmp_path / "once", log)
        following = LogFollowing(log, follower, patience_secs=0, once=once)
        try:
            following.open()
            following.catch_up()
        finally:
            deaths.is_dead = False
            following.close()

    both = ("x", "y")
    first = [Written(each, 1, [(each, value) for value in both]) for each in (A, B, C)]
    write_log(tmp_path, first, "1")
    follow_once()
    assert said(oxigraph) == {(A, value) for value in both}
    write_log(tmp_path, [Written(A, 2, [(A, "z")])], "2")
    for n_updates in range(3):
        deaths.steps = [n_updates]
        with suppress(Killed):
            follow_once()
    deaths.steps = []
    follow_once()
    assert said(oxigraph) == {(A, "z"), *((B, value) for value in both)}
