"""The same command of a finished crawl: its seeds, and pages of links that are due."""

from __future__ import annotations

import asyncio
import re
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.frontier.redis.client import async_client
from rdfcrawl.frontier.redis.embedded import ensure_server
from tests.crawl.sources.test_refresh import AgingSite, refresh
from tests.crawl.sources.test_revisits import SAYS, said

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback


def links_to(*urls: str) -> bytes:
    """Return statements with links."""
    return "".join(f"<> <urn:x:to> <{url}> ." for url in urls).encode()


def not_due(stderr: str) -> list[str]:
    """Return the line of pages that are not due, of a summary."""
    return re.findall(r"^not due +(.*)$", stderr, re.MULTILINE)


def test_same_command_requests_seeds_and_follows_their_new_links(
    commands: Commands, loopback: Loopback
) -> None:
    """If a seed has changed since, then its new links are followed.

    So are those of the page of another host to which a seed redirects. Pages of links
    are left out, in one line with the reason and the next date; an immutable one also
    if it is a seed, unless its response was empty. Seeds are requested with the
    validators of the last fetch.
    """
    site, other = AgingSite(loopback, "127.96.21.1"), AgingSite(loopback, "127.96.21.2")
    old, new = site.says("/old", "old"), site.says("/new", "new")
    far = other.says("/far", "far")
    front = site.tagged("/", links_to(old))
    there = other.tagged("/there", links_to(old))
    moved, lasting = site.leads("/moved", there), site.lasts("/lasting", "lasting")
    empty = site.lasts("/empty", "")
    reply = site.server.pages["/empty"]
    assert isinstance(reply, bytes)
    head = reply.partition(b"\r\n\r\n")[0]
    head = re.sub(rb"(?i)(content-length: )\d+", rb"\g<1>0", head)
    site.server.pages["/empty"] = head + b"\r\n\r\n"
    seeds, folder = [front, moved, lasting, empty], commands.folder()
    first = commands.crawl(seeds, folder=folder)
    assert not_due(first.stderr) == []
    n_asked = len(site.asked())
    same = commands.crawl(seeds, folder=folder)
    assert sorted(site.asked()[n_asked:]) == ["/", "/empty", "/moved"]
    del seeds[3]
    assert other.asked().count("/there") == 2
    assert same.statuses(front) == ["SUCCESSFUL", "UNCHANGED"]
    (line,) = not_due(same.stderr)
    assert line.startswith("2 pages: 1 ")
    assert "1 fetched recently" in line
    assert "1 immutable" in line
    assert re.search(r"the next is due on 20\d\d-\d\d-\d\dT[0-9:]+Z", line)
    site.tagged("/", links_to(old, new))
    other.tagged("/there", links_to(old, far))
    site.says("/old", "changed")
    n_asked = len(site.asked())
    again = commands.crawl(seeds, folder=folder)
    assert sorted(site.asked()[n_asked:]) == ["/", "/empty", "/moved", "/new"]
    assert said(again) == {old: "old", new: "new", far: "far", lasting: "lasting"}
    due = commands.crawl(seeds, folder=folder, REVISIT_SECS=0)
    assert said(due)[old] == "changed"
    assert due.statuses(new) == ["SUCCESSFUL", "UNCHANGED"]
    assert not_due(due.stderr)[0].startswith("1 page: 1 immutable")


def test_due_pages_are_requested_once(commands: Commands, loopback: Loopback) -> None:
    """If `scrapy refresh` has queued due pages, then the same command adds none.

    With `REVISITS=refresh`, it requests no fetched page, and says so; without seeds, a
    run requests due pages alone. A crawl that stopped early continues as before.
    """
    site = AgingSite(loopback, "127.96.22.1")
    pages = [site.says(f"/{n}", str(n)) for n in range(3)]
    front = site.tagged("/", links_to(*pages))
    folder = commands.folder()
    stopped = commands.crawl([front], folder=folder, CLOSESPIDER_ITEMCOUNT=1)
    assert not_due(stopped.stderr) == []
    assert not_due(commands.crawl([front], folder=folder).stderr) == []
    assert sorted(site.asked()) == ["/", "/0", "/1", "/2"]
    left = commands.crawl([front], folder=folder, REVISITS="refresh")
    assert "left to `scrapy refresh`" in not_due(left.stderr)[0]
    assert len(site.asked()) == 4
    assert refresh(commands, folder).code == 0
    commands.crawl([front], folder=folder, REVISIT_SECS=0)
    assert len(site.asked()) == 8
    commands.start("crawl", "linkeddata", folder=folder, REVISIT_SECS=0).wait()
    assert len(site.asked()) == 12
    workers = ("workers", "linkeddata", "-n", "2", "-a", f"seeds={front}")
    result = commands.start(*workers, folder=folder).wait()
    assert site.asked()[12:] == ["/"]
    assert not_due(result.stderr)[0].startswith("3 pages: 3 fetched recently")


