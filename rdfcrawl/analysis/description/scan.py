"""Add the statements of documents to the figures of their hosts."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.description.attributions import ATTRIBUTING, iter_attributions
from rdfcrawl.analysis.description.distinct import hashes_of
from rdfcrawl.analysis.description.keys import FigureKind, key_prefix
from rdfcrawl.analysis.description.statements import iter_statements
from rdfcrawl.analysis.description.table import common_beginning
from rdfcrawl.core.namespaces import RDF_TYPE
from rdfcrawl.uri.hosts import host_of_iri

if TYPE_CHECKING:
    from rdfcrawl.analysis.description.statements import Statement
    from rdfcrawl.analysis.description.table import FigureTable
    from rdfcrawl.stores.log.documents import LogDocument

_HOST_AT: Final = 9  # past "<https://"
_TYPE: Final = f"<{RDF_TYPE}>".encode()
_MAX_HELD_BYTES: Final = 64 * 1024 * 1024  # of statements between two flushes
_MAX_PIECE_BYTES: Final = 1024 * 1024
_MAX_HOST_BYTES: Final = 300  # of an IRI, up to the end of its host
_MAX_ATTRIBUTIONS: Final = 1000  # of one document


class FigureScan:
    """Count the statements of documents in a table of figures.

    Args:
        table: receives the figures of each host; complete after `flush`.
    """

    def __init__(self, table: FigureTable) -> None:
        self._table = table
        # By host; a link is the prefix of its object, and its predicate.
        self._properties: defaultdict[bytes, Counter[bytes]] = defaultdict(Counter)
        self._classes: defaultdict[bytes, Counter[bytes]] = defaultdict(Counter)
        self._links: defaultdict[bytes, Counter[bytes]] = defaultdict(Counter)
        self._n_new_bytes = 0  # of statements since the last flush, at most

    def add(self, document: LogDocument) -> None:
        """Count the statements of a document; tombstones are ignored.

        Raises:
            OSError: a disk cannot be read, or is full.
            TornMember: the segment of the document is damaged.
        """
        if document.is_tombstone:
            return
        graph = document.graph.encode()
        host, table = host_of_iri(graph), self._table
        table.add(key_prefix(host, FigureKind.DOCUMENTS), 1)
        table.raise_to(key_prefix(host, FigureKind.FIRST), -document.version_ms)
        table.raise_to(key_prefix(host, FigureKind.LAST), document.version_ms)
        table.share(key_prefix(host, FigureKind.PLACE), graph)
        name = b"<%s>" % graph
        attributions: set[tuple[FigureKind, bytes]] = set()
        for statements in iter_statements(document.pieces(), document.graph):
            if statements and self._add(host, statements):
                attributions.update(iter_attributions(statements, name))
            self._n_new_bytes += min(document.n_bytes, _MAX_PIECE_BYTES)
            if self._n_new_bytes >= _MAX_HELD_BYTES:
                self.flush()
            table.trim()
        for kind, about in sorted(attributions)[:_MAX_ATTRIBUTIONS]:
            table.add(key_prefix(host, kind) + about, 1)

    def flush(self) -> None:
        """Move the counts of properties, classes and links to the table."""
        for host, uses in self._properties.items():
            self._table.add_all(key_prefix(host, FigureKind.PROPERTIES), uses)
            self._add_namespaces(host, uses)
        for host, uses in self._classes.items():
            self._add_namespaces(host, uses)
        for host, links in self._links.items():
            self._add_links(host, links)
        for counted in (self._properties, self._classes, self._links):
            counted.clear()
        self._n_new_bytes = 0

    def _add(self, host: bytes, statements: list[Statement]) -> bool:
        """Add statements; return whether they may name a publisher or a licence."""
        table = self._table
        subjects, predicates, objects = zip(*statements, strict=True)
        table.add(key_prefix(host, FigureKind.TRIPLES), len(statements))
        hashes = self._add_subjects(host, set(subjects))
        table.count(key_prefix(host, FigureKind.OBJECTS), hashes_of(set(objects)))
        self._properties[host].update(predicates)
        typed = [(s, o) for s, p, o in statements if p == _TYPE and o[:1] == b"<"]
        if typed:
            self._add_classes(host, typed, hashes)
        # By the IRI up to the slash after its host, in most cases.
        self._links[host].update(
            [
                (
                    o[: o.find(b"/", _HOST_AT, _MAX_HOST_BYTES) + 1]
                    or o[:_MAX_HOST_BYTES]
                )
                + p
                for _, p, o in statements
                if o[:5] == b"<http"
            ]
        )
        return not ATTRIBUTING.isdisjoint(predicates)

    def _add_subjects(self, host: bytes, subjects: set[bytes]) -> dict[bytes, bytes]:
        """Add subjects; return the hash of each."""
        hashes = dict(zip(subjects, hashes_of(subjects), strict=True))
        table = self._table
        blank = {subject for subject in subjects if subject[:1] == b"_"}
        if blank:
            key = key_prefix(host, FigureKind.BLANK_SUBJECTS)
            table.count(key, [hashes[subject] for subject in blank])
        iris = subjects - blank if blank else subjects
        if iris:
            key = key_prefix(host, FigureKind.ENTITIES)
            table.count(key, [hashes[subject] for subject in iris])
            space = common_beginning(min(iris)[1:-1], max(iris)[1:-1])
            table.share(key_prefix(host, FigureKind.SPACE), space)
        return hashes

    def _add_classes(
        self,
        host: bytes,
        typed: list[tuple[bytes, bytes]],
        hashes: dict[bytes, bytes],
    ) -> None:
        """Add the instances of each class."""
        instances = defaultdict(set)
        for subject, name in typed:
            instances[name].add(hashes[subject])
        class_key = key_prefix(host, FigureKind.CLASSES)
        uses = self._classes[host]
        for name, members in instances.items():
            if not name.startswith(b"<<"):
                self._table.count(class_key + name, members)
                uses[name] += len(members)

    def _add_namespaces(self, host: bytes, uses: Counter[bytes]) -> None:
        namespaces: Counter[bytes] = Counter()
        for term, number in uses.items():
            namespaces[_namespace(term)] += number
        namespaces.pop(b"", None)
        self._table.add_all(key_prefix(host, FigureKind.VOCABULARIES), namespaces)

    def _add_links(self, host: bytes, links: Counter[bytes]) -> None:
        """Add the links to other hosts; the class of an instance is not a link."""
        found: Counter[bytes] = Counter()
        for link, number in links.items():
            end = link.rfind(b"<")
            target, predicate = host_of_iri(link[:end]), link[end:]
            if target and target != host and predicate != _TYPE:
                found[b"%s\t%s" % (target, predicate)] += number
        self._table.add_all(key_prefix(host, FigureKind.LINKS), found)


def _namespace(term: bytes) -> bytes:
    """Return the namespace of an IRI; empty if there is none.

    >>> _namespace(b"<http://e.example/v#a>")
    b'http://e.example/v#'
    """
    end = max(term.rfind(b"#"), term.rfind(b"/"))
    return term[1 : end + 1] if end > term.find(b"://") + 2 else b""
