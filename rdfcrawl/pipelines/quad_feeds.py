"""Scrapy's feed exports in formats of RDF: the statements of documents."""

from __future__ import annotations

import logging
from typing import IO, Any, ClassVar, Final

from scrapy.exporters import BaseItemExporter

from rdfcrawl.core.messages import counted
from rdfcrawl.core.records import Document
from rdfcrawl.rdf.serializing import StatementSerializer

logger = logging.getLogger(__name__)

_PIECE_BYTES: Final = 1 << 20


class NQuadsExporter(BaseItemExporter):
    """Writes the statements of documents; ignores other items.

    Attributes:
        format_name: extension of the files of the format.

    Raises:
        TypeError: an option of the feed is unknown.
    """

    format_name: ClassVar = "nq"

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        super().__init__(**options)
        self._file = file
        self._serializer = StatementSerializer(self.format_name)

    def export_item(self, item: Any) -> None:
        """Write the statements of a document that was stored."""
        if not isinstance(item, Document) or item.kept is None or item.withheld:
            return
        copy = item.kept.open()
        while lines := copy.readlines(_PIECE_BYTES):
            self._file.write(self._serializer.write(b"".join(lines)))

    def finish_exporting(self) -> None:
        """End the file, and log omitted statements."""
        self._file.write(self._serializer.end())
        if n_left_out := self._serializer.n_left_out:
            logger.warning(
                "feed: %s left out that %s cannot express",
                counted(n_left_out, "statement"),
                self._serializer.title,
            )


class NTriplesExporter(NQuadsExporter):
    """Writes N-Triples, without the document of each statement."""

    format_name = "nt"


class TurtleExporter(NQuadsExporter):
    """Writes Turtle, without the document of each statement."""

    format_name = "ttl"


class TriGExporter(NQuadsExporter):
    """Writes TriG."""

    format_name = "trig"


class JsonLdExporter(NQuadsExporter):
    """Writes one JSON-LD document: an array of the objects of all pieces."""

    format_name = "jsonld"
