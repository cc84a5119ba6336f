"""How a crawl treats hosts: their rules, their pace, and their bad moments."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import pytest

from rdfcrawl.core.errors import Reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import RawRequest, RawServer, Reply
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

GOOD = b"<http://a.example/s> <http://a.example/p> <http://a.example/o> ."
DELAY_SECS, CRAWL_DELAY_SECS, RETRY_AFTER_SECS = 0.1, 0.3, 1
ROBOTS = f"""User-agent: *
Disallow: /private
Crawl-delay: {CRAWL_DELAY_SECS}
"""
OURS = "User-agent: *\nAllow: /\n\nUser-agent: rdfcrawl\nDisallow: /ours$\n"


class PacedCrawl(NamedTuple):
    """One crawl of hosts of different temper."""

    hosts: dict[str, RawServer]
    result: CrawlResult

    def gaps(self, name: str) -> list[float]:
        """Return the seconds between the requests of a host, in order."""
        return _gaps(self.hosts[name])


def _gaps(server: RawServer) -> list[float]:
    return [later.at - earlier.at for earlier, later in pairwise(server.requests)]


def _at_first(n_times: int, bad: bytes, good: bytes) -> Callable[[RawRequest], bytes]:
    return lambda request: bad if request.nth <= n_times else good


def _hosts(loopback: Loopback) -> dict[str, dict[str, Reply]]:
    response = loopback.response
    good = response(GOOD)
    text = "text/plain"
    busy = response(b"", status="429 No", Retry_After=str(RETRY_AFTER_SECS))
    paths = {f"/{n}": good for n in range(5)}
    return {
        "plain": {**paths},
        "strict": {
            **paths,
            "/robots.txt": response(ROBOTS.encode(), text),
            "/private/x": good,
        },
        "ours": {
            "/robots.txt": response(OURS.encode(), text),
            "/ours": good,
            "/ours/not": good,
        },
        "busy": {"/1": _at_first(1, busy, good), "/2": good},
        "down": {"/1": _at_first(2, response(status="503 Later"), good)},
        "shaky": {"/1": _at_first(2, response(status="500 Oops"), good)},
        "always-busy": {"/1": response(status="503 Later"), "/2": good},
        "no-robots": {"/robots.txt": response(status="503 Later"), "/1": good},
        "slow-robots": {
            "/robots.txt": response(b"User-agent: *\nCrawl-delay: 86400", text),
            "/1": good,
        },
    }


@pytest.fixture(scope="module")
def crawled(commands: Commands, loopback: Loopback) -> PacedCrawl:
    """Return one crawl of all hosts."""
    hosts = {
        name: loopback(pages, host=f"127.0.22.{number}")
        for number, (name, pages) in enumerate(_hosts(loopback).items(), start=1)
    }
    seeds = [
        server.url(target)
        for server in hosts.values()
        for target in server.pages
        if target != "/robots.txt"
    ]
    result = commands.crawl(
        seeds, arguments={"follow": "none"}, DOWNLOAD_DELAY=DELAY_SECS
    )
    assert result.code == 0, result.stderr
    return PacedCrawl(hosts, result)


def check_pauses(gaps: list[float], least_secs: float) -> None:
    """Check gaps between requests, as the server saw them.

    A loaded machine holds up single requests, between their turn and the network.
    """
    assert min(gaps) > least_secs * 0.5
    assert sum(gaps) / len(gaps) > least_secs * 0.9


@pytest.mark.parametrize(
    ("name", "least_secs"), [("plain", DELAY_SECS), ("strict", CRAWL_DELAY_SECS)]
)
def test_pauses_are_kept(crawled: PacedCrawl, name: str, least_secs: float) -> None:
    """If a delay is set or required by a site, then no two requests are closer."""
    # The rules of the robots.txt are known only after it was read.
    gaps = crawled.gaps(name)[1:]
    assert len(gaps) == 4
    check_pauses(gaps, least_secs)


@pytest.mark.parametrize(
    ("name", "target"), [("strict", "/private/x"), ("ours", "/ours")]
)
def test_disallowed_is_not_requested(
    crawled: PacedCrawl, name: str, target: str
) -> None:
    """If robots.txt disallows a URL, then it is a named fault and never requested."""
    server = crawled.hosts[name]
    assert target not in server.targets
    assert crawled.result.faults(server.url(target)) == [Reason.ROBOTS_DISALLOWED]
    assert server.targets.count("/robots.txt") == 1


def test_rules_end_where_they_say(crawled: PacedCrawl) -> None:
    """If a rule covers one path, then others of the host are requested."""
    server = crawled.hosts["ours"]
    assert crawled.result.statuses(server.url("/ours/not")) == ["SUCCESSFUL"]


def test_retry_after_is_obeyed(crawled: PacedCrawl) -> None:
    """If a host says 429 and when to come back, then it is left alone until then."""
    server = crawled.hosts["busy"]
    times = [request.at for request in server.requests]
    first = server.targets.index("/1")
    assert times[first + 1] - times[first] > RETRY_AFTER_SECS * 0.95
    for target in ("/1", "/2"):
        assert crawled.result.statuses(server.url(target)) == ["SUCCESSFUL"]


@pytest.mark.parametrize(("name", "n_tries"), [("down", 3), ("shaky", 3)])
def test_temporary_failures_are_waited_for(
    crawled: PacedCrawl, name: str, n_tries: int
) -> None:
    """If a host fails twice and then answers, then the document is stored."""
    server = crawled.hosts[name]
    assert server.targets.count("/1") == n_tries
    assert crawled.result.faults(server.url("/1")) == []
    assert crawled.result.statuses(server.url("/1")) == ["SUCCESSFUL"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("always-busy", Reason.HOST_BUSY),
        ("no-robots", Reason.ROBOTS_UNREACHABLE),
        ("slow-robots", Reason.CRAWL_DELAY_TOO_LONG),
    ],
)
def test_host_that_cannot_be_crawled_is_named(
    crawled: PacedCrawl, name: str, reason: Reason
) -> None:
    """If a host is never ready or too slow, then its URLs are named faults."""
    url = crawled.hosts[name].url("/1")
    assert reason in crawled.result.faults(url)
    assert crawled.result.statuses(url) == ["FAILED"]


def test_nothing_is_requested_without_rules(crawled: PacedCrawl) -> None:
    """If robots.txt cannot be read, then nothing else of the host is requested."""
    for name in ("no-robots", "slow-robots"):
        assert set(crawled.hosts[name].targets) == {"/robots.txt"}


def test_rules_are_requested_as_often_as_documented(
    commands: Commands, loopback: Loopback
) -> None:
    """If RETRY_TIMES is 0, then a robots.txt that cannot be read is requested once."""
    response = loopback.response
    server = loopback({"/robots.txt": response(status="503 Later")})
    result = commands.crawl([server.url("/1")], RETRY_TIMES=0)
    assert server.targets == ["/robots.txt"]
    assert Reason.ROBOTS_UNREACHABLE in result.faults(server.url("/1"))


@pytest.mark.parametrize("key", ["domain", "ip"])
def test_names_of_one_key_are_visited_one_at_a_time(
    commands: Commands, loopback: Loopback, key: str
) -> None:
    """If hosts share a politeness key, then the pause holds across all of them."""
    body = loopback.response(b"<> <urn:x:p> 1 .")
    server = loopback({f"/{n}": body for n in range(3)})
    names = ["127.0.0.1", "localhost"] if key == "ip" else ["127.0.0.1"]
    seeds = [f"http://{name}:{server.port}/{n}" for name in names for n in range(3)]
    result = commands.crawl(seeds, POLITENESS_KEY=key, DOWNLOAD_DELAY=DELAY_SECS)
    assert result.graphs == set(seeds)
    check_pauses(_gaps(server), DELAY_SECS)
    assert result.counts().hosts == 1


def test_redirect_between_names_of_one_address_stays_in_its_queue(
    commands: Commands, loopback: Loopback
) -> None:
    """If hosts go by their address, then so do the targets of redirects."""
    target = loopback({"/b": loopback.response(b"<> <urn:x:p> 1 .")})
    away = target.url("/b").replace("127.0.0.1", "localhost")
    server = loopback({"/a": loopback.redirect(away)})
    result = commands.crawl([server.url("/a")], POLITENESS_KEY="ip")
    assert result.code == 0, result.stderr
    assert target.targets.count("/b") == 1
    assert result.counts().hosts == 1


def test_a_name_that_dns_cannot_have_harms_no_other_link(
    commands: Commands, loopback: Loopback
) -> None:
    """If hosts go by their address and one has no possible name, others are visited."""
    body = f"<> <urn:x:p> <http://{'a' * 64}.example/>, <other> ."
    server = loopback(
        {
            "/a": loopback.response(body.encode()),
            "/other": loopback.response(GOOD),
        }
    )
    result = commands.crawl([server.url("/a")], POLITENESS_KEY="ip")
    assert result.code == 0, result.stderr
    assert server.targets.count("/other") == server.targets.count("/a") == 1


def test_page_is_requested_once_without_messages(
    commands: Commands, loopback: Loopback
) -> None:
    """If a page has many spellings, then one request is made, without a message."""
    server = loopback({}, host="127.0.22.90")
    home = server.url()
    spellings = (
        "~a?x=1&y=2",
        "%7Ea?x=1&y=2",
        "./b/../~a?y=2&x=1",
        "~a?x=1&y=2#part",
        "~a?PHPSESSID=0f&x=1&y=2",
    )
    links = [home + spelling for spelling in spellings]
    links.append(f"HTTP://{server.host}:{server.port}/~a?x=1&y=2")
    seeds = "".join(f"<{home}> <urn:x:p> <{link}> .\n" for link in links)
    cookie = {"Set_Cookie": "session=1; Path=/"}
    server.pages["/"] = loopback.response(seeds.encode(), **cookie)
    server.pages["*"] = loopback.response(GOOD, **cookie)
    result = commands.crawl([home], arguments={"scope": "host"}, DOWNLOAD_DELAY=0)
    assert result.code == 0, result.stderr
    pages = [each for each in server.targets if each not in ("/", "/robots.txt")]
    assert len(pages) == 1
    sent = {name for request in server.requests for name in request.headers}
    assert not sent & {"cookie", "referer", "from"}
