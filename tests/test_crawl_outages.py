"""Crawls of hosts that are away for a while, and of names that nobody can look up."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.errors import Reason
from tests.crawl_names import names_outage, scripted_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import RawRequest
    from tests.crawl_fixtures import Commands, RunningCrawl
    from tests.crawl_webs import Loopback

AWAY_SECS = 3.0  # sixty times the first wait, as an hour is to the usual one
PATIENT: dict[str, Any] = {
    "HOST_PATIENCE_SECS": 60,
    "HOST_LAST_WAIT_SECS": 60,
    "RETRY_TIMES": 2,
}
QUAD = b"<> <urn:x:p> <urn:x:o> ."
PAGES = [f"/{n}" for n in range(60)]


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
    status: str,
    headers: dict[str, str],
    where: str,
) -> None:
    """If a host answers 503 or 429 for longer than a few tries, nothing is lost."""
    response = loopback.response
    busy = response(b"", status=status, **headers)
    page = _after(AWAY_SECS, busy, response(QUAD))
    rules = _after(AWAY_SECS, busy, response(b"", "text/plain"))
    if where == "pages":
        server = loopback(dict.fromkeys(PAGES, page))
    else:
        server = loopback(
            {**dict.fromkeys(PAGES, response(QUAD)), "/robots.txt": rules}
        )
    seeds = [server.url(path) for path in PAGES]
    result = commands.crawl(seeds, **PATIENT)
    assert result.code == 0, result.stderr
    assert result.graphs == set(seeds)
    # The whole host rests: one request for each wait, which grows.
    refused = len(server.requests) - len(PAGES)
    assert refused < 20
    assert "waiting for 1 hosts that do not answer" in result.stderr


def test_host_that_refuses_connections_loses_nothing(
    commands: Commands, loopback: Loopback
) -> None:
    """If a host refuses connections for longer than a few tries, nothing is lost."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    seeds = [f"http://127.0.0.1:{port}{path}" for path in PAGES]
    crawl = commands.start_crawl(seeds, **PATIENT)
    commands.wait_until(lambda: "waiting for 1 hosts" in crawl.stderr)
    time.sleep(AWAY_SECS)
    loopback(dict.fromkeys(PAGES, loopback.response(QUAD)), port=port)
    result = crawl.wait()
    assert result.code == 0, result.stderr
    assert result.graphs == set(seeds)


def test_names_that_nobody_looks_up_lose_nothing(
    commands: Commands, loopback: Loopback
) -> None:
    """If name servers do not answer for a while, all hosts are had once they do."""
    server = loopback(dict.fromkeys(PAGES, loopback.response(QUAD)))
    folder = commands.folder()
    away = ["EAI_AGAIN"] * 5
    names = {f"{n}.example": [*away, ["127.0.0.1"]] for n in range(10)}
    seeds = [f"http://{name}:{server.port}{path}" for name in names for path in PAGES]
    with scripted_names(folder, names):
        result = commands.crawl(seeds, folder=folder, **PATIENT)
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
    commands: Commands, loopback: Loopback
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
            time.sleep(AWAY_SECS)
        result = crawl.wait()
    assert result.code == 0, result.stderr
    assert result.graphs == set(seeds)
    assert crawl.stderr.count("requests pause, no host is to blame") == 1
    assert "requests go on" in crawl.stderr
    assert result.statistics["fault/dns_unanswered"] == 0


def test_want_of_descriptors_costs_nothing(
    commands: Commands, loopback: Loopback
) -> None:
    """If the worker may open no further files for a while, no host is to blame."""
    server = loopback(dict.fromkeys(PAGES, loopback.response(QUAD)))
    folder = commands.folder()
    names = _many_hosts(40)
    seeds = [f"http://{name}:{server.port}{path}" for name in names for path in PAGES]
    with scripted_names(folder, names):
        crawl = commands.start_crawl(
            seeds, folder=folder, CONCURRENT_REQUESTS=4, **STRICT
        )
        # By then the stores have their files.
        commands.wait_until(lambda: len(server.requests) > 1000)
        pid = crawl.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (12, before[1]))
        commands.wait_until(lambda: _pauses(crawl))
        time.sleep(AWAY_SECS)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        result = crawl.wait()
    assert result.code == 0, result.stderr
    assert result.graphs == set(seeds)
    assert not any(name.startswith("fault/") for name in result.statistics)


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
