"""Crawls of a machine that has no names, routes or descriptors for a while."""

from __future__ import annotations

import errno
import resource
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.command_forks import shared_forks
from tests.support.crawl_names import names_outage, scripted_names
from tests.support.outages import PAGES, PATIENT, QUAD, Away, away

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands, RunningCrawl
    from tests.support.crawl_webs import Loopback

__all__ = ["away"]

LD = "application/ld+json"
# A host that is blamed is given up at the second refusal.
STRICT: dict[str, Any] = {"RETRY_TIMES": 1, "DOWNLOAD_DELAY": 0.02}


def _many_hosts(n_hosts: int) -> dict[str, list[list[str]]]:
    return {f"www.site{n}.example": [["127.0.0.1"]] for n in range(n_hosts)}


def _pauses(crawl: RunningCrawl) -> bool:
    assert not crawl.has_ended(), crawl.stderr
    return "requests pause" in crawl.stderr


@pytest.mark.in_turn(2, rooms=("downloader",))
def test_outage_of_our_own_name_servers_costs_nothing(
    commands: Commands, loopback: Loopback, away: Away
) -> None:
    """If known names cannot be resolved either, then no host is to blame."""
    server = loopback(dict.fromkeys(PAGES, loopback.response(QUAD)))
    folder = commands.folder()
    names = _many_hosts(20)
    seeds = [f"http://{name}:{server.port}{path}" for name in names for path in PAGES]
    with scripted_names(folder, names):
        crawl = commands.start_crawl(
            seeds, folder=folder, CONCURRENT_REQUESTS=4, **STRICT
        )
        # A few hosts are known: the first page of each goes before all others.
        commands.wait_until(lambda: len(server.requests) > 12)
        with names_outage(folder):
            commands.wait_until(lambda: _pauses(crawl))
            time.sleep(away.secs)
        result = crawl.wait()
    assert result.code == 0, result.stderr
    assert result.graphs == set(seeds)
    assert crawl.stderr.count("requests pause, hosts are not at fault") == 1
    assert "requests continue" in crawl.stderr
    assert result.statistics["fault/dns_unanswered"] == 0


@pytest.mark.in_turn(2, rooms=("downloader",))
@pytest.mark.parametrize("with_scrapy", [False, True])
def test_outage_of_our_own_costs_no_context(
    commands: Commands, loopback: Loopback, away: Away, *, with_scrapy: bool
) -> None:
    """If no name is looked up for a while, then contexts wait as documents do."""
    response = loopback.response
    server = loopback({"*": response(b'{"@context": {"p": "urn:x:p"}}', LD)})
    folder, n_hosts = commands.folder(), 24
    names = _many_hosts(2 * n_hosts)
    hosts = [f"http://{name}:{server.port}" for name in names]
    for n, context_host in enumerate(hosts[n_hosts:]):
        body = f'{{"@context": "{context_host}/c{n}", "@id": "", "p": "o"}}'
        server.pages[f"/{n}"] = [0.1, response(body.encode(), LD)]
    server.pages["/robots.txt"] = response(b"", status="404 No")
    seeds = [f"{host}/{n}" for n, host in enumerate(hosts[:n_hosts])]
    with scripted_names(folder, names):
        crawl = commands.start_crawl(
            seeds,
            folder=folder,
            CONCURRENT_REQUESTS=2,
            FETCH_WITH_SCRAPY=with_scrapy,
            **STRICT,
        )
        commands.wait_until(lambda: any("/c" in x for x in server.targets))
        with names_outage(folder):
            commands.wait_until(lambda: _pauses(crawl))
            time.sleep(away.secs)
        result = crawl.wait()
    assert result.code == 0, result.stderr
    assert not any(name.startswith("fault/") for name in result.statistics)
    assert result.graphs == set(seeds)


@pytest.mark.in_turn(2, rooms=("downloader",))
def test_want_of_descriptors_costs_nothing(
    commands: Commands, loopback: Loopback, away: Away
) -> None:
    """If the worker may open no further files for a while, then no host is to blame."""
    server = loopback(dict.fromkeys(PAGES, loopback.response(QUAD)))
    folder = commands.folder()
    names = _many_hosts(20)
    seeds = [f"http://{name}:{server.port}{path}" for name in names for path in PAGES]
    with scripted_names(folder, names):
        crawl = commands.start_crawl(
            seeds,
            folder=folder,
            CONCURRENT_REQUESTS=4,
            SEGMENT_MAX_BYTES=4096,  # stores want new files all the time
            **STRICT,
        )
        commands.wait_until(lambda: len(server.requests) > 400)
        pid = crawl.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (12, before[1]))
        commands.wait_until(lambda: _pauses(crawl))
        time.sleep(away.secs)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        result = crawl.wait()
    assert result.code == 0, result.stderr
    assert result.graphs == set(seeds)
    assert not any(name.startswith("fault/") for name in result.statistics)


