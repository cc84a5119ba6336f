"""Decode and screen the text of one document, repeatedly if a reader needs that."""

from __future__ import annotations

import io
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast

from rdfcrawl.errors import Reason
from rdfcrawl.rdf.encoding import BLOCK_BYTES, Utf8Stream, to_utf8
from rdfcrawl.rdf.xml_screen import XmlScreen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.bytesource import ByteSource
    from rdfcrawl.faultlog import FaultLog
    from rdfcrawl.rdf.encoding import Screen


class DocumentText:
    """The text of one document, of which at most `max_bytes` are read (`TOO_LARGE`).

    If `is_xml`, the XML declaration counts, and dangerous XML is refused.
    """

    __slots__ = ("_charset", "_is_xml", "_max_bytes", "_passing", "_source")

    def __init__(
        self, source: ByteSource, *, charset: str, is_xml: bool, max_bytes: int
    ) -> None:
        self._source, self._charset = source, charset
        self._is_xml, self._max_bytes = is_xml, max_bytes
        self._passing: BinaryIO | None = None

    @property
    def is_in_memory(self) -> bool:
        """Whether the document is in memory."""
        return self._source.data is not None

    @property
    def can_reopen(self) -> bool:
        """Whether the text can be read more than once."""
        return self._source.can_reopen

    @contextmanager
    def open(self, log: FaultLog, *screens: Screen) -> Iterator[bytes | BinaryIO]:
        """Yield the text: as a whole if in memory, else as a stream.

        `screens` see each block, one after the other, and may change the text or raise
        `SourceFault`.
        """
        if self._source.data is not None:
            yield self._whole(self._source.data, log, *screens)
            return
        with self._stream(log, *screens) as stream:
            yield stream

    def open_stream(self, log: FaultLog, *screens: Screen) -> BinaryIO:
        """Return the text as a stream, as `open` (`OSError`: it cannot be reopened)."""
        if self._source.data is not None:
            return io.BytesIO(self._whole(self._source.data, log, *screens))
        return self._stream(log, *screens)

    def gather(self, max_bytes: int) -> bool:
        """Load a document of at most so many bytes into memory; return whether done."""
        self._source = self._source.gathered(max_bytes)
        return self._source.data is not None and len(self._source.data) <= max_bytes

    def drain(self) -> None:
        """Read a stream to the end, where some faults show."""
        file, self._passing = self._passing, None
        if file is not None:
            while file.read(BLOCK_BYTES):
                pass

    def whole(self, log: FaultLog) -> bytes:
        """Return the text of a document in memory."""
        return self._whole(self._source.data or b"", log)

    def _whole(self, data: bytes, log: FaultLog, *screens: Screen) -> bytes:
        if len(data) > self._max_bytes:
            data = data[: self._max_bytes]
            log.note(Reason.TOO_LARGE, "document cut at its largest size")
        text = to_utf8(data, charset=self._charset, is_xml=self._is_xml, log=log)
        for each in self._all(screens):
            text = each(text, True)  # a screen takes no keywords
        return text

    def _stream(self, log: FaultLog, *screens: Screen) -> BinaryIO:
        passes_by, file = self._source.passes_by, self._source.open()
        if passes_by:
            self._passing = file
        stream = Utf8Stream(
            file,
            charset=self._charset,
            is_xml=self._is_xml,
            max_bytes=self._max_bytes,
            log=log,
            screens=self._all(screens),
        )
        # The parser asks for 2 KiB at a time.
        return cast("BinaryIO", io.BufferedReader(stream, BLOCK_BYTES))

    def _all(self, screens: tuple[Screen, ...]) -> tuple[Screen, ...]:
        return (XmlScreen().feed, *screens) if self._is_xml else screens
