"""Strangers' bytes are read in time that grows as their length does, and not faster."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import pytest

from rdfcrawl.core.errors import FaultLog, SourceFault
from rdfcrawl.downloader.ftp.address import parse_address
from rdfcrawl.downloader.ftp.protocol import status_of
from rdfcrawl.rdf.html.extractors import scan
from rdfcrawl.rdf.html.host import sniff_host
from rdfcrawl.rdf.html.page import end_of_head
from rdfcrawl.rdf.html.prescan import page_to_utf8
from rdfcrawl.rdf.html.visible_text import is_error_page, visible_text
from rdfcrawl.rdf.jsonld.mending import mended_json
from rdfcrawl.rdf.sniffing import decide
from rdfcrawl.sources.sparql import recognition
from tests.fuzz.doors import DOORS, URL
from tests.support.expressions import expressions
from tests.support.hostile_strings import growth, slow_strings

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.hostile_strings import Text

# Places, by their beginning, whose expressions see no fetched text, and why.
EXEMPT: Final = {
    "rdfcrawl.rdf.queries.": "a query of the operator",
    "rdfcrawl.commands.": "arguments, and text written by the command itself",
    "rdfcrawl.dataweb.": "the synthetic web, which only its own crawler asks",
    "rdfcrawl.stores.followers.query.": "a query of the operator",
    "rdfcrawl.frontier.redis.operations.": "the scripts of the package",
    "rdfcrawl.rdf.html.rules.squirrel.": "rules of the operator",
    "rdfcrawl.core.options.": "settings",
    "rdfcrawl.rdf.links.outlinks.": "lines as written, in which each `<` has its `>`",
    "rdfcrawl.monitor.page.query_rules.": "a query of the operator",
    "rdfcrawl.stores.options.": "settings",
}
N_DOUBLINGS: Final = 3
FLOOR_SECS: Final = 0.1  # some work begins at a certain length only

UNITS: Final = (
    *(
        b"<",
        b"<a ",
        b"<!--",
        b"<a href=",
        b"</p",
        b'"',
        b"'",
        b"\\",
        b'"\\',
        b"{",
        b"[",
    ),
    *(b", ", b"; ", b" ", b"\n", b"\r", b"=", b"a=", b"%4", b"/", b"/..", b"_:", b"#"),
    *(
        b"<x>; rel=",
        b"a: b\n",
        b'{"a":',
        b"&#",
        b"\x00",
        b"\xff",
        b".",
        b"0",
        b"-",
    ),
)
# Its own parsers are bounded, or are not ours to mend.
MARKS: Final = {
    "robots": (b"user-agent: a\n", b"disallow: /*a\n", b"*", b"sitemap: /\n"),
    "sitemap": (b"<url><loc>", b"<![CDATA[", b"http://a.example/\n", b"<a b", b"<?x"),
    "headers": (b'</a>; rel="next" ', b'<a>; a="', b"max-age=", b"noindex:"),
    "listing": (b"a=b;", b"-rw-r--r-- 1 ", b"01-02-23 01:02PM <SYMLINK> a [", b"a "),
    "uri": (b"a/", b"?a=b&", b"@", b"http://", b";jsessionid=", b"%2e%2e/"),
    "ckan": (b"href=", b"<meta ", b"/dataset/a", b'<a href="/dataset', b"<a\n"),
    "portal": (
        *(b"ods-front-header ", b"<nav class=x ", b"<meta name=", b"<link href="),
        *(b"<script src=https://hubcdn.arcgis.com/opendata-ui/", b"<div "),
        b"window.socrata.featureFlags ",
    ),
}


# Surroundings of the parts, in addition to none.
OPENINGS: Final = {
    "sitemap": b"<urlset><url><loc>a",
    "headers": b'</a>; rel="',
    "recognition": b"<form action='",
}


def test_expressions_are_linear() -> None:
    """If an expression meets a text made against it, then it is not slow out of turn.

    Each is tried with its own literals and classes, in the way in which it is used.
    """
    slow = []
    for each in expressions():
        if not each.place.startswith(tuple(EXEMPT)):
            found = next(slow_strings(each.pattern, each.use), "")
            slow += [f"{each.place}: {each.method}: {found}"] if found else []
    assert not slow, "\n".join(slow)


def _recognize(data: bytes) -> None:
    headers = {"content-type": "text/html"}
    page = b"<form>sparql" + data
    for status in (200, 400):
        recognition.recognize(URL, status=status, headers=headers, head=page)


def _look(data: bytes) -> None:
    """Look at a page in each way that needs no tree of it."""
    lower, text = data.lower(), data.decode("latin-1")
    scan(lower)
    end_of_head(lower)
    is_error_page(lower, visible_text(lower))
    sniff_host(text)
    page_to_utf8(data, charset="", is_xml=True, log=FaultLog())
    decide("", URL, data)
    mended_json(text)


def _ftp(data: bytes) -> None:
    text = data.decode("latin-1")
    status_of(421, text)
    address = parse_address("ftp://a.example/" + text.translate(_NO_CONTROLS))
    repr(address.is_endless)


_NO_CONTROLS: Final = dict.fromkeys((*range(32), 127), "a")
LOOKS: Final[dict[str, Callable[[bytes], object]]] = {
    "recognition": _recognize,
    "looks at a page": _look,
    "ftp": _ftp,
}


READS: Final[dict[str, Callable[[bytes], object]]] = {
    name: door.read for name, door in DOORS.items() if not door.is_bounded
} | LOOKS


@pytest.mark.in_turn(3, rooms=("rdf", "sources", "downloader", "uri"))
@pytest.mark.parametrize("name", READS)
def test_readers_are_linear(name: str) -> None:
    """If a part is repeated eight times as often, then a reader takes that much longer.

    All readers that run in the worker itself are tried, and not the parsers of the
    sandbox.
    """
    read = _tolerant(READS[name])
    slow = []
    for unit in (*UNITS, *MARKS.get(name, ())):
        for begin in dict.fromkeys((b"", OPENINGS.get(name, b""))):
            make = _repeated(unit, begin)
            found = growth(read, make, n_doublings=N_DOUBLINGS, floor_secs=FLOOR_SECS)
            slow += [f"{begin!r} + {unit!r} * n: {found}"] if found else []
    assert not slow, "\n".join(slow)


def _tolerant(read: Callable[[bytes], object]) -> Callable[[Any], object]:
    """Return a reader that raises nothing: defects are for other tests."""

    def use(data: Any) -> None:
        with suppress(SourceFault, ValueError, LookupError, AssertionError):
            read(data)

    return use


def _repeated(unit: bytes, begin: bytes) -> Callable[[int], Text]:
    return lambda n_chars: begin + unit * (n_chars // len(unit))
