"""Crawls of hosts that are away for a while, and of names that nobody can look up."""

from __future__ import annotations

import errno
import resource
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl import settings as project
from rdfcrawl.errors import Reason
from tests.support.crawl_names import names_outage, scripted_names
from tests.support.ftp_servers import OddFtp

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import RawRequest
    from tests.support.crawl_fixtures import Commands, RunningCrawl
    from tests.support.crawl_webs import Loopback

PATIENT: dict[str, Any] = {
    "HOST_PATIENCE_SECS": 60,
    "HOST_LAST_WAIT_SECS": 60,
    "RETRY_TIMES": 2,
}
LD = "application/ld+json"
QUAD = b"<> <urn:x:p> <urn:x:o> ."
PAGES = [f"/{n}" for n in range(60)]
_numbers = count(1)


@dataclass(frozen=True)
class Away:
    """How long something is away, and the settings of the crawl that bears it."""

    secs: float
    settings: dict[str, Any]


# Sixty times the first wait, as five minutes are to the usual one; and a minute with
# the settings that crawls have.
_AWAY = [
    pytest.param(Away(3.0, PATIENT), id="short"),
    pytest.param(
        Away(
            60.0,
            {
                "HOST_BACKOFF_SECS": project.HOST_BACKOFF_SECS,
                "HOST_PATIENCE_SECS": project.HOST_PATIENCE_SECS,
                "HOST_LAST_WAIT_SECS": project.HOST_LAST_WAIT_SECS,
            },
        ),
        id="minute",
        marks=pytest.mark.soak,
    ),
]


@pytest.fixture(params=_AWAY)
def away(request: pytest.FixtureRequest) -> Away:
    """Return a short time, or a minute in long runs."""
    found: Away = request.param
    return found


def _after(secs: float, bad: bytes, good: bytes) -> Callable[[RawRequest], bytes]:
    """Return a reply that is bad for so long after the first of its requests."""
    began: list[float] = []

    def reply(_request: RawRequest) -> bytes:
        began.append(time.monotonic())
        return good if began[-1] - began[0] > secs else bad

    return reply


@pytest.mark.parametrize(
    ("status", "headers"),
    [("503 Later", {}), ("429 Slow", {}), ("503 Later", {"Retry_After": "1"})],
)
@pytest.mark.parametrize("where", ["pages", "robots"])
def test_host_that_is_busy_for_long_loses_nothing(
    commands: Commands,
    loopback: Loopback,
    away: Away,
    status: str,
    headers: dict[str, str],
    where: str,
) -> None:
    """If a host answers 503 or 429 for longer than a few tries, nothing is lost."""
    response = loopback.response
    busy = response(b"", status=status, **headers)
    page = _after(away.secs, busy, response(QUAD))
    rules = _after(away.secs, busy, response(b"", "text/plain"))
    if where == "pages":
        server = loopback(dict.fromkeys(PAGES, page))
    else:
        server = loopback(
            {**dict.fromkeys(PAGES, response(QUAD)), "/robots.txt": rules}
        )
    seeds = [server.url(path) for path in PAGES]
    result = commands.crawl(seeds, **away.settings)
    assert result.code == 0, result.stderr
    assert result.graphs == set(seeds)
    # The whole host rests: one request for each wait, which grows.
    refused = len(server.requests) - len(PAGES)
    assert refused < 20
    assert "waiting for 1 hosts that do not answer" in result.stderr


FAILING = ("500 Oops", "502 Bad Gateway", "504 Late", "521 Down")


@pytest.mark.parametrize("n_at_once", [1, 50])
def test_hosts_whose_servers_fail_for_long_lose_nothing(
    commands: Commands, loopback: Loopback, away: Away, n_at_once: int
) -> None:
    """If hosts give errors of servers alone for a while, then nothing is lost.

    A bad page of a host that answers otherwise is given up all the same, whether it is
    asked for together with others or alone, and nobody waits for it.
    """
    response = loopback.response
    good = response(QUAD)
    servers = []
    for status in FAILING:
        page = _after(away.secs, response(b"", status=status), good)
        rules = response(b"", "text/plain")
        servers.append(
            loopback(
                {**dict.fromkeys(PAGES, page), "/robots.txt": rules},
                host=f"127.0.91.{next(_numbers)}",
            )
        )
    bad = {f"/bad{n}": response(b"", status=each) for n, each in enumerate(FAILING)}
    other = loopback(
        {**dict.fromkeys(PAGES, good), **bad}, host=f"127.0.91.{next(_numbers)}"
    )
    wanted = {server.url(path) for server in (*servers, other) for path in PAGES}
    hopeless = list(map(other.url, bad))
    result = commands.crawl(
        [*hopeless, *sorted(wanted)], VISIT_MAX_DOCUMENTS=n_at_once, **away.settings
    )
    assert result.code == 0, result.stderr
    assert result.graphs == wanted
    for server in servers:
        refused = len(server.targets) - 1 - len(PAGES)
        assert refused < 20  # the whole host rests
    for seed in hopeless:
        assert result.faults(seed) == [Reason.SERVER_ERROR]
    assert len(other.targets) - 1 - len(PAGES) <= 6 * len(bad)


