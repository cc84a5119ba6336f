"""Classes and predicates that documents use, from a sample of the stored quads."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.namespaces import RDF_TYPE

if TYPE_CHECKING:
    import sqlite3

    from rdfcrawl.analysis.crawl_index.members import LogMember

_SAMPLE_BYTES: Final = 8192  # of each member
_MOST: Final = 1000  # counted terms of a kind
_MAX_CHARS: Final = 200  # of a term
_find_terms: Final = re.compile(
    rb"^(?:<[^>]*>|_:\S+) <([^>]*)> (?:<([^>]*)>)?", re.MULTILINE
).findall
_TYPE: Final = RDF_TYPE.encode()
_ADD: Final = """
INSERT INTO vocabulary SELECT ?1, ?2, ?3
WHERE EXISTS (SELECT 1 FROM vocabulary WHERE kind = ?1 AND term = ?2)
    OR (SELECT COUNT(*) FROM vocabulary WHERE kind = ?1) < ?4
ON CONFLICT (kind, term) DO UPDATE SET n = n + excluded.n
"""


class VocabularyTally:
    """Classes and predicates, by the number of statements in a sample.

    The sample is the start of each member, limited to the first 1,000 terms of each
    kind: at most 300 kB, for a crawl of any size.
    """

    schema = """
    CREATE TABLE IF NOT EXISTS vocabulary (
        kind TEXT, term TEXT, n INTEGER, PRIMARY KEY (kind, term)
    ) WITHOUT ROWID;
    """

    def take(self, connection: sqlite3.Connection, member: LogMember) -> None:
        """Add the terms of a member of documents."""
        if member.kind != "quads":
            return
        found: Counter[tuple[str, bytes]] = Counter()
        for predicate, thing in _find_terms(member.content[:_SAMPLE_BYTES]):
            found["predicate", predicate] += 1
            if predicate == _TYPE and thing:
                found["class", thing] += 1
        connection.executemany(
            _ADD,
            [
                (kind, term.decode("utf-8", "replace"), n, _MOST)
                for (kind, term), n in found.items()
                if len(term) <= _MAX_CHARS
            ],
        )