def test_links_of_seeds_to_no_page_are_requested_once_more(
    commands: Commands, loopback: Loopback
) -> None:
    """If a seed links to 404, then the next run asks once more, and no further one.

    So it does behind a redirect, and if the page failed in another way before; not if
    the response is 410, or if the link is on another page.
    """
    site = AgingSite(loopback, "127.96.27.1")
    missing = ["/late", "/never", "/target", "/busy"]
    for path in missing:
        site.fails(path, "404 Not Found")
    ended = site.fails("/ended", "410 Gone")
    moved = site.leads("/moved", site.at("/target"))
    site.fails("/deep", "404 Not Found")
    other = site.tagged("/other", links_to(site.at("/deep")))
    links = [*map(site.at, ("/late", "/never", "/busy")), ended, moved, other]
    front, folder = site.tagged("/", links_to(*links)), commands.folder()
    site.fails("/busy", "503 Busy")
    settings: dict[str, Any] = {"RETRY_TIMES": 0}
    commands.crawl([front], folder=folder, **settings)
    for path in ("/late", "/target"):
        site.says(path, "new")
    site.fails("/busy", "404 Not Found")
    n_asked = len(site.asked())
    later = [commands.crawl([front], folder=folder, **settings) for _ in range(3)]
    assert said(later[-1]) == dict.fromkeys(map(site.at, ("/late", "/target")), "new")
    once = ["/late", "/never", "/moved", "/target"]
    expected = [*once, "/busy", "/busy", *["/"] * 3]
    assert sorted(site.asked()[n_asked:]) == sorted(expected)


def test_pages_of_links_that_fail_are_requested_by_the_next_run(
    commands: Commands, loopback: Loopback
) -> None:
    """If a page of links fails, then the next three runs retry it.

    However it fails, its statements stay until then. A page that was not found twice,
    or has a format that is not read, is not retried so soon. If the target of a
    redirect has moved meanwhile, then the statements of the former target are deleted.
    """
    site = AgingSite(loopback, "127.96.26.1")
    failures = {
        "/forbidden": loopback.response(status="403 Forbidden"),
        "/refused": loopback.response(status="406 Not Acceptable"),
        "/empty": loopback.response(b"", "text/turtle"),
        "/page": loopback.response(b"<html><p>Busy</p></html>", "text/html"),
        "/closed": [None],
    }
    pages = {path: site.says(path, "old") for path in failures}
    moved, dead = site.leads("/moved", site.says("/v1", "old")), site.at("/dead")
    site.fails("/dead", "404 Not Found")
    image = site.at("/image")
    site.put("/image", b"\x89PNG\r\n\x1a\n", "image/png")
    front = site.tagged("/", links_to(*pages.values(), moved, dead, image))
    folder = commands.folder()
    settings: dict[str, Any] = {"RETRY_TIMES": 0}
    commands.crawl([front], folder=folder, **settings)
    site.server.pages |= failures
    site.leads("/moved", site.fails("/v2", "403 Forbidden"))
    site.fails("/v1", "410 Gone")
    failed = commands.crawl([front], folder=folder, REVISIT_SECS=0, **settings)
    assert said(failed) == dict.fromkeys([*pages.values(), site.at("/v1")], "old")
    n_asked = len(site.asked())
    for path in [*failures, "/v3"]:
        site.says(path, "new")
    site.leads("/moved", site.at("/v3"))
    site.fails("/empty", "403 Forbidden")
    later = [commands.crawl([front], folder=folder, **settings) for _ in range(4)]
    now = dict.fromkeys([*pages.values(), site.at("/v3")], "new")
    assert said(later[-1]) == now | {pages["/empty"]: "old"}
    asked = site.asked()[n_asked:]
    others = ["/moved", "/v3", "/v1", "/empty", "/empty", *["/"] * 4]
    assert sorted(asked) == sorted([*failures, *others])