def test_host_that_refuses_connections_loses_nothing(
    commands: Commands, loopback: Loopback, away: Away
) -> None:
    """If a host refuses connections for longer than a few tries, nothing is lost."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    seeds = [f"http://127.0.0.1:{port}{path}" for path in PAGES]
    crawl = commands.start_crawl(seeds, **away.settings)
    commands.wait_until(lambda: "waiting for 1 hosts" in crawl.stderr)
    time.sleep(away.secs)
    loopback(dict.fromkeys(PAGES, loopback.response(QUAD)), port=port)
    result = crawl.wait()
    assert result.code == 0, result.stderr
    assert result.graphs == set(seeds)


def test_ftp_servers_that_are_away_lose_nothing(commands: Commands, away: Away) -> None:
    """If FTP servers are down, say that they are busy, or give no data, all is had."""
    files = {f"/{n}.nt": b"<urn:x:s> <urn:x:p> <urn:x:o> .\n" for n in range(10)}
    names = [path[1:] for path in files]
    with socket.create_server(("127.0.92.1", 0)) as listener:
        port = listener.getsockname()[1]
    with socket.create_server(("127.0.92.3", 0)) as listener:
        high, low = divmod(listener.getsockname()[1], 256)
    shut: dict[str, Any] = {"PASV": f"227 Passive (127,0,92,3,{high},{low})"}
    with (
        OddFtp(files, host="127.0.92.2", greeting="421 Too busy") as busy,
        OddFtp(files, host="127.0.92.3", odd=shut) as without_data,
        OddFtp(files, host="127.0.92.4", odd={"RETR": "425 No data"}) as late,
    ):
        urls = [f"ftp://127.0.92.1:{port}/{name}" for name in names]
        servers = (busy, without_data, late)
        urls += [server.url(name) for server in servers for name in names]
        crawl = commands.start_crawl(urls, ROBOTSTXT_OBEY=False, **away.settings)
        commands.wait_until(lambda: "waiting for 4 hosts" in crawl.stderr)
        time.sleep(away.secs)
        busy.greeting = "220 Hello"
        without_data.odd.clear()
        late.odd.clear()
        with OddFtp(files, host="127.0.92.1", port=port):
            result = crawl.wait()
    assert result.code == 0, result.stderr
    assert result.graphs == set(urls)


def test_names_that_nobody_looks_up_lose_nothing(
    commands: Commands, loopback: Loopback, away: Away
) -> None:
    """If name servers do not answer for a while, all hosts are had once they do."""
    server = loopback(dict.fromkeys(PAGES, loopback.response(QUAD)))
    folder = commands.folder()
    names = {f"{n}.example": [["127.0.0.1"]] for n in range(10)}
    seeds = [f"http://{name}:{server.port}{path}" for name in names for path in PAGES]
    with scripted_names(folder, names):
        with names_outage(folder):
            crawl = commands.start_crawl(seeds, folder=folder, **away.settings)
            commands.wait_until(lambda: "waiting for 10 hosts" in crawl.stderr)
            time.sleep(away.secs)
        result = crawl.wait()
    assert result.code == 0, result.stderr
    assert result.graphs == set(seeds)


def test_name_without_address_is_not_waited_for(commands: Commands) -> None:
    """If a name is known not to exist, then its URIs end after a few tries."""
    folder = commands.folder()
    names = {"none.example": ["EAI_NONAME"], "lame.example": ["EAI_AGAIN"]}
    seeds = [f"http://{name}/" for name in names]
    patience = PATIENT | {"HOST_LAST_WAIT_SECS": 2}
    with scripted_names(folder, names):
        result = commands.crawl(seeds, folder=folder, **patience)
    none, lame = seeds
    assert Reason.DNS in result.faults(none)
    assert Reason.DNS_UNANSWERED in result.faults(lame)


def test_host_that_asks_for_more_than_the_last_wait_is_not_asked_again(
    commands: Commands, loopback: Loopback
) -> None:
    """If Retry-After is longer than the crawl waits, the host is left alone."""
    busy = loopback.response(b"", status="503 Later", Retry_After="3600")
    server = loopback(dict.fromkeys(PAGES, busy))
    seeds = [server.url(path) for path in PAGES]
    result = commands.crawl(seeds, **PATIENT | {"HOST_LAST_WAIT_SECS": 1})
    assert result.code == 0, result.stderr
    assert len(server.targets) <= 2  # robots.txt and a page
    for seed in seeds:
        assert result.faults(seed) == [Reason.HOST_BUSY]


# A host that is blamed is given up at the second refusal.
STRICT: dict[str, Any] = {"RETRY_TIMES": 1, "DOWNLOAD_DELAY": 0.02}


def _many_hosts(n_hosts: int) -> dict[str, list[list[str]]]:
    return {f"www.site{n}.example": [["127.0.0.1"]] for n in range(n_hosts)}


def _pauses(crawl: RunningCrawl) -> bool:
    assert not crawl.has_ended(), crawl.stderr
    return "requests pause" in crawl.stderr


def test_outage_of_our_own_name_servers_costs_nothing(
    commands: Commands, loopback: Loopback, away: Away
) -> None:
    """If names that were known are not looked up either, no host is to blame."""
    server = loopback(dict.fromkeys(PAGES, loopback.response(QUAD)))
    folder = commands.folder()
    names = _many_hosts(40)
    seeds = [f"http://{name}:{server.port}{path}" for name in names for path in PAGES]
    with scripted_names(folder, names):
        crawl = commands.start_crawl(
            seeds, folder=folder, CONCURRENT_REQUESTS=4, **STRICT
        )
        commands.wait_until(lambda: len(server.requests) > 100)
        with names_outage(folder):
            commands.wait_until(lambda: _pauses(crawl))
            time.sleep(away.secs)
        result = crawl.wait()
    assert result.code == 0, result.stderr
    assert result.graphs == set(seeds)
    assert crawl.stderr.count("requests pause, hosts are not at fault") == 1
    assert "requests continue" in crawl.stderr
    assert result.statistics["fault/dns_unanswered"] == 0


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


def test_want_of_descriptors_costs_nothing(
    commands: Commands, loopback: Loopback, away: Away
) -> None:
    """If the worker may open no further files for a while, no host is to blame."""
    server = loopback(dict.fromkeys(PAGES, loopback.response(QUAD)))
    folder = commands.folder()
    names = _many_hosts(40)
    seeds = [f"http://{name}:{server.port}{path}" for name in names for path in PAGES]
    with scripted_names(folder, names):
        crawl = commands.start_crawl(
            seeds,
            folder=folder,
            CONCURRENT_REQUESTS=4,
            SEGMENT_MAX_BYTES=4096,  # stores want new files all the time
            **STRICT,
        )
        commands.wait_until(lambda: len(server.requests) > 1000)
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
        result = crew.wait(120)
    assert result.code == 0, result.stderr
    assert result.graphs == set(seeds)
    assert log.read_text().count("requests pause") == 1
    assert "'fault/" not in log.read_text()


def test_hosts_at_once_are_held_against_the_limit_of_descriptors(
    commands: Commands, loopback: Loopback
) -> None:
    """If more hosts are to be visited at once than files may be open, fewer are."""
    server = loopback(dict.fromkeys(PAGES, loopback.response(QUAD)))
    folder = commands.folder()
    names = _many_hosts(100)
    seeds = [f"http://{name}:{server.port}/1" for name in names]
    line = ["-c", f'ulimit -n 160; exec {sys.executable} -m scrapy "$@"', "sh"]
    (folder / "seeds.txt").write_text("".join(f"{seed}\n" for seed in seeds))
    given = {
        "CRAWL_DIR": folder,
        "DOWNLOAD_DELAY": 0,
        "CONCURRENT_REQUESTS": 200,
        "GUARD_ALLOW_NETS": "127.0.0.0/8",
        "STATS_DUMP": True,
    }
    line += ["crawl", "linkeddata", f"-aseeds=@{folder / 'seeds.txt'}"]
    line += [f"-s{name}={value}" for name, value in given.items()]
    with scripted_names(folder, names):
        found = subprocess.run(["/bin/sh", *line], check=False, capture_output=True)
    said = found.stderr.decode()
    assert found.returncode == 0, said
    assert "CONCURRENT_REQUESTS=200 and SLOW_VISITS=64 need 892 descriptors" in said
    assert "'document/stored': 100" in said
    assert "'fault/" not in said


def test_what_was_given_up_is_asked_for_again(
    commands: Commands, loopback: Loopback
) -> None:
    """If a host has failed for too long, then retry=failed has its URIs later."""
    state = {"is_up": False}
    bad = loopback.response(b"", status="503 Later")
    good = loopback.response(QUAD)
    server = loopback(dict.fromkeys(PAGES, lambda _: good if state["is_up"] else bad))
    seeds = [server.url(path) for path in PAGES]
    folder = commands.folder()
    first = commands.crawl(seeds, folder=folder, FAILED_EXIT_CODE=4)
    assert first.code == 4, first.stderr
    assert first.statistics["frontier/failed"] == len(seeds)
    assert "retry=failed" in first.stderr
    state["is_up"] = True
    assert commands.crawl(seeds, folder=folder).graphs == set()
    again = commands.crawl(folder=folder, arguments={"retry": "failed"})
    assert again.code == 0, again.stderr
    assert again.graphs == set(seeds)
    assert again.counts().done == len(seeds)
