"""Where the head of a page ends."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from rdfcrawl.core.errors import FaultLog
from rdfcrawl.rdf.html.jsonld import iter_blocks
from rdfcrawl.rdf.html.meta import extract_open_graph
from rdfcrawl.rdf.html.page import ParsedPage, end_of_head
from tests.support.examples import examples

URL = "http://a.example/dir/page"


@pytest.mark.parametrize(
    "head",
    [
        "<!-- <body> </head> -->",
        "<!--><title>x</title>",
        "<script>a = '<body>'</script>",
        "<script type=application/ld+json>{'a': '</head><body>'}</script>",
        "<script><!-- </head> //--></script>",
        "<script>w('<script src=x><\\/script>')</script>",
        "<title><body></title>",
        "<style></head></style>",
        "<meta content='<body>'>",
        '<meta content="</head>" x=">">',
        "<meta content=<body>",
        "<noscript><img src=x><style><body></style></noscript>",
        "</headx><bodyx><?x> </> <!x> < 1",
        "",
    ],
)
@pytest.mark.parametrize("end", ["</head>", "<BODY class=x>", "</Head\n>", "<body/>"])
def test_what_looks_like_the_end_of_a_head_is_none(head: str, end: str) -> None:
    """If a comment, a script or a value has the tag, then the head ends after it."""
    text = "<!DOCTYPE html><html><head>" + head
    assert end_of_head((text + end + "<p>x</p>").lower().encode()) == len(text.encode())
    html = text + "<base href=/b/>" + end + "<p>x</p>"
    assert ParsedPage(html.encode(), url=URL).base == "http://a.example/b/"


@pytest.mark.parametrize(
    "head",
    [
        "<script><!-- <script></script></head> </script>",
        "<template></head>",
        "<svg><style></head>",
        "<title></head>",
        "<!-- </head>",
        "<meta content='</head>",
        "<p>" * 2000 + "</head>",
    ],
)
def test_an_end_that_cannot_be_told_is_none(head: str) -> None:
    """If only a parser can find the end of the head, then the end is unknown."""
    assert end_of_head(("<head>" + head).encode()) == 0


_LD = "<script type='application/ld+json'>"
_PIECES = st.sampled_from(
    [
        *(
            "<head>",
            "</head>",
            "<body>",
            "<!--",
            "-->",
            "<!-->",
            "<script>",
            "<script ",
        ),
        *("</script>", _LD, _LD + "{}</script>", "<title>", "</title>", "<style>"),
        *("</style>", "<noscript>", "</noscript>", "<template>", "</template>"),
        *("<svg>", "</svg>", "<table>", "<select>", "<frameset>", "<frame>", "<p>"),
        *("<b>", "</b>", "</p>", "<meta content='", "'>", '">', '<meta x="', "<base>"),
        *("x", " ", "=", "<", "</", "<!", ">", "<plaintext>", "<textarea>", "<iframe>"),
        *("<link rel=next href=x>", "</html>", "<math>", "<a href=", "<?", "/>"),
    ]
)


@example("<p>", ["<frameset>"])
@given(st.lists(_PIECES, max_size=14).map("".join), st.lists(_PIECES, max_size=8))
@settings(max_examples=examples(800), deadline=None)
def test_blocks_of_a_head_are_those_of_the_page(head: str, body: list[str]) -> None:
    """If just the head is parsed for JSON-LD, then the blocks are those of all."""
    rest = "".join(body).replace("ld+json", "json")
    data = ("<html>" + head + _LD + "[]</script></head>" + rest).encode()
    whole = ParsedPage(data, url=URL)
    expected = [
        node.text()
        for node in whole.tree.css("script[type]")
        if "ld+json" in (node.attributes["type"] or "")
    ]
    page = ParsedPage(data, url=URL)
    assert [text for text, _ in iter_blocks(page)] == expected


_TAG = "<meta property=og:title content=t>"
_OF_HEADS = ["<html lang=de>", "<html prefix='og: urn:x:'>", "lang=fr"]
_OF_HEADS += ["<meta http-equiv=content-language content=it>", "property=og:type"]
_OF_HEADS += ["<base href=/b/>"]


@example("<p>", ["<frameset>"])
@example("", ["<html lang=de>"])
@example("", ["<meta http-equiv=content-language content=it>"])
@example("", ["<base href=/b/>"])
@given(
    st.lists(_PIECES, max_size=8).map("".join),
    st.lists(st.sampled_from(_OF_HEADS) | _PIECES, max_size=8),
)
@settings(max_examples=examples(400), deadline=None)
def test_open_graph_of_a_head_is_that_of_the_page(head: str, body: list[str]) -> None:
    """If just the head is parsed for Open Graph, then its statements are all."""
    data = ("<html>" + head + _TAG + "</head>" + "".join(body)).encode()
    whole, page = ParsedPage(data, url=URL), ParsedPage(data, url=URL)
    whole.__dict__["has_open_graph_in_head_only"] = False
    expected = [*extract_open_graph(whole, FaultLog())]
    assert [*extract_open_graph(page, FaultLog())] == expected


@given(st.lists(_PIECES, max_size=14).map("".join), st.lists(_PIECES, max_size=8))
@settings(max_examples=examples(800), deadline=None)
def test_a_head_ends_where_a_tag_begins(head: str, body: list[str]) -> None:
    """If a head is said to end somewhere, then the parser sees a tag there, too."""
    data = ("<html>" + head + "</head>" + "".join(body)).encode()
    end = end_of_head(data)
    if end:
        marked = data[:end] + b"<link id=mark>"
        assert LexborHTMLParser(marked).css_first("#mark") is not None
