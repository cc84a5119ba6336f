"""Crawls on a small disk: it fills up, and there is room again."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import signal
import time
import zipfile
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.resourcesync import ResourceSyncOptions
from rdfcrawl.sources.harvest.resourcesync.resources import path_of
from tests.support.crawl_kills import worker_pids
from tests.support.small_disk import MIB, SmallDisk, small_disk
from tests.support.web_archives import read_archive

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy.http import Response

    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

N_PAGES = 120
QUAD = b"<> <urn:x:p> <urn:x:o> ."


# CI must not pass because a separate disk is missing.
pytestmark = pytest.mark.service


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """Yield a small disk."""
    folder = tmp_path / "disk"
    folder.mkdir()
    with small_disk(folder) as disk:
        yield disk


def _dump(n_bytes: int) -> bytes:
    """Return a dump of about this many bytes, all of them different."""
    line = "<urn:x:s%d> <urn:x:p> <urn:x:o> .\n"
    return "".join(line % n for n in range(n_bytes // 35)).encode()


@pytest.mark.in_turn(2, rooms=("downloader", "stores"))
@pytest.mark.parametrize("min_free", [4 * MIB, 0])
def test_full_disk_costs_nothing(
    commands: Commands, loopback: Loopback, disk: SmallDisk, min_free: int
) -> None:
    """If the disk is full for a while, then the crawl pauses, and nothing is lost.

    Nor is anything of the archive.
    """
    body = _dump(MIB)
    # Slow by itself: with a delay, Redis gets a request first, and it is on the disk,
    # too.
    page = [0.02, loopback.response(QUAD)]
    pages: dict[str, Any] = {f"/{n}": page for n in range(N_PAGES)}
    dump = loopback.response(body, "application/n-triples")
    host = "127.0.74.1" if min_free else "127.0.74.2"
    server = loopback(pages | {f"/{n}.nt": dump for n in range(3)}, host=host)
    seeds = [server.url(path) for path in server.pages]
    running = commands.start_crawl(
        seeds,
        folder=disk.path,
        DISK_MIN_FREE_BYTES=min_free,
        VISIT_MAX_DOCUMENTS=5,
        FRONTIER_COMMIT_SECS=0.2,
        RETRY_TIMES=0,
        WARC=True,
    )
    commands.wait_until(lambda: len(server.requests) > 30)
    disk.fill(min_free // 2)
    # Either the worker or Redis writes first.
    waits = "requests pause", "Redis refuses"
    commands.wait_until(lambda: any(word in running.stderr for word in waits))
    assert not running.has_ended(), running.stderr
    n_before = len(server.requests)
    disk.empty()
    result = running.wait()
    assert n_before < len(seeds), "the disk was full too late"
    assert result.code == 0, result.stderr
    assert result.graphs == set(seeds)
    archive = (result.folder / "warc").glob("*.warc.gz")
    records = [each for file in archive for each in read_archive(file)]
    assert {each.url for each in records if each.type == "response"} >= set(seeds)
    n_pauses = result.stderr.count("requests pause, hosts are not at fault")
    assert n_pauses == 1 or (not n_pauses and "Redis refuses" in result.stderr)
    assert "Traceback" not in result.stderr, result.stderr
    assert not any(name.startswith("fault/") for name in result.statistics)


def test_documents_without_room_are_read_later(
    commands: Commands, loopback: Loopback, disk: SmallDisk
) -> None:
    """If a child has no space for temporary files, then the document is read later."""
    lines = b"".join(b"# comment number %d\n" % n for n in range(8 * MIB // 24))
    lines += b"<urn:x:s> <urn:x:p> 1 ."
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("data.ttl", lines)
    body = gzip.compress(packed.getvalue(), 1)
    answer = loopback.response(body, "application/gzip")
    pages = {"/dump.zip.gz": answer, "/page": loopback.response(QUAD)}
    server = loopback(pages, host="127.0.74.3")
    disk.fill(4 * MIB)
    running = commands.start_crawl(
        [server.url("/dump.zip.gz"), server.url("/page")],
        folder=disk.path,
        DISK_MIN_FREE_BYTES=0,
        HOST_BACKOFF_SECS=0.5,
        RETRY_TIMES=0,
    )
    commands.wait_until(lambda: "requests pause" in running.stderr)
    commands.wait_until(lambda: server.targets.count("/dump.zip.gz") > 1)
    disk.empty()
    result = running.wait()
    assert result.code == 0, result.stderr
    assert result.graphs >= {server.url("/page")}
    assert ("urn:x:s", "urn:x:p") in {(s, p) for s, p, *_ in result.quads}
    assert "Traceback" not in result.stderr, result.stderr
    assert not any(name.startswith("fault/") for name in result.statistics)


def test_mirror_on_a_full_disk_is_made_later(
    commands: Commands, disk: SmallDisk
) -> None:
    """If files of ResourceSync find no room for a while, then all are kept after it."""
    mirror = disk.path / "mirror"
    mirror.mkdir()
    disk.fill(0)
    with LocalWeb(first_address="127.74.1.1", n_hosts=2) as web:
        node = web.start(
            ResourceSyncOptions(n_resources=30, has_dumps=False, found_by=("robots",))
        )
        running = commands.start_crawl(
            arguments={"sources": node.origin},
            spider="resourcesync",
            RESOURCESYNC_FILES=mirror,
            DISK_MIN_FREE_BYTES=0,
            HOST_BACKOFF_SECS=0.5,
        )
        commands.wait_until(lambda: "requests pause" in running.stderr)
        disk.empty()
        result = running.wait()
    assert result.code == 0, result.stderr
    assert "Traceback" not in result.stderr, result.stderr
    assert not any(name.startswith("fault/") for name in result.statistics)
    kept = {
        path: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (path_of(mirror, url) for url in node.digests())
    }
    assert kept == {path_of(mirror, url): d for url, d in node.digests().items()}


def test_read_only_disk_costs_nothing(
    commands: Commands, loopback: Loopback, disk: SmallDisk
) -> None:
    """If files cannot be opened for a while, then the crawl pauses until they can."""
    dump = loopback.response(_dump(MIB), "application/n-triples")
    server = loopback({f"/{n}.nt": dump for n in range(4)}, host="127.0.74.4")
    urls = [server.url(path) for path in server.pages]
    page = loopback({"/": [0.05, loopback.response(QUAD)]}, host="127.0.74.5")
    running = commands.start_crawl(
        [page.url("/"), *urls],
        folder=disk.path,
        DISK_MIN_FREE_BYTES=0,
        DOWNLOAD_DELAY=0.3,
        RETRY_TIMES=0,
    )
    commands.wait_until(lambda: len(server.requests) > 1)
    with disk.read_only():
        commands.wait_until(lambda: "requests pause" in running.stderr)
    result = running.wait()
    assert result.code == 0, result.stderr
    assert result.graphs == {page.url("/"), *urls}
    assert "Traceback" not in result.stderr, result.stderr
    assert not any(name.startswith("fault/") for name in result.statistics)


def test_worker_that_dies_while_the_disk_is_full_comes_back(
    commands: Commands, loopback: Loopback, disk: SmallDisk
) -> None:
    """If a worker is killed on a full disk, then it is back once there is room."""
    pages: dict[str, Any] = {
        f"/{n}": [0.02, loopback.response(QUAD)] for n in range(N_PAGES)
    }
    server = loopback(pages, host="127.0.74.6")
    seeds = [server.url(path) for path in server.pages]
    (listed := disk.path / "seeds.txt").write_text("\n".join(seeds))
    crew = commands.start(
        *("workers", "-n2", "linkeddata", f"-aseeds=@{listed}"),
        folder=disk.path,
        DISK_MIN_FREE_BYTES=4 * MIB,
        VISIT_MAX_DOCUMENTS=5,
        FRONTIER_LEASE_SECS=3,
    )
    commands.wait_until(lambda: len(server.requests) > 30 and worker_pids(crew)[1:])
    disk.fill(0)
    os.kill(worker_pids(crew)[0], signal.SIGKILL)
    commands.wait_until(lambda: "waits for room on the disk" in crew.stderr)
    disk.empty()
    commands.wait_until(lambda: worker_pids(crew)[1:] or crew.has_ended())
    result = crew.wait()
    assert result.code == 0, result.stderr
    assert result.graphs == set(seeds)


def _spooled(folder: Path) -> int:
    """Return how many bytes of bodies are in the spool of a crawl now."""
    n_bytes = 0
    for path in (folder / "spool").glob("*/*"):
        with suppress(FileNotFoundError):
            n_bytes += path.stat().st_size
    return n_bytes


@pytest.fixture(scope="module")
def capped(commands: Commands, loopback: Loopback) -> tuple[CrawlResult, list[int]]:
    """Crawl dumps of 1 MiB and one of 5 with little room; see how much they take."""
    dump = loopback.response(_dump(MIB), "application/n-triples")
    long = loopback.response(_dump(5 * MIB), "application/n-triples")
    slow: list[Any] = [dump[: MIB // 2], 0.3, dump[MIB // 2 :]]
    dumps = {f"/{n}.nt": dump for n in range(6)}
    hosts = [loopback({"/0.nt": slow}, host=f"127.0.75.{n}") for n in range(2, 10)]
    many = loopback(dumps | {"/long.nt": long}, host="127.0.75.1")
    seeds = [many.url(path) for path in many.pages]
    seeds += [server.url("/0.nt") for server in hosts]
    running = commands.start_crawl(
        seeds,
        SPOOL_HOST_MAX_BYTES=5 * MIB // 2,
        SPOOL_MAX_BYTES=4 * MIB,
        RETRY_TIMES=0,
    )
    seen = []
    while not running.has_ended():
        seen.append(_spooled(running.folder))
        time.sleep(0.01)
    return running.wait(), seen


def test_spool_keeps_to_its_limits(capped: tuple[CrawlResult, list[int]]) -> None:
    """If there is more than the spool may hold, then it comes one after another."""
    result, seen = capped
    assert result.code == 0, result.stderr
    assert max(seen) <= 4 * MIB
    assert len(result.graphs) == 6 + 8 + 1
    assert result.statistics["fault/internal"] == 0
    assert result.counts().queued == 0


def test_bodies_longer_than_the_limit_of_a_host_are_cut(
    capped: tuple[CrawlResult, list[int]],
) -> None:
    """If a body is longer than the limit of its host, then a fault says so."""
    result, _ = capped
    long = next(url for url in result.graphs if url.endswith("/long.nt"))
    assert "too_large" in result.faults(long)
    assert result.statistics["fault/too_large"] == 1
    assert "SPOOL_HOST_MAX_BYTES" in " ".join(result.details(long))


class FailsAtFirst:
    """A spider middleware that fails with the first visits."""

    def __init__(self) -> None:
        self._n_left = 3

    def process_spider_input(self, response: Response) -> None:
        """Fail, as a component with a bug does."""
        del response
        self._n_left -= 1
        if self._n_left >= 0:
            raise RuntimeError("a bug in a middleware")


def test_room_of_failed_documents_is_free_again(
    commands: Commands, loopback: Loopback
) -> None:
    """If visits fail before documents are processed, then others have the room."""
    dump = loopback.response(_dump(MIB), "application/n-triples")
    server = loopback({"/0.nt": dump, "/1.nt": dump}, host="127.0.75.20")
    seeds = [server.url(path) for path in server.pages]
    running = commands.start_crawl(
        seeds,
        SPOOL_MAX_BYTES=5 * MIB // 2,
        HOST_BACKOFF_SECS=0.1,
        SPIDER_MIDDLEWARES=json.dumps({f"{__name__}.FailsAtFirst": 1}),
    )
    result = running.wait()
    assert result.code == 0, result.stderr
    assert result.graphs == set(seeds)
