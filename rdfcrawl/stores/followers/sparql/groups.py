"""Write documents of one graph each, many at a time."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import StoreFault
from rdfcrawl.stores.followers.sparql.failures import RefusedRequest
from rdfcrawl.stores.followers.sparql.records import change
from rdfcrawl.stores.followers.sparql.statements import own_content
from rdfcrawl.stores.followers.sparql.writing import JOINT, draft_of, drop, insert

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rdfcrawl.stores.followers.sparql.options import SparqlStoreOptions
    from rdfcrawl.stores.followers.sparql.profiles import StoreProfile
    from rdfcrawl.stores.followers.sparql.records import (
        DocumentRecord,
        DocumentRecords,
        StoredVersion,
    )
    from rdfcrawl.stores.followers.sparql.store import SparqlStore
    from rdfcrawl.stores.followers.sparql.writing import GraphWriter
    from rdfcrawl.stores.log.documents import LogDocument

_PUT_AT_ONCE: Final = 32  # documents whose versions are noted together
_RECORD_LINES: Final = 8  # of a document, at most
_RECORD_BYTES: Final = 400
_LOADED_BYTES: Final = 4 * 1024 * 1024  # of documents that are loaded together


@dataclass(frozen=True, slots=True)
class PlainDocument:
    """A version that writes its own graph, which no other document writes.

    Attributes:
        document: that is written.
        record: what the store says of it.
        version: that the store is going to have.
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
        """Statements of the versions that are noted."""
        return [each.said_of(self.graph) for each in self.record.versions]


def grouped(
    plain: Iterable[PlainDocument], options: SparqlStoreOptions
) -> Iterator[list[PlainDocument]]:
    """Yield documents in groups that go together: loaded, by an update, or PUT."""
    loaded: list[PlainDocument] = []
    updated: list[PlainDocument] = []
    put: list[PlainDocument] = []
    for each in plain:
        if _can_be_loaded(each, options):
            loaded.append(each)
        else:
            (updated if _goes_by_update(each, options) else put).append(each)
    for group in _cut(loaded, sys.maxsize, _LOADED_BYTES, sys.maxsize):
        if _is_loaded(group, options):
            yield group
        else:
            updated += group
    n_updated = min(1000, options.batch_lines // (_RECORD_LINES + 1) or 1)
    at_once = options.batch_bytes, options.batch_lines
    yield from _cut(updated, n_updated, *at_once)
    yield from _cut(put, _PUT_AT_ONCE, *at_once)


def _can_be_loaded(each: PlainDocument, options: SparqlStoreOptions) -> bool:
    is_new = not each.record.versions and each.document.quads is not None
    return is_new and options.profile.loads_quads and options.method == "update"


def _is_loaded(group: Sequence[PlainDocument], options: SparqlStoreOptions) -> bool:
    """Return whether a group is worth a load: it is more than an update takes."""
    is_long = sum(map(_size, group)) > options.batch_bytes
    return is_long and all(_can_be_loaded(each, options) for each in group)


def _goes_by_update(each: PlainDocument, options: SparqlStoreOptions) -> bool:
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


class GroupWriter:
    """Writes groups of documents with their versions.

    Args:
        store: that takes them.
        writer: of its graphs.
        records: of its documents.
    """

    def __init__(
        self, store: SparqlStore, writer: GraphWriter, records: DocumentRecords
    ) -> None:
        self._store, self._writer, self._records = store, writer, records

    def write(self, group: Sequence[PlainDocument]) -> None:
        """Write documents; the call may be made again after a failure.

        Raises:
            RefusedRequest: the store does not take one of them.
            UncutGraph: one would have to be cut, and cannot be.
            StoreFault: the store takes nothing now, or has lost something.
        """
        options = self._store.options
        if _is_loaded(group, options):
            self._load(group)
        elif not all(map(self._goes_at_once, group)):
            self._write_one_by_one(group)
        else:
            self._store.update(_update_of(group, options.profile))
        self._check(group)

    def _load(self, group: Sequence[PlainDocument]) -> None:
        """Load new documents without a transaction; or by updates, if need be."""
        begun = [each.version.begun.said_of(each.graph) for each in group]
        drops = [drop(each.graph) for each in group]
        self._store.update(JOINT.join([change([], begun), *drops]))
        try:
            is_loaded = self._store.load(
                b"".join(each.document.quads or b"" for each in group)
            )
        except RefusedRequest:  # others will write those that are not to blame
            self._store.update(JOINT.join([*drops, change(begun, [])]))
            raise
        if is_loaded:
            self._settle(group, begun)
            return
        self._store.update(change(begun, []))
        options = self._store.options
        for some in _cut(group, 1000, options.batch_bytes, options.batch_lines):
            self._store.update(_update_of(some, options.profile))

    def _goes_at_once(self, each: PlainDocument) -> bool:
        return (
            _goes_by_update(each, self._store.options)
            and each.record.is_whole_or_new
            and self._writer.is_small(own_content(each.document))
        )

    def _write_one_by_one(self, group: Sequence[PlainDocument]) -> None:
        former = [line for each in group for line in each.former]
        begun = [each.version.begun.said_of(each.graph) for each in group]
        self._store.update(change(former, begun))
        for each in group:
            if not each.record.is_whole_or_new:
                self._store.update(drop(draft_of(each.graph)))
            self._writer.replace(own_content(each.document))
        self._settle(group, begun)

    def _settle(self, group: Sequence[PlainDocument], begun: Sequence[str]) -> None:
        whole = [each.version.said_of(each.graph) for each in group]
        self._store.update(change(begun, whole))

    def _check(self, group: Sequence[PlainDocument]) -> None:
        """Check that all is there, as some stores claim success anyhow."""
        graphs = [each.graph for each in group if each.document.n_bytes]
        missing = self._records.missing(graphs)
        if not missing:
            return
        some = [each for each in group if each.graph in missing]
        whole = [each.version.said_of(each.graph) for each in some]
        begun = [each.version.begun.said_of(each.graph) for each in some]
        self._store.update(change(whole, begun))
        raise StoreFault(
            f"{self._store.options.name}: claims to have taken {some[0].graph}, and"
            " has nothing of it",
            may_pass=True,
        )


def _update_of(group: Sequence[PlainDocument], profile: StoreProfile) -> bytes:
    """Return the update that writes documents and their versions.

    Not all stores run it in one transaction; so the versions that are replaced are
    marked first, and the new ones noted last.
    """
    known = [each for each in group if each.record.versions]
    begun = [each.version.begun.said_of(each.graph) for each in known]
    contents = (
        (each.graph, b"".join(own_content(each.document).pieces())) for each in group
    )
    updates = [
        change((line for each in known for line in each.former), begun),
        *(drop(each.graph) for each in group),
        insert(contents, profile),
        change(begun, (each.version.said_of(each.graph) for each in group)),
    ]
    return JOINT.join(each for each in updates if each)
