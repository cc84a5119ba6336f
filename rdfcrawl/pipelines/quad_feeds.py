"""Scrapy's feed exports in formats of RDF: the statements of documents, as they come.

Statements come in pieces, and each piece is written for itself: of a node that
several pieces tell of, a document of JSON-LD has several objects.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any, ClassVar, Final

from scrapy.exporters import BaseItemExporter

from rdfcrawl.records import Document

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.settings import BaseSettings

_PIECE_BYTES: Final = 1 << 20


class NQuadsExporter(BaseItemExporter):
    """Writes the statements of documents; has nothing to write of other items.

    Raises:
        TypeError: an option of the feed is not known.
    """

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        super().__init__(**options)
        self._file = file

    def export_item(self, item: Any) -> None:
        """Write the statements of a document that was stored."""
        if not isinstance(item, Document) or item.kept is None or item.withheld:
            return
        copy = item.kept.open()
        while lines := copy.readlines(_PIECE_BYTES):
            self._file.write(self._written(b"".join(lines)))

    def _written(self, quads: bytes) -> bytes:
        """Return lines of N-Quads in the format of the feed."""
        return quads


class _ParsedExporter(NQuadsExporter):
    """Writes by way of a parser.

    Attributes:
        format: name of the format in pyoxigraph.
        has_graphs: the format says which graph a statement is in.
    """

    format: ClassVar[str]
    has_graphs: ClassVar = False

    def _written(self, quads: bytes) -> bytes:
        import pyoxigraph as ox  # noqa: PLC0415

        parsed: Iterable[Any] = ox.parse(quads, format=ox.RdfFormat.N_QUADS)
        if not self.has_graphs:
            parsed = (quad.triple for quad in parsed)
        return ox.serialize(parsed, format=getattr(ox.RdfFormat, self.format)) or b""


class NTriplesExporter(_ParsedExporter):
    """Writes N-Triples: which document said a statement is lost."""

    format = "N_TRIPLES"


class TurtleExporter(_ParsedExporter):
    """Writes Turtle: which document said a statement is lost."""

    format = "TURTLE"


class TriGExporter(_ParsedExporter):
    """Writes TriG."""

    format = "TRIG"
    has_graphs = True


class JsonLdExporter(_ParsedExporter):
    """Writes one JSON-LD document: an array of the objects of all pieces."""

    format = "JSON_LD"
    has_graphs = True
    _separator = b"[\n"

    def _written(self, quads: bytes) -> bytes:
        objects = super()._written(quads).strip()[1:-1]
        if not objects:
            return b""
        written, self._separator = self._separator + objects, b",\n"
        return written

    def finish_exporting(self) -> None:
        """End the array."""
        begin = b"[" if self._separator == b"[\n" else b""
        self._file.write(begin + b"\n]\n")


def has_quads(settings: BaseSettings) -> bool:
    """Return whether a feed is in a format of RDF."""
    exporters = settings.getdict("FEED_EXPORTERS")
    paths = {exporters.get(x["format"]) for x in settings.getdict("FEEDS").values()}
    return any(str(path).startswith(f"{__name__}.") for path in paths)
