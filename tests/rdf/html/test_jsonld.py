"""JSON-LD in pages, damaged and not."""

from __future__ import annotations

import pytest

from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.rdf.environment import INLINE, ReaderContext
from rdfcrawl.rdf.html.jsonld import MAX_BLOCKS, extract_json_ld, iter_blocks
from rdfcrawl.rdf.html.page import ParsedPage

URL = "http://a.example/dir/page"
BOUNDED = ReaderContext(is_bounded=True)


def script(text: str, attributes: str = "") -> str:
    """Return a block."""
    return f'<script type="application/ld+json"{attributes}>{text}</script>'


def read(html: str, log: FaultLog, environment: ReaderContext = BOUNDED) -> str:
    """Return the statements of a page's blocks."""
    page = ParsedPage(html.encode(), url=URL)
    return b"".join(extract_json_ld(page, environment, log)).decode()


# -- blocks --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attributes", "profiles"),
    [
        ("type='application/ld+json'", [""]),
        ("type=' Application/LD+JSON ; charset=utf-8'", [""]),
        ("type='application/ld+json;profile=\"a:b c:d\"'", ["a:b c:d"]),
        ("type='application/ld+json; profile=a:b'", ["a:b"]),
        ("type='application/json'", []),
        ("type=''", []),
        ("", []),
    ],
)
def test_blocks_are_known_by_their_type(attributes: str, profiles: list[str]) -> None:
    """If a script's type is JSON-LD, with parameters or not, then it is a block."""
    page = ParsedPage(f"<script {attributes}>{{}}</script>".encode(), url=URL)
    assert list(iter_blocks(page)) == [("{}", profile) for profile in profiles]


def test_blocks_are_what_the_parser_says() -> None:
    """If a script is in a comment or template, then it is none; its text is raw."""
    html = f"<!-- {script('1')} --><template>{script('2')}</template>{script('&lt;')}"
    assert list(iter_blocks(ParsedPage(html.encode(), url=URL))) == [("&lt;", "")]


def test_a_fragment_names_a_block() -> None:
    """If a fragment is asked for, then it must be a script of JSON-LD."""
    html = script("1", " id=a") + script("2", " id=b") + "<p id=c>x</p><script id=d>"
    page = ParsedPage(html.encode(), url=URL)
    assert list(iter_blocks(page, "b")) == [("2", "")]
    for fragment in ("c", "d", "e"):
        with pytest.raises(SourceFault, match="loading document failed"):
            list(iter_blocks(page, fragment))


def test_blocks_of_a_page_that_is_too_deep_are_found() -> None:
    """If a page cannot be parsed, then its blocks are found all the same."""
    html = f"<!-- {script('1')} -->{script('{}')}" + "<div>" * 50_000
    assert list(iter_blocks(ParsedPage(html.encode(), url=URL))) == [("{}", "")]


# -- statements ----------------------------------------------------------------------


def test_a_bad_block_takes_nothing_from_the_others() -> None:
    """If one block is beyond repair, then the others are read and it is a fault."""
    log = FaultLog()
    good = script('{"@id": "%s", "a:p": "x"}')
    text = read(good % "q" + script('{"a":') + good % "/r", log)
    assert text.splitlines() == [
        '<http://a.example/dir/q> <a:p> "x" .',
        '<http://a.example/r> <a:p> "x" .',
    ]
    assert log.count(Reason.SYNTAX) == 1


def test_blank_nodes_of_blocks_are_apart() -> None:
    """If two blocks have nodes without name, then these are different nodes."""
    log = FaultLog()
    text = read(script('{"@id": "_:b0", "a:p": "x"}') * 2, log)
    assert len({line.split()[0] for line in text.splitlines()}) == 2


def test_contexts_and_frames_state_nothing() -> None:
    """If a block is a context or a frame for scripts, then it is not read."""
    profile = "http://www.w3.org/ns/json-ld#context"
    html = f"<script type='application/ld+json;profile={profile}'>[1,2</script>"
    log = FaultLog()
    assert read(html + script("  "), log) == ""
    assert log.all() == []


def test_more_blocks_than_pages_have_are_left() -> None:
    """If a page has very many blocks, then those beyond the limit are a fault."""
    log = FaultLog()
    page = ParsedPage((script("{}") * (MAX_BLOCKS + 5)).encode(), url=URL)
    for _ in extract_json_ld(page, INLINE, log):
        pass
    assert log.count(Reason.TOO_LARGE) == 1
