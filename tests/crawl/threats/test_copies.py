"""Sites without end whose pages are copies of each other, and honest ones."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.crawl.operation.test_decisions import decisions_of
from tests.support.crawl_names import scripted_names

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import RawRequest, RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

N_PAGES = 500
FOLLOW = {"follow": "object,hyperlink", "scope": "host"}
LIMITS: dict[str, Any] = {
    "TRAP_COPIES_PER_HOST": 20,
    "TRAP_COPIES_PER_DOMAIN": 0,
    "TRAP_COPIES_PER_ADDRESS": 0,
    "TRAP_NEAR_COPIES": 100,
}


def word(*parts: object) -> str:
    """Return a word without meaning, the same for the same parts."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def html(loopback: Loopback, body: str, *links: str, title: str = "site") -> bytes:
    """Return a page with hyperlinks."""
    anchors = "".join(f"<a href='{x}'></a>" for x in links)
    text = f"<!doctype html><title>{title}</title><body><p>{body}</p>{anchors}"
    return loopback.response(text.encode(), "text/html")


def catalogue(loopback: Loopback, host: str) -> RawServer:
    """Return an honest site: pages in a row, in one template, each with own words."""
    template = "catalogue of things, with a long introduction on each page " * 4

    def answer(request: RawRequest) -> bytes:
        n = int(request.target.rpartition("=")[2])
        words = " ".join(word(n, i) for i in range(30))
        following = [f"/list?page={x}" for x in range(n + 1, min(n + 11, N_PAGES))]
        return html(loopback, f"{template} {words} page {n}", *following)

    pages = {f"/list?page={n}": answer for n in range(N_PAGES)}
    return loopback({**pages}, host=host)


def farm(loopback: Loopback, host: str, body: Callable[[str], bytes]) -> RawServer:
    """Return a site that serves a page at every URL."""
    none = loopback.response(b"", "text/plain")
    return loopback(
        {"/robots.txt": none, "*": lambda request: body(request.target)}, host=host
    )


def random_links(target: str) -> list[str]:
    """Return new links, of other forms than each other."""
    return [f"/{word(target, i)[:6]}/{word(i, target)}" for i in range(5)]


@dataclass(frozen=True)
class TrappedCrawl:
    """A finished crawl of three sites without end, and of an honest one."""

    result: CrawlResult
    honest: RawServer
    shop: RawServer
    errors: RawServer
    search: RawServer


def shop_page(loopback: Loopback, target: str) -> bytes:
    """Return one page, for every URL."""
    text = "Welcome to our shop. Have a look at what others have bought this week."
    return html(loopback, text, *random_links(target))


def error_page(loopback: Loopback, target: str) -> bytes:
    """Return a page with status 200, whose words differ from those of all others."""
    text = f"There is no {target} here. Did you mean {word(target)}?"
    return html(loopback, text, *random_links(target), title="404 Not Found")


def result_page(loopback: Loopback, target: str) -> bytes:
    """Return a page of results, which differs from others in its number alone."""
    n = int(target.rpartition("=")[2] or 0)
    text = (
        f"Results of your search, page {n}. There are no further results for the"
        " words that you have entered. Please try again with other words, or go"
        " back to the first page of results."
    )
    return html(loopback, text, f"/search?q=x&page={n + 1}")


@pytest.fixture(scope="module")
def trapped(commands: Commands, loopback: Loopback) -> TrappedCrawl:
    """Return the crawl, which has ended."""
    honest = catalogue(loopback, "127.0.28.1")
    shop = farm(loopback, "127.0.28.2", partial(shop_page, loopback))
    errors = farm(loopback, "127.0.28.3", partial(error_page, loopback))
    search = farm(loopback, "127.0.28.4", partial(result_page, loopback))
    seeds = [honest.url("/list?page=0"), shop.url(), errors.url()]
    result = commands.crawl(
        [*seeds, search.url("/search?q=x&page=0")], arguments=FOLLOW, **LIMITS
    )
    assert result.code == 0, result.stderr
    return TrappedCrawl(result, honest, shop, errors, search)


