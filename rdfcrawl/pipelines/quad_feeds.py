"""Scrapy's feed exports in formats of RDF: the statements of documents, as they come.

Statements come in pieces, and each piece is written for itself: of a node that
several pieces tell of, a document of JSON-LD has several objects.
"""

from __future__ import annotations

import logging
from typing import IO, TYPE_CHECKING, Any, ClassVar, Final

from scrapy.exporters import BaseItemExporter

from rdfcrawl.records import Document

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

_PIECE_BYTES: Final = 1 << 20
# What pyoxigraph raises; of a format without triple terms, an OSError.
_UNWRITABLE: Final = OSError, SyntaxError, ValueError


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
    _n_left_out = 0

    def _written(self, quads: bytes) -> bytes:
        try:
            return self._serialized(quads)
        except _UNWRITABLE:
            lines = quads.splitlines(keepends=True)
            writable = [line for line in lines if self._is_writable(line)]
            self._n_left_out += len(lines) - len(writable)
            return self._serialized(b"".join(writable))

    def _serialized(self, quads: bytes) -> bytes:
        """Return lines of N-Quads in the format of the feed.

        Raises:
            OSError, SyntaxError, ValueError: pyoxigraph cannot read or write one.
        """
        import pyoxigraph as ox  # noqa: PLC0415

        # They were checked when they were stored.
        parsed: Iterable[Any] = ox.parse(
            quads, format=ox.RdfFormat.N_QUADS, lenient=True
        )
        if not self.has_graphs:
            parsed = (quad.triple for quad in parsed)
        return ox.serialize(parsed, format=getattr(ox.RdfFormat, self.format)) or b""

    def _is_writable(self, line: bytes) -> bool:
        try:
            self._serialized(line)
        except _UNWRITABLE:
            return False
        return True

    def finish_exporting(self) -> None:
        """Tell what was left out."""
        if self._n_left_out:
            name = self.format.replace("_", "-")
            logger.warning(
                "feed: %d statements left out, which %s cannot say",
                self._n_left_out,
                name,
            )


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
        """End the array, and tell what was left out."""
        super().finish_exporting()
        begin = b"[" if self._separator == b"[\n" else b""
        self._file.write(begin + b"\n]\n")


def has_quads(settings: BaseSettings) -> bool:
    """Return whether a feed is in a format of RDF."""
    exporters = settings.getdict("FEED_EXPORTERS")
    paths = {exporters.get(x["format"]) for x in settings.getdict("FEEDS").values()}
    return any(str(path).startswith(f"{__name__}.") for path in paths)
