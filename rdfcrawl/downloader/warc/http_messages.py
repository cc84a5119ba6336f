"""HTTP messages as transferred: locate head and body, and the framing of the body.

Sources: RFC 9112, clauses 2 to 7; The WARC Format 1.1 (IIPC), clause 6.3.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

REDACTED: Final = b"redacted"
_LINES: Final = re.IGNORECASE | re.MULTILINE
_HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
_STATUS: Final = re.compile(rb"HTTP/[0-9.]+ +([0-9]{3})")
_CODING: Final = re.compile(rb"^Transfer-Encoding(?=[ \t]*:)", _LINES)
_HEX: Final = re.compile(rb"[0-9A-Fa-f]+")
_MAX_CHUNK_LINE: Final = 16 * 1024
_MAX_SIZE_DIGITS: Final = 16
_MAX_LENGTH_DIGITS: Final = 18
_SWITCHING: Final = 101


@dataclass(slots=True)
class ResponseHead:
    """The head of a response, with its place among the received bytes.

    Attributes:
        raw: from the status line to the empty line.
        end: offset of the body; interim responses precede the head.
        status: code of three digits.
    """

    raw: bytes
    end: int
    status: int

    def values(self, name: bytes) -> list[bytes]:
        """Return the values of a header, one for each line."""
        line = re.compile(rb"^%s[ \t]*:(.*)" % name, _LINES)
        return [value.strip(b" \t\r") for value in line.findall(self.raw)]

    def frame(self) -> BodyFrame:
        """Return how the body is delimited (RFC 9112 6.3)."""
        if self.status in (204, 304) or 100 <= self.status < 200:
            return BodyFrame(length=0)
        codings = b",".join(self.values(b"Transfer-Encoding")).lower()
        if codings.rpartition(b",")[2].strip() == b"chunked":
            return BodyFrame(is_chunked=True)
        lengths = self.values(b"Content-Length")
        length = lengths[0] if lengths and not codings else b""
        is_known = length.isdigit() and len(length) <= _MAX_LENGTH_DIGITS
        return BodyFrame(length=int(length) if is_known else None)

    def without_chunks(self) -> bytes:
        """Return the head of the response with its body in one piece.

        `Transfer-Encoding` is renamed like in Common Crawl.
        """
        return _CODING.sub(b"X-Crawler-Transfer-Encoding", self.raw)


def find_head(received: bytes) -> ResponseHead | None:
    r"""Return the head of the final response; None if incomplete.

    >>> find_head(b"HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\nx").end
    41
    """
    begin = 0
    while found := _HEAD_END.search(received, begin):
        status = _STATUS.match(received, begin)
        if status is None:
            return None
        code = int(status[1])
        if not 100 <= code < 200 or code == _SWITCHING:
            return ResponseHead(received[begin : found.end()], found.end(), code)
        begin = found.end()
    return None


@dataclass(slots=True)
class BodyFrame:
    """The framing of a body: its length, chunks, or the end of the connection.

    Attributes:
        length: in bytes; None if unknown.
        is_chunked: the body is sent in chunks.
        is_complete: the body is complete, as far as known; set by `pieces`.
    """

    length: int | None = None
    is_chunked: bool = False
    is_complete: bool = field(init=False, default=False)

    @property
    def has_end(self) -> bool:
        """Whether the body declares its end; otherwise the connection ends it."""
        return self.is_chunked or self.length is not None

    def pieces(self, received: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the body without its chunks and without the bytes after its end."""
        self.is_complete = False
        if self.is_chunked:
            yield from self._chunks(iter(received))
            return
        left = self.length
        for piece in received:
            wanted = piece if left is None else piece[:left]
            if wanted:
                yield wanted
            if left is not None:
                left -= len(wanted)
        self.is_complete = not left

    def _chunks(self, received: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the content of chunks (RFC 9112 7.1), without trailers."""
        window = _Window(received)
        while (left := _chunk_size(window.line())) > 0:
            while left:
                piece = window.take(left)
                if not piece:
                    return
                yield piece
                left -= len(piece)
            window.line()
        self.is_complete = left == 0


class _Window:
    """Bytes of a body, by line or by number; nothing is copied twice."""

    def __init__(self, received: Iterator[bytes]) -> None:
        self._received = received
        self._piece, self._at = b"", 0

    def take(self, n_bytes: int) -> bytes:
        """Return at most `n_bytes` of the next bytes; none at the end."""
        if self._at == len(self._piece):
            self._piece, self._at = next(self._received, b""), 0
        taken = self._piece[self._at : self._at + n_bytes]
        self._at += len(taken)
        return taken

    def line(self) -> bytes:
        """Return the next line without its end; empty if it has none."""
        end = self._piece.find(b"\n", self._at)
        while end < 0:
            left = self._piece[self._at :]
            more = next(self._received, b"")
            if not more or len(left) > _MAX_CHUNK_LINE:
                return b""
            self._piece, self._at = left + more, 0
            end = self._piece.find(b"\n", len(left))
        line = self._piece[self._at : end]
        self._at = end + 1
        return line.rstrip(b"\r")


def _chunk_size(line: bytes) -> int:
    """Return the size at the start of a chunk; -1 if there is none."""
    size = line.partition(b";")[0].strip()
    is_size = len(size) <= _MAX_SIZE_DIGITS and _HEX.fullmatch(size)
    return int(size, 16) if is_size else -1


def redacted(head: bytes, names: tuple[str, ...]) -> bytes:
    r"""Return the head of a request without the values of some headers.

    >>> redacted(b"GET / HTTP/1.1\r\nCookie: a\r\n\r\n", ("cookie",))
    b'GET / HTTP/1.1\r\nCookie: redacted\r\n\r\n'
    """
    return _lines_of(names).sub(rb"\1: " + REDACTED, head) if names else head


@lru_cache(maxsize=8)
def _lines_of(names: tuple[str, ...]) -> re.Pattern[bytes]:
    lines = "|".join(map(re.escape, names)).encode()
    return re.compile(rb"^(%s)[ \t]*:[^\r\n]*" % lines, _LINES)


def split_request(sent: bytes) -> tuple[bytes, bytes]:
    """Return head and body of a request."""
    found = _HEAD_END.search(sent)
    return (sent[: found.end()], sent[found.end() :]) if found else (sent, b"")
