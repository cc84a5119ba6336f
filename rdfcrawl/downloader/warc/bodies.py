"""Bodies of responses in an archive: without chunks and content coding.

Archives differ: some keep bodies as sent, others have decoded them and kept the
headers.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.core.errors import Fault, Reason, SourceFault
from rdfcrawl.downloader.warc.http_messages import BodyFrame
from rdfcrawl.downloader.warc.part import READ_BYTES
from rdfcrawl.rdf.unpack.content_encoding import BodyDecoder, UnknownCoding

if TYPE_CHECKING:
    from collections.abc import Iterator

_begins_chunk: Final = re.compile(rb"[0-9A-Fa-f]{1,16}[ \t]*(?:;[^\r\n]*)?\r?\n").match


class RecordBody:
    """The body of a warcio record, to be read once.

    Args:
        record: after its head.
        max_ratio: decoded : encoded.

    Attributes:
        fault: error that ended the body; set at its end.

    Raises:
        SourceFault: `BAD_CONTENT_ENCODING`: there are too many codings.
    """

    def __init__(self, record: Any, *, max_ratio: float) -> None:
        self.fault: Fault | None = None
        self._pieces: Iterator[bytes] = iter(
            partial(record.raw_stream.read, READ_BYTES), b""
        )
        self._ahead = b""
        http = record.http_headers
        if http is None:
            return
        if (http.get_header("Transfer-Encoding") or "").lower().endswith("chunked"):
            self._pieces = self._unchunked(self._pieces)
        coding = http.get_header("Content-Encoding") or ""
        if coding:
            decoder = BodyDecoder(coding, max_ratio=max_ratio)
            self._pieces = self._decoded(self._pieces, decoder)

    def read(self, n_bytes: int = READ_BYTES) -> bytes:
        """Return at most `n_bytes` of the next bytes; none at the end."""
        if not self._ahead:
            self._ahead = next(self._pieces, b"")
        taken, self._ahead = self._ahead[:n_bytes], self._ahead[n_bytes:]
        return taken

    def begin(self, n_bytes: int) -> bytes:
        """Return at least `n_bytes` of the first bytes, if available."""
        begin = b""
        while len(begin) < n_bytes and (piece := self.read()):
            begin += piece
        return begin

    def _unchunked(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        first = next(pieces, b"")
        pieces = chain([first], pieces)
        if not _begins_chunk(first):
            yield from pieces
            return
        frame = BodyFrame(is_chunked=True)
        yield from frame.pieces(pieces)
        if not frame.is_complete:
            self.fault = Fault(Reason.TRUNCATED_BODY, "the last chunk is missing")

    def _decoded(
        self, pieces: Iterator[bytes], decoder: BodyDecoder
    ) -> Iterator[bytes]:
        n_bytes = 0
        try:
            for position, piece in enumerate(pieces):
                try:
                    for decoded in decoder.pieces(piece):
                        n_bytes += len(decoded)
                        yield decoded
                except UnknownCoding:
                    raise
                except SourceFault as error:
                    is_broken = error.fault.reason is Reason.BAD_CONTENT_ENCODING
                    if position or n_bytes or not is_broken:
                        raise
                    yield from chain([piece], pieces)  # already decoded
                    return
            decoder.finish()
        except SourceFault as error:
            self.fault = self.fault or error.fault
