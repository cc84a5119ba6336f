"""Every format, with literals that look like markup, from `parse()` into a segment."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.rdf.environment import ReaderContext
from rdfcrawl.rdf.hdt import write_hdt
from rdfcrawl.rdf.parse import parse
from tests.support.nasty_statements import (
    URL,
    WRITERS,
    XML_FORMATS,
    assert_same,
    nasty_statements,
    stored,
)

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.rdf.parse import DocumentParser

BOUNDED = ReaderContext(is_bounded=True)
SEEDS = range(3)
# Invalid text, as an escape of the syntax.
SURROGATES = {
    "N-Triples": rb'<http://e/x> <http://e/p> "_:b \uD800 _:b" .' + b"\n",
    "N-Quads": rb'<http://e/x> <http://e/p> "_:b \uDFFF"@en .' + b"\n",
    "JSON-LD": rb'{"@id": "http://e/x", "http://e/p": "_:b \ud800 _:b"}',
    "RDF/JSON": rb'"http://e/x": {"http://e/p": [{"type": "literal", "value":'
    rb' "_:b \udfff"}]}',
    "HexTuples": rb'["http://e/x", "http://e/p", "_:b \ud800", "", "", ""]' + b"\n",
}


def parse_document(name: str, body: bytes | Path) -> DocumentParser:
    """Return the parse of a document in a format."""
    return parse(
        body, url=URL, graph=URL, media_type=WRITERS[name][0], environment=BOUNDED
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", WRITERS)
async def test_literals_are_stored_as_published(
    name: str, seed: int, tmp_path: Path
) -> None:
    """If a document has such literals, then others read them from the segment."""
    statements = nasty_statements(seed, has_controls=name not in XML_FORMATS)
    body = WRITERS[name][1](statements)
    path = tmp_path / "document"
    path.write_bytes(body)

    parsed = parse_document(name, path if seed % 2 else body)
    n_quads = await stored(parsed, tmp_path / "store")

    assert parsed.faults == []
    assert_same(n_quads, statements, graph=URL)


@pytest.mark.parametrize("name", SURROGATES)
async def test_half_characters_end_no_statement_but_their_own(
    name: str, tmp_path: Path
) -> None:
    """If a literal has half a character, then the others are stored unchanged."""
    statements = nasty_statements(7, n=10)
    body, bad = WRITERS[name][1](statements), SURROGATES[name]
    if name in ("JSON-LD", "RDF/JSON"):
        body = body[:1] + bad + b", " + body[1:]
    else:
        body = bad + body

    n_quads = await stored(parse_document(name, body), tmp_path)

    lines = n_quads.splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(b"<http://e/x>")]
    assert len(lines) - len(kept) <= 1
    assert_same(b"".join(kept), statements, graph=URL)
    assert all(line.count(b"\xef\xbf\xbd") == 1 for line in set(lines) - set(kept))


@pytest.mark.parametrize("seed", SEEDS)
async def test_hdt_gives_back_what_was_written(seed: int, tmp_path: Path) -> None:
    """If such literals go into an HDT file, then others read them from the segment."""
    statements = nasty_statements(seed, has_controls=False)
    _, write = WRITERS["N-Triples"]
    out = io.BytesIO()
    report = write_hdt(write(statements).splitlines(keepends=True), out, base=URL)
    assert not report.faults

    parsed = parse(
        out.getvalue(),
        url=URL,
        graph=URL,
        media_type="application/vnd.hdt",
        environment=BOUNDED,
    )
    n_quads = await stored(parsed, tmp_path)

    assert parsed.faults == []
    assert_same(n_quads, statements, graph=URL)
