"""Statements that are longer than a chunk, in every format."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.stores.log.crawl_log import iter_latest
from tests.support.long_statements import NAME, WRITERS, packed, statements

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

CHUNKS = (1, 1, 1)  # of long statements: a document that is read in the worker
MORE_CHUNKS = (2, 1, 2)  # that lies in a file
MOST_CHUNKS = (1, 1, 10)
BETWEEN = 2**20


def counted(result: CrawlResult) -> Counter[str]:
    """Return the number of statements of each document, without types."""
    found: Counter[str] = Counter()
    for piece in iter_latest(result.folder / "quads"):
        found[piece.graph] += piece.quads.count(b"\n")
        found[piece.graph] -= piece.quads.count(b"#type> ")
    return found


@pytest.mark.in_turn(2, rooms=("rdf",))
def test_long_statements_are_read_in_every_format(
    commands: Commands, loopback: Loopback
) -> None:
    """If a statement is longer than one, two or ten chunks, then none is lost."""
    server = loopback(host="127.94.31.1")
    documents = {}
    for name, (media_type, write) in WRITERS.items():
        for how, lengths in {"here": CHUNKS, "there": MORE_CHUNKS}.items():
            documents[f"/{how}.{name}"] = media_type, write(statements(*lengths))
    for name in ("nt", "rdfa.html"):
        media_type, write = WRITERS[name]
        documents[f"/longest.{name}"] = media_type, write(statements(*MOST_CHUNKS))
    for name, document in packed(statements(*CHUNKS)).items():
        documents[f"/packed.{name}"] = document
    for path, (media_type, body) in documents.items():
        server.pages[path] = loopback.response(body, media_type)
    result = commands.crawl(
        [server.url(path) for path in documents],
        arguments={"follow": "none"},
        VISIT_SPOOL_BYTES=BETWEEN,
        RDF_LITERAL_MAX_BYTES=2**22,
        ITEM_PIPELINES=json.dumps({"tests.support.long_statements.EmptyChunks": 400}),
    )
    assert result.code == 0, result.stderr
    assert [key for key in result.statistics if key.startswith("fault/")] == []
    n_expected = len(statements(*CHUNKS))
    assert counted(result) == dict.fromkeys(map(server.url, documents), n_expected)


def test_long_values_of_tables_are_read(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If rows of an endpoint are long, or none of them is a statement, none is lost."""
    rows = [
        {
            "s": {"type": "uri", "value": subject},
            "p": {"type": "uri", "value": NAME},
            "o": {"type": "literal", "value": text},
        }
        for subject, text in statements(1, 2, 3)
    ]
    bad = {"type": "uri", "value": "http://e.example/no IRI<>"}
    refused = [{**rows[1], "s": bad, "o": rows[0]["o"]}] * 3  # fill a block
    table = {
        "head": {"vars": ["s", "p", "o"]},
        "results": {"bindings": [*rows, *refused, *rows[:1], *refused]},
    }
    answer = json.dumps(table).encode()
    server = loopback(host="127.94.31.2")
    media_type = "application/sparql-results+json"
    server.pages["*"] = loopback.response(answer, media_type)
    query = tmp_path / "own.rq"
    query.write_text("SELECT ?s ?p ?o { ?s ?p ?o }")
    result = commands.crawl(
        spider="sparql",
        arguments={"endpoints": server.url("/sparql"), "query": query},
        RDF_LITERAL_MAX_BYTES=2**22,
    )
    assert result.code == 0, result.stderr
    assert "Traceback" not in result.stderr
    subjects = {s for s, p, _, _ in result.quads if p == NAME}
    assert subjects >= {subject for subject, _ in statements(1, 2, 3)}