def test_honest_site_is_read_completely(trapped: TrappedCrawl) -> None:
    """If a site among traps has 500 pages in a row, then each of them is fetched."""
    wanted = {f"/list?page={n}" for n in range(N_PAGES)}
    assert wanted <= set(trapped.honest.targets)
    told = trapped.result.ask(
        "?a sq:crawled ?x ; rc:fault/rc:reason ?why ."
        ' FILTER(?why IN ("host_copies", "soft_404", "endless_pages"))'
    )
    assert not [url for url in told if url.startswith(trapped.honest.url(""))]


def test_site_that_answers_anything_with_one_page_ends(trapped: TrappedCrawl) -> None:
    """If all pages of a site are one, then the links of some copies are followed."""
    assert 20 <= len(trapped.shop.targets) < 500
    counts = trapped.result.statistics
    assert counts["fault/host_copies"] > 0
    assert counts["link/of_copy"] > 0
    assert counts["link/of_copy_later"] > 0
    assert "host_copies" in trapped.result.stderr.partition("\ntraps ")[2]
    assert "of_copy" in {x.reason for x in decisions_of(trapped.result.folder)}


def test_error_pages_that_echo_their_url_end(trapped: TrappedCrawl) -> None:
    """If a site says with 200 that each page is not found, then few are followed."""
    assert 20 <= len(trapped.errors.targets) < 500
    assert trapped.result.statistics["fault/soft_404"] > 0


def test_endless_pagination_ends(trapped: TrappedCrawl) -> None:
    """If pages differ in their number alone, then the crawl of them ends."""
    assert 100 <= len(trapped.search.targets) < 300
    assert trapped.result.statistics["fault/endless_pages"] > 0


@pytest.mark.parametrize(
    ("setting", "domains", "reason"),
    [
        ("TRAP_COPIES_PER_DOMAIN", 1, "domain_copies"),
        ("TRAP_COPIES_PER_ADDRESS", 1000, "address_copies"),
    ],
)
def test_mirrors_on_hosts_without_end_end(
    commands: Commands,
    loopback: Loopback,
    tmp_path: Path,
    setting: str,
    domains: int,
    reason: str,
) -> None:
    """If each host of a domain, or of an address, shows one page, then they end."""
    none = loopback.response(b"", "text/plain")

    def answer(request: RawRequest) -> bytes:
        host = request.headers["host"].partition(".")[0]
        n = int(host.removeprefix("h")) + 1
        following = f"http://h{n}.m{n % domains}.example:{server.port}/"
        return html(loopback, "The same welcome on each host of this web.", following)

    server = loopback({"/robots.txt": none, "*": answer})
    settings = {**LIMITS, setting: 10, "FRONTIER_COMMIT_SECS": 0.02}
    names = {f"*.m{n}.example": [["127.0.0.1"]] for n in range(min(domains, 200))}
    with scripted_names(tmp_path, names):
        result = commands.crawl(
            [f"http://h0.m0.example:{server.port}/"],
            arguments={"follow": "object,hyperlink"},
            **settings,
        )
    assert result.code == 0, result.stderr
    hosts = {request.headers["host"] for request in server.requests}
    assert 10 <= len(hosts) < 60  # the depth of a crawl would allow 100
    assert result.statistics[f"fault/{reason}"] == 1


def test_without_limits_nothing_is_compared(
    commands: Commands, loopback: Loopback
) -> None:
    """If the limits are 0, then copies are followed as all others are."""
    pages = {
        f"/{n}": html(loopback, "the same on each page of this site", f"/{n + 1}")
        for n in range(60)
    }
    server = loopback({**pages}, host="127.0.28.7")
    limits = {**LIMITS, "TRAP_COPIES_PER_HOST": 0, "TRAP_NEAR_COPIES": 0}
    result = commands.crawl([server.url("/0")], arguments=FOLLOW, **limits)
    assert {f"/{n}" for n in range(60)} <= set(server.targets)
    assert result.statistics["link/of_copy"] == 0
