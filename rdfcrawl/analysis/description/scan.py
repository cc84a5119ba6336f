"""Read the documents of a crawl, and find the figures that describe them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Final, TypeAlias

from rdfcrawl.analysis.description.table import (
    FigureKind,
    FigureTable,
    common_beginning,
    hashes_of,
    key_prefix,
)
from rdfcrawl.core.namespaces import (
    DC,
    DCAT,
    DCTERMS,
    FOAF,
    RDF_TYPE,
    RDFS,
    SCHEMA,
    SCHEMA_HTTPS,
    VCARD,
    VOID,
    XHV,
)
from rdfcrawl.stores.log.documents import LogDocument
from rdfcrawl.uri.hosts import host_of_iri

Statement: TypeAlias = list[bytes]  # subject, predicate, object

_MAX_REMEMBERED: Final = 1_000_000  # statements of one document
_MAX_BYTES: Final = 1000  # of a name or an IRI
# RDF 1.2; readers of Turtle 1.1 know languages alone.
_DIRECTION: Final = re.compile(rb"--(?:ltr|rtl)\Z")
_HOST_AT: Final = 9  # past "<https://"
_MAX_HELD_BYTES: Final = 64 * 1024 * 1024  # of statements between two flushes
_MAX_PIECE_BYTES: Final = 1024 * 1024
_MAX_HOST_BYTES: Final = 300  # of an IRI, up to the end of its host
_MAX_ATTRIBUTIONS: Final = 1000  # of one document


def iter_statements(pieces: Iterable[bytes], graph: str) -> Iterator[list[Statement]]:
    """Yield the distinct statements of a document, piece by piece.

    The same triple in two graphs counts twice. In a document of more than a million
    statements, later repetitions may be yielded.

    Args:
        pieces: complete lines of canonical N-Quads, each with a graph.
        graph: of the document.
    """
    tail = b" <%s> .\n" % graph.encode()
    seen: set[int] = set()
    former: set[bytes] = set()
    for piece in pieces:
        if len(seen) < _MAX_REMEMBERED:
            seen.update(map(hash, former))
        # Literals contain no line feed, so each tail ends a line.
        is_of_one_graph = piece.count(tail) == piece.count(b"\n")
        lines = set(piece.split(tail if is_of_one_graph else b"\n"))
        lines.discard(b"")
        if seen:
            lines = {line for line in lines if hash(line) not in seen}
        former = lines
        triples = lines if is_of_one_graph else [x[: x.rfind(b" <")] for x in lines]
        # IRIs and labels contain no space.
        yield [*map(bytes.split, triples, repeat(b" "), repeat(2))]


_CC: Final = "http://creativecommons.org/ns#"


def _terms(*iris: str) -> frozenset[bytes]:
    return frozenset(f"<{iri}>".encode() for iri in iris)


_LICENCE: Final = _terms(
    f"{DCTERMS}license", f"{DCTERMS}rights", f"{DC}rights", f"{_CC}license",
    f"{XHV}license", f"{SCHEMA}license", f"{SCHEMA_HTTPS}license",
)  # fmt: skip
_PUBLISHER: Final = _terms(
    f"{DCTERMS}publisher", f"{DC}publisher",
    f"{SCHEMA}publisher", f"{SCHEMA_HTTPS}publisher",
)  # fmt: skip
_NAME: Final = _terms(
    f"{FOAF}name", f"{SCHEMA}name", f"{SCHEMA_HTTPS}name", f"{VCARD}fn",
    f"{RDFS}label", f"{DCTERMS}title",
)  # fmt: skip
_DATASET: Final = _terms(
    f"{VOID}Dataset", f"{VOID}DatasetDescription", f"{DCAT}Dataset",
    f"{DCAT}Distribution", f"{DCAT}Catalog",
    f"{SCHEMA}Dataset", f"{SCHEMA_HTTPS}Dataset",
)  # fmt: skip
ATTRIBUTING: Final = _LICENCE | _PUBLISHER
_url: Final = re.compile(rb'"(https?://[^\s<>"{}|^`\\]+)"').match


def iter_attributions(
    statements: Sequence[Statement], document: bytes
) -> Iterator[tuple[FigureKind, bytes]]:
    """Yield licences and publishers of a document or of the datasets in it.

    Statements about other subjects, such as the licence of a picture, are ignored.

    Args:
        statements: of the document.
        document: its IRI as a term.

    Yields:
        Each licence as a term; each publisher as an optional term, a tab, and an
        optional literal with its name. No duplicates.
    """
    about = {s for s, p, o in statements if p == _TYPE and o in _DATASET}
    about |= {document, document[:-1] + b"#>"}  # its IRI, also with an empty fragment
    names = {s: o for s, p, o in sorted(statements, reverse=True) if p in _NAME}
    found = set()
    for s, p, o in statements:
        if p not in ATTRIBUTING or s not in about:
            continue
        if o.startswith(b"<<"):  # a triple term names neither publisher nor licence
            continue
        if p in _PUBLISHER:
            if publisher := _publisher(o, names):
                found.add((FigureKind.PUBLISHERS, publisher))
        elif len(o) > _MAX_BYTES:
            continue
        elif o.startswith(b"<"):
            found.add((FigureKind.LICENCES, o))
        elif url := _url(o):
            found.add((FigureKind.LICENCES, b"<%s>" % url[1]))
    yield from sorted(found)


def _publisher(term: bytes, names: dict[bytes, bytes]) -> bytes:
    if term.startswith(b'"'):
        iri, name = b"", term
    else:
        iri = term if term.startswith(b"<") and len(term) <= _MAX_BYTES else b""
        name = names.get(term, b"")
    if not name.startswith(b'"') or len(name) > _MAX_BYTES:
        name = b""
    name = _DIRECTION.sub(b"", name)
    return b"%s\t%s" % (iri, name) if iri or name else b""


_TYPE: Final = f"<{RDF_TYPE}>".encode()


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
        self, host: bytes, typed: list[tuple[bytes, bytes]], hashes: dict[bytes, bytes]
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
