"""What SPARQL stores refuse, claim and lose, and what two machines do at once."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, repeat
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from rdfcrawl.core.errors import StoreFault, UnusableStore
from rdfcrawl.core.namespaces import RC
from rdfcrawl.stores.crawl_folder import LogIdentity
from rdfcrawl.stores.followers.following import LogFollowing
from rdfcrawl.stores.followers.sparql import lease, records
from rdfcrawl.stores.followers.sparql.client import StoreClient
from rdfcrawl.stores.followers.sparql.documents import GroupWriter
from rdfcrawl.stores.followers.sparql.follower import SparqlFollower
from rdfcrawl.stores.followers.sparql.lease import StoreLease
from rdfcrawl.stores.followers.sparql.options import SparqlStoreOptions
from rdfcrawl.stores.followers.sparql.records import (
    RECORDS,
    DocumentRecords,
    StoredVersion,
    change,
)
from rdfcrawl.stores.followers.sparql.store import SparqlStore
from rdfcrawl.stores.followers.supervision import FollowerProcesses
from rdfcrawl.stores.log.crawl_log import CrawlLog
from rdfcrawl.stores.options import StoreOptions
from tests.support.scripted_stores import ScriptedStore
from tests.support.store_http import Answer
from tests.support.store_products import BLAZEGRAPH, NEPTUNE, OXIGRAPH, QLEVER, STARDOG
from tests.support.written_logs import RawVersion, Written, write_log

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rdfcrawl.stores.followers.sparql.client import StoreRequest as Request
    from rdfcrawl.stores.followers.sparql.documents import PlainDocument
    from tests.support.store_http import StoreRequest
    from tests.support.store_products import Product

A, B, C = "http://e/a", "http://e/b", "http://e/c"


def follow(
    root: Path, store: ScriptedStore, patience_secs: float = 0, /, **options: object
) -> LogFollowing:
    """Follow a log to its end."""
    follower = SparqlFollower.from_options(store.uri, {**store.options, **options})
    following = LogFollowing(CrawlLog(root), follower, patience_secs=patience_secs)
    try:
        following.open()
        following.catch_up()
    finally:
        follower.close()
    return following


@pytest.mark.parametrize("product", [QLEVER, STARDOG, NEPTUNE, BLAZEGRAPH])
def test_refused_document_is_set_aside_and_the_others_are_there(
    tmp_path: Path, product: Product
) -> None:
    """If a store refuses one document of a batch, it is found, and named."""
    bad = f'<{A}> <{A}> "\\q" <{B}> .\n'.encode()
    write_log(
        tmp_path,
        [
            Written(A, 1, [(A, "x")]),
            RawVersion(B, 1, bad),
            RawVersion("http://e/{x}", 1, b""),
            *(Written(f"http://e/{n}", 1, [(f"http://e/{n}", "y")]) for n in range(9)),
        ],
    )
    with ScriptedStore(product) as store:
        following = follow(tmp_path, store)
        assert following.counts.set_aside.keys() == {B, "http://e/{x}"}
        assert {quad.graph_name.value for quad in store.quads()} == {  # type: ignore[union-attr]
            A,
            *(f"http://e/{n}" for n in range(9)),
        }


def test_each_request_may_fail_once(tmp_path: Path) -> None:
    """If a store fails at any one request, also while it is opened, all is there."""
    write_log(tmp_path, [Written(A, 1, [(A, "x")])])
    with ScriptedStore(STARDOG) as store:
        follow(tmp_path, store)
        expected, n_requests = store.quads(), len(store.requests)

    def follow_with_one(number: int) -> None:
        answers = chain([None] * number, [Answer(status=503)], repeat(None))
        with ScriptedStore(STARDOG) as store:
            store.misdeed = lambda _: next(answers)
            follow(tmp_path, store, 60)
            assert len(store.requests) > number
            assert store.quads() == expected

    with ThreadPoolExecutor(n_requests) as pool:  # they wait half a second each
        assert len(list(pool.map(follow_with_one, range(n_requests)))) > 5


@pytest.mark.parametrize(
    ("body", "about"),
    [
        (b'{"status": "ERROR", "exception": "disk is broken"}', ""),
        (b"<html>Update failed: disk is broken</html>", ""),
        (b"Virtuoso 22023 Error SR491: disk is broken", ""),
        (b"", ""),
        (b"", "DATA { GRAPH <http"),
    ],
)
def test_success_without_effect_is_no_success(
    tmp_path: Path, body: bytes, about: str
) -> None:
    """If a store claims to have taken something, and has not, the log is not left."""
    answer = Answer(status=200, body=body)

    def lie(request: StoreRequest) -> Answer | None:
        words = " ".join(request.text.split())
        return answer if request.is_write and about in words else None

    write_log(tmp_path, [Written(A, 1, [(A, "x")])])
    with ScriptedStore(STARDOG) as store:
        store.misdeed = lie
        with pytest.raises(
            StoreFault,
            match=r"disk is broken|has no statement of it|does not have the statement",
        ):
            follow(tmp_path, store)
        store.misdeed = lambda _: None
        follow(tmp_path, store)
        assert len(store.quads()) == 1


def test_full_store_is_told_and_waited_for(tmp_path: Path) -> None:
    """If a store has no room, no document is set aside, and the fault may pass."""
    write_log(tmp_path, [Written(A, 1, [(A, "x")])])
    with ScriptedStore(STARDOG) as store:
        store.misdeed = lambda request: (
            Answer(status=500, body=b"Disk quota exceeded")
            if request.is_write
            else None
        )
        with pytest.raises(StoreFault, match="is full: Disk quota") as raised:
            follow(tmp_path, store)
        assert raised.value.may_pass


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"password": "wr0ng"}, "refuses the login"),
        ({"query": "/nowhere"}, "does not respond like a SPARQL"),
        ({"update": "/nowhere"}, "refuses updates"),
    ],
)
def test_wrong_login_or_place_is_one_line_without_secrets(
    tmp_path: Path, options: dict[str, object], told: str
) -> None:
    """If the store cannot be used as configured, then the operator sees a line."""
    write_log(tmp_path, [Written(A, 1, [(A, "x")])])
    with ScriptedStore(STARDOG) as store, pytest.raises(UnusableStore) as raised:
        follow(tmp_path, store, **options)
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "wr0ng" not in str(raised.value)


def test_login_that_is_mended_at_the_store_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """If a store refuses a login for a while, one line says so, and nothing is lost."""
    write_log(tmp_path, [Written(A, 1, [(A, "x")])])
    refused = Answer(status=401, body=b"Unauthorized")
    with ScriptedStore(STARDOG) as store:
        settings = Settings({"STORES": {store.uri: store.options}})
        stores = StoreOptions.from_settings(settings)
        store.misdeed = lambda _: refused if len(store.requests) < 3 else None
        assert FollowerProcesses.begin(tmp_path, stores, dumps=False).finish()
        assert len(store.quads()) == 1
    (told,) = (x.message for x in caplog.records if "refuses the login" in x.message)
    assert told.startswith(f"{store.uri}: the store refuses the login (401): set")


def test_two_machines_at_once_leave_the_later_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If one machine writes an old version while another comes, the new one stays."""
    write_log(tmp_path / "old", [Written(A, 1, [(A, "old")])])
    write_log(tmp_path / "new", [Written(A, 2, [(A, "new")])])
    write, has_compared, is_done = (
        GroupWriter.write,
        threading.Event(),
        threading.Event(),
    )

    def slow_write(self: GroupWriter, group: Sequence[PlainDocument]) -> None:
        if group[0].document.version_ms == 1:
            has_compared.set()
            is_done.wait(3)  # without the lease, the other is done by then
        write(self, group)

    monkeypatch.setattr(GroupWriter, "write", slow_write)
    with ScriptedStore(QLEVER) as store:
        first = threading.Thread(target=follow, args=(tmp_path / "old", store))
        first.start()
        has_compared.wait(60)
        second = threading.Thread(target=follow, args=(tmp_path / "new", store))
        second.start()
        second.join(4)
        is_done.set()
        first.join()
        second.join()
        assert [quad.object.value for quad in store.quads()] == ["new"]  # type: ignore[union-attr]


