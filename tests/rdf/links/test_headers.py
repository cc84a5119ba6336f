"""The header `Link`: read by RFC 8288, with any content."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.formats import Link, Relation
from rdfcrawl.core.records import Record
from rdfcrawl.core.visits import Visit
from rdfcrawl.downloader.http.exchange import MAX_HEADER_BYTES, HttpExchange
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.downloader.visit import VisitMaker
from rdfcrawl.rdf.extraction.messages import ReadingJob
from rdfcrawl.rdf.extraction.reading import DocumentReading
from rdfcrawl.rdf.links.headers import (
    MAX_LINKS,
    HeaderLink,
    context_link,
    json_ld_alternate,
    links_of,
    parse_link_header,
)
from rdfcrawl.uri import host_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.downloader.options import FetchOptions
    from tests.conftest import RawServers

    MakeOptions = Callable[..., FetchOptions]

BASE = "http://example.org/dir/page"
CONTEXT = 'rel="http://www.w3.org/ns/json-ld#context"'


def targets(value: str) -> list[tuple[str, set[str]]]:
    """Return URL and relations of each link."""
    return [
        (link.url, set(link.relations)) for link in parse_link_header(value, base=BASE)
    ]


HEADERS = [
    pytest.param("<a>; rel=next", [("a", {"next"})], id="3.0-token"),
    pytest.param('<a>; rel="next"', [("a", {"next"})], id="3.0-quoted"),
    pytest.param('<a> ;\trel = "next" ', [("a", {"next"})], id="3.0-whitespace"),
    pytest.param('<a>;REL="Next"', [("a", {"next"})], id="2.1.1-any-case"),
    pytest.param('<a>; rel="x  y"', [("a", {"x", "y"})], id="3.3-several-types"),
    pytest.param("<a>; rel=x; rel=y", [("a", {"x"})], id="3.3-first-rel-counts"),
    pytest.param(r'<a>; rel="ne\xt"', [("a", {"next"})], id="quoted-pair"),
    pytest.param(
        "<a>; rel=x, <b>; rel=y", [("a", {"x"}), ("b", {"y"})], id="two-links"
    ),
    pytest.param(
        "<a,b;c>; rel=x,<d>; rel=y", [("a,b;c", {"x"}), ("d", {"y"})], id="delimiters"
    ),
    pytest.param(
        '<a>; title="<b>; rel=y, z"; rel=x', [("a", {"x"})], id="link-in-a-string"
    ),
    pytest.param("<a>; title*=UTF-8''%e2; rel=x", [("a", {"x"})], id="title-star"),
    pytest.param("<a>; foo; rel=x", [("a", {"x"})], id="parameter-without-value"),
    pytest.param("<a>;; rel=x;", [("a", {"x"})], id="empty-parameters"),
    pytest.param(",, <a>; rel=x ,,", [("a", {"x"})], id="empty-elements"),
    pytest.param('<a>; rel="x, <b>; rel=y', [("a", {"x"}), ("b", {"y"})], id="no-end"),
    pytest.param("junk <a>; rel=x", [("a", {"x"})], id="junk-before"),
    pytest.param("< a >; rel=x", [("a", {"x"})], id="spaces-in-target"),
    pytest.param("<>; rel=x", [("page", {"x"})], id="empty-target"),
    pytest.param("<a>; rev=x", [], id="rev-is-not-rel"),
    pytest.param("<a>", [], id="no-rel"),
    pytest.param('<a>; rel=""', [], id="empty-rel"),
    pytest.param("<http://[>; rel=x, <b>; rel=y", [("b", {"y"})], id="bad-target"),
    pytest.param("", [], id="empty"),
    pytest.param("<a; rel=x", [], id="unclosed"),
]


@pytest.mark.parametrize(("value", "expected"), HEADERS)
def test_header_is_read(value: str, expected: list[tuple[str, set[str]]]) -> None:
    """If a header is sent, then its links are those of RFC 8288."""
    base = BASE.rpartition("/")[0]
    assert targets(value) == [(f"{base}/{url}", rels) for url, rels in expected]


def test_parameters_are_kept() -> None:
    """If a link has a type and a foreign anchor, then both are returned, normalized."""
    value = '<x>; rel=y; type="Text/Turtle; charset=utf-8"; anchor="/other#me"'
    assert parse_link_header(value, base=BASE) == [
        HeaderLink(
            url="http://example.org/dir/x",
            relations=frozenset({"y"}),
            media_type="text/turtle",
            anchor="http://example.org/other#me",
        )
    ]


LINKS = [
    pytest.param(
        '<d.ttl>; rel="alternate"; type="text/turtle"',
        {Link("http://example.org/dir/d.ttl", Relation.ALTERNATE, "text/turtle")},
        id="alternate",
    ),
    pytest.param(
        "<d>; rel=alternate; type=application/ld+json",
        {Link("http://example.org/dir/d", Relation.ALTERNATE, "application/ld+json")},
        id="alternate-json-ld",
    ),
    pytest.param("<d>; rel=alternate", set(), id="alternate-of-no-type"),
    pytest.param("<de>; rel=alternate; type=text/html", set(), id="translation"),
    pytest.param(
        "<m>; rel=describedby",
        {Link("http://example.org/dir/m", Relation.DESCRIBEDBY)},
        id="describedby",
    ),
    pytest.param(
        '<m#x>; rel="linkset describedby"; type=application/linkset+json',
        {
            Link(
                "http://example.org/dir/m",
                Relation.DESCRIBEDBY,
                "application/linkset+json",
            )
        },
        id="strongest-without-fragment",
    ),
    pytest.param(
        "<c>; rel=canonical, <?page=2>; rel=next",
        {
            Link("http://example.org/dir/c", Relation.CANONICAL),
            Link("http://example.org/dir/page?page=2", Relation.NEXT),
        },
        id="canonical-and-next",
    ),
    pytest.param('<x>; rel=next; anchor="/else"', set(), id="of-something-else"),
    pytest.param(
        '<x>; rel=next; anchor="#part"',
        {Link("http://example.org/dir/x", Relation.NEXT)},
        id="of-a-part",
    ),
    pytest.param("<mailto:a@b>; rel=describedby", set(), id="not-requestable"),
    pytest.param("<file:///etc/passwd>; rel=describedby", set(), id="file"),
    pytest.param("<s.css>; rel=stylesheet", set(), id="other-relation"),
]


@pytest.mark.parametrize(("value", "expected"), LINKS)
def test_links_to_follow(value: str, expected: set[Link]) -> None:
    """If a link leads to data or to the next page, then a crawl may follow it."""
    assert links_of(value, base=BASE) == expected


def test_context_link_is_found() -> None:
    """If plain JSON has a context in its header, then its URL is given (6.1)."""
    assert context_link(f"<c>; {CONTEXT}", base=BASE) == "http://example.org/dir/c"
    assert context_link("<c>; rel=next", base=BASE) == ""


def test_several_context_links_are_refused() -> None:
    """If there are several contexts in the header, then it is a fault (API 9.4)."""
    with pytest.raises(SourceFault) as raised:
        context_link(f"<c>; {CONTEXT}, <d>; {CONTEXT}", base=BASE)
    assert raised.value.fault.reason is Reason.REMOTE_CONTEXT


def test_document_with_several_context_links_is_read_to_its_fault() -> None:
    """If a document has several contexts in its header, then that is its fault."""
    header = f"<c>; {CONTEXT}, <d>; {CONTEXT}"
    job = ReadingJob(
        url=BASE, graph=None, media_type="application/json", http_links=header
    )
    reading = DocumentReading(b'{"a": 1}', job)
    assert list(reading) == []
    assert reading.outcome.faults[0].reason is Reason.REMOTE_CONTEXT


def test_json_ld_alternate_is_found() -> None:
    """If a document is also there as JSON-LD, then that URL is given (API 9.4)."""
    value = (
        "<t>; rel=alternate; type=text/turtle, "
        '<j>; rel="alternate"; type="application/ld+json"'
    )
    assert json_ld_alternate(value, base=BASE) == "http://example.org/dir/j"
    assert json_ld_alternate("<j>; rel=alternate", base=BASE) == ""


def test_no_more_links_than_a_header_may_have() -> None:
    """If a header has thousands of links, then so many are read as are allowed."""
    value = ", ".join(f"<{n}>; rel=item" for n in range(2 * MAX_LINKS))
    assert len(parse_link_header(value, base=BASE)) == MAX_LINKS


@pytest.mark.parametrize(
    "value",
    ["<" * 65536, "<a>" * 20000, "<a>" + ";" * 65536, '<a>; rel="' + "\\" * 65536,
     "<a>; " + "rel=x; " * 9000, "<a>;" + " " * 65536, '<a>;x="' * 9000],
    ids=range(7),
)  # fmt: skip
def test_hostile_headers_are_read_in_linear_time(value: str) -> None:
    """If a header repeats a cause of backtracking, then it is read once."""
    assert len(parse_link_header(value, base=BASE)) <= 1


@given(st.text(alphabet='<>;,="\\ \t\trelxanchor/:#[é\ud800', max_size=200))
def test_any_header_is_read(value: str) -> None:
    """If a header is anything at all, then nothing is raised but the named fault."""
    links_of(value, base=BASE)
    json_ld_alternate(value, base=BASE)
    for link in parse_link_header(value, base=BASE):
        assert link.relations


async def test_header_reaches_the_document(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If an answer has several `Link` headers, then the document has them joined."""
    lines = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nLink: <a>; rel=next",
        b"link: <b>; rel=describedby\r\n\r\n",
    ]
    server = await raw_server({"/a": b"\r\n".join(lines)})
    options = fetch_options()
    with Spool(options.spool_dir, memory_limit_bytes=1 << 20) as spool:
        async with HttpExchange(options, spool) as exchange:
            visitor = VisitMaker(
                exchange, spool, options, key_of=host_of, is_new=_always_new
            )
            visit = Visit(
                key="127.0.0.1",
                partition=0,
                epoch=1,
                records=(Record(server.url("/a")),),
                delay_secs=0.0,
                pending=[0],
            )
            await visitor.visit(visit)
    header = visit.documents[0].response.http_links
    assert header == "<a>; rel=next, <b>; rel=describedby"
    assert len(links_of(header, base=server.url("/a"))) == 2


async def test_header_is_bounded(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If there are very many `Link` headers, then not all of them are kept."""
    line = b"Link: <" + b"a" * 30_000 + b">; rel=x\r\n"
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + line * 4 + b"\r\n"
    server = await raw_server({"/a": reply})
    options = fetch_options()
    with Spool(options.spool_dir, memory_limit_bytes=1 << 20) as spool:
        async with HttpExchange(options, spool) as exchange:
            answer = await exchange.get(
                server.url("/a"), options.request_options(Record(server.url("/a")).kind)
            )
    assert len(answer.http_links) <= MAX_HEADER_BYTES


async def _always_new(_url: str) -> bool:
    return True
