"""Hosts that are left alone while a crawl runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.support.crawl_fixtures import count_frontier

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RawServer, Reply, Step
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

GOOD = b"<http://a.example/s> <http://a.example/p> <http://a.example/o> .\n"
N_URIS = 30


def write(path: Path, text: str) -> None:
    """Replace a file as a careful operator does."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


def slow_host(loopback: Loopback, host: str, secs: float = 0.1) -> RawServer:
    """Return a host whose documents take some time."""
    pages: dict[str, Reply] = {
        f"/{n}": [secs, loopback.response(GOOD)] for n in range(N_URIS)
    }
    return loopback(pages, host=host)


@pytest.mark.parametrize("is_shared", [False, True])
def test_host_is_left_while_the_crawl_runs(
    commands: Commands, loopback: Loopback, tmp_path: Path, is_shared: bool
) -> None:
    """If a host is put on the list, then its URIs are refused, and others go on.

    With `is_shared`, only one of two workers has the list.
    """
    third = 20 + is_shared
    left = slow_host(loopback, f"127.0.{third}.1")
    kept = slow_host(loopback, f"127.0.{third}.2")
    path = tmp_path / "leave.txt"
    write(path, "# none yet\n")
    seeds = [host.url(f"/{n}") for host in (left, kept) for n in range(N_URIS)]
    folder = commands.folder()
    running = commands.start_crawl(seeds, folder=folder, LEAVE_HOSTS=path)
    crews = [running]
    if is_shared:
        commands.wait_until(lambda: left.requests)
        crews.append(commands.start_crawl(seeds, folder=folder))
    commands.wait_until(lambda: len(left.requests) > 3)
    write(path, f"{left.host}  # asked us to\n")
    results = [crew.wait() for crew in crews]
    assert [result.code for result in results] == [0] * len(results)
    n_asked = len([x for x in left.targets if x != "/robots.txt"])
    assert n_asked < N_URIS
    assert {f"/{n}" for n in range(N_URIS)} <= set(kept.targets)
    result = results[0]
    refused = result.ask('?a sq:crawled ?x ; rc:fault/rc:reason "host_left" .')
    # Those under way are cancelled, so that they may have been requested.
    assert N_URIS - n_asked <= len(set(refused)) <= N_URIS - n_asked + 2
    assert all(url.startswith(left.url("")) for url in refused)
    stored = {url for url in result.graphs if url.startswith(left.url(""))}
    assert stored | set(refused) == {left.url(f"/{n}") for n in range(N_URIS)}
    assert not stored & set(refused)
    assert "blocked hosts: " + left.host in result.stderr
    counts = count_frontier(result.folder)
    assert counts.is_over
    assert counts.dead == 0


def test_request_under_way_is_cancelled(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If a dump is being fetched from a host that becomes denied, it is given up."""
    begin = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n" + GOOD * 1000
    steps: list[Step] = [begin]
    for _ in range(60):
        steps += (2.0, GOOD * 500)
    server = loopback({"/big.nt": steps}, host="127.0.22.1")
    path = tmp_path / "leave.txt"
    path.touch()
    running = commands.start_crawl([server.url("/big.nt")], LEAVE_HOSTS=path)
    commands.wait_until(lambda: "/big.nt" in server.targets)
    write(path, "127.0.22.1\n")
    result = running.wait()
    assert result.faults(server.url("/big.nt")) == ["host_left"]
    assert not result.graphs


def test_nothing_leads_to_a_host_that_is_left(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If a host is on the list, no link, redirect or context leads there."""
    left = loopback({"*": loopback.response(GOOD)}, host="127.0.23.1")
    context = b'{"@context": "%s", "@id": "x:y"}' % left.url("/c").encode()
    host = loopback(host="127.0.23.2")
    host.pages |= {
        "/link": loopback.response(f"<> <urn:x:p> <{left.url('/l')}> .".encode()),
        "/moved": loopback.redirect(left.url("/m")),
        "/context": loopback.response(context, "application/ld+json"),
        "/robots.txt": loopback.response(b"Sitemap: " + left.url("/s.xml").encode()),
    }
    other = loopback({"/a": loopback.response(GOOD)}, host="127.0.23.3")
    other.pages["/robots.txt"] = loopback.redirect(left.url("/robots.txt"))
    path = tmp_path / "leave.txt"
    path.write_text(left.host)
    seeds = [host.url(f"/{name}") for name in ("link", "moved", "context")]
    seeds += [left.url("/seed"), other.url("/a")]
    result = commands.crawl(
        seeds,
        arguments={"harvest": "sitemap"},
        LEAVE_HOSTS=path,
    )
    assert result.code == 0
    assert left.targets == []
    assert result.faults(host.url("/moved")) == ["host_left"]
    assert result.faults(left.url("/seed")) == ["host_left"]
    assert result.faults(host.url("/context")) == ["remote_context"]
    assert result.statistics["fault/host_left"] >= 2


def test_domain_is_left(commands: Commands, loopback: Loopback, tmp_path: Path) -> None:
    """If an entry begins with a dot, then the domain and all below it are left."""
    server = loopback({"*": loopback.response(GOOD)})
    names = ("localhost", "a.localhost", "a.b.localhost")
    seeds = [f"http://{name}:{server.port}/x" for name in names]
    path = tmp_path / "leave.txt"
    path.write_text("\n.b.localhost\n")
    result = commands.crawl(seeds, LEAVE_HOSTS=path)
    assert result.faults(seeds[2]) == ["host_left"]
    assert not result.faults(seeds[0])
    path.write_text(".LOCALHOST\n")
    result = commands.crawl(seeds, LEAVE_HOSTS=path)
    assert [result.faults(seed) for seed in seeds] == [["host_left"]] * 3


def test_many_uris_of_a_left_host_take_no_time(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If a host is left, then its queue is refused without its delay."""
    path = tmp_path / "leave.txt"
    path.write_text("127.0.24.1")
    server = loopback(host="127.0.24.1")
    seeds = [server.url(f"/{n}") for n in range(150)]
    result = commands.crawl(seeds, LEAVE_HOSTS=path, DOWNLOAD_DELAY=5)
    assert result.statistics["fault/host_left"] == 150


def test_wrong_list_is_reported(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If the list is wrong, a crawl does not start; one that runs keeps the old one."""
    path = tmp_path / "leave.txt"
    server = slow_host(loopback, "127.0.25.1", 0.3)
    seeds = [server.url(f"/{n}") for n in range(N_URIS)]
    for text in (None, "good.example\nhttp://bad.example/x\n", "*\n"):
        if text is not None:
            path.write_text(text)
        result = commands.crawl(seeds, LEAVE_HOSTS=path)
        assert result.code == 2
        assert len(result.stderr.splitlines()) == 1
        assert result.stderr.startswith(f"scrapy: LEAVE_HOSTS={path}: ")
    write(path, "")
    running = commands.start_crawl(seeds, LEAVE_HOSTS=path)
    commands.wait_until(lambda: server.requests)
    write(path, "no host!\n")
    commands.wait_until(lambda: "the last valid list stays in force" in running.stderr)
    path.unlink()
    commands.wait_until(lambda: "cannot be read" in running.stderr)
    write(path, "127.0.25.1\n")
    os.utime(path)
    result = running.wait()
    assert result.statistics["fault/host_left"] > 0
