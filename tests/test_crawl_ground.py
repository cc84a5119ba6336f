"""What a crawl stands on is taken away while it runs: its folder, the time of day."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.frontier.binary import find_server
from rdfcrawl.stores.reading import iter_pieces
from rdfcrawl.stores.segment_file import list_segments
from tests.crawl_fixtures import Commands, count_in_redis
from tests.crawl_webs import TreeWeb
from tests.redis_fixtures import RedisServer

if TYPE_CHECKING:
    from tests.crawl_webs import Loopback

pytestmark = pytest.mark.service


@pytest.mark.parametrize("part", ["", "quads", "provenance"])
def test_nothing_is_done_that_is_in_no_folder(
    commands: Commands, loopback: Loopback, lasting_server: RedisServer, part: str
) -> None:
    """If the crawl's folder is deleted, then the worker stops and acknowledges nothing.

    What was acknowledged before is gone with the folder; what comes after is not lost.
    """
    prefix = {"": "127.0.61", "quads": "127.0.62", "provenance": "127.0.63"}[part]
    web = TreeWeb(loopback, prefix, n_hosts=4, n_docs=40, secs=0.1)
    running = commands.start_crawl(
        [web.seed],
        REDIS_URL=lasting_server.url,
        FRONTIER_COMMIT_SECS=0.3,
        VISIT_MAX_DOCUMENTS=4,
    )

    def n_done() -> int:
        return asyncio.run(count_in_redis(lasting_server.url, "linkeddata")).done

    commands.wait_until(lambda: n_done() > 10)
    shutil.rmtree(running.folder / part)
    before = n_done()
    result = running.wait()
    assert result.code == 1, result.stderr
    assert result.stderr.count("was deleted or moved away") == 1, result.stderr
    assert "Traceback" not in result.stderr
    # At most one commit was between its look at the files and its acknowledgement.
    assert n_done() - before <= 4 * 4
    counts = asyncio.run(count_in_redis(lasting_server.url, "linkeddata"))
    assert counts.queued + counts.leased > 0


def test_a_folder_that_is_deleted_with_its_frontier_ends_the_crawl(
    commands: Commands, loopback: Loopback
) -> None:
    """If the deleted folder has the embedded frontier, too, then one line says it."""
    web = TreeWeb(loopback, "127.0.64", n_hosts=4, n_docs=40, secs=0.1)
    running = commands.start_crawl([web.seed], FRONTIER_COMMIT_SECS=0.3)
    commands.wait_until(lambda: web.asked().total() > 20)
    shutil.rmtree(running.folder)
    result = running.wait()
    assert result.code == 1, result.stderr
    assert result.stderr.count("was deleted or moved away") == 1, result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.service
def test_a_clock_that_goes_back_stops_nothing(
    commands: Commands, loopback: Loopback, server_directory: Path
) -> None:
    """If the clock of Redis is set back by 100 s, then nothing waits for it."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    library, shift = server_directory / "shift.so", server_directory / "shift"
    shift.write_text("0")
    source = Path(__file__).parent / "data" / "clock_shift.c"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True
    )
    server = RedisServer(
        find_server(),
        server_directory,
        ("--appendonly", "yes"),
        environment={"LD_PRELOAD": str(library), "CLOCK_SHIFT": str(shift)},
    )
    server.start()
    web = TreeWeb(loopback, "127.0.65", n_hosts=4, n_docs=30, secs=0.02)
    try:
        running = commands.start_crawl(
            [web.seed],
            REDIS_URL=server.url,
            DOWNLOAD_DELAY=0.2,
            VISIT_MAX_DOCUMENTS=4,
            FRONTIER_COMMIT_SECS=0.3,
        )
        commands.wait_until(lambda: web.asked().total() > 20)
        shift.write_text("-100")
        n_before = len(web.asked())
        assert n_before < len(web.documents)
        result = running.wait(60)
    finally:
        server.end()
    assert result.code == 0, result.stderr
    assert result.graphs == web.documents


@pytest.mark.parametrize("secs", [3600, -3600])
def test_clock_of_the_machine_may_jump(
    loopback: Loopback, tmp_path: Path, secs: int
) -> None:
    """If the clock of worker and Redis jumps by an hour, nothing is lost or waits."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    library, shift = tmp_path / "shift.so", tmp_path / "shift"
    shift.write_text("0")
    source = Path(__file__).parent / "data" / "clock_shift.c"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True
    )
    third = "127.0.66" if secs > 0 else "127.0.67"
    web = TreeWeb(loopback, third, n_hosts=3, n_docs=20, secs=0.02)
    given = {
        "CRAWL_DIR": tmp_path,
        "GUARD_ALLOW_NETS": "127.0.0.0/8",
        "DOWNLOAD_DELAY": 0.1,
        "VISIT_MAX_DOCUMENTS": 4,
        "FRONTIER_COMMIT_SECS": 0.3,
        "RETRY_TIMES": 0,
        "STATS_DUMP": True,
    }
    line = [sys.executable, "-m", "scrapy", "crawl", "linkeddata"]
    line += [f"-aseeds={web.seed}", *(f"-s{k}={v}" for k, v in given.items())]
    environment = {"LD_PRELOAD": str(library), "CLOCK_SHIFT": str(shift)}
    with (tmp_path / "said.txt").open("wb") as said:
        process = subprocess.Popen(line, stderr=said, env=os.environ | environment)
    try:
        Commands.wait_until(lambda: web.asked().total() > 10, 60)
        shift.write_text(str(secs))
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
    text = (tmp_path / "said.txt").read_text()
    assert "'frontier/lost_leases': 0" in text, text
    assert "fault/" not in text
    assert f"'document/stored': {len(web.documents)}" in text
    assert set(web.asked().values()) == {1}
    folder = tmp_path / "linkeddata"
    versions = [
        piece.version_ms
        for path in list_segments(folder / "quads")
        for piece in iter_pieces(path)
    ]
    assert max(versions) - min(versions) < 1_000_000
