"""Rights reserved by publishers against robots and miners, through the crawl."""

from __future__ import annotations

import gzip
import io
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import RawServer, Reply
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

PAST = "25 Jun 2010 15:00:00 GMT"
FUTURE = "Saturday, 01-Jan-2050 00:00:00 GMT"
# Name -> lines of `X-Robots-Tag`, whether it is stored, whether its link is followed.
TAGS: dict[str, tuple[list[str], bool, bool]] = {
    "plain": ([], True, True),
    "noindex": (["noindex"], False, True),
    "nofollow": (["nofollow"], True, False),
    "none": (["NONE"], False, False),
    "noarchive": (["noarchive"], True, True),
    "two-lines": (["otherbot: nofollow", "noindex"], False, True),
    "other": (["otherbot: noindex, nofollow"], True, True),
    "ours": (["otherbot: nofollow", "RdfCrawl: noindex"], False, True),
    "one-line": (["otherbot: nofollow, rdfcrawl: noindex"], False, True),
    "over": ([f"unavailable_after: {PAST}"], False, True),
    "not-over": ([f"unavailable_after: {FUTURE}"], True, True),
    "no-date": (["unavailable_after: soon"], True, True),
    "bad": ([":, ,:noindex:,\xe9:", "max-snippet: -1, index"], True, True),
}
# Name -> content of the head of a page, and the same.
METAS: dict[str, tuple[str, bool, bool]] = {
    "m-noindex": ("<meta name=robots content=noindex>", False, True),
    "m-nofollow": ("<meta name='ROBOTS' content='index, NoFollow'>", True, False),
    "m-none": ("<meta content=none name=robots>", False, False),
    "m-ours": ("<meta name=rdfcrawl content=noindex>", False, True),
    "m-other": ("<meta name=otherbot content=none>", True, True),
    "m-body": ("</head><body><meta name=robots content=noindex>", False, True),
    "m-tdm": ("<meta name=tdm-reservation content=1>", False, False),
    "m-tdm-0": ("<meta name=tdm-reservation content=0>", True, True),
    # Only a child process reads it; a crawl must not store it before that is done.
    "m-rdfa": ("<meta name=robots content=noindex><p vocab=urn:v:>", False, True),
}
# Name -> headers, and the same.
TDM: dict[str, tuple[dict[str, str], bool, bool]] = {
    "t-1": ({"tdm-reservation": "1", "tdm-policy": "/policy.json"}, False, False),
    "t-0": ({"tdm-reservation": "0"}, True, True),
    "t-odd": ({"tdm-reservation": "yes"}, True, True),
    "t-policy": ({"tdm-policy": "/policy.json"}, True, True),
}


def triple(server: RawServer, name: str) -> bytes:
    """Return the statement of a document, which is a link as well."""
    return f"<> <urn:x:p> <{server.url(f'/to/{name}')}> .".encode()


def page(server: RawServer, name: str, head: str) -> bytes:
    """Return a page that says the same in JSON-LD."""
    body = f'{{"@id": "", "urn:x:p": {{"@id": "{server.url(f"/to/{name}")}"}}}}'
    text = f"<html><head>{head}<script type=application/ld+json>{body}</script></html>"
    return text.encode()


@dataclass(frozen=True)
class ReservedCrawl:
    """A crawl of all of them."""

    result: CrawlResult
    server: RawServer

    def is_stored(self, name: str) -> bool:
        """Return whether a document has statements in the store."""
        return self.server.url(f"/{name}") in self.result.graphs

    def is_followed(self, name: str) -> bool:
        """Return whether its link was requested."""
        return f"/to/{name}" in self.server.targets


@pytest.fixture(scope="module")
def crawl(commands: Commands, loopback: Loopback) -> Callable[..., ReservedCrawl]:
    """Return a function that crawls all documents, with some settings."""

    def run(**settings: Any) -> ReservedCrawl:
        server = loopback()
        pages: dict[str, Reply] = {}
        names = []
        for name, (tags, _, _) in TAGS.items():
            lines = "".join(f"\r\nX-Robots-Tag: {tag}" for tag in tags)
            reply = loopback.response(triple(server, name))
            pages[f"/{name}"] = reply.replace(
                b"\r\nContent-Type", lines.encode("latin-1") + b"\r\nContent-Type", 1
            )
            names.append(name)
        for name, (head, _, _) in METAS.items():
            body = page(server, name, head)
            pages[f"/{name}"] = loopback.response(body, "text/html")
            names.append(name)
        for name, (headers, _, _) in TDM.items():
            given: Any = {key.replace("-", "_"): text for key, text in headers.items()}
            pages[f"/{name}"] = loopback.response(triple(server, name), **given)
            names.append(name)
        server.pages.update(pages)
        seeds = [server.url(f"/{name}") for name in names]
        return ReservedCrawl(commands.crawl(seeds, **settings), server)

    return run


