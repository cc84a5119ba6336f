"""Documents that write several graphs, and graphs that several documents write.

A graph that several documents write is *shared*. What each document says in it stands
in a graph of its own as well, its *part*: the shared graph is the union of its parts.
When a document changes, what its former part says and no other part does leaves the
shared graph, and what its new part says comes in; blank nodes are copied within the
store, so that they are the same in both. Parts stand in the store, so several machines
may share a graph.

A graph becomes shared when a second document comes to write it: all that it holds then
is the part of the first.
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
from rdfcrawl.stores.followers.sparql.spreading import iter_contents
from rdfcrawl.stores.followers.sparql.statements import GraphContent
from rdfcrawl.stores.followers.sparql.writing import (
    JOINT,
    copy,
    draft_of,
    drop,
    name_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfcrawl.stores.followers.sparql.store import SparqlStore
    from rdfcrawl.stores.followers.sparql.writing import GraphWriter
    from rdfcrawl.stores.identity import LogIdentity
    from rdfcrawl.stores.log.documents import LogDocument

_LINES_AT_ONCE: Final = 1000


class SharingWriter:
    """Writes documents whose graphs are not theirs alone, one after another.

    Args:
        store: that takes them.
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
        """Write a document; the call may be made again after a failure.

        Args:
            document: that is written.
            log: that it stands in.
            foreign: graphs that it writes beside its own.

        Raises:
            RefusedRequest: the store does not take the document.
            StoreFault: it takes nothing now.
        """
        name = document.graph
        record = self._records.of([name]).get(name, DocumentRecord())
        n_known = max((x.n_graphs for x in record.versions if x.is_whole), default=0)
        former = self._records.graphs_of(name, n_known) if record.versions else set()
        graphs = {name} | former | foreign
        shared = self._records.shared(graphs)
        # Of a graph that is not shared yet, there is one at most.
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
        gone = written - shared - self._said(document, foreign)
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
        """Note a version and its graphs before anything is touched."""
        lines = [writes(name, graph) for graph in sorted(added)]
        for first in range(0, len(lines), _LINES_AT_ONCE):
            self._store.update(change([], lines[first : first + _LINES_AT_ONCE]))
        old = [each.said_of(name) for each in record.versions]
        self._store.update(change(old, [version.begun.said_of(name)]))

    def _settle(self, name: str, version: StoredVersion, removed: set[str]) -> None:
        lines = [writes(name, graph) for graph in sorted(removed)]
        for first in range(0, len(lines), _LINES_AT_ONCE):
            self._store.update(change(lines[first : first + _LINES_AT_ONCE], []))
        begun, whole = version.begun.said_of(name), version.said_of(name)
        self._store.update(change([begun], [whole]))

    def _make_first_part(self, graph: str, before: set[str]) -> None:
        """Make all statements of a graph the part of their document."""
        records = self._records.of(before)
        owners = [x for x in before if records.get(x, DocumentRecord()).is_whole]
        owners = owners or sorted(before)
        if len(owners) != 1:  # none has written it to its end: all come again
            self._store.update(drop(graph))
            return
        part = _part(owners[0], graph)
        noted = change([], [part_of(part, graph)])
        self._store.update(JOINT.join([drop(part), copy(graph, part), noted]))

    def _drafts(
        self, document: LogDocument, shared: set[str]
    ) -> Iterator[GraphContent]:
        """Yield what a document says by graph; of shared graphs, as drafts."""
        for content in iter_contents(document):
            graph = content.graph
            if graph in shared:
                target = _draft(document.graph, graph)
                yield GraphContent(target, content.n_bytes, content.pieces)
            else:
                yield content

    def _said(self, document: LogDocument, foreign: set[str]) -> set[str]:
        tail = b" <%s> .\n" % document.graph.encode()
        has_own = any(tail in piece for piece in document.pieces())
        return foreign | ({document.graph} if has_own else set())

    def _exchange(self, graph: str, document: str) -> None:
        """Replace what a document says in a shared graph by its draft.

        At each moment, a statement that is in the graph is in one of its parts. So what
        a crash leaves is removed when this is done again, from a new draft: the update
        itself is not to be sent twice, as the draft is gone at its end.
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
