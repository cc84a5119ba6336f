"""The URL database equals its logs, for any order and number of builds."""

from __future__ import annotations

import fcntl
import gzip
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.analysis.measures.uri_facts import UriFetch
from rdfcrawl.analysis.urldb import files
from rdfcrawl.analysis.urldb import record as record_module
from rdfcrawl.analysis.urldb.building import build
from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.analysis.urldb.record import FirstSeen, SitemapClaim
from rdfcrawl.core.errors import ConfigError, Reason
from rdfcrawl.stores.segment_file import pack_member
from rdfcrawl.uri import NormalForm
from tests.support.examples import examples
from tests.support.url_events import (
    NORMAL,
    T0,
    LinksFound,
    ListedUrl,
    SitemapRead,
    UrlEvent,
    UrlFetched,
    write_events,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rdfcrawl.analysis.urldb.record import UrlRecord

NOT_LOGS = "urldb", "frontier"
HOSTS = ("a.example", "www.a.example", "b.example", "c.org", "127.0.0.1:8080")
URLS = st.builds(
    "http://{}/{}".format, st.sampled_from(HOSTS), st.integers(0, 12).map(str)
)
TIMES = st.integers(T0, T0 + 30)
ENTRIES = st.builds(
    ListedUrl,
    URLS,
    st.sampled_from(["", "2026-01-01", "2026-02-01T10:00:00Z", "2026-03"]),
    st.sampled_from([None, "daily"]),
    st.sampled_from([None, 0.5, 1.0]),
    st.booleans(),
)
EVENTS = st.lists(
    st.one_of(
        st.builds(
            SitemapRead,
            URLS,
            TIMES,
            st.lists(ENTRIES, min_size=1, max_size=9).map(tuple),
        ),
        st.builds(
            UrlFetched,
            URLS,
            TIMES,
            st.sampled_from([200, 304, 404, 500]),
            st.sampled_from(["", '"a\\"b"', "\u00e9"]),
            st.one_of(st.just(""), URLS),
            st.sampled_from([None, Reason.TIMEOUT]),
            st.sampled_from([(), (("contentHash", "0a" * 16), ("run", "3"))]),
        ),
        st.builds(LinksFound, URLS, TIMES, st.lists(URLS, max_size=9).map(tuple)),
    ),
    max_size=30,
)


def content(root: Path) -> dict[str, bytes]:
    """Return all files of the URL database in the folder of a crawl."""
    folder = root / "urldb"
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def rebuilt(root: Path) -> dict[str, bytes]:
    """Return the files of a database that is built in one step from the same logs."""
    with tempfile.TemporaryDirectory() as name:
        other = Path(name) / "crawl"
        shutil.copytree(root, other, ignore=shutil.ignore_patterns(*NOT_LOGS))
        build(other, NORMAL)
        return content(other)


def records(root: Path) -> dict[str, UrlRecord]:
    """Return all records by URL."""
    with UrlDatabase(root) as database:
        found = list(database.records())
        assert database.n_records == len(found)
        assert all(database.find(each.url) == each for each in found)
    return {each.url: each for each in found}


@settings(max_examples=examples(300), deadline=None)
@given(EVENTS, st.lists(st.integers(0, 30), max_size=4), st.randoms())
def test_any_split_gives_the_bytes_of_one_build(
    events: list[UrlEvent], cuts: list[int], chance: random.Random
) -> None:
    """If logs are read part by part, then the files equal those of a single build."""
    with (
        tempfile.TemporaryDirectory() as name,
        pytest.MonkeyPatch.context() as patch,
    ):
        # So small that bounds, blocks and spilled runs have an effect.
        patch.setattr(record_module, "MAX_FETCHES", 3)
        patch.setattr(record_module, "MAX_CLAIMS", 2)
        patch.setattr(files, "_ENDS_BLOCK", 1)
        patch.setattr(files, "_MOST_RECORDS", 3)
        root = Path(name) / "crawl"
        bounds = [0, *sorted(min(cut, len(events)) for cut in cuts), len(events)]
        for n, (begin, end) in enumerate(pairwise(bounds)):
            write_events(root, events[begin:end], f"w{n % 2}")
            build(root, NORMAL, memory_bytes=chance.choice([1, 3000, 1 << 20]))
        assert content(root) == rebuilt(root)


class LoggedFacts:
    """The facts of URLs, derived from events without any files."""

    def __init__(self, events: Sequence[UrlEvent]) -> None:
        self.listed: dict[str, list[tuple[int, str]]] = {}
        self.linked: dict[str, list[tuple[int, str]]] = {}
        self.fetches: dict[str, list[UriFetch]] = {}
        self.claims: dict[str, dict[tuple[str, str, str], list[int]]] = {}
        for event in events:
            if isinstance(event, UrlFetched):
                self._fetch(event)
            elif isinstance(event, LinksFound):
                for url in event.targets:
                    self.linked.setdefault(url, []).append((event.ms, event.url))
            elif isinstance(event, SitemapRead):
                self._list(event)

    def _fetch(self, event: UrlFetched) -> None:
        outcome = {200: "SUCCESSFUL", 304: "UNCHANGED"}.get(event.status, "SUCCESSFUL")
        fetch = UriFetch(
            started_ms=event.ms,
            status="FAILED" if event.fault else outcome,
            http_status=event.status,
            n_statements=3 if event.status == 200 else 0,
            fault=str(event.fault or ""),
            content_hash=dict(event.facts).get("contentHash", ""),
            text_hash="",
            run=int(dict(event.facts).get("run", "-1")),
            last_modified="",
        )
        self.fetches.setdefault(event.url, []).append(fetch)

    def _list(self, event: SitemapRead) -> None:
        for each in event.entries:
            self.listed.setdefault(each.url, []).append((event.ms, event.url))
            priority = "" if each.priority is None else str(each.priority)
            claim = each.lastmod, each.changefreq or "", priority
            times = self.claims.setdefault(each.url, {}).setdefault(claim, [])
            times.append(event.ms)

    def says(self, record: UrlRecord) -> None:
        """Check a record."""
        url = record.url
        assert record.listed == seen(self.listed.get(url))
        assert record.linked == seen(self.linked.get(url))
        fetches = sorted(self.fetches.get(url, []), key=lambda each: each.started_ms)
        assert list(record.fetches) == fetches[-record_module.MAX_FETCHES :]
        claims = [
            SitemapClaim(*claim, min(times), max(times))
            for claim, times in sorted(self.claims.get(url, {}).items())
        ]
        assert list(record.claims) == claims[-record_module.MAX_CLAIMS :]


def seen(times: list[tuple[int, str]] | None) -> FirstSeen | None:
    """Return when and by whom a URL was seen, from all times."""
    return FirstSeen(*min(times), max(times)[0]) if times else None


def made_events(chance: random.Random, n_events: int, n_urls: int) -> list[UrlEvent]:
    """Return events of one crawl after another, each at a different time."""
    urls = [f"http://{chance.choice(HOSTS)}/{n}" for n in range(n_urls)]
    events: list[UrlEvent] = []
    for n in range(n_events):
        url, ms = chance.choice(urls), T0 + n * 1000
        some = tuple(chance.sample(urls, 20))
        day = f"2026-01-{n % 28 + 1:02}"
        facts = (("contentHash", f"{chance.randrange(2):032x}"), ("run", "1"))
        kinds: list[UrlEvent] = [
            SitemapRead(url, ms, tuple(ListedUrl(x, day) for x in some)),
            UrlFetched(url, ms, 200, f'"{n}"', facts=facts),
            UrlFetched(url, ms, 500, fault=Reason.TIMEOUT),
            LinksFound(url, ms, some),
        ]
        events.append(chance.choice(kinds))
    return events


def test_records_say_what_has_happened(tmp_path: Path) -> None:
    """If a crawl lists, fetches and links, then each record has exactly that."""
    events = made_events(random.Random(1), n_events=1500, n_urls=60)
    write_events(tmp_path, events)
    report = build(tmp_path, NORMAL, memory_bytes=100_000)
    found, truth = records(tmp_path), LoggedFacts(events)
    assert set(found) == {*truth.listed, *truth.linked, *truth.fetches}
    assert report.n_records == len(found)
    for record in found.values():
        truth.says(record)
    keys = [(x.domain, x.host, x.url) for x in found.values()]
    assert keys == sorted(keys)


def test_latest_values_changes_and_spelling(tmp_path: Path) -> None:
    """If a URL changes, redirects and is spelled oddly, then its record says so."""
    hashes = [(("contentHash", c * 32),) if c else () for c in ("a", "a", "", "b", "a")]
    odd = "http://a.example/x?b=1&a=%2f"
    events: list[UrlEvent] = [
        UrlFetched(odd, T0 + n, 200 if facts else 304, f'"{n}"', facts=facts)
        for n, facts in enumerate(hashes)
    ]
    events += [
        UrlFetched("http://a.example/y", T0, target="http://a.example/z"),
        SitemapRead(
            "http://a.example/map",
            T0,
            (ListedUrl("http://a.example/s", is_sitemap=True),),
        ),
        SitemapRead("http://a.example/map", T0, (ListedUrl("http://a.example/t"),)),
        UrlFetched("http://a.example/liar", T0),
        SitemapRead("http://a.example/liar", T0, (ListedUrl("http://a.example/t"),)),
    ]
    write_events(tmp_path, events)
    build(tmp_path, NORMAL)
    found = records(tmp_path)
    record = found["http://a.example/x?a=%2F&b=1"]
    with UrlDatabase(tmp_path) as database:
        assert database.find("HTTP://A.example:80/x?a=%2f&b=1#f") == record
        assert database.find("http://a.example/") is None
        assert database.find("http://other.example/") is None
        assert database.find("nothing") is None
    assert record.requested_url == odd
    assert record.latest["etag"] == '"4"'
    assert found["http://a.example/y"].latest == {
        "readAt": "http://a.example/z",
        "redirect": "http://a.example/z",
        "seed": "true",
    }
    is_sitemap = {url[-1] for url, record in found.items() if record.is_sitemap}
    assert is_sitemap == {"s", "p"}


def test_statements_about_others_list_nothing(tmp_path: Path) -> None:
    """If a document says that another one lists URLs, then nothing is listed."""
    liar = SitemapRead("http://a.example/", T0, (ListedUrl("http://b.example/"),))
    write_events(tmp_path, [liar])
    (path,) = (tmp_path / "quads").glob("*.nq.gz")
    lines = gzip.decompress(path.read_bytes())
    path.write_bytes(
        pack_member(lines.replace(b"\n<http://a.example/>", b"\n<http://c.example/>"))
    )
    build(tmp_path, NORMAL)
    assert not records(tmp_path)


STEPS = "os.rename", "os.remove", "open", "fcntl.flock", "os.mkdir", "os.listdir"


def run_until(step: int, action: Callable[[], object]) -> int:
    """Do something in a child that is killed at a step; return its signal, or 0."""
    pid = os.fork()
    if pid:
        return os.WTERMSIG(os.waitpid(pid, 0)[1])
    left = step

    def count(event: str, _arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event in STEPS:
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    try:
        action()
    finally:
        os._exit(0)


@pytest.mark.in_turn(2)
def test_kill_at_each_step_leaves_the_state_before_or_after(tmp_path: Path) -> None:
    """If a build is killed at any step, then the next one completes it.

    A step is an access to a file by name.
    """
    events = made_events(random.Random(2), n_events=40, n_urls=30)
    root, after = tmp_path / "crawl", tmp_path / "after"
    write_events(root, events[:25])
    build(root, NORMAL)
    before = records(root)
    write_events(root, events[25:], "x")
    shutil.copytree(root, after)
    build(after, NORMAL)
    n_before = n_after = step = 0
    while True:
        part = tmp_path / "part"
        shutil.copytree(root, part)
        was_killed = run_until(step, partial(build, part, NORMAL, memory_bytes=2000))
        found = records(part)
        assert found in (before, records(after))
        n_before += found == before
        n_after += found != before
        build(part, NORMAL)
        assert content(part) == content(after)
        shutil.rmtree(part)
        if not was_killed:
            break
        step += 1
    assert n_before > 5
    assert n_after > 2


def test_other_log_or_normal_form_begins_anew(tmp_path: Path) -> None:
    """If a crawl restarts or compares URLs differently, then no old data remain."""
    write_events(tmp_path, [UrlFetched("http://a.example/?v=1", T0)])
    build(tmp_path, NORMAL)
    build(tmp_path, NormalForm(("v",)))
    assert set(records(tmp_path)) == {"http://a.example/"}
    aside = tmp_path / "before-1"
    aside.mkdir()
    for name in ("quads", "provenance", "links"):
        (tmp_path / name).rename(aside / name)
    write_events(tmp_path, [UrlFetched("http://b.example/", T0)])
    build(tmp_path, NORMAL)
    assert set(records(tmp_path)) == {"http://b.example/"}
    assert content(tmp_path) == rebuilt(tmp_path)


def test_what_a_log_has_lost_is_forgotten(tmp_path: Path) -> None:
    """If a log has lost data that was read, then the database is rebuilt."""
    write_events(tmp_path, [UrlFetched("http://a.example/", T0)])
    write_events(tmp_path, [UrlFetched("http://b.example/", T0)])
    build(tmp_path, NORMAL)
    last = max((tmp_path / "provenance").glob("*.jsonl.gz"))
    last.write_bytes(b"")
    build(tmp_path, NORMAL)
    assert set(records(tmp_path)) == {"http://a.example/"}
    assert content(tmp_path) == rebuilt(tmp_path)


def test_database_of_an_older_form_is_built_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """If a database has an older format, then one line says that it is rebuilt."""
    write_events(tmp_path, [UrlFetched("http://a.example/", T0)])
    build(tmp_path, NORMAL)
    path = tmp_path / "urldb" / "urldb.json"
    older = re.sub(rb'"format": \d+', b'"format": 2', path.read_bytes())
    path.write_bytes(older)
    (tmp_path / "urldb" / "00-old.seg").write_bytes(b"of another form")
    with pytest.raises(ConfigError, match="`urldb build` rebuilds an older one"):
        UrlDatabase(tmp_path)
    caplog.clear()
    build(tmp_path, NORMAL)
    assert [each.getMessage() for each in caplog.records] == [
        f"{path}: has format 2; rebuilding it in format 4"
    ]
    assert content(tmp_path) == rebuilt(tmp_path)
    path.write_bytes(older.replace(b'"format": 2', b'"format": 5'))
    with pytest.raises(ConfigError, match="has format 5, not 4"):
        build(tmp_path, NORMAL)


def test_damage_is_reported(tmp_path: Path) -> None:
    """If a log or database file is damaged, then it is reported, the rest is read."""
    urls = [f"http://a.example/{n}" for n in range(3)]
    write_events(tmp_path, [UrlFetched(url, T0) for url in urls])
    (path,) = (tmp_path / "provenance").glob("*.jsonl.gz")
    log = bytearray(path.read_bytes())
    log[len(log) // 2] ^= 1
    path.write_bytes(log)
    report = build(tmp_path, NORMAL)
    assert len(report.damages) == 1
    assert set(records(tmp_path)) == {urls[0], urls[2]}
    (segment,) = (tmp_path / "urldb").glob("*.seg")
    damaged = bytearray(segment.read_bytes())
    damaged[5] ^= 1
    segment.write_bytes(damaged)
    with pytest.raises(ConfigError, match="is damaged"):
        records(tmp_path)
    segment.write_bytes(b"")
    with pytest.raises(ConfigError, match="is damaged"):
        records(tmp_path)


def test_a_build_waits_for_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a build runs, then another one waits for its end, and is refused at last."""
    write_events(tmp_path, [UrlFetched("http://a.example/", T0)])
    build(tmp_path, NORMAL)
    with (tmp_path / "urldb" / "lock").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        timer = threading.Timer(0.1, lambda: fcntl.flock(file, fcntl.LOCK_UN))
        timer.start()
        assert build(tmp_path, NORMAL).n_records == 1
        timer.join()
        fcntl.flock(file, fcntl.LOCK_EX)
        monkeypatch.setattr("rdfcrawl.analysis.urldb.building.WAIT_SECS", 0)
        with pytest.raises(ConfigError, match="is being built already"):
            build(tmp_path, NORMAL)
