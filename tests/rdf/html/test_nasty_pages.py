"""Every extractor, with texts that look like markup, from a page into a segment."""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

import pytest

from rdfcrawl.rdf.environment import ReaderContext
from rdfcrawl.rdf.extraction.messages import ReadingJob
from rdfcrawl.rdf.extraction.reading import DocumentReading
from tests.support.nasty_statements import (
    ALWAYS,
    CONTROLS,
    PIECES,
    RDF,
    URL,
    Statement,
    Term,
    assert_same,
    by_pyoxigraph,
    by_rdflib,
    json_ld,
    nasty_text,
    stored,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BOUNDED = ReaderContext(is_bounded=True)
P: Final = "http://e/p"
RULES: Final = """
prefixes: {ex: "http://e/"}
rules:
  texts:
    match: data.example/*
    subject: "http://e/s"
    properties:
      ex:p: {css: "p.text"}
      ex:q: {css: "p.text", attribute: "title"}
"""


def attribute(text: str) -> str:
    """Return a text as an attribute of HTML."""
    return '"' + escape(text, {'"': "&quot;", "\r": "&#13;"}) + '"'


def content(text: str) -> str:
    """Return a text as the content of an element."""
    return escape(text, {"\r": "&#13;"})


def literal(subject: str, predicate: str, text: str, language: str = "") -> Statement:
    """Return a statement."""
    return (
        Term("iri", subject),
        Term("iri", predicate),
        Term("literal", text, language=language),
    )


Made = tuple[str, list[Statement]]


def _rdfa(texts: list[str]) -> Made:
    body, statements = "", []
    for number, text in enumerate(texts):
        subject = f"http://e/_:s{number}"
        body += f'<p about="{subject}" property="{P}" lang="en">{content(text)}</p>'
        body += f'<p about="{subject}" property="{P}x" content={attribute(text)}></p>'
        statements.append(literal(subject, P, text, "en"))
        statements.append(literal(subject, P + "x", text))
    return body, statements


def _microdata(texts: list[str]) -> Made:
    body, statements = "", []
    for number, text in enumerate(texts):
        subject = f"http://e/_:s{number}"
        body += f'<div itemscope itemid="{subject}">'
        body += f'<p itemprop="{P}" lang="en">{content(text)}</p>'
        body += f'<meta itemprop="{P}x" content={attribute(text)}></div>'
        statements.append(literal(subject, P, text, "en"))
        statements.append(literal(subject, P + "x", text))
    return body, statements


def _json_ld(texts: list[str]) -> Made:
    statements = [
        literal(f"http://e/_:s{number}", P, text, "en" * (number % 2))
        for number, text in enumerate(texts)
    ]
    document = json.dumps(json_ld(statements)).replace("<", "\\u003c")
    return f'<script type="application/ld+json">{document}</script>', statements


def _open_graph(texts: list[str]) -> Made:
    tags = [f'<meta property="og:title" content={attribute(x)}>' for x in texts]
    predicate = "http://ogp.me/ns#title"
    return "".join(tags), [literal(URL, predicate, text) for text in texts]


def _dublin_core(texts: list[str]) -> Made:
    tags = [f'<meta name="DC.title" lang="en" content={attribute(x)}>' for x in texts]
    predicate = "http://purl.org/dc/elements/1.1/title"
    return "".join(tags), [literal(URL, predicate, text, "en") for text in texts]


def _microformats(texts: list[str]) -> Made:
    body, statements = "", []
    for number, text in enumerate(texts):
        subject = Term("blank", f"n{number}")
        body += f'<div class="h-entry"><data class="p-name" value={attribute(text)}>'
        body += "</data></div>"
        kind = Term("iri", "http://schema.org/CreativeWork")
        statements.append((subject, Term("iri", RDF + "type"), kind))
        if text.strip():
            name = Term("literal", text)
            statements.append((subject, Term("iri", "http://schema.org/name"), name))
    return body, statements


def _rules(texts: list[str]) -> Made:
    body, statements = "", []
    for text in texts:
        body += f'<p class="text" title={attribute(text)}>{content(text)}</p>'
        spaced = re.sub(r"[ \t\n\r\f\u00a0]+", " ", text).strip(" ")
        if spaced:
            statements.append(literal("http://e/s", P, spaced))
            statements.append(literal("http://e/s", "http://e/q", spaced))
    return body, statements


MAKERS: Final[dict[str, Callable[[list[str]], Made]]] = {
    "rdfa": _rdfa,
    "microdata": _microdata,
    "json-ld": _json_ld,
    "opengraph": _open_graph,
    "dublincore": _dublin_core,
    "microformats": _microformats,
    "rules": _rules,
}


def page_of(body: str) -> bytes:
    """Return a page, without a language."""
    return f"<!DOCTYPE html><title>t</title><body>{body}</body>".encode()


def reading_of(name: str, body: str, folder: Path) -> DocumentReading:
    """Return the reading of a page, as the crawl begins it."""
    rules = folder / "rules.yaml"
    rules.write_text(RULES)
    return DocumentReading(
        page_of(body),
        ReadingJob(
            url=URL,
            graph=URL,
            media_type="text/html",
            charset="utf-8",
            rules=str(rules) if name == "rules" else "",
        ),
        environment=BOUNDED,
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", MAKERS)
async def test_texts_are_stored_as_published(
    name: str, seed: int, tmp_path: Path
) -> None:
    """If a page has such texts, then others read them from the segment."""
    rng = random.Random(seed)
    texts = [*ALWAYS, *(nasty_text(rng, PIECES) for _ in range(20))]
    body, statements = MAKERS[name](texts)

    reading = reading_of(name, body, tmp_path)
    n_quads = await stored(reading, tmp_path / "store")

    assert reading.outcome.faults == []
    assert_same(_of(name, n_quads), statements, graph=URL)


@pytest.mark.parametrize("name", MAKERS)
async def test_controls_in_texts_break_no_segment(name: str, tmp_path: Path) -> None:
    """If some texts are not valid text, then the others are stored, and all is read."""
    good = [text for text in ALWAYS if text.strip()]
    bad = [f"zz{each} _:b" for each in (*CONTROLS, "&#xD800;", "&#0;", "\\ud800")]
    body, statements = MAKERS[name]([*bad, *good])
    body = body.replace("&amp;#", "&#").replace("\\\\ud800", "\\ud800")

    reading = reading_of(name, body, tmp_path)
    n_quads = _of(name, await stored(reading, tmp_path / "store"))

    terms = {str(of.to_rdflib()) for _, _, of in statements}
    want = {text for text in terms if not text.startswith("zz")}
    for parse in (by_rdflib, by_pyoxigraph):
        found = {str(of) for of in parse(n_quads)[0].objects()}
        assert {text for text in found if not text.startswith("zz")} == want


def _of(name: str, n_quads: bytes) -> bytes:
    """Return the statements of one extractor: Open Graph is RDFa, too."""
    lines = n_quads.splitlines(keepends=True)
    return b"".join(dict.fromkeys(lines)) if name == "opengraph" else n_quads