@pytest.mark.parametrize("revisits", ["runs", "refresh"])
def test_seeds_whose_robots_txt_failed_are_requested_again(
    commands: Commands, loopback: Loopback, revisits: str
) -> None:
    """If robots.txt fails in any way in the first run, then no seed is lost.

    The next run requests both once, and so does `scrapy refresh`. The fault of the
    first run says why. Rules that forbid a seed, which are kept for a day, are applied
    again.
    """
    answer, dead = loopback.response, "http://127.96.23.99:9/sorry"
    faults = {
        "elsewhere": loopback.redirect(dead),
        "name": loopback.redirect("http://none.invalid/robots.txt"),
        "secure": loopback.redirect("https://127.96.23.99:9/robots.txt"),
        "503": answer(b"", status="503 Busy"),
        "429": answer(b"", status="429 Too Many"),
        "500": answer(b"", status="500 Oops"),
        "closed": [None],
        "loop": loopback.redirect("/robots.txt"),
        "403": answer(b"", status="403 Forbidden"),
        "page": answer(b"<html>Disallow: /</html>", "text/html"),
        "rules": answer(b"User-agent: *\nDisallow: /", "text/plain"),
    }
    sites = {}
    for n, name in enumerate(faults):
        page = answer(f"<> <{SAYS}> '{name}' .".encode(), "text/turtle")
        pages = {"/robots.txt": faults[name], "/": page}
        sites[name] = loopback(pages, host=f"127.96.23.{n + 1}")
    seeds, folder = [site.url("/") for site in sites.values()], commands.folder()
    settings: dict[str, Any] = {"REVISITS": revisits, "RETRY_TIMES": 0}
    first = commands.crawl(seeds, folder=folder, **settings)
    bad = [name for name in faults if name not in ("loop", "403", "page", "rules")]
    for name, site in sites.items():
        found = first.faults(site.url("/"))
        assert ("robots_unreachable" in found) is (name in bad), name
        site.pages["/robots.txt"] = answer(b"", "text/plain")
    n_asked = {name: len(site.targets) for name, site in sites.items()}
    if revisits == "refresh":
        assert refresh(commands, folder, REFRESH_RETRY_SECS=0).code == 0
    again = commands.crawl(seeds, folder=folder, **settings)
    assert set(said(again).values()) == faults.keys() - {"rules"}
    assert again.statuses(sites["rules"].url("/")) == ["FAILED"] * 2
    for name in bad:
        asked = sites[name].targets[n_asked[name] :]
        assert asked == ["/robots.txt", "/"], name


def test_links_that_robots_txt_forbade_are_requested_once_it_allows_them(
    commands: Commands, loopback: Loopback
) -> None:
    """If robots.txt changes, then a later run requests links that it forbade.

    A line has their number. Those that it still forbids are not requested; before they
    are due, they are counted.
    """
    site = AgingSite(loopback, "127.96.24.1")
    rules = b"User-agent: *\nDisallow: /no"
    site.put("/robots.txt", rules, "text/plain")
    pages = [site.says(path, path) for path in ("/no/1", "/no/2", "/yes")]
    front, folder = site.tagged("/", links_to(*pages)), commands.folder()
    commands.crawl([front], folder=folder)
    assert site.asked() == ["/", "/yes"]
    recent = commands.crawl([front], folder=folder)
    assert "2 forbidden by robots.txt" in not_due(recent.stderr)[0]
    site.put("/robots.txt", rules + b"/2", "text/plain")
    asyncio.run(_forget_rules(recent.folder))
    given: dict[str, Any] = {"REVISIT_SECS": 0, "REFRESH_RETRY_SECS": 0}
    later = commands.crawl([front], folder=folder, **given)
    assert "Due, forbidden by robots.txt so far: 2 pages" in later.stderr
    assert said(later) == {pages[0]: "/no/1", pages[2]: "/yes"}
    assert later.statuses(pages[1]) == ["FAILED"] * 2
    assert "/no/2" not in site.asked()


async def _forget_rules(folder: Path) -> None:
    """Remove the rules of hosts from Redis, as a day does."""
    with closing(ensure_server(folder / "frontier")) as server:
        async with async_client({}, server.url) as redis:
            keys = [key async for key in redis.scan_iter("*:robots*")]
            assert await redis.delete(*keys)
