"""Write documents: those with one graph each in groups, others one after another.

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

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.batches import in_batches
from rdfcrawl.core.errors import StoreFault
from rdfcrawl.core.namespaces import RC
from rdfcrawl.stores.followers.sparql.failures import RefusedRequest
from rdfcrawl.stores.followers.sparql.records import (
    RECORDS,
    DocumentRecord,
    DocumentRecords,
    StoredVersion,
    change,
    part_of,
    writes,
)
from rdfcrawl.stores.followers.sparql.statements import (
    GraphContent,
    iter_contents,
    own_content,
)
from rdfcrawl.stores.followers.sparql.writing import (
    JOINT,
    GraphWriter,
    copy,
    draft_of,
    drop,
    insert,
    name_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rdfcrawl.stores.crawl_folder import LogIdentity
    from rdfcrawl.stores.followers.sparql.options import (
        SparqlStoreOptions,
        StoreProfile,
    )
    from rdfcrawl.stores.followers.sparql.store import SparqlStore
    from rdfcrawl.stores.log.documents import LogDocument

_PUT_DOCUMENTS: Final = 32  # whose versions are noted together
_RECORD_LINES: Final = 8  # of a document, at most
_RECORD_BYTES: Final = 400
_LOADED_BYTES: Final = 4 * 1024 * 1024  # of documents in one load
_BATCH_LINES: Final = 1000


@dataclass(frozen=True, slots=True)
class PlainDocument:
    """A version that writes only its own graph, which no other document writes.

    Attributes:
        document: to write.
        record: the store's record of it.
        version: to note in the store.
    """

    document: LogDocument
    record: DocumentRecord
    version: StoredVersion

    @property
    def graph(self) -> str:
        """Name of the document."""
        return self.document.graph

    @property
    def former(self) -> list[str]:
        """Statements of the noted versions."""
        return [each.lines_for(self.graph) for each in self.record.versions]


def grouped(
    plain: Iterable[PlainDocument], options: SparqlStoreOptions
) -> Iterator[list[PlainDocument]]:
    """Yield groups of documents for one request: a load, an update, or PUTs."""
    loaded: list[PlainDocument] = []
    updated: list[PlainDocument] = []
    put: list[PlainDocument] = []
    for each in plain:
        if _can_be_loaded(each, options):
            loaded.append(each)
        else:
            (updated if _uses_update(each, options) else put).append(each)
    for group in _cut(loaded, sys.maxsize, _LOADED_BYTES, sys.maxsize):
        if _is_loaded(group, options):
            yield group
        else:
            updated += group
    n_updated = min(1000, options.batch_lines // (_RECORD_LINES + 1) or 1)
    limits = options.batch_bytes, options.batch_lines
    yield from _cut(updated, n_updated, *limits)
    yield from _cut(put, _PUT_DOCUMENTS, *limits)


def _can_be_loaded(each: PlainDocument, options: SparqlStoreOptions) -> bool:
    is_new = not each.record.versions and each.document.quads is not None
    return is_new and options.profile.loads_quads and options.method == "update"


def _is_loaded(group: Sequence[PlainDocument], options: SparqlStoreOptions) -> bool:
    """Return whether to load a group, since it is too long for an update."""
    is_long = sum(map(_size, group)) > options.batch_bytes
    return is_long and all(_can_be_loaded(each, options) for each in group)


def _uses_update(each: PlainDocument, options: SparqlStoreOptions) -> bool:
    if options.method == "update":
        return True
    quads = each.document.quads
    if quads is None or not options.profile.data_lines:
        return False
    return quads.count(b"\n") <= options.profile.data_lines and b"_:" not in quads


def _size(each: PlainDocument) -> int:
    return each.document.n_bytes + _RECORD_BYTES + 8 * len(each.graph)


def _cut(
    plain: Sequence[PlainDocument], most: int, most_bytes: int, most_lines: int
) -> Iterator[list[PlainDocument]]:
    group: list[PlainDocument] = []
    n_bytes = n_lines = 0
    for each in plain:
        size = _size(each)
        lines = (each.document.quads or b"").count(b"\n") + _RECORD_LINES
        is_full = (
            len(group) >= most
            or n_bytes + size > most_bytes
            or n_lines + lines > most_lines
        )
        if group and is_full:
            yield group
            group, n_bytes, n_lines = [], 0, 0
        group.append(each)
        n_bytes, n_lines = n_bytes + size, n_lines + lines
    if group:
        yield group


class _DocumentWriter:
    """Base of the writers of documents.

    Args:
        store: to write to.
        writer: of its graphs.
        records: of its documents.
    """

    def __init__(
        self, store: SparqlStore, writer: GraphWriter, records: DocumentRecords
    ) -> None:
        self._store, self._writer, self._records = store, writer, records


class GroupWriter(_DocumentWriter):
    """Writes groups of documents with their versions."""

    def write(self, group: Sequence[PlainDocument]) -> None:
        """Write documents; can be repeated after a failure.

        Raises:
            RefusedRequest: the store refuses one of them.
            UncutGraph: a document is too long, and cannot be cut.
            StoreFault: the store accepts nothing now, or has lost statements.
        """
        options = self._store.options
        if _is_loaded(group, options):
            self._load(group)
        elif not all(map(self._fits_update, group)):
            self._write_separately(group)
        else:
            self._store.update(_update_of(group, options.profile))
        self._check(group)

    def _load(self, group: Sequence[PlainDocument]) -> None:
        """Load new documents without a transaction, or fall back to updates."""
        begun = [each.version.begun.lines_for(each.graph) for each in group]
        drops = [drop(each.graph) for each in group]
        self._store.update(JOINT.join([change([], begun), *drops]))
        try:
            is_loaded = self._store.load(
                b"".join(each.document.quads or b"" for each in group)
            )
        except RefusedRequest:  # the caller retries halves of the group
            self._store.update(JOINT.join([*drops, change(begun, [])]))
            raise
        if is_loaded:
            self._settle(group, begun)
            return
        self._store.update(change(begun, []))
        options = self._store.options
        for some in _cut(group, 1000, options.batch_bytes, options.batch_lines):
            self._store.update(_update_of(some, options.profile))

    def _fits_update(self, each: PlainDocument) -> bool:
        return (
            _uses_update(each, self._store.options)
            and each.record.is_whole_or_new
            and self._writer.is_small(own_content(each.document))
        )

    def _write_separately(self, group: Sequence[PlainDocument]) -> None:
        former = [line for each in group for line in each.former]
        begun = [each.version.begun.lines_for(each.graph) for each in group]
        self._store.update(change(former, begun))
        for each in group:
            if not each.record.is_whole_or_new:
                self._store.update(drop(draft_of(each.graph)))
            self._writer.replace(own_content(each.document))
        self._settle(group, begun)

    def _settle(self, group: Sequence[PlainDocument], begun: Sequence[str]) -> None:
        final = [each.version.lines_for(each.graph) for each in group]
        self._store.update(change(begun, final))

    def _check(self, group: Sequence[PlainDocument]) -> None:
        """Check that the store has all graphs: some stores lose them silently."""
        graphs = [each.graph for each in group if each.document.n_bytes]
        missing = self._records.missing(graphs)
        if not missing:
            return
        some = [each for each in group if each.graph in missing]
        final = [each.version.lines_for(each.graph) for each in some]
        begun = [each.version.begun.lines_for(each.graph) for each in some]
        self._store.update(change(final, begun))
        raise StoreFault(
            f"{self._store.options.name}: reported success for {some[0].graph}, but"
            " has no statement of it",
            may_pass=True,
        )


def _update_of(group: Sequence[PlainDocument], profile: StoreProfile) -> bytes:
    """Return the update that writes documents and their versions.

    Some stores do not run it in one transaction; so the replaced versions are marked
    first, and the new ones noted last.
    """
    known = [each for each in group if each.record.versions]
    begun = [each.version.begun.lines_for(each.graph) for each in known]
    contents = (
        (each.graph, b"".join(own_content(each.document).pieces())) for each in group
    )
    updates = [
        change((line for each in known for line in each.former), begun),
        *(drop(each.graph) for each in group),
        insert(contents, profile),
        change(begun, (each.version.lines_for(each.graph) for each in group)),
    ]
    return JOINT.join(each for each in updates if each)


class SharingWriter(_DocumentWriter):
    """Writes documents with several or shared graphs, one after another."""

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
        lines = (writes(name, graph) for graph in sorted(added))
        for some in in_batches(lines, _BATCH_LINES):
            self._store.update(change([], some))
        old = [each.lines_for(name) for each in record.versions]
        self._store.update(change(old, [version.begun.lines_for(name)]))

    def _settle(self, name: str, version: StoredVersion, removed: set[str]) -> None:
        lines = (writes(name, graph) for graph in sorted(removed))
        for some in in_batches(lines, _BATCH_LINES):
            self._store.update(change(some, []))
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
