"""Heads of responses: status, headers, and where the body ends.

Servers send heads that the standard does not allow. Any head that browsers or curl
accept is accepted here; but a connection is reused only after a head that every parser
reads in the same way, so that no response can smuggle in another one.

Sources: RFC 9112, clauses 2 to 6 and 9.3; the WHATWG Fetch standard and the Web
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
_NO_BODY: Final = frozenset({204, 304})
# Radio stations send ICY instead of HTTP.
_status_line: Final = re.compile(
    r"(?:HTTP/([0-9])(?:\.([0-9]{1,3}))?|ICY)[ \t]+([1-9][0-9]{2})(?![0-9])",
    re.IGNORECASE,
).match
_strict_status_line: Final = re.compile(r"HTTP/1\.[01] [0-9]{3}(?: |$)").match
_strict_name: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+").fullmatch


@dataclass(slots=True)
class ReceivedHead:
    """The head of one response.

    Attributes:
        length: of the body as sent; None if unknown.
        is_chunked: the body is sent in chunks.
        is_doubtful: the body may be unchunked in spite of the headers.
        may_keep: the connection may be reused after the body.
    """

    status: int
    headers: CIMultiDict[str]
    length: int | None = None
    is_chunked: bool = False
    is_doubtful: bool = False
    may_keep: bool = False

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
    value = headers.get("Connection")
    if version == ("1", "1"):
        return value is None or "close" not in _tokens(headers, "Connection")
    if version != ("1", "0") or value is None:
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
    if lengths:
        head.length = _length(lengths)
    is_number = len(lengths) == 1 and lengths[0].isdigit()
    return head.length is not None and is_number and not has_codings


def _length(lengths: list[str] | tuple[()]) -> int | None:
    """Return the length that all values agree on; None if it is not a number.

    Raises:
        SourceFault: `BAD_HTTP`: they differ (RFC 9112 6.3).
    """
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
