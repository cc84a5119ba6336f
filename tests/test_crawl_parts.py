"""Crawls of long dumps that break off: the rest is asked for, not all of it again."""

from __future__ import annotations

import signal
from functools import partial
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.fetch.parts import OVERLAP_BYTES
from tests.ranged_dumps import MIB, RangedDump, dump_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crawl_fixtures import Commands, CrawlResult
    from tests.crawl_webs import Loopback

BODY = dump_of(MIB // 2)
CUTS = (MIB // 4, MIB // 8)
# What a server makes of a range -> whether one is asked for, and whether it is of use.
WAYS = {
    "well": (True, True),
    "dated": (True, True),
    "no total": (True, True),
    "coded": (True, True),
    "weak": (False, False),
    "ignores": (True, False),
    "anew": (True, False),
    "416": (True, False),
    "elsewhere": (True, False),
    "other total": (True, False),
    "other etag": (True, False),
    "lies": (True, False),
}


@pytest.fixture(scope="module")
def broken(
    commands: Commands, loopback: Loopback
) -> tuple[CrawlResult, dict[str, RangedDump], dict[str, str]]:
    """Crawl dumps that break off twice, or once where that cannot be mended."""
    dumps, urls = {}, {}
    for n, (how, (_, is_of_use)) in enumerate(WAYS.items(), start=1):
        cuts = CUTS if is_of_use else CUTS[:1]
        if how == "coded":
            cuts = (24_000, 16_000)
        dumps[how] = RangedDump(BODY, cuts, how)
        server = loopback({"/d.nt": dumps[how]}, host=f"127.0.76.{n}")
        urls[how] = server.url("/d.nt")
    result = commands.crawl(
        list(urls.values()), RETRY_TIMES=1, VISIT_SPOOL_BYTES=16 * 1024
    )
    return result, dumps, urls


@pytest.mark.parametrize("how", WAYS)
def test_dump_that_breaks_off_is_had(
    broken: tuple[CrawlResult, dict[str, RangedDump], dict[str, str]], how: str
) -> None:
    """If a dump breaks off, then all of it is had, by ranges if they are right."""
    result, dumps, urls = broken
    assert result.code == 0, result.stderr
    is_changed = how in ("anew", "lies")
    triples = {o for _, _, o in result.about(urls[how])}
    assert triples == {"urn:x:n" if is_changed else "urn:x:o"}
    assert len(result.about(urls[how])) == BODY.count(b"\n")
    assert result.faults(urls[how]) == []
    is_asked, is_of_use = WAYS[how]
    dump = dumps[how]
    assert any(dump.asked) == is_asked
    if is_of_use:
        assert len(dump.asked) == 3
        assert dump.n_sent <= len(dump.body) + 2 * OVERLAP_BYTES


def _has_spooled(folder: Path, dump: RangedDump, n: int) -> bool:
    """Tell whether the nth answer has come as far as it does."""
    bodies = (folder / "linkeddata" / "spool").glob("*-*/*.body")
    n_bytes = n * (MIB // 2 - OVERLAP_BYTES)
    return len(dump.asked) == n and any(x.stat().st_size >= n_bytes for x in bodies)


def test_dump_outlives_stops_and_kills(commands: Commands, loopback: Loopback) -> None:
    """If a worker is stopped and killed in a dump, then the next one goes on."""
    dump = RangedDump(dump_of(2 * MIB), (MIB // 2,) * 3, stalls=True)
    server = loopback({"/d.nt": dump}, host="127.0.77.1")
    url, folder = server.url("/d.nt"), commands.folder()
    for n, end in enumerate((signal.SIGTERM, signal.SIGKILL, signal.SIGTERM), start=1):
        running = commands.start_crawl([url], folder=folder, FRONTIER_LEASE_SECS=1)
        commands.wait_until(partial(_has_spooled, folder, dump, n))
        running.send(end)
        running.wait(30)
    result = commands.crawl([url], folder=folder, FRONTIER_LEASE_SECS=1)
    assert result.code == 0, result.stderr
    assert len(result.about(url)) == dump.body.count(b"\n")
    assert len(dump.asked) == 4
    assert all(dump.asked[1:])
    assert (result.counts().done, result.counts().dead) == (1, 0)
    assert not list((folder / "linkeddata" / "spool").iterdir())
