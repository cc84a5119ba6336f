"""The vocabulary that each host uses most, of those that are not its own."""

from __future__ import annotations

from typing import Final

from rdfcrawl.analysis.crawl_index.database import IndexDatabase
from rdfcrawl.core.namespaces import OWL, RDF, RDFS, XSD

OWN: Final = "own terms"
"""In place of a vocabulary: the host uses no other terms than its own."""
NO_TERMS: Final = "no statements"
_GENERAL: Final = frozenset((RDF, RDFS, OWL, XSD))
_MOST_ROWS: Final = 1_000_000
_ROWS: Final = """
SELECT v.host, s.space, w.host FROM host_vocabulary AS v
JOIN vocabulary_space AS s ON s.id = v.space JOIN web_host AS w ON w.id = v.host
ORDER BY v.host, v.n DESC, s.space LIMIT ?
"""


def main_vocabularies(database: IndexDatabase) -> dict[int, str]:
    """Return the namespace that each host uses most, by the number of the host.

    The vocabularies of RDF, RDFS, OWL and XML Schema count only if there is no other.

    Raises:
        sqlite3.Error: the index cannot be read.
    """
    found: dict[int, str] = {}
    general: dict[int, str] = {}
    rows = database.connection.execute(_ROWS, (_MOST_ROWS,))
    for number, space, host in rows:
        if number in found:
            continue
        if space in _GENERAL:
            general.setdefault(number, space)
        elif f"//{host}/" in space:
            general.setdefault(number, OWN)
        else:
            found[number] = space
    return general | found
