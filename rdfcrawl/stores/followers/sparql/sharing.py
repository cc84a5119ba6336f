"""Documents that write several graphs, and graphs that several documents write.

A graph that several documents write is *shared*. The statements of each document in it
are also in a separate graph, its *part*: the shared graph is the union of its parts.
When a document changes, the statements of its former part that no other part has leave
the shared graph, and those of its new part are added; blank nodes are copied within the
store, so that they are the same in both. Parts are in the store, so several machines
may share a graph.

A graph becomes shared when a second document writes it: its content at that time is
the part of the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdfcrawl.core.namespaces import RC
from rdfcrawl.stores.followers.sparql.records import (
    RECORDS,
    DocumentRecord,
    DocumentRecords,
    StoredVersion,
    change,
    part_of,
    writes,
)
from rdfcrawl.stores.followers.sparql.statements import GraphContent, iter_contents
from rdfcrawl.stores.followers.sparql.writing import (
    JOINT,
    copy,
    draft_of,
    drop,
    name_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfcrawl.stores.crawl_folder import LogIdentity
    from rdfcrawl.stores.followers.sparql.store import SparqlStore
    from rdfcrawl.stores.followers.sparql.writing import GraphWriter
    from rdfcrawl.stores.log.documents import LogDocument

_BATCH_LINES: Final = 1000


class SharingWriter:
    """Writes documents with several or shared graphs, one after another.

    Args:
        store: to write to.
        writer: of its graphs.
        records: of its documents.
    """

    def __init__(
        self, store: SparqlStore, writer: GraphWriter, records: DocumentRecords
    ) -> None:
        self._store, self._writer, self._records = store, writer, records

    def replace(
        self, document: LogDocument, log: LogIdentity, foreign: set[str]
    ) -> None:
        """Write a document; can be repeated after a failure.

        Args:
            document: to write.
            log: that contains it.
            foreign: graphs that it writes other than its own.

        Raises:
            RefusedRequest: the store refuses the document.
            StoreFault: the store accepts nothing now.
        """
        name = document.graph
        record = self._records.of([name]).get(name, DocumentRecord())
        n_known = max((x.n_graphs for x in record.versions if x.is_whole), default=0)
        former = self._records.graphs_of(name, n_known) if record.versions else set()
        graphs = {name} | former | foreign
        shared = self._records.shared(graphs)
        # A graph that is not shared yet has at most one.
        writers = self._records.writers(graphs - shared)
        owners = self._records.of(graphs - shared)
        version = StoredVersion.of(document, log, len(foreign))
        self._begin(name, record, version, foreign - former)
        for graph in graphs - shared:
            before = writers.get(graph, set()) | ({graph} & owners.keys())
            if before - {name}:
                shared.add(graph)
                self._make_first_part(graph, before)
        self._writer.replace_all(self._drafts(document, shared))
        for graph in shared:
            self._exchange(graph, name)
        written = {name} | former | foreign
        gone = written - shared - self._current_graphs(document, foreign)
        for graph in sorted(gone):
            self._store.update(drop(graph))
        self._settle(name, version, former - foreign)

    def _begin(
        self,
        name: str,
        record: DocumentRecord,
        version: StoredVersion,
        added: Iterable[str],
    ) -> None:
        """Note a version and its graphs before any graph is changed."""
        lines = [writes(name, graph) for graph in sorted(added)]
        for first in range(0, len(lines), _BATCH_LINES):
            self._store.update(change([], lines[first : first + _BATCH_LINES]))
        old = [each.lines_for(name) for each in record.versions]
        self._store.update(change(old, [version.begun.lines_for(name)]))

    def _settle(self, name: str, version: StoredVersion, removed: set[str]) -> None:
        lines = [writes(name, graph) for graph in sorted(removed)]
        for first in range(0, len(lines), _BATCH_LINES):
            self._store.update(change(lines[first : first + _BATCH_LINES], []))
        begun, final = version.begun.lines_for(name), version.lines_for(name)
        self._store.update(change([begun], [final]))

    def _make_first_part(self, graph: str, before: set[str]) -> None:
        """Make all statements of a graph the part of its document."""
        records = self._records.of(before)
        owners = [x for x in before if records.get(x, DocumentRecord()).is_whole]
        owners = owners or sorted(before)
        if len(owners) != 1:  # no write has finished: all are repeated
            self._store.update(drop(graph))
            return
        part = _part(owners[0], graph)
        noted = change([], [part_of(part, graph)])
        self._store.update(JOINT.join([drop(part), copy(graph, part), noted]))

    def _drafts(
        self, document: LogDocument, shared: set[str]
    ) -> Iterator[GraphContent]:
        """Yield the statements of a document by graph; for shared graphs, as drafts."""
        for content in iter_contents(document):
            graph = content.graph
            if graph in shared:
                target = _draft(document.graph, graph)
                yield GraphContent(target, content.n_bytes, content.pieces)
            else:
                yield content

    def _current_graphs(self, document: LogDocument, foreign: set[str]) -> set[str]:
        tail = b" <%s> .\n" % document.graph.encode()
        has_own = any(tail in piece for piece in document.pieces())
        return foreign | ({document.graph} if has_own else set())

    def _exchange(self, graph: str, document: str) -> None:
        """Replace the part of a document in a shared graph with its draft.

        At each moment, a statement of the graph is in one of its parts. So repeating
        the exchange from a new draft removes all remains of a crash. The update must
        not be sent twice, since it drops the draft.
        """
        part, draft = _part(document, graph), _draft(document, graph)
        triple = "?s ?p ?o"
        removed = (
            f"DELETE {{ GRAPH <{graph}> {{ {triple} }} }} WHERE {{"
            f" GRAPH <{part}> {{ {triple} }} FILTER NOT EXISTS {{"
            f" GRAPH ?q {{ {triple} }} FILTER(?q != <{part}>)"
            f" GRAPH <{RECORDS}> {{ ?q <{RC}partOf> <{graph}> }} }} }}"
        ).encode()
        self._store.update(
            JOINT.join(
                [
                    change([], [part_of(part, graph)]),
                    removed,
                    drop(part),
                    copy(draft, part),
                    copy(part, graph),
                    drop(draft),
                ]
            ),
            is_repeatable=False,
        )


def _part(document: str, graph: str) -> str:
    return name_of("part", document, graph)


def _draft(document: str, graph: str) -> str:
    return draft_of(f"{document} {graph}")
