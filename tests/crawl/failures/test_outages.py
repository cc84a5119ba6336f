"""Crawls of hosts that are away for a while, and of names that cannot be resolved."""

from __future__ import annotations

import signal
import socket
import time
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.core.errors import Reason
from tests.support.crawl_names import lying_names, names_outage, scripted_names
from tests.support.crawl_webs import Loopback
from tests.support.ftp_servers import OddFtp
from tests.support.outages import PAGES, PATIENT, QUAD, Away, away

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import RawRequest
    from tests.support.crawl_fixtures import Commands

__all__ = ["away"]

_numbers = count(1)


def _after(secs: float, bad: bytes, good: bytes) -> Callable[[RawRequest], bytes]:
    """Return a reply that is bad for so long after the first of its requests."""
    began: list[float] = []

    def reply(_request: RawRequest) -> bytes:
        began.append(time.monotonic())
        return good if began[-1] - began[0] > secs else bad

    return reply


@pytest.mark.in_turn(2, rooms=("downloader", "frontier"))
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
    # All URLs of the host rest: one request for each wait, which grows.
    refused = len(server.requests) - len(PAGES)
    assert refused < 20
    assert "waiting for 1 host that does not respond" in result.stderr


FAILING = ("500 Oops", "502 Bad Gateway", "504 Late", "521 Down")


