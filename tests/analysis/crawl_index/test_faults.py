"""Faults in the index of a crawl: counted by reason, with the latest examples."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from rdfcrawl.analysis.crawl_index.members import LogMember
from rdfcrawl.analysis.crawl_index.tallies import MOST_EXAMPLES, FaultTally
from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.core.records import Record
from tests.support.described_documents import block_of, document

if TYPE_CHECKING:
    from rdfcrawl.core.records import Document

BEGAN_MS = 1_790_000_000_000


def faulty(number: int, *faults: Fault) -> Document:
    """Return the document of a number, each fetched at a different time."""
    return document(
        record=Record(url=f"http://a.example/{number}"),
        started_ms=BEGAN_MS + number,
        ended_ms=BEGAN_MS + number,
        faults=faults,
    )


def tallied(*members: list[Document]) -> sqlite3.Connection:
    """Return an index of logs with these members."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(FaultTally.schema)
    for number, documents in enumerate(members):
        content = block_of(*documents)
        member = LogMember("provenance", "w.jsonl.gz", number, 1, content)
        FaultTally().take(connection, member)
    return connection


def rows(connection: sqlite3.Connection, query: str) -> list[Any]:
    """Return the rows of a query."""
    return connection.execute(query).fetchall()


def test_each_reason_of_a_document_counts_once() -> None:
    """If a document has several faults, then each counts, with its detail."""
    quoted = 'a ":fault:1> <x> \\ \n <b>'
    twice = faulty(
        1,
        Fault(Reason.SYNTAX, "line 1"),
        Fault(Reason.BAD_TERM, quoted),
        Fault(Reason.SYNTAX, "line 9"),
    )
    with closing(tallied([twice, faulty(2)], [faulty(3, Fault(Reason.SYNTAX))])) as db:
        assert rows(db, "SELECT * FROM fault ORDER BY 1") == [
            ("bad_term", 1),
            ("syntax", 2),
        ]
        asked = "SELECT reason, uri, ended_ms, http_status, detail FROM fault_example"
        assert sorted(rows(db, asked)) == [
            ("bad_term", "http://a.example/1", BEGAN_MS + 1, 200, quoted),
            ("syntax", "http://a.example/1", BEGAN_MS + 1, 200, "line 1"),
            ("syntax", "http://a.example/3", BEGAN_MS + 3, 200, ""),
        ]


def test_the_latest_examples_are_kept() -> None:
    """If there are more examples than are kept, then the latest ones stay."""
    documents = [faulty(n, Fault(Reason.EMPTY)) for n in range(70)]
    parts = documents[:5], documents[5:12], documents[12:50], documents[50:53]
    with closing(tallied(*parts, documents[53:])) as db:
        assert rows(db, "SELECT * FROM fault") == [("empty", 70)]
        asked = "SELECT ended_ms FROM fault_example ORDER BY 1"
        kept = [ms - BEGAN_MS for (ms,) in rows(db, asked)]
        assert kept == list(range(70 - MOST_EXAMPLES, 70))