@pytest.fixture(scope="module")
def crawled(crawl: Callable[..., ReservedCrawl]) -> ReservedCrawl:
    """Return a crawl with default settings."""
    return crawl(TDM_POLICY="respect")


ALL: dict[str, tuple[Any, bool, bool]] = {**TAGS, **METAS, **TDM}


@pytest.mark.parametrize("name", ALL)
def test_reservation_is_obeyed(crawled: ReservedCrawl, name: str) -> None:
    """If a publisher forbids storing or following, then the crawl complies."""
    _, is_stored, is_followed = ALL[name]
    assert crawled.is_stored(name) is is_stored
    assert crawled.is_followed(name) is is_followed


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("noindex", "noindex"),
        ("m-noindex", "noindex"),
        ("m-rdfa", "noindex"),
        ("t-1", "tdm_reserved"),
        ("m-tdm", "tdm_reserved"),
    ],
)
def test_documents_not_stored_have_a_reason(
    crawled: ReservedCrawl, name: str, reason: str
) -> None:
    """If statements are not stored, then a named fault says why."""
    url = crawled.server.url(f"/{name}")
    assert crawled.result.faults(url) == [reason]
    assert crawled.result.statuses(url) == ["FAILED"]
    assert crawled.result.ask(
        f"?a sq:crawled <{url}> ; sq:approxNumberOfTriples ?x ."
    ) == ["0"]


def test_reservations_are_kept_and_counted(crawled: ReservedCrawl) -> None:
    """If a publisher states a preference, then provenance and statistics have it."""
    result, url = crawled.result, crawled.server.url

    def asked(name: str, term: str) -> list[str]:
        return result.ask(f"?a sq:crawled <{url(f'/{name}')}> ; rc:{term} ?x .")

    assert sorted(asked("none", "robotsDirective")) == ["nofollow", "noindex"]
    assert asked("over", "robotsDirective") == ["unavailable_after"]
    assert asked("m-nofollow", "robotsDirective") == ["nofollow"]
    assert asked("noarchive", "robotsDirective") == ["noarchive"]
    assert asked("t-1", "tdmReservation") == ["1"]
    assert asked("t-1", "tdmPolicy") == ["/policy.json"]
    assert asked("m-tdm-0", "tdmReservation") == ["0"]
    assert not asked("other", "robotsDirective")
    counted = result.statistics
    assert counted["robots_tag/noindex"] == 10
    assert counted["robots_tag/nofollow"] == 4
    assert counted["robots_tag/unavailable_after"] == 2
    assert counted["tdm/reserved"] == 2
    assert counted["tdm/not_reserved"] == 2
    assert counted["fault/noindex"] == 11
    assert counted["fault/tdm_reserved"] == 2
    assert counted["link/nofollow"] == 8  # subjects and objects


def test_reservations_can_be_recorded_alone(
    crawl: Callable[..., ReservedCrawl],
) -> None:
    """If the operator only records reservations, then all is stored and followed."""
    crawled = crawl(XROBOTS_POLICY="record", TDM_POLICY="record")
    assert all(map(crawled.is_stored, ALL))
    assert all(map(crawled.is_followed, ALL))
    assert crawled.result.statistics["robots_tag/noindex"] == 10
    assert crawled.result.statistics["tdm/reserved"] == 2
    assert "fault/noindex" not in crawled.result.statistics


def test_reservations_can_be_ignored(crawl: Callable[..., ReservedCrawl]) -> None:
    """If the operator ignores reservations, then nothing is kept of them."""
    crawled = crawl(XROBOTS_POLICY="ignore", TDM_POLICY="ignore")
    assert all(map(crawled.is_stored, ALL))
    assert not crawled.result.ask("?y rc:robotsDirective ?x .")
    assert not crawled.result.ask("?y rc:tdmReservation ?x .")
    assert not [x for x in crawled.result.statistics if x.startswith("robots_tag/")]


