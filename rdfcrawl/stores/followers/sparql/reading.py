"""Read the graphs of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyoxigraph as ox

from rdfcrawl.core.counting import counted
from rdfcrawl.core.errors import StoreFault
from rdfcrawl.stores.followers.graphs import file_of
from rdfcrawl.stores.followers.sparql.records import DocumentRecords
from rdfcrawl.stores.followers.sparql.writing import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.stores.followers.sparql.store import SparqlStore

_PROVENANCE: Final = f"{PREFIX}provenance"


class GraphReader:
    """Reads graphs, and detects truncated responses.

    Args:
        store: to read.
    """

    def __init__(self, store: SparqlStore) -> None:
        self._store = store

    def graphs(self) -> Iterator[str]:
        """Yield the names of all graphs, except those of our records.

        Raises:
            StoreFault: the store does not respond.
        """
        foreign = self._store.options.profile.own_graphs
        foreign = foreign - DocumentRecords(self._store).of(sorted(foreign)).keys()
        last = ""
        while True:
            after = f'FILTER(STR(?g) > "{last}")' if last else ""
            # One query, since each is a scan; but some stores limit a response.
            names = self._store.values(
                "SELECT ?g WHERE { { SELECT DISTINCT ?g WHERE {"
                f" GRAPH ?g {{ ?s ?p ?o }} }} }} {after} }} ORDER BY STR(?g)"
            )
            before = last
            for last in names:
                is_ours = last.startswith(PREFIX) and last != _PROVENANCE
                if not is_ours and last not in foreign:
                    yield last
            if last == before:
                return

    def statements(self, graph: str) -> Iterator[bytes]:
        """Yield the statements of a graph as N-Quads.

        Raises:
            StoreFault: the store does not respond, or truncates its response.
        """
        n_read = 0
        name = ox.NamedNode(graph)
        response = file_of(self._store.read(graph))
        try:
            # Turtle, since some stores write more than N-Triples allows.
            for triple in ox.parse(response, format=ox.RdfFormat.TURTLE, lenient=True):
                n_read += 1
                quad = ox.Quad(triple.subject, triple.predicate, triple.object, name)
                yield f"{quad} .\n".encode()
        except SyntaxError as error:
            raise StoreFault(f"{self._store.options.name}: {graph}: {error}") from error
        query = f"SELECT (COUNT(*) AS ?n) WHERE {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}"
        n_stored = int(self._store.select(query)[0]["n"])
        if n_read < n_stored:
            raise StoreFault(
                f"{self._store.options.name}: returned {n_read:,} of"
                f" {counted(n_stored, 'statement')} of {graph}: it limits its responses"
            )