@pytest.mark.in_turn(2, rooms=("downloader", "frontier"))
@pytest.mark.parametrize("n_at_once", [1, 50])
def test_hosts_whose_servers_fail_for_long_lose_nothing(
    commands: Commands, loopback: Loopback, away: Away, n_at_once: int
) -> None:
    """If hosts give errors of servers alone for a while, then nothing is lost.

    A bad page of a host that is up otherwise is given up all the same, alone or
    together with others, and no worker waits for it.
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
        assert refused < 20  # all URLs of the host rest
    for seed in hopeless:
        assert result.faults(seed) == [Reason.SERVER_ERROR]
    assert len(other.targets) - 1 - len(PAGES) <= 6 * len(bad)


def test_host_that_refuses_connections_loses_nothing(
    commands: Commands, loopback: Loopback, away: Away
) -> None:
    """If a host refuses connections that has answered before, nothing is lost."""
    folder, pages = commands.folder(), dict.fromkeys(PAGES, loopback.response(QUAD))
    with Loopback() as before:
        server = before(pages)
        seeds = [server.url(path) for path in PAGES]
        commands.crawl(seeds[:1], folder=folder)
    port = server.port
    crawl = commands.start_crawl(seeds, folder=folder, **away.settings)
    commands.wait_until(lambda: "waiting for 1 host " in crawl.stderr)
    time.sleep(away.secs)
    loopback(pages, port=port)
    result = crawl.wait()
    assert result.code == 0, result.stderr
    assert result.graphs == set(seeds)


@pytest.mark.parametrize("obeys", [True, False])
def test_host_that_never_answered_is_not_waited_for(
    commands: Commands, loopback: Loopback, obeys: bool
) -> None:
    """If nothing listens where a link leads, then a few tries end it."""
    with socket.create_server(("127.0.93.1", 0)) as listener:
        dead = f"http://127.0.93.1:{listener.getsockname()[1]}/"
    server = loopback({"/": loopback.response(f"<> <urn:x:p> <{dead}> .".encode())})
    result = commands.crawl([server.url()], **PATIENT, ROBOTSTXT_OBEY=obeys)
    assert result.code == 0, result.stderr
    assert Reason.UNREACHABLE in result.faults(dead)
    assert result.counts().queued == 0
    assert "frontier/owed" not in result.statistics


def test_ftp_servers_that_are_away_lose_nothing(commands: Commands, away: Away) -> None:
    """If FTP servers are down, busy, or give no data, then nothing is lost."""
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


def test_names_that_cannot_be_resolved_lose_nothing(
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
    """If a name is known not to exist, then its URIs end after a few tries.

    A name that is not answered is owed.
    """
    folder = commands.folder()
    names = {"none.example": ["EAI_NONAME"], "lame.example": ["EAI_AGAIN"]}
    seeds = [f"http://{name}/" for name in names]
    patience = PATIENT | {"HOST_LAST_WAIT_SECS": 2}
    with scripted_names(folder, names):
        result = commands.crawl(seeds, folder=folder, **patience)
    assert Reason.DNS in result.faults(seeds[0])
    assert result.statistics["frontier/owed"] == 1
    assert "1 of hosts that refused them: lame.example 1 (since" in result.stderr


@pytest.mark.parametrize("lie", ["EAI_NONAME", ["169.254.169.254"]])
def test_name_that_is_lied_about_is_waited_for(
    commands: Commands, loopback: Loopback, away: Away, lie: str | list[str]
) -> None:
    """If a host has answered, and its name is lied about then, nothing is lost."""
    server = loopback(dict.fromkeys(PAGES, loopback.response(QUAD)))
    seeds = [f"http://lied.example:{server.port}{path}" for path in PAGES]
    folder = commands.folder()
    with scripted_names(folder, {"lied.example": [["127.0.0.1"]]}):
        first = commands.start_crawl(
            seeds, folder=folder, DOWNLOAD_DELAY=0.2, **away.settings
        )
        commands.wait_until(lambda: len(server.requests) > 2)
        first.send(signal.SIGINT)
        first.wait()
        with lying_names(folder, {"lied.example": lie}):
            crawl = commands.start_crawl(seeds, folder=folder, **away.settings)
            commands.wait_until(
                lambda: crawl.has_ended() or "waiting for 1 host " in crawl.stderr
            )
            time.sleep(away.secs)
        result = crawl.wait()
    assert result.code == 0, result.stderr
    assert result.graphs == set(seeds)
    assert set(server.targets) == {"/robots.txt", *PAGES}


def test_host_that_demands_more_than_the_last_wait_is_not_retried(
    commands: Commands, loopback: Loopback
) -> None:
    """If Retry-After is longer than the crawl waits, then the host is left alone."""
    busy = loopback.response(b"", status="503 Later", Retry_After="3600")
    server = loopback(dict.fromkeys(PAGES, busy))
    seeds, folder = [server.url(path) for path in PAGES], commands.folder()
    for n_requests in (3, 3):  # robots.txt and two pages; and none by the next run
        result = commands.crawl(seeds, folder=folder, **PATIENT)
        assert result.code == 0, result.stderr
        assert len(server.targets) == n_requests
        assert result.statistics["frontier/owed"] == len(seeds)
        assert result.counts().queued == len(seeds)
        assert f"{len(seeds)} of hosts that refused them: " in result.stderr
        assert "waiting for" not in result.stderr


def test_owed_urls_are_retried_by_the_next_run(
    commands: Commands, loopback: Loopback
) -> None:
    """If a host fails for as long as a crawl waits, then the next run has its URIs."""
    state = {"is_up": False}
    bad = loopback.response(b"", status="503 Later")
    good = loopback.response(QUAD)
    server = loopback(dict.fromkeys(PAGES, lambda _: good if state["is_up"] else bad))
    seeds, folder = [server.url(path) for path in PAGES], commands.folder()
    settings = PATIENT | {"HOST_LAST_WAIT_SECS": 1, "FAILED_EXIT_CODE": 4}
    first = commands.crawl(seeds, folder=folder, **settings)
    assert first.code == 4, first.stderr
    assert first.statistics["frontier/owed"] == len(seeds)
    assert "the same command requests the owed URIs again" in first.stderr
    state["is_up"] = True
    again = commands.crawl(seeds, folder=folder, **settings)
    assert again.code == 0, again.stderr
    assert again.graphs == set(seeds)
    assert again.counts().done == len(seeds)


@pytest.mark.in_turn(2, rooms=("downloader", "frontier"))
@pytest.mark.parametrize("how", ["503 Later", "500 Oops", "silent", "reset"])
def test_url_that_fails_alone_is_requested_by_the_next_run(
    commands: Commands, loopback: Loopback, how: str
) -> None:
    """If a URL fails where others succeed, then the next run requests it once.

    So does retry=failed, within the same run.
    """
    state = {"is_up": False}
    good = loopback.response(QUAD)
    bad: Any = {"silent": [60.0], "reset": b""}.get(how)
    if bad is None:
        bad = loopback.response(b"", status=how)
    pages = dict.fromkeys(PAGES, good)
    server = loopback(pages | {"/heavy": lambda _: good if state["is_up"] else bad})
    seeds, folder = [server.url(path) for path in ("/heavy", *PAGES)], commands.folder()
    settings = PATIENT | {"TRANSFER_FIRST_BYTE_SECS": 0.5, "FAILED_EXIT_CODE": 4}
    first = commands.crawl(seeds, folder=folder, **settings)
    assert first.code == 4, first.stderr
    assert first.graphs == set(seeds[1:])
    assert first.statistics["frontier/failed"] == 1
    assert first.statistics["frontier/owed"] == 1
    assert first.faults(seeds[0])
    assert server.targets.count("/heavy") <= 6
    state["is_up"] = True
    again = commands.crawl(seeds, folder=folder, **settings)
    assert again.code == 0, again.stderr
    assert again.graphs == set(seeds)
    assert len(server.targets) == server.targets.count("/heavy") + 2 * len(PAGES) + 1


def test_host_that_never_responded_is_retried_on_demand(
    commands: Commands, loopback: Loopback
) -> None:
    """If a host was given up for good, then only seeds and retry=failed request it.

    Both together request each page once.
    """
    with socket.create_server(("127.0.94.1", 0)) as listener:
        port = listener.getsockname()[1]
    seeds = [f"http://127.0.94.1:{port}{path}" for path in PAGES]
    folder = commands.folder()
    first = commands.crawl(seeds, folder=folder, FAILED_EXIT_CODE=4)
    assert first.code == 4, first.stderr
    assert first.statistics["frontier/failed"] == len(seeds)
    assert "frontier/owed" not in first.statistics
    assert "retry=failed" in first.stderr
    pages = dict.fromkeys(PAGES, loopback.response(QUAD))
    server = loopback(pages, host="127.0.94.1", port=port)
    assert commands.crawl(folder=folder).graphs == set()
    assert not server.targets
    again = commands.crawl(seeds, folder=folder, arguments={"retry": "failed"})
    assert again.code == 0, again.stderr
    assert again.graphs == set(seeds)
    assert sorted(server.targets) == sorted([*PAGES, "/robots.txt"])