@pytest.mark.in_turn(2, rooms=("downloader",))
def test_routes_of_our_own_and_of_others(
    commands: Commands,
    loopback: Loopback,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If there is no route to one host, it is waited for; if to none, all wait."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    library, fails = tmp_path / "fails.so", tmp_path / "fails"
    source = Path(__file__).parents[2] / "data" / "connect_fails.c"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True
    )
    monkeypatch.setenv("LD_PRELOAD", str(library))
    monkeypatch.setenv("CONNECT_FAILS", str(fails))
    theirs = f"127.0.95.2 {errno.EHOSTUNREACH}\n127.0.95.3 {errno.ENETUNREACH}\n"
    fails.write_text(theirs)
    server = loopback({"*": [0.02, loopback.response(QUAD)]}, host="127.0.0.1")
    away = [
        loopback({"*": loopback.response(QUAD)}, host=f"127.0.95.{n}", port=server.port)
        for n in (2, 3)
    ]
    names = _many_hosts(20)
    names |= {f"www.away{n}.example": [[f"127.0.95.{n}"]] for n in (2, 3)}
    seeds = [f"http://{name}:{server.port}{path}" for name in names for path in PAGES]
    folder = commands.folder()
    (folder / "seeds.txt").write_text("\n".join(seeds))
    with scripted_names(folder, names):
        # A new process: the library is loaded when one begins.
        crew = commands.start(
            *("workers", "-n1", "linkeddata", f"-aseeds=@{folder / 'seeds.txt'}"),
            folder=folder,
            WORKERS_FORK=False,
            CONCURRENT_REQUESTS=4,
            **PATIENT,
        )
        log = crew.folder / "logs" / "worker-0.log"

        def says(text: str) -> None:
            commands.wait_until(lambda: text in log.read_text(), secs=60)

        commands.wait_until(lambda: len(server.requests) > 100, secs=60)
        assert "requests pause" not in log.read_text()
        fails.write_text(f"127. {errno.ENETUNREACH}\n")
        says("requests pause, hosts are not at fault: this machine has no route to")
        time.sleep(2.0)
        fails.write_text(theirs)
        says("requests continue")
        says("waiting for 2 hosts")
        assert not any(host.requests for host in away)
        fails.write_text("")
        result = crew.wait()
    assert result.code == 0, result.stderr
    assert result.graphs == set(seeds)
    assert log.read_text().count("requests pause") == 1
    assert "'fault/" not in log.read_text()


def test_parallel_hosts_are_held_against_the_limit_of_descriptors(
    commands: Commands, loopback: Loopback
) -> None:
    """If more hosts should be visited in parallel than files may be open, fewer are."""
    server = loopback(dict.fromkeys(PAGES, loopback.response(QUAD)))
    folder = commands.folder()
    names = _many_hosts(100)
    seeds = [f"http://{name}:{server.port}/1" for name in names]
    code = (
        "import resource, runpy\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (160, 160))\n"
        "runpy.run_module('scrapy', run_name='__main__', alter_sys=True)"
    )
    (folder / "seeds.txt").write_text("".join(f"{seed}\n" for seed in seeds))
    given = {
        "CRAWL_DIR": folder,
        "DOWNLOAD_DELAY": 0,
        "CONCURRENT_REQUESTS": 200,
        "GUARD_ALLOW_NETS": "127.0.0.0/8",
        "STATS_DUMP": True,
    }
    line = ["crawl", "linkeddata", f"-aseeds=@{folder / 'seeds.txt'}"]
    line += [f"-s{name}={value}" for name, value in given.items()]
    with scripted_names(folder, names):
        found = shared_forks().run("-c", code, *line)
    said = found.stderr
    assert found.returncode == 0, said
    assert "CONCURRENT_REQUESTS=200 and SLOW_VISITS=64 need 892 descriptors" in said
    assert "'document/stored': 100" in said
    assert "'fault/" not in said