def test_update_that_comes_after_the_lease_was_lost_has_no_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a request is late, and another process has written since, then it fails."""
    write_log(tmp_path / "old", [Written(A, 1, [(A, "old")])])
    write_log(tmp_path / "new", [Written(A, 2, [(A, "new")])])
    ask = StoreClient.fetch
    late: list[Request] = []

    def be_late(self: StoreClient, request: Request, **given: bool) -> bytes:
        if b"old" in str(request.body).encode() and not late:
            late.append(request)
            monkeypatch.setattr(lease, "_is_dead", lambda _: True)
            follow(tmp_path / "new", store)
        return ask(self, request, **given)

    monkeypatch.setattr(StoreClient, "fetch", be_late)
    with ScriptedStore(OXIGRAPH) as store:
        with pytest.raises(StoreFault, match="the lease of this process was lost"):
            follow(tmp_path / "old", store)
        assert late
        for _ in range(2):
            assert [quad.object.value for quad in store.quads()] == ["new"]  # type: ignore[union-attr]
            follow(tmp_path / "old", store)
        graphs = {name.value for name in store.store.named_graphs()}
        assert graphs == {A, RECORDS}


def test_earlier_generations_are_listed_by_their_index(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If some documents cannot be replaced, all others are, and no page reads more."""
    monkeypatch.setattr(records, "_PAGE", 2)
    log, names = (
        LogIdentity(log="a b", generation=2),
        [f"http://e/{n}" for n in range(9)],
    )
    old = StoredVersion(version_ms=1, digest=b"", log=log.log, generation=1)
    new = replace(old, generation=2)
    with ScriptedStore(OXIGRAPH) as store:
        opened = SparqlStore(SparqlStoreOptions.read(store.uri, {}, {}))
        said = [old.lines_for(name) for name in names] + [new.lines_for("http://e/new")]
        opened.update(
            change([], [*said, replace(old, log="c").lines_for("http://e/c")])
        )
        found = []
        for name, _ in DocumentRecords(opened).earlier(log):
            found.append(name)
            if name not in names[3:6]:  # these are refused
                opened.update(change([old.lines_for(name)], [new.lines_for(name)]))
        opened.close()
        asked = [x.text for x in store.requests if "SELECT" in x.text]
    assert sorted(found) == names
    # So an index of predicate and object leads to each row.
    assert all("storedIn> <urn:rdfcrawl:log:a%20b:1>" in text for text in asked)
    assert {int(text.rpartition(" ")[2]) for text in asked} <= {2, 3, 4, 5}


