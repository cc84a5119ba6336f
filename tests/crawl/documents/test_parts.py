"""Crawls of long dumps that break off: only the rest is requested again."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.downloader.parts import OVERLAP_BYTES
from tests.support.ftp_servers import RealFtp
from tests.support.ranged_dumps import MIB, RangedDump, dump_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

BODY = dump_of(MIB // 2)
CUTS = (MIB // 4, MIB // 8)
# Behaviour of a server for a range -> whether one is requested, and whether it is of
# use.
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


@pytest.mark.in_turn(3, rooms=("downloader", "rdf"))
@pytest.mark.parametrize("how", WAYS)
def test_dump_that_breaks_off_is_had(
    broken: tuple[CrawlResult, dict[str, RangedDump], dict[str, str]], how: str
) -> None:
    """If a dump breaks off, then all of it is fetched, by ranges if they are right."""
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
    """Return whether the nth response was received up to its cut."""
    bodies = (folder / "linkeddata" / "spool").glob("*-*/*.body")
    n_bytes = n * (MIB // 2 - OVERLAP_BYTES)
    return len(dump.asked) == n and any(x.stat().st_size >= n_bytes for x in bodies)


@pytest.mark.in_turn(2, rooms=("downloader",))
def test_dump_outlives_stops_and_kills(commands: Commands, loopback: Loopback) -> None:
    """If a worker is stopped and killed in a dump, then the next one goes on."""
    dump = RangedDump(dump_of(2 * MIB), (MIB // 2,) * 3, stalls=True)
    server = loopback({"/d.nt": dump}, host="127.0.77.1")
    url, folder = server.url("/d.nt"), commands.folder()
    for n, end in enumerate((signal.SIGTERM, signal.SIGKILL, signal.SIGTERM), start=1):
        running = commands.start_crawl([url], folder=folder, FRONTIER_LEASE_SECS=1)
        commands.wait_until(partial(_has_spooled, folder, dump, n))
        running.send(end)
        running.wait()
    result = commands.crawl([url], folder=folder, FRONTIER_LEASE_SECS=1)
    assert result.code == 0, result.stderr
    assert len(result.about(url)) == dump.body.count(b"\n")
    assert len(dump.asked) == 4
    assert all(dump.asked[1:])
    assert (result.counts().done, result.counts().dead) == (1, 0)
    assert not list((folder / "linkeddata" / "spool").iterdir())


# The transfer takes twelve seconds: a worker that stops slowly does not have the
# complete file by then.
FTP_BODY = dump_of(MIB)
FTP_RATE = MIB // 12
# Change of a file on an FTP server that was read in part -> number of transfers, and of
# those that begin at a later byte.
FTP_WAYS = {
    "well": (3, 2),
    "changes": (3, 1),
    "lies": (4, 2),  # other bytes of the same size and time
    "refuses": (3, 0),
    "future": (3, 0),  # the time is that of a file that may change at any moment
}


@pytest.fixture(scope="module")
def ftp(
    commands: Commands, tmp_path_factory: pytest.TempPathFactory
) -> tuple[CrawlResult, dict[str, RealFtp]]:
    """Crawl files of FTP servers; the worker is stopped, and the next one killed."""
    folder, servers = commands.folder(), {}
    paths = {how: tmp_path_factory.mktemp(how) / "d.nt" for how in FTP_WAYS}
    settings: dict[str, Any] = {
        "FRONTIER_LEASE_SECS": 1,
        "VISIT_SPOOL_BYTES": 16 * 1024,
    }
    with ExitStack() as stack:
        for n, (how, path) in enumerate(paths.items(), start=1):
            _write(path, FTP_BODY, 2e9 if how == "future" else 1e9)
            lacks = ["REST"] if how == "refuses" else []
            server = RealFtp(
                path.parent, host=f"127.0.80.{n}", rate=FTP_RATE, lacks=lacks
            )
            servers[how] = stack.enter_context(server)
        seeds = [server.url("d.nt") for server in servers.values()]
        for n, end in enumerate((signal.SIGTERM, signal.SIGKILL), start=1):
            running = commands.start_crawl(seeds, folder=folder, **settings)
            commands.wait_until(partial(_are_under_way, servers, folder, n))
            running.send(end)
            running.wait()
            if n == 1:
                _write(paths["changes"], dump_of(MIB, "n"), 1.1e9)
                _write(paths["lies"], dump_of(MIB, "n"), 1e9)
        for server in servers.values():
            server.hurry()
        result = commands.crawl(seeds, folder=folder, **settings)
    return result, servers


def _write(path: Path, content: bytes, modified: float) -> None:
    path.write_bytes(content)
    os.utime(path, (modified, modified))


def _are_under_way(servers: dict[str, RealFtp], folder: Path, n: int) -> bool:
    """Return whether the nth run has a part of each file, and more of the first."""
    if any(
        server.commands.count("RETR /d.nt") < (1 if n == 1 else FTP_WAYS[how][0] - 1)
        for how, server in servers.items()
    ):
        return False  # the last one requests each once
    bodies = (folder / "linkeddata" / "spool").glob("*-*/*.body")
    sizes = [path.stat().st_size for path in bodies]
    return (
        len(sizes) == len(FTP_WAYS)
        and min(sizes) > FTP_RATE // 2
        and max(sizes) > (n - 0.5) * FTP_RATE
    )


@pytest.mark.in_turn(2, rooms=("downloader",))
@pytest.mark.parametrize("how", FTP_WAYS)
def test_ftp_file_outlives_stops_and_kills(
    ftp: tuple[CrawlResult, dict[str, RealFtp]], how: str
) -> None:
    """If a worker is stopped and killed in a file of FTP, the next one goes on."""
    result, servers = ftp
    assert result.code == 0, result.stderr
    server = servers[how]
    triples = result.about(server.url("d.nt"))
    assert len(triples) == FTP_BODY.count(b"\n")
    is_changed = how in ("changes", "lies")
    assert {o for _, _, o in triples} == {"urn:x:n" if is_changed else "urn:x:o"}
    assert result.faults(server.url("d.nt")) == []
    counts = result.counts()
    assert (counts.done, counts.dead) == (len(FTP_WAYS), 0)
    n_asked = server.commands.count("RETR /d.nt")
    assert (n_asked, server.count("REST")) == FTP_WAYS[how]
    if how == "well":
        assert server.n_sent < 1.4 * len(FTP_BODY)
    assert not (result.folder / "spool" / "parts").exists()


@pytest.mark.parametrize("how", ["anew", "lies again"])
def test_dump_that_is_never_gone_on_with_is_given_up(
    commands: Commands, loopback: Loopback, how: str
) -> None:
    """If a dump breaks off again and again, and no part is of use, it ends."""
    dump = RangedDump(BODY, (MIB // 4,) * 30, how)
    n_asked, host = {"anew": (3, "127.0.76.101"), "lies again": (5, "127.0.76.102")}[
        how
    ]
    url = loopback({"/d.nt": dump}, host=host).url("/d.nt")
    result = commands.crawl([url], RETRY_TIMES=1, VISIT_SPOOL_BYTES=16 * 1024)
    assert "truncated_body" in result.faults(url)
    assert len(dump.asked) == n_asked