def test_page_goes_before_its_header(commands: Commands, loopback: Loopback) -> None:
    """If page and header differ about mining, then the page is believed."""
    server = loopback()
    for name, header, meta in (("open", "1", "0"), ("shut", "0", "1")):
        head = f"<meta name=tdm-reservation content={meta}>"
        server.pages[f"/{name}"] = loopback.response(
            page(server, name, head), "text/html", tdm_reservation=header
        )
    crawled = ReservedCrawl(
        commands.crawl(
            [server.url("/open"), server.url("/shut")], TDM_POLICY="respect"
        ),
        server,
    )
    assert crawled.is_stored("open")
    assert crawled.is_followed("open")
    assert not crawled.is_stored("shut")
    assert not crawled.is_followed("shut")


def test_our_name_is_that_of_robots_txt(commands: Commands, loopback: Loopback) -> None:
    """If the crawl goes by another product token, then directives for that count."""
    server = loopback()
    for name, tag in (("ours", "labbot: noindex"), ("theirs", "rdfcrawl: noindex")):
        server.pages[f"/{name}"] = loopback.response(
            triple(server, name), X_Robots_Tag=tag
        )
    server.pages["/page"] = loopback.response(
        page(server, "page", "<meta name=LabBot content=noindex>"), "text/html"
    )
    seeds = [server.url(f"/{name}") for name in ("ours", "theirs", "page")]
    crawled = ReservedCrawl(
        commands.crawl(seeds, ROBOTSTXT_USER_AGENT="LabBot"), server
    )
    assert crawled.result.graphs & set(seeds) == {server.url("/theirs")}


def test_nofollow_yields_to_who_wants_it(
    commands: Commands, loopback: Loopback
) -> None:
    """If `follow` names `nofollow`, then links marked `nofollow` are followed."""
    server = loopback()
    server.pages["/a"] = loopback.response(
        b"<meta name=robots content=nofollow><a href=/b>b</a>", "text/html"
    )
    commands.crawl([server.url("/a")], arguments={"follow": "hyperlink,nofollow"})
    assert "/b" in server.targets


def test_sitemap_that_is_not_to_be_shown_is_followed(
    commands: Commands, loopback: Loopback
) -> None:
    """If a sitemap has `noindex`, as many have, then its pages are crawled."""
    server = loopback()
    for name, tag in (("follow", "noindex, follow"), ("not", "noindex, nofollow")):
        text = f"<urlset><url><loc>{server.url(f'/{name}.ttl')}</loc></url></urlset>"
        server.pages[f"/{name}.xml"] = loopback.response(
            text.encode(), "application/xml", X_Robots_Tag=tag
        )
        server.pages[f"/{name}.ttl"] = loopback.response(triple(server, name))
    found = commands.crawl(
        spider="sitemap",
        arguments={"sites": f"{server.url('/follow.xml')},{server.url('/not.xml')}"},
    )
    assert "/follow.ttl" in server.targets
    assert "/not.ttl" not in server.targets
    assert not found.graphs & {server.url("/follow.xml"), server.url("/not.xml")}


def test_page_in_an_archive_speaks_for_itself(
    commands: Commands, loopback: Loopback
) -> None:
    """If one page of an archive is not to be stored, then the others are."""
    server = loopback()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, head in (("a", ""), ("b", "<meta name=robots content=none>")):
            content = page(server, name, head)
            entry = tarfile.TarInfo(f"{name}.html")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    server.pages["/all.tar.gz"] = loopback.response(gzip.compress(out.getvalue()), "")
    commands.crawl([server.url("/all.tar.gz")])
    assert "/to/a" in server.targets
    assert "/to/b" not in server.targets


@pytest.mark.parametrize("n_links", [9_000, 40_000], ids=["here", "in a child"])
def test_links_of_a_long_page_are_not_followed_before_it_forbids_that(
    commands: Commands, loopback: Loopback, n_links: int
) -> None:
    """If a page with very many links is nofollow, then none of them is offered."""
    links = ",".join(f'{{"@id":"http://b.e/{n}"}}' for n in range(n_links))
    body = (
        "<html><head><meta name=robots content=nofollow><script"
        f' type=application/ld+json>{{"@id":"","urn:x:p":[{links}]}}</script></html>'
    )
    server = loopback({"/": loopback.response(body.encode(), "text/html")})
    result = commands.crawl([server.url("/")], arguments={"scope": "host"})
    assert result.statistics["document/quads"] == n_links
    assert result.statistics["link/nofollow"] >= n_links
    assert result.statistics["link/filtered"] == 0
