"""Bodies in chunks (RFC 9112 7.1), read in batches."""

from __future__ import annotations

import re
from typing import Final

from rdfcrawl.core.errors import Reason, SourceFault

_MAX_LINE: Final = 4096  # bytes of the line with the size of a chunk
_MAX_TRAILER_BYTES: Final = 64 * 1024
# Like urllib, skip blanks before the size; like curl, ignore the rest of the line.
_size_line: Final = re.compile(
    rb"[ \t]{0,64}([0-9A-Fa-f]{1,15})(?:[^0-9A-Fa-f\n][^\n]{0,4016})?\n"
).match
_begin_of_size_line: Final = re.compile(
    rb"[ \t]{0,64}(?:[0-9A-Fa-f]{1,15}(?:[^0-9A-Fa-f\n][^\n]{0,4016})?)?"
).fullmatch
_usual_size_line: Final = re.compile(rb"([0-9A-Fa-f]{1,15})\r\n").match
_CR, _LF = b"\r\n"


class ChunkDecoder:
    """Decoder of one body.

    Attributes:
        is_complete: the last chunk was read; trailers may follow.
        is_done: the trailers were read, too.
        is_strict: every parser reads the body in the same way.
        n_chunks: read so far.
        n_wire: bytes read so far, including framing.
        has_reached_limit: the last call read as many chunks as allowed.
        partial: content of the last call, even if it turned out not to be chunked.
    """

    def __init__(self) -> None:
        self.is_complete = self.is_done = False
        self.is_strict = True
        self.n_chunks = self.n_wire = 0
        self.has_reached_limit = False
        self.partial = b""
        self._data, self._at = b"", 0  # unread data, and the offset where they begin
        self._left = 0  # bytes of the present chunk
        self._is_behind = False  # the chunk has ended, and its line end follows
        self._n_trailer = 0

    @property
    def has_rest(self) -> bool:
        """Whether there are unread bytes."""
        return self._at < len(self._data)

    def add(self, data: bytes) -> None:
        """Add bytes to be read later."""
        if not self.has_rest:
            self._data, self._at = data, 0
        elif data:
            self._data, self._at = self._data[self._at :] + data, 0

    def decode(self, data: bytes, max_chunks: int) -> bytes:
        """Return the content of `data`, of at most `max_chunks` chunks.

        Raises:
            SourceFault: `BAD_HTTP`: it is not chunked.
        """
        self.add(data)
        pieces: list[bytes] = []
        most, begin = self.n_chunks + max_chunks, self._at
        try:
            self._at = self._read(self._data, pieces, most)
        finally:
            self.partial = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        self.n_wire += self._at - begin
        self.has_reached_limit = self.n_chunks == most and not self.is_complete
        return self.partial

    def _read(self, data: bytes, pieces: list[bytes], most: int) -> int:
        """Append the content of chunks to `pieces`; return the offset after them."""
        at, n_bytes = self._at, len(data)
        while at < n_bytes and not self.is_complete:
            if self._left:
                piece = data[at : at + self._left]
                pieces.append(piece)
                at += len(piece)
                self._left -= len(piece)
                self._is_behind = not self._left
                continue
            if self._is_behind:
                begin = at
                at = self._behind(data, at)
                if at == begin:
                    return at
                continue
            at = self._read_usual(data, at, pieces, most)
            if self.n_chunks >= most or at >= n_bytes:
                return at
            line = _size_line(data, at)
            if line is None:
                _check_line(data, at)
                return at
            is_usual = line.start(1) == at and data.startswith(b"\r\n", line.end(1))
            self.is_strict &= is_usual
            at = line.end()
            self.n_chunks += 1
            self._left = int(line[1], 16)
            self.is_complete = not self._left
        return self._trailers(data, at) if self.is_complete else at

    def _read_usual(self, data: bytes, at: int, pieces: list[bytes], most: int) -> int:
        """Append all chunks that are complete and in standard form."""
        match, append, first = _usual_size_line, pieces.append, len(pieces)
        for _ in range(most - self.n_chunks):
            line = match(data, at)
            if line is None:
                break
            begin = line.end()
            end = begin + int(line[1], 16)
            if begin == end or data[end : end + 2] != b"\r\n":
                break
            append(data[begin:end])
            at = end + 2
        self.n_chunks += len(pieces) - first
        return at

    def _behind(self, data: bytes, at: int) -> int:
        """Return the offset of the next line; `at` if it has not arrived."""
        if data.startswith(b"\r\n", at):
            at += 2
        elif data[at] == _LF:
            self.is_strict = False
            at += 1
        elif data[at] != _CR or at + 1 < len(data):
            raise SourceFault(Reason.BAD_HTTP, "a chunk is longer than its size")
        else:
            return at
        self._is_behind = False
        return at

    def _trailers(self, data: bytes, at: int) -> int:
        """Skip the lines up to the empty one."""
        while not self.is_done:
            end = data.find(b"\n", at)
            if end < 0:
                break
            line = data[at : end + 1]
            self.is_done = line in (b"\r\n", b"\n")
            self.is_strict &= line.endswith(b"\r\n")
            self._n_trailer += len(line)
            at = end + 1
        if self._n_trailer + len(data) - at > _MAX_TRAILER_BYTES:
            raise SourceFault(Reason.BAD_HTTP, "trailers without an end")
        return at


def _check_line(data: bytes, at: int) -> None:
    """Check that the line at `at` may become the size of a chunk."""
    if len(data) - at > _MAX_LINE or data.find(b"\n", at) >= 0:
        said = data[at : at + 40].partition(b"\n")[0]
        raise SourceFault(Reason.BAD_HTTP, f"no size of a chunk: {said!r}")


def looks_chunked(data: bytes) -> bool | None:
    r"""Return whether a body begins with the size of a chunk; None if undecided.

    >>> looks_chunked(b"5;a=b\r\n"), looks_chunked(b"5"), looks_chunked(b"<p>")
    (True, None, False)
    """
    if _size_line(data) is not None:
        return True
    return None if _begin_of_size_line(data) else False
