"""The figures of one host, or of the crawl, that a description contains."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, Generic, NamedTuple, TypeVar

from rdfcrawl.analysis.description.table import (
    Cardinality,
    DistinctCount,
    Figure,
    FigureKey,
    FigureKind,
    FigureTable,
    hashes_of,
    key_prefix,
)
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.stores.provenance.records import Activity
from rdfcrawl.uri.hosts import host_of_iri

N = TypeVar("N", int, Cardinality)
_MAX_ABOUT_BYTES: Final = 4096  # of an IRI in a list
_NONE: Final = Cardinality(0)


class RankedItem(NamedTuple, Generic[N]):
    """A subject of a ranking and its figure."""

    about: str
    number: N


class Ranking(Generic[N]):
    """The largest of many figures, and how many there are.

    Subjects with very long IRIs are counted, but not kept.

    Args:
        size: maximum number of figures kept.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._largest: list[tuple[N, _Reversed]] = []
        self.n_all = 0

    def add(self, about: bytes, number: N) -> None:
        """Add a figure."""
        self.n_all += 1
        if len(about) > _MAX_ABOUT_BYTES:
            return
        item = number, _Reversed(about)
        if len(self._largest) < self._size:
            heapq.heappush(self._largest, item)
        elif self._size:
            heapq.heappushpop(self._largest, item)

    @property
    def is_cut(self) -> bool:
        """Whether some figures were dropped."""
        return self.n_all > len(self._largest)

    @property
    def items(self) -> list[RankedItem[N]]:
        """The figures in descending order; equal ones ordered by subject."""
        largest = sorted(self._largest, reverse=True)
        # A host name may have been truncated within a character.
        return [
            RankedItem(name.text.decode(errors="ignore"), number)
            for number, name in largest
        ]


class _Reversed(NamedTuple):
    """A text that sorts in reverse order."""

    text: bytes

    def __lt__(self, other: tuple[bytes, ...]) -> bool:
        return self.text > other[0]


@dataclass(kw_only=True)
class DatasetFigures:
    """The figures of one dataset: a host, or the crawl.

    Attributes:
        host: its name; empty for the crawl, and for documents without host.
        size: of the rankings.
        first_ms: fetch time of its first document, Unix time.
        last_ms: fetch time of its last document.
        place: common prefix of the IRIs of its documents.
        space: common prefix of the IRIs of its entities.
        entities: distinct IRIs used as subjects.
        classes: distinct instances by class IRI.
        properties: triples by property IRI.
        vocabularies: triples and instances by namespace.
        links: triples by host and property.
        licences: documents by licence IRI.
        publishers: documents by IRI and name.
        formats: documents by format name.
    """

    host: str
    size: int
    n_documents: int = 0
    n_triples: int = 0
    first_ms: int = 0
    last_ms: int = 0
    place: str = ""
    space: str = ""
    entities: Cardinality = _NONE
    blank_subjects: Cardinality = _NONE
    objects: Cardinality = _NONE
    classes: Ranking[Cardinality] = field(init=False)
    properties: Ranking[int] = field(init=False)
    vocabularies: Ranking[int] = field(init=False)
    links: Ranking[int] = field(init=False)
    licences: Ranking[int] = field(init=False)
    publishers: Ranking[int] = field(init=False)
    formats: Ranking[Cardinality] = field(init=False)

    def __post_init__(self) -> None:
        """Create the rankings."""
        for name in (*_RANKED.values(), *_RANKED_COUNTS.values()):
            setattr(self, name, Ranking(self.size))

    @property
    def subjects(self) -> Cardinality:
        """Distinct subjects: IRIs and blank nodes."""
        return self.entities.plus(self.blank_subjects)

    def take(self, kind: FigureKind, about: bytes, figure: Figure) -> None:
        """Set a figure from the table."""
        if isinstance(figure, DistinctCount):
            number = figure.cardinality
            if kind in _RANKED_COUNTS:
                getattr(self, _RANKED_COUNTS[kind]).add(about, number)
            else:
                setattr(self, _COUNTS[kind], number)
        elif isinstance(figure, bytes):
            setattr(self, _TEXTS[kind], figure.decode(errors="ignore"))
        elif kind in _RANKED:
            getattr(self, _RANKED[kind]).add(about, figure)
        else:
            sign = -1 if kind is FigureKind.FIRST else 1
            setattr(self, _NUMBERS[kind], sign * figure)


_NUMBERS = {
    FigureKind.DOCUMENTS: "n_documents",
    FigureKind.TRIPLES: "n_triples",
    FigureKind.FIRST: "first_ms",
    FigureKind.LAST: "last_ms",
}
_TEXTS = {FigureKind.PLACE: "place", FigureKind.SPACE: "space"}
_COUNTS = {
    FigureKind.ENTITIES: "entities",
    FigureKind.BLANK_SUBJECTS: "blank_subjects",
    FigureKind.OBJECTS: "objects",
}
_RANKED = {
    FigureKind.PROPERTIES: "properties",
    FigureKind.VOCABULARIES: "vocabularies",
    FigureKind.LINKS: "links",
    FigureKind.LICENCES: "licences",
    FigureKind.PUBLISHERS: "publishers",
}
_RANKED_COUNTS = {FigureKind.CLASSES: "classes", FigureKind.FORMATS: "formats"}


def iter_hosts(table: FigureTable, size: int) -> Iterator[DatasetFigures]:
    """Yield the figures of each host, sorted by name.

    Args:
        table: by host.
        size: of the rankings.
    """
    items = ((FigureKey.of(key), figure) for key, figure in table.items())
    for host, group in groupby(items, lambda item: item[0].host):
        yield _figures(host, group, size)


def _figures(
    host: bytes, items: Iterable[tuple[FigureKey, Figure]], size: int
) -> DatasetFigures:
    figures = DatasetFigures(host=host.decode(), size=size)
    for key, figure in items:
        figures.take(key.kind, key.about, figure)
    return figures


def add_provenance(table: FigureTable, activities: Iterable[Activity]) -> None:
    """Count the documents of each host by format.

    Args:
        table: receives the figures of each host.
        activities: in the provenance.
    """
    documents: dict[bytes, list[bytes]] = {}
    for each in activities:
        if each.has_document and each.format:
            document = graph_iri(each.document_url).encode()
            key = key_prefix(host_of_iri(document), FigureKind.FORMATS)
            documents.setdefault(key + each.format.encode(), []).append(document)
    for key, iris in documents.items():
        table.count(key, hashes_of(iris))
    table.trim()