def test_who_waits_has_the_next_turn() -> None:
    """If one machine writes batch after batch, then another one comes in between."""
    turns: list[str] = []
    with ScriptedStore(OXIGRAPH) as store:
        stores = [
            SparqlStore(SparqlStoreOptions.read(store.uri, {}, {})) for _ in range(2)
        ]
        busy, waiting = map(StoreLease, stores)
        busy.acquire()

        def wait() -> None:
            waiting.acquire()
            turns.append("waiting")
            waiting.release()

        thread = threading.Thread(target=wait)
        thread.start()
        while not any("awaitedBy" in request.text for request in store.writes):
            time.sleep(0.01)
        busy.release()
        busy.acquire()
        turns.append("busy")
        busy.release()
        thread.join()
        for each in stores:
            each.close()
        assert not list(store.store)
    assert turns == ["waiting", "busy"]


@pytest.mark.parametrize("product", [STARDOG, BLAZEGRAPH])
def test_update_whose_answer_is_lost_is_not_sent_twice(
    tmp_path: Path, product: Product
) -> None:
    """If a connection breaks after a draft was copied, the graph has it anyway."""
    long = "".join(f'<{A}> <{A}> "{n:040}" <{B}> .\n' for n in range(100))
    write_log(
        tmp_path,
        [RawVersion(A, 1, long.encode())]
        if product is BLAZEGRAPH  # has no PUT, so a long graph is copied
        else [Written(A, 1, [(B, "x")]), Written(C, 1, [(B, "y")])],
    )
    broken: list[StoreRequest] = []

    def break_off(request: StoreRequest) -> Answer | None:
        if f"INSERT {{ GRAPH <{B}> {{ ?s" not in request.text or broken:
            return None
        broken.append(request)
        return Answer(status=0)

    with ScriptedStore(product) as store:
        store.after = break_off
        follow(tmp_path, store, 60, batch_bytes=1024)
        assert len(broken) == 1
        assert len(store.quads()) == (100 if product is BLAZEGRAPH else 2)


@pytest.mark.parametrize("is_lost", [True, False])
def test_lease_is_looked_at_before_each_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_lost: bool
) -> None:
    """If a PUT took longer than the lease, nothing follows if another has it now."""
    monkeypatch.setattr(StoreLease.__init__, "__defaults__", (2.0,))
    write_log(tmp_path, [Written(A, 1, [(A, "x")]), Written(B, 1, [(B, "y")])])
    puts: list[StoreRequest] = []

    def be_slow(request: StoreRequest) -> Answer | None:
        if request.method != "PUT":
            return None
        if not puts:  # nothing else is answered meanwhile
            time.sleep(1.7)
            held = f"GRAPH <{RECORDS}> {{ <{RECORDS}> <{RC}heldBy>"
            if is_lost:
                store.store.update(f"DELETE WHERE {{ {held} ?x }} }}")
                store.store.update(f'INSERT DATA {{ {held} "another 1 2 3 4" }} }}')
        puts.append(request)
        return None

    with ScriptedStore(STARDOG) as store:
        store.misdeed = be_slow
        if is_lost:
            with pytest.raises(StoreFault, match="the lease of this process was lost"):
                follow(tmp_path, store, method="graph-store")
        else:
            follow(tmp_path, store, method="graph-store")
    assert len(puts) == (1 if is_lost else 2)
