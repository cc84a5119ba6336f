"""The fate of URIs that a worker held when it died."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from redis import Redis

from rdfcrawl import settings as project_settings
from rdfcrawl.frontier.queue.frontier_client import StateCounts
from rdfcrawl.frontier.redis.embedded import find_server
from tests.support.crawl_kills import worker_pids
from tests.support.redis_fixtures import RedisServer
from tests.support.web_archives import read_archive

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult, RunningCrawl
    from tests.support.crawl_webs import Loopback

QUICK: dict[str, Any] = {"FRONTIER_LEASE_SECS": 1, "FRONTIER_COMMIT_SECS": 0.3}
BODY = b"<> <urn:x:p> <#o> ."


def wait_for(commands: Commands, figure: Callable[[], int], least: int) -> None:
    """Wait until a figure has grown."""
    commands.wait_until(lambda: figure() >= least)


def kill_worker(commands: Commands, crew: RunningCrawl) -> None:
    """Kill the only worker of a crew."""
    commands.wait_until(lambda: worker_pids(crew) or crew.has_ended())
    os.kill(worker_pids(crew)[0], signal.SIGKILL)


def seeds_of(crew_folder: Any, urls: list[str]) -> str:
    """Write a file of seeds; return the argument that names it."""
    path = crew_folder / "seeds.txt"
    path.write_text("\n".join(urls))
    return f"-aseeds=@{path}"


def kill_early(
    commands: Commands, servers: list[RawServer], n_kills: int, **settings: object
) -> CrawlResult:
    """Crawl with a worker killed soon after each start; check that nothing is lost.

    A visit takes a second: a killed worker has always requested some of its batch, and
    has never come to its end.
    """
    n_each = 40
    urls = [server.url(f"/{n}") for server in servers for n in range(n_each)]
    folder = commands.folder()
    crew = commands.start(
        *("workers", "-n1", "linkeddata", seeds_of(folder, urls)),
        folder=folder,
        **QUICK,
        **settings,
    )

    def n_requests() -> int:
        return sum(len(server.requests) for server in servers)

    for _ in range(n_kills):
        enough = n_requests() + 8
        wait_for(commands, n_requests, enough)
        time.sleep(0.2)
        kill_worker(commands, crew)
    result = crew.wait()
    assert result.code == 0, result.stderr
    counts = result.counts()
    assert counts == StateCounts(done=len(urls), seen=len(urls), hosts=len(servers))
    assert result.graphs == set(urls)
    return result


def slow_hosts(loopback: Loopback, prefix: str) -> list[RawServer]:
    """Return hosts that answer in a twentieth of a second."""
    body = loopback.response(BODY)
    return [loopback({"*": [0.05, body]}, host=f"{prefix}.{n}") for n in range(1, 9)]


@pytest.mark.in_turn(2, rooms=("frontier", "launch"))
def test_early_kills_cost_no_uri(commands: Commands, loopback: Loopback) -> None:
    """If a worker is killed early four times, then all URIs are crawled and archived.

    Nothing is acknowledged that is not in the archive, and no record is torn.
    """
    hosts = slow_hosts(loopback, "127.0.71")
    result = kill_early(commands, hosts, 4, WARC=True)
    files = list((result.folder / "warc").glob("*.warc.gz*"))
    assert len(files) > 4
    records = [each for file in files for each in read_archive(file)]
    kept = {each.url for each in records if each.type == "response"}
    assert kept >= result.graphs


@pytest.mark.soak
def test_twenty_early_kills_cost_no_uri(commands: Commands, loopback: Loopback) -> None:
    """If a worker is killed early twenty times, then all URIs are crawled."""
    kill_early(commands, slow_hosts(loopback, "127.0.72"), 20)


@pytest.mark.parametrize("secs", [1.0, pytest.param(40.0, marks=pytest.mark.soak)])
def test_restarts_during_a_dump_do_not_lose_it(
    commands: Commands, loopback: Loopback, secs: float
) -> None:
    """If a worker is killed four times while a dump comes in, then it is stored."""
    lines = [f"<urn:x:s{n}> <urn:x:p> <urn:x:o> .\n".encode() for n in range(4000)]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/n-triples\r\n"
    head += b"Content-Length: %d\r\n\r\n" % sum(map(len, lines))
    parts = [b"".join(lines[n : n + 200]) for n in range(0, len(lines), 200)]
    steps = [head, *(step for part in parts for step in (part, secs / len(parts)))]
    server = loopback({"/dump.nt": steps})
    folder = commands.folder()
    crew = commands.start(
        *("workers", "-n1", "linkeddata", f"-aseeds={server.url('/dump.nt')}"),
        folder=folder,
        **QUICK,
    )
    for n in range(4):
        wait_for(commands, lambda: server.targets.count("/dump.nt"), n + 1)
        time.sleep(0.4 * secs)
        kill_worker(commands, crew)
    result = crew.wait()
    assert result.code == 0, result.stderr
    assert result.counts() == StateCounts(done=1, seen=1, hosts=1)
    assert len(result.quads) == len(lines)


def test_a_document_that_kills_its_workers_is_given_up_alone(
    commands: Commands, loopback: Loopback
) -> None:
    """If a document kills each worker that reads it, then the others come all the same.

    It makes a suspect of its batch, and takes three more workers with it.
    """
    server = loopback({"*": loopback.response(BODY)})
    others = {server.url(f"/{n}") for n in range(10)}
    deadly = server.url("/deadly")
    folder = commands.folder()
    own = {"tests.support.deadly.DeadlyPipeline": 350}
    crew = commands.start(
        *("workers", "-n1", "linkeddata", seeds_of(folder, [*others, deadly])),
        folder=folder,
        ITEM_PIPELINES=json.dumps({**project_settings.ITEM_PIPELINES, **own}),
        **QUICK,
    )
    result = crew.wait()
    assert result.code == 0, result.stderr
    assert result.stderr.count("died (-9)") == 4
    assert result.graphs == others
    assert result.counts() == StateCounts(done=10, dead=1, seen=11, hosts=1)
    assert result.faults(deadly) == ["leases_lost"]
    # The cause of the kills is repaired: it is fetched, and nothing else is requested.
    n_asked = len(server.requests)
    again = commands.crawl(folder=folder, arguments={"retry": "dead"}, **QUICK)
    assert again.code == 0, again.stderr
    assert again.graphs == {*others, deadly}
    assert again.counts() == StateCounts(done=11, seen=11, hosts=1)
    assert len(server.requests) - n_asked <= 2  # robots.txt


def test_an_unreadable_record_is_set_aside_alone(
    commands: Commands, loopback: Loopback, server_directory: Path
) -> None:
    """If Redis has one unreadable record, then the 25 others are crawled."""
    host = loopback({"/0": [60.0], "*": loopback.response(BODY)})
    urls = [host.url(f"/{n}") for n in range(26)]
    redis_server = RedisServer(find_server(), server_directory)
    redis_server.start()
    folder = commands.folder()
    settings = {"folder": folder, "REDIS_URL": redis_server.url, **QUICK}
    try:
        first = commands.start_crawl(urls, VISIT_MAX_DOCUMENTS=5, **settings)
        commands.wait_until(lambda: "/0" in host.targets)
        first.send(signal.SIGKILL)
        first.wait()
        host.pages["/0"] = loopback.response(BODY)
        with Redis(unix_socket_path=str(redis_server.socket)) as redis:
            (queue,) = redis.keys("rc:{linkeddata/*}:q:127.0.0.1:*")
            redis.lset(queue, 3, b"\x0fgarbage")
        result = commands.crawl(VISIT_MAX_DOCUMENTS=40, **settings)
    finally:
        redis_server.end()
    assert result.code == 0, result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.graphs & set(urls)) == 25
    assert result.statistics["fault/bad_record"] == 1


def test_a_robots_txt_that_kills_its_workers_ends(
    commands: Commands, loopback: Loopback
) -> None:
    """If a robots.txt kills each worker that reads it, then its host is given up.

    It takes the worker of its first batch, and three more.
    """
    good, bad = (loopback({"*": loopback.response(BODY)}) for _ in range(2))
    bad.pages["/robots.txt"] = loopback.response(b"# deadly", "text/plain")
    lost, others = ({host.url(f"/{n}") for n in range(20)} for host in (bad, good))
    folder = commands.folder()
    crew = commands.start(
        *("workers", "-n1", "linkeddata", seeds_of(folder, [*lost, *others])),
        folder=folder,
        EXTENSIONS=json.dumps({"tests.support.deadly.DeadlyRobots": 0}),
        VISIT_MAX_DOCUMENTS=5,
        **QUICK,
    )
    result = crew.wait()
    assert result.code == 0, result.stderr
    assert result.stderr.count("died (-9)") == 4
    assert result.graphs == others
    assert result.counts() == StateCounts(done=40, seen=40, hosts=1)
    for url in lost:
        assert set(result.faults(url)) == {"robots_unreachable", "leases_lost"}


def test_urls_given_up_by_a_dead_worker_are_in_the_exit_code(
    commands: Commands, loopback: Loopback
) -> None:
    """If a worker that gave up URIs is killed, then the exit code reports them.

    A later run that has given up nothing does not report them once more.
    """
    server = loopback({"*": [0.05, loopback.response(BODY)]})
    urls = [server.url(f"/{n}") for n in range(80)]
    server.pages["/link"] = loopback.response(
        b"<> <http://www.w3.org/2000/01/rdf-schema#seeAlso> <http://127.0.75.1:9/> ."
    )
    folder = commands.folder()
    seeds = seeds_of(folder, [server.url("/link"), *urls])
    settings = {"FAILED_EXIT_CODE": 4, "RETRY_TIMES": 0, **QUICK}
    words = ("workers", "-n1", "linkeddata", seeds)
    crew = commands.start(*words, folder=folder, **settings)
    wait_for(commands, lambda: len(server.requests), 60)
    kill_worker(commands, crew)
    result = crew.wait()
    assert result.code == 4, result.stderr
    assert result.graphs == {server.url("/link"), *urls}
    assert commands.start(*words, folder=folder, **settings).wait().code == 0
