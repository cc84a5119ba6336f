"""Parse responses: heads, and bodies in chunks.

Servers send heads that the standard does not allow. Any head that browsers or curl
accept is accepted here; but a connection is reused only after a head that every parser
reads in the same way, so that no response can smuggle in another one.

Sources: RFC 9112, clauses 2 to 7 and 9.3; the WHATWG Fetch standard and the Web
Platform Tests (`fetch/h1-parsing`, `fetch/content-length`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from multidict import CIMultiDict

from rdfcrawl.core.errors import Reason, SourceFault

MAX_HEAD_BYTES: Final = 256 * 1024  # of a response, including interim responses
MAX_HEADER_LINES: Final = 5000
MAX_INTERIM: Final = 32  # responses of 1xx before the final one
SWITCHING: Final = 101
MAX_LENGTH_DIGITS: Final = 15
# A head in standard form, of a final response; short enough for the limits above.
_MAX_PLAIN_BYTES: Final = 16 * 1024
_plain_head: Final = re.compile(
    rb"HTTP/1\.1 ([2-5][0-9]{2})(?: [^\r\n\0]*+)?\r\n"
    rb"((?:[!#$%&'*+\-.^_`|~0-9A-Za-z]++:[^\r\n\0]*+\r\n)*+)\r\n"
).match
_plain_pairs: Final = re.compile(r"(?<![^\n])([^:\r\n]++): ?([^\r\n]*+)\r\n").findall
_NO_BODY: Final = frozenset({204, 304})
# Radio stations send ICY instead of HTTP.
_status_line: Final = re.compile(
    r"(?:HTTP/([0-9])(?:\.([0-9]{1,3}))?|ICY)[ \t]+([1-9][0-9]{2})(?![0-9])",
    re.IGNORECASE,
).match
_strict_status_line: Final = re.compile(r"HTTP/1\.[01] [0-9]{3}(?: |$)").match
_strict_name: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+").fullmatch
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


@dataclass(slots=True)
class ReceivedHead:
    """The head of one response.

    Attributes:
        length: of the body as sent; None if unknown.
        is_chunked: the body is sent in chunks.
        is_doubtful: the body may be unchunked in spite of the headers.
        may_keep: the connection may be reused after the body.
        n_bytes: of a head in standard form; else 0.
    """

    status: int
    headers: CIMultiDict[str]
    length: int | None = None
    is_chunked: bool = False
    is_doubtful: bool = False
    may_keep: bool = False
    n_bytes: int = 0

    @property
    def is_interim(self) -> bool:
        """Whether another head follows (RFC 9110 15.2)."""
        return 100 <= self.status < 200 and self.status != SWITCHING


def head_end(octets: bytes | bytearray, start: int = 0) -> int:
    r"""Return the offset after the empty line of a head; -1 if there is none.

    >>> head_end(b"HTTP/1.1 200 OK\r\n\r\nbody"), head_end(b"HTTP/1.1 200 OK\n\nbody")
    (19, 17)
    """
    strict = octets.find(b"\n\r\n", start)
    bare = octets.find(b"\n\n", start, strict + 1 if strict >= 0 else len(octets))
    if bare >= 0:
        return bare + 2
    return strict + 3 if strict >= 0 else -1


def check_begin(octets: bytes | bytearray) -> None:
    """Check that `octets` may become a head.

    Raises:
        SourceFault: `BAD_HTTP` otherwise.
    """
    begin = bytes(octets[:5]).upper()
    if not b"HTTP/".startswith(begin) and not begin.startswith(b"ICY"[: len(begin)]):
        raise SourceFault(Reason.BAD_HTTP, f"not HTTP: {bytes(octets[:40])!r}")


def parse_plain_head(octets: bytes) -> ReceivedHead | None:
    r"""Parse a head in standard form at the begin of `octets`; None if it has another.

    >>> head = parse_plain_head(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]")
    >>> head.status, head.length, head.n_bytes, head.may_keep
    (200, 2, 38, True)
    """
    begin = _plain_head(octets)
    if begin is None or (n_bytes := begin.end()) > _MAX_PLAIN_BYTES:
        return None
    text = begin[2].decode("utf-8", "surrogateescape")
    pairs = _plain_pairs(text)
    if " \r" in text or ":  " in text or "\t" in text:
        pairs = [(name, value.strip(" \t")) for name, value in pairs]
    head = ReceivedHead(int(begin[1]), CIMultiDict(pairs), n_bytes=n_bytes)
    is_kept = _is_kept(head.headers, version=("1", "1"))
    head.may_keep = _set_frame(head) and is_kept
    return head


def parse_head(octets: bytes) -> ReceivedHead:
    r"""Parse a head, including its empty line.

    Raises:
        SourceFault: `BAD_HTTP`: no client accepts it.

    >>> head = parse_head(b"HTTP/1.0 200\nContent-Length : 5,5\n\n")
    >>> head.status, head.length, head.may_keep
    (200, 5, False)
    """
    if b"\0" in octets:  # neither browsers nor curl accept it
        raise SourceFault(Reason.BAD_HTTP, "a NUL in its headers")
    text = octets.decode("utf-8", "surrogateescape")
    n_lines = text.count("\n")
    is_strict = text.count("\r\n") == n_lines == text.count("\r")
    if n_lines > MAX_HEADER_LINES:
        raise SourceFault(Reason.BAD_HTTP, f"over {MAX_HEADER_LINES} header lines")
    if is_strict:
        lines = text.split("\r\n")
    else:
        # RFC 9112 2.2: a CR without LF is invalid, and may be read as a space.
        text = text.replace("\r\n", "\n").replace("\r", " ")
        lines = text.split("\n")
    begin = _status_line(lines[0])
    if begin is None:
        raise SourceFault(Reason.BAD_HTTP, f"not HTTP: {lines[0][:80]!r}")
    pairs, has_strict_lines = _pairs(lines)
    head = ReceivedHead(int(begin[3]), CIMultiDict(pairs))
    is_strict = is_strict and has_strict_lines
    is_strict = is_strict and _strict_status_line(lines[0]) is not None
    is_kept = _is_kept(head.headers, version=(begin[1], begin[2]))
    head.may_keep = _set_frame(head) and is_strict and is_kept
    # In HTTP/1.0, curl decodes chunks, Chromium does not.
    head.is_doubtful = head.is_chunked and (begin[1], begin[2]) != ("1", "1")
    return head


def _pairs(lines: list[str]) -> tuple[list[tuple[str, str]], bool]:
    """Return names and values, and whether each line is in standard form."""
    pairs: list[tuple[str, str]] = []
    is_strict = True
    for line in lines[1:-2]:
        name, colon, value = line.partition(":")
        if _strict_name(name) and colon:
            pairs.append((name, value.strip(" \t")))
            continue
        is_strict = False
        if line[:1] in (" ", "\t") and pairs:  # RFC 9112 5.2: folded
            name, value = pairs[-1][0], f"{pairs[-1][1]} {line.strip()}"
            pairs[-1] = name, value.strip()
        elif colon and name.strip():  # a line without a colon is ignored
            pairs.append((name.strip(), value.strip(" \t")))
    return pairs, is_strict


def _is_kept(headers: CIMultiDict[str], version: tuple[str | None, str | None]) -> bool:
    """Return whether the connection stays open (RFC 9112 9.3)."""
    values = headers.getall("Connection", None)
    if version == ("1", "1"):
        if values is None or values == ["keep-alive"]:
            return True
        return "close" not in _tokens(headers, "Connection")
    if version != ("1", "0") or values is None:
        return False
    tokens = _tokens(headers, "Connection")
    return "keep-alive" in tokens and "close" not in tokens


def _set_frame(head: ReceivedHead) -> bool:
    """Set how the body is delimited; return whether every parser agrees.

    Source: RFC 9112 6.3.
    """
    headers = head.headers
    lengths = headers.getall("Content-Length", ())
    has_codings = "Transfer-Encoding" in headers
    if head.status in _NO_BODY or head.status < 200:
        head.length = 0
        # In a 304, it is the length of the corresponding 200's body.
        is_usual = lengths in ((), ["0"]) or (head.status == 304 and len(lengths) == 1)
        return is_usual and not has_codings and head.status != SWITCHING
    if has_codings:
        codings = _tokens(headers, "Transfer-Encoding")
        # Browsers look only for this word, in any position.
        head.is_chunked = "chunked" in codings
        if head.is_chunked:
            return codings == ["chunked"] and not lengths
    if not lengths:
        return False
    head.length = _length(lengths)
    is_number = len(lengths) == 1 and lengths[0].isdigit()
    return head.length is not None and is_number and not has_codings


def _length(lengths: list[str] | tuple[()]) -> int | None:
    """Return the length that all values agree on; None if it is not a number.

    Raises:
        SourceFault: `BAD_HTTP`: they differ (RFC 9112 6.3).
    """
    value = lengths[0] if lengths else ""
    if len(lengths) != 1 or not value.isdigit():
        values = {value.strip() for line in lengths for value in line.split(",")}
        if len(values) > 1:
            raise SourceFault(Reason.BAD_HTTP, "more than one Content-Length")
        value = values.pop()
    is_number = value.isascii() and value.isdigit()
    return int(value) if is_number and len(value) <= MAX_LENGTH_DIGITS else None


def _tokens(headers: CIMultiDict[str], name: str) -> list[str]:
    """Return the members of a list, without parameters, in lower case."""
    members = ",".join(headers.getall(name, ())).lower().split(",")
    tokens = (member.partition(";")[0].strip(" \t") for member in members)
    return [token for token in tokens if token]


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
