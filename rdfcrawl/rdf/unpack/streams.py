"""Streams of unpacked bytes that end at an error instead of raising."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, Final

from rdfcrawl.core.content import PulledStream
from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.unpack.decoding import PIECE_BYTES, BrokenStream, StreamCodec

if TYPE_CHECKING:
    from rdfcrawl.rdf.unpack.limits import PackingLayer

INPUT_BYTES: Final = 64 * 1024
_CHECKSUM_WORDS: Final = ("checksum", "crc", "adler")


class PieceStream(PulledStream):
    """Pieces of bytes as a raw stream.

    A fault is noted and ends the stream, so that the part before it can be read.

    Args:
        layer: source of the pieces; is cut after a fault.
        upstream: is closed with this stream.

    Attributes:
        is_at_end: all pieces were consumed.
    """

    def __init__(
        self,
        pieces: Iterator[bytes],
        *,
        note: Callable[[SourceFault, PackingLayer], None],
        layer: PackingLayer,
        upstream: BinaryIO | None = None,
    ) -> None:
        self._pieces = pieces
        self._note, self._layer = note, layer
        self._file = upstream
        self._ready = memoryview(b"")
        self.is_at_end = False

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer unless the stream ends; return the number of bytes."""
        n_filled, n_bytes = 0, len(buffer)
        while n_filled < n_bytes:
            if not self._ready:
                self._ready = self._next()
                if not self._ready:
                    break
            part = self._ready[: n_bytes - n_filled]
            buffer[n_filled : n_filled + len(part)] = part
            n_filled += len(part)
            self._ready = self._ready[len(part) :]
        return n_filled

    def _next(self) -> memoryview:
        if not self.is_at_end:
            try:
                for piece in self._pieces:
                    if piece:
                        return memoryview(piece)
            except SourceFault as fault:
                self._note(fault, self._layer)
                self._layer.is_cut = True
            self.is_at_end = True
        return memoryview(b"")


class PieceReader:
    """Reader of pieces of bytes, which raises their faults."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._ready = memoryview(b"")

    def read(self, n_bytes: int) -> bytes:
        """Return the next bytes, at most `n_bytes`; none at the end."""
        while not self._ready:
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            self._ready = memoryview(piece)
        data = self._ready[:n_bytes]
        self._ready = self._ready[n_bytes:]
        return bytes(data)


def buffered(stream: io.RawIOBase) -> io.BufferedReader:
    """Return a stream with a buffer of one piece for `peek`."""
    return io.BufferedReader(stream, PIECE_BYTES)


def content_if_short(stream: io.BufferedReader) -> bytes | None:
    """Return the content if shorter than a piece; nothing is consumed."""
    raw = stream.raw
    head = stream.peek(1)
    if isinstance(raw, PieceStream) and len(head) < PIECE_BYTES and raw.is_at_end:
        return bytes(head)
    return None


def decoded(
    read: Callable[[int], bytes],
    codec: StreamCodec,
    layer: PackingLayer,
    *,
    what: str,
    ends_itself: bool = False,
) -> Iterator[bytes]:
    """Yield decoded bytes, counted by a layer; `what` names the coding in faults.

    If the coding `ends_itself`, bytes after its end do not belong to it.

    Raises:
        SourceFault: `BAD_ARCHIVE`, `CHECKSUM`, `TOO_LARGE`.
    """
    try:
        while data := read(INPUT_BYTES):
            layer.count_in(len(data))
            for piece in codec.pieces(data):
                layer.count_out(len(piece))
                yield piece
            if codec.garbage:
                break
    except BrokenStream as error:
        raise _fault_of(error, what) from error
    except MemoryError as error:
        raise SourceFault(Reason.TOO_LARGE, f"{what}: needs too much memory") from error
    if not codec.is_complete:
        raise SourceFault(Reason.BAD_ARCHIVE, f"{what}: cut off")
    if codec.garbage and not ends_itself:
        raise SourceFault(Reason.BAD_ARCHIVE, f"{what}: trailing bytes")


def _fault_of(error: BrokenStream, what: str) -> SourceFault:
    detail = f"{what}: {error}"
    if error.needs_memory:
        return SourceFault(Reason.TOO_LARGE, detail)
    is_checksum = any(word in detail.lower() for word in _CHECKSUM_WORDS)
    return SourceFault(Reason.CHECKSUM if is_checksum else Reason.BAD_ARCHIVE, detail)
