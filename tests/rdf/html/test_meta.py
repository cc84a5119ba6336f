"""Open Graph and Dublin Core."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.html.meta import MAX_TAGS, extract_dublin_core, extract_open_graph
from rdfcrawl.rdf.html.page import ParsedPage
from rdfcrawl.rdf.html.rdfa import extract_rdfa
from tests.support.cpu_time import takes_at_most
from tests.support.examples import examples

URL = "http://a.example/dir/page"
S = f"<{URL}>"
DC = "http://purl.org/dc/elements/1.1/"
DCTERMS = "http://purl.org/dc/terms/"

OPEN_GRAPH = """<!DOCTYPE html><html lang=fr prefix="ex: http://ex.example/ns#">
<head prefix="my: http://my.example/"><meta charset=utf-8>
<meta property="og:title" content="Un &quot;titre&quot;">
<meta property="og:image" content="/i.png">
<meta property="og:image:width" content="300">
<meta property="ex:a" content="1"><meta property="my:b" content="2">
</head>"""
HTTPS = OPEN_GRAPH.replace('prefix="ex:', 'prefix="og: https://ogp.me/ns# ex:')


def open_graph(html: str, log: FaultLog | None = None) -> list[str]:
    """Return the lines of the Open Graph tags."""
    log = log or FaultLog()
    lines = extract_open_graph(ParsedPage(html.encode(), url=URL), log)
    return b"".join(iter_checked(lines, log)).decode().splitlines()


def dublin_core(html: str) -> list[str]:
    """Return predicate and object of the Dublin Core tags."""
    log = FaultLog()
    lines = extract_dublin_core(ParsedPage(html.encode(), url=URL), log)
    text = b"".join(iter_checked(lines, log)).decode()
    return [line.removeprefix(S + " ") for line in text.splitlines()]


def test_open_graph_states_what_rdfa_makes_of_it() -> None:
    """If a page has Open Graph tags, then RDFa gives the very same statements."""
    log = FaultLog()
    found = open_graph(OPEN_GRAPH, log)
    page = ParsedPage(OPEN_GRAPH.encode(), url=URL)
    by_rdfa = b"".join(iter_checked(extract_rdfa(page, log), log)).decode()
    assert sorted(found) == sorted(by_rdfa.splitlines())
    assert f'{S} <http://ogp.me/ns#title> "Un \\"titre\\""@fr .' in found
    assert f'{S} <http://ogp.me/ns#image:width> "300"@fr .' in found
    assert len(found) == 5


@pytest.mark.parametrize(
    "html",
    [
        "",
        "<meta property='og:title'>",
        "<meta property='twitter:card' content=a>",
        "<meta property='title' content=a>",
        "<meta name='og:title' content=a>",
        "<frameset>",
    ],
)
def test_what_is_no_open_graph_states_nothing(html: str) -> None:
    """If a tag has no known prefix or no content, then it states nothing."""
    assert open_graph(html) == []


def test_a_declared_prefix_of_open_graph_holds() -> None:
    """If a page declares `og` as another IRI, then RDFa gives the same statements."""
    log = FaultLog()
    found = open_graph(HTTPS, log)
    page = ParsedPage(HTTPS.encode(), url=URL)
    by_rdfa = b"".join(iter_checked(extract_rdfa(page, log), log)).decode()
    assert sorted(found) == sorted(by_rdfa.splitlines())
    assert f'{S} <https://ogp.me/ns#image:width> "300"@fr .' in found


def test_names_of_open_graph_are_words() -> None:
    """If a tag has several properties, then each is stated, as in RDFa."""
    found = open_graph("<meta property='OG:title  twitter:title og:a' content=a>")
    assert found == [
        f'{S} <http://ogp.me/ns#title> "a" .',
        f'{S} <http://ogp.me/ns#a> "a" .',
    ]


@pytest.mark.parametrize(
    "html",
    [
        f"<html prefix='{'a' * 500_000}'><meta property='og:a' content=b>",
        f"<html prefix='og: http://{'a' * 500_000}'><meta property='og:a' content=b>"
        + "<meta property='og:a' content=b>" * 4000,
        f"<meta name='dc.{'a' * 500_000}' content=b>",
        f"<meta name='dc.{'.' * 500_000}\n{'a' * 500_000}' content=b>",
    ],
)
def test_long_names_take_no_time(html: str) -> None:
    """If a name or prefix is very long, then that costs neither time nor space."""
    with takes_at_most(10):
        lines = open_graph(html) + dublin_core(html)
    assert sum(map(len, lines)) < 1000


def test_open_graph_in_the_body_counts() -> None:
    """If tags slipped into the body, then they count all the same."""
    found = open_graph("<p>x</p><meta property='og:title' content=a>")
    assert found == [f'{S} <http://ogp.me/ns#title> "a" .']


def test_control_characters_do_no_harm() -> None:
    """If content has characters that XML lacks, then it loses them, not the page."""
    found = open_graph("<meta property='og:title' content='a\x01&#xfffe;b'>")
    assert found == [f'{S} <http://ogp.me/ns#title> "ab" .']


def test_tags_beyond_the_limit_are_left() -> None:
    """If a page has very many tags, then those beyond the limit are a fault."""
    log = FaultLog()
    html = "<meta property='og:title' content='a'>" * (MAX_TAGS + 1)
    assert len(open_graph(html, log)) == MAX_TAGS
    assert log.count(Reason.TOO_LARGE) == 1


@pytest.mark.parametrize(
    ("tag", "stated"),
    [
        ('<meta name="DC.title" content="a">', f'<{DC}title> "a"@en .'),
        ('<meta name="dc.Creator" content="a">', f'<{DC}creator> "a"@en .'),
        ('<meta name="DCTERMS.title" content="a">', f'<{DCTERMS}title> "a"@en .'),
        ('<meta name="DC.date.issued" content="a">', f'<{DCTERMS}issued> "a"@en .'),
        ('<meta name="DC.title" lang=de content="a">', f'<{DC}title> "a"@de .'),
        (
            '<meta name="DC.date" scheme="DCTERMS.W3CDTF" content="2026">',
            f'<{DC}date> "2026"^^<{DCTERMS}W3CDTF> .',
        ),
        (
            '<meta name="DC.date" scheme="mine" content="2026">',
            f'<{DC}date> "2026"@en .',
        ),
        (
            '<link rel="DCTERMS.license" href="../l?a b">',
            f"<{DCTERMS}license> <http://a.example/l?a%20b> .",
        ),
        (
            f'<link rel="schema.DC" href="{DCTERMS}"><meta name="DC.title" content=a>',
            f'<{DCTERMS}title> "a"@en .',
        ),
        (
            f'<link rel="schema.my" href="{DC}"><meta name="my.title" content="a">',
            f'<{DC}title> "a"@en .',
        ),
    ],
)
def test_dublin_core_tags_are_statements(tag: str, stated: str) -> None:
    """If a tag is of Dublin Core, then it says something of the page."""
    assert dublin_core(f"<html lang=en><head>{tag}") == [stated]


@pytest.mark.parametrize(
    "tag",
    [
        '<meta name="title" content="a">',
        '<meta name="description" content="a">',
        '<meta name="DC." content="a">',
        '<meta name="DC.nothing" content="a">',
        '<meta name="other.title" content="a">',
        '<link rel="license" href="a">',
        '<link rel="schema.DC">',
    ],
)
def test_what_is_no_dublin_core_states_nothing(tag: str) -> None:
    """If a tag has no prefix of Dublin Core or no known term, then it is ignored."""
    assert dublin_core(tag) == []


_PIECES = st.sampled_from(
    [
        *('<meta property="', '<meta name="DC.', "og:", "title", '" content="', '">'),
        *("dc.", "é", "\0", ":", "<link rel=schema.", " href=", DC, DCTERMS, "\x7f"),
        *("<html prefix='a: b og: c: d", "'>", "<head>", "<svg>", "<template>"),
    ]
)


@given(st.lists(_PIECES, max_size=20).map("".join))
@settings(max_examples=examples(200), deadline=None)
def test_any_tags_raise_nothing(html: str) -> None:
    """If tags are arbitrary, then reading them raises nothing."""
    open_graph(html)
    dublin_core(html)
