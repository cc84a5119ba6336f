"""A crawl loses its ground while it runs: its folder, the time of day."""

from __future__ import annotations

import asyncio
import os
import shutil
import ssl
import subprocess
import sys
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.frontier.redis.embedded import find_server
from tests.support.crawl_fixtures import Commands, count_in_redis
from tests.support.crawl_webs import TreeWeb
from tests.support.ftp_servers import RealFtp, write_certificate
from tests.support.redis_fixtures import RedisServer
from tests.support.written_logs import versions_in

if TYPE_CHECKING:
    from tests.support.crawl_webs import Loopback

pytestmark = pytest.mark.service


def shifted_clock(folder: Path) -> tuple[Path, dict[str, str]]:
    """Return a file that shifts the clock of a process by its seconds, and how."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    library, shift = folder / "shift.so", folder / "shift"
    shift.write_text("0")
    source = Path(__file__).parents[2] / "data" / "clock_shift.c"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True
    )
    return shift, {"LD_PRELOAD": str(library), "CLOCK_SHIFT": str(shift)}


@pytest.mark.parametrize("part", ["", "quads", "provenance"])
def test_nothing_is_done_that_is_in_no_folder(
    commands: Commands, loopback: Loopback, lasting_server: RedisServer, part: str
) -> None:
    """If the crawl's folder is deleted, then the worker stops and acknowledges nothing.

    Acknowledged statements are gone with the folder; later ones are not lost.
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
    while running.folder.exists():  # meanwhile the crawl makes files in it
        shutil.rmtree(running.folder, ignore_errors=True)
    result = running.wait()
    assert result.code == 1, result.stderr
    assert result.stderr.count("was deleted or moved away") == 1, result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.service
def test_a_clock_that_goes_back_stops_nothing(
    commands: Commands, loopback: Loopback, server_directory: Path
) -> None:
    """If the clock of Redis is set back by 100 s, then nothing waits for it."""
    shift, environment = shifted_clock(server_directory)
    server = RedisServer(
        find_server(),
        server_directory,
        ("--appendonly", "yes"),
        environment=environment,
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
        result = running.wait()
    finally:
        server.end()
    assert result.code == 0, result.stderr
    assert result.graphs == web.documents


@pytest.mark.in_turn(2, rooms=("frontier",))
@pytest.mark.parametrize("secs", [3600, -3600])
def test_clock_of_the_machine_may_jump(
    loopback: Loopback, tmp_path: Path, secs: int
) -> None:
    """If the clock of worker and Redis jumps by an hour, nothing is lost or waits."""
    shift, environment = shifted_clock(tmp_path)
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
    with (tmp_path / "said.txt").open("wb") as said:
        process = subprocess.Popen(line, stderr=said, env=os.environ | environment)
    try:
        Commands.wait_until(lambda: web.asked().total() > 10)
        shift.write_text(str(secs))
        assert process.wait(600) == 0
    finally:
        process.kill()
        process.wait()
    text = (tmp_path / "said.txt").read_text()
    assert "'frontier/lost_leases': 0" in text, text
    assert "fault/" not in text
    assert f"'document/stored': {len(web.documents)}" in text
    assert set(web.asked().values()) == {1}
    folder = tmp_path / "linkeddata"
    versions = [each.version_ms for each in versions_in(folder)]
    assert max(versions) - min(versions) < 1_000_000


@pytest.mark.in_turn(2, rooms=("downloader",))
@pytest.mark.parametrize("witness", ["hosts", "redis"])
def test_certificates_do_not_fail_by_our_clock(
    loopback: Loopback, tmp_path: Path, lasting_server: RedisServer, witness: str
) -> None:
    """If certificates have expired by a wrong clock, then the crawl waits for it.

    One that has expired by the right clock, too, is its host's fault.
    """
    third, days_ahead, claim = {
        "hosts": ("127.0.68", 10, "240.0 hours ahead"),
        "redis": ("127.0.69", -10, "240.0 hours behind"),
    }[witness]
    shift, environment = shifted_clock(tmp_path)
    environment["SSL_CERT_FILE"] = str(tmp_path / "ca.pem")
    good = _https_document(loopback, tmp_path, f"{third}.1")
    expired = _https_document(loopback, tmp_path, f"{third}.2", until_days=-1)
    ftp = _ftps_server(tmp_path, f"{third}.3")
    seeds = targets = [good, expired, ftp.url("d.nt", "ftps")]
    given: dict[str, object] = {"DOWNLOAD_DELAY": 0, "RETRY_TIMES": 0}
    given |= {"STATS_DUMP": True, "GUARD_ALLOW_NETS": "127.0.0.0/8"}
    if witness == "hosts":
        seeds = _dated_hosts(loopback, third, targets)
    else:
        given["REDIS_URL"] = lasting_server.url
    shift.write_text(str(days_ahead * 86400))
    line = [sys.executable, "-m", "scrapy", "crawl", "linkeddata"]
    line += [f"-aseeds={','.join(seeds)}", f"-sCRAWL_DIR={tmp_path}"]
    line += [f"-s{name}={value}" for name, value in given.items()]
    said_path = tmp_path / "said.txt"
    with ftp, said_path.open("wb") as said:
        process = subprocess.Popen(line, stderr=said, env=os.environ | environment)
        try:
            Commands.wait_until(
                lambda: claim in said_path.read_text() or process.poll() is not None
            )
            shift.write_text("0")
            assert process.wait(600) == 0
        finally:
            process.kill()
            process.wait()
    text = said_path.read_text()
    assert text.count("requests pause") == 1, text
    assert "'fault/tls': 1" in text, text
    graphs = {each.graph for each in versions_in(tmp_path / "linkeddata")}
    assert graphs & set(targets) == {good, targets[2]}


def _certificate(folder: Path, address: str, *, until_days: float = 1) -> Path:
    """Write a certificate of an address, which is trusted."""
    (own := folder / address).mkdir()
    path = write_certificate(own, address, until_days=until_days)
    with (folder / "ca.pem").open("a") as authorities:
        authorities.write(path.read_text())
    return path


def _https_document(
    loopback: Loopback, folder: Path, address: str, *, until_days: float = 1
) -> str:
    """Start a server; return the URL of its document."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(_certificate(folder, address, until_days=until_days))
    pages = {"/d": loopback.response(b"<> <urn:x:p> <urn:x:o> .")}
    return loopback(pages, host=address, tls=tls).url("/d")


def _ftps_server(folder: Path, address: str) -> RealFtp:
    path = _certificate(folder, address)
    (path.parent / "d.nt").write_text("<urn:x:s> <urn:x:p> <urn:x:o> .")
    return RealFtp(path.parent, host=address, certificate=path)


def _dated_hosts(loopback: Loopback, third: str, targets: list[str]) -> list[str]:
    """Start hosts that know the time; the last of them to answer links to targets."""
    links = "".join(f"<> <urn:x:p> <{target}> .\n" for target in targets).encode()
    seeds = []
    for n in (11, 12, 13):
        date = format_datetime(datetime.now(UTC), usegmt=True)
        answer = loopback.response(links if n == 13 else b"", Date=date)
        server = loopback({"/d": answer, "/robots.txt": answer}, host=f"{third}.{n}")
        if n == 13:
            server.pages["/d"] = [0.5, answer]
        seeds.append(server.url("/d"))
    return seeds
