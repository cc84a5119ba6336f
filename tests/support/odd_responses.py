"""Responses that the standard does not allow, and that clients read all the same.

Each is a function of the body; `READ` are read to their end by curl, `http.client` or
browsers, `CUT` in part, `REFUSED` by none of them.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from typing import Final

import brotli  # type: ignore[import-untyped]
from backports import zstd

OddResponse = Callable[[bytes], bytes]

_OK: Final = b"HTTP/1.1 200 OK\r\n"
_TYPE: Final = b"Content-Type: application/n-triples\r\n"
_CHUNKED: Final = _OK + _TYPE + b"Transfer-Encoding: chunked\r\n"


def _sized(headers: bytes = b"", *, line: bytes = _OK) -> OddResponse:
    """Return a response with headers before those of the body."""
    head = line + headers + _TYPE
    return lambda body: head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def _lengths(value: str, *, end: bytes = b"") -> OddResponse:
    """Return a response whose lengths are `value`, with `n` for the right one."""

    def make(body: bytes) -> bytes:
        lines = value.replace("n", str(len(body))).split("|")
        head = "".join(f"Content-Length: {line}\r\n" for line in lines)
        return _OK + _TYPE + head.encode() + b"\r\n" + body + end

    return make


def _coded(
    coding: str, code: Callable[[bytes], bytes] = bytes, name: str = "Content-Encoding"
) -> OddResponse:
    def make(body: bytes) -> bytes:
        coded = code(body)
        head = f"{name}: {coding}\r\nContent-Length: {len(coded)}\r\n\r\n"
        return _OK + _TYPE + head.encode() + coded

    return make


def _chunks(
    before: bytes = b"",
    after: bytes = b"\r\n",
    *,
    end: bytes = b"0\r\n\r\n",
    head: bytes = _CHUNKED,
    step: int = 20,
) -> OddResponse:
    """Return chunks with `before` and `after` around each size."""

    def make(body: bytes) -> bytes:
        parts = [body[at : at + step] for at in range(0, len(body), step)]
        chunks = (before + b"%x" % len(x) + after + x + b"\r\n" for x in parts)
        return head + b"\r\n" + b"".join(chunks) + end

    return make


def _bare_deflate(body: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(body) + stream.flush()


def _gzip_with_length_of_text(body: bytes) -> bytes:
    body += b"#" * 400  # so that the coded one is shorter
    coded = gzip.compress(body)
    head = b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
    return _OK + _TYPE + head + coded


def _bare_lines(make: OddResponse) -> OddResponse:
    def bare(body: bytes) -> bytes:
        head, _, rest = make(body).partition(b"\r\n\r\n")
        return head.replace(b"\r\n", b"\n") + b"\n\n" + rest

    return bare


def _to_close(head: bytes) -> OddResponse:
    return lambda body: head + b"\r\n" + body


_usual = _sized()
_other = b'<urn:x:s> <urn:x:p> "of no request" .\n'
_long = b"X-Long: " + b"y" * 200_000 + b"\r\n"

READ: Final[dict[str, OddResponse]] = {
    # -- codings that are none ---------------------------------------------------------
    **{
        f"coding-{name.lower()}": _coded(name)
        for name in ("UTF-8", "none", "binary", "identity", "8bit", "", "iso-8859-1")
    },
    **{
        f"{name}-of-plain-text": _coded(name)
        for name in ("gzip", "deflate", "br", "zstd", "gzip, gzip", "compress")
    },
    # -- codings that are named oddly --------------------------------------------------
    "x-gzip": _coded("X-GZIP", gzip.compress),
    "deflate-zlib": _coded("deflate", zlib.compress),
    "deflate-bare": _coded("deflate", _bare_deflate),
    "br": _coded("br", brotli.compress),
    "zstd": _coded("zstd", zstd.compress),
    "gzip-twice-named": _coded("gzip, gzip", gzip.compress),
    "gzip-and-utf-8": _coded("utf-8, gzip", gzip.compress),
    "gzip-with-parameter": _coded("gzip;q=1.0", gzip.compress),
    "gzip-in-quotes": _coded('"gzip"', gzip.compress),
    "gzip-called-deflate": _coded("deflate", gzip.compress),
    "stacked": _coded("gzip, br", lambda body: brotli.compress(gzip.compress(body))),
    "thrice": _coded(
        "gzip, gzip, gzip",
        lambda body: gzip.compress(gzip.compress(gzip.compress(body))),
    ),
    "gzip-with-length-of-text": _gzip_with_length_of_text,
    "gzip-in-two-lines": _coded(
        "gzip\r\nContent-Encoding: br",
        lambda body: brotli.compress(gzip.compress(body)),
    ),
    # -- lengths -----------------------------------------------------------------------
    "length-twice": _lengths("n|n"),
    "length-list": _lengths("n, n"),
    "length-list-twice": _lengths("n,n|n"),
    "length-in-blanks": _lengths(" \t n \t"),
    "length-with-zeros": _lengths("000n"),
    "length-no-number": _lengths("many"),
    "length-negative": _lengths("-5"),
    "length-empty": _lengths(""),
    "length-with-plus": _lengths("+7"),
    "length-enormous": _lengths("9" * 60),
    "bytes-behind": _lengths("n", end=b"<p>counted by a plugin</p>"),
    "lines-behind": _lengths("n", end=b"\r\n\r\n"),
    "response-behind": _lengths("n", end=_usual(_other)),
    # -- transfer codings --------------------------------------------------------------
    "length-and-chunked": _chunks(head=_CHUNKED + b"Content-Length: 3\r\n"),
    "chunked-twice": _chunks(head=_CHUNKED + b"Transfer-Encoding: chunked\r\n"),
    "chunked-upper": _chunks(head=_OK + _TYPE + b"Transfer-Encoding: CHUNKED\r\n"),
    "chunked-blank": _chunks(head=_OK + _TYPE + b"Transfer-Encoding : chunked \r\n"),
    "identity-chunked": _chunks(
        head=_OK + _TYPE + b"Transfer-Encoding: identity, chunked\r\n"
    ),
    "chunked-1.0": _chunks(head=_CHUNKED.replace(b"1.1", b"1.0")),
    "not-chunked-1.0": _to_close(_CHUNKED.replace(b"1.1", b"1.0")),
    "transfer-identity": _coded("identity", name="Transfer-Encoding"),
    "transfer-gzip-chunked": lambda body: _chunks(
        head=_OK + _TYPE + b"Transfer-Encoding: gzip, chunked\r\n"
    )(gzip.compress(body)),
    # -- chunks ------------------------------------------------------------------------
    "blank-behind-size": _chunks(after=b" \r\n"),
    "blank-before-size": _chunks(b" "),
    "extension": _chunks(after=b";a=b\r\n"),
    "blank-before-extension": _chunks(after=b" ; a = b\r\n"),
    "zeros-before-size": _chunks(b"0000000"),
    "bare-lines-of-chunks": _chunks(after=b"\n", end=b"0\n\n"),
    "trailers": _chunks(end=b"0\r\nX-A: b\r\nX-B: c\r\n\r\n"),
    "no-last-line": _chunks(end=b"0\r\n"),
    "no-end-of-trailers": _chunks(end=b"0\r\nX-A: b\r\n"),
    "response-behind-chunks": _chunks(end=b"0\r\n\r\n" + _usual(_other)),
    "response-as-trailers": _chunks(end=b"0\r\n" + _usual(_other)),
    "line-by-line": _chunks(step=1),
    # -- lines of the head -------------------------------------------------------------
    "blank-before-colon": _sized(b"X-A : b\r\n"),
    "length-blank-before-colon": lambda body: (
        _OK + _TYPE + b"Content-Length : %d\r\n\r\n" % len(body) + body
    ),
    "no-blank-behind-colon": _sized(b"X-A:b\r\n"),
    "folded": _sized(b"X-A: b\r\n c\r\n\td\r\n"),
    "folded-first": _sized(b" folded\r\n"),
    "no-colon": _sized(b"an error of a plugin\r\n"),
    "no-name": _sized(b": b\r\n"),
    "odd-name": _sized(b"X (A): b\r\n"),
    "not-ascii": _sized(b"X-\xc3\xa4: \xe4\xff\r\n"),
    "bare-cr": _sized(b"X-A: b\rc\r\n"),
    "bare-lines": _bare_lines(_usual),
    "bare-lines-chunked": _bare_lines(_chunks()),
    "many-lines": _sized(b"".join(b"X-%d: y\r\n" % n for n in range(1000))),
    "long-line": _sized(_long),
    # -- the first line ----------------------------------------------------------------
    "no-reason": _sized(line=b"HTTP/1.1 200\r\n"),
    "blank-reason": _sized(line=b"HTTP/1.1 200 \r\n"),
    "odd-reason": _sized(line=b"HTTP/1.1 200 \xff\xfe: : 404\r\n"),
    "lower-case": _sized(line=b"http/1.1 200 ok\r\n"),
    "blanks": _sized(line=b"HTTP/1.1   200   OK\r\n"),
    "http-1.0": _sized(line=b"HTTP/1.0 200 OK\r\n"),
    "http-1.2": _sized(line=b"HTTP/1.2 200 OK\r\n"),
    "http-2": _sized(line=b"HTTP/2 200\r\n"),
    "icy": _sized(line=b"ICY 200 OK\r\n"),
    "empty-lines-before": lambda body: b"\r\n\r\n" + _usual(body),
    "status-299": _sized(line=b"HTTP/1.1 299 Odd\r\n"),
    # -- interim responses -------------------------------------------------------------
    "interim": lambda body: b"HTTP/1.1 103 Early Hints\r\n\r\n" * 9 + _usual(body),
    "continue": lambda body: b"HTTP/1.1 100\r\n\r\n" + _usual(body),
    # -- bodies that the connection ends -----------------------------------------------
    "to-close": _to_close(_OK + _TYPE),
    "to-close-1.0": _to_close(b"HTTP/1.0 200 OK\r\n" + _TYPE),
    "to-close-kept": _to_close(_OK + _TYPE + b"Connection: keep-alive\r\n"),
}

CUT: Final[dict[str, OddResponse]] = {
    "length-too-long": lambda body: (
        _OK + _TYPE + b"Content-Length: %d\r\n\r\n" % (len(body) + 9) + body
    ),
    "no-last-chunk": _chunks(end=b""),
    "last-chunk-cut": _chunks(end=b"20\r\n# cut"),
    "size-cut": _chunks(end=b"2"),
    "bad-size": _chunks(end=b"xyz\r\n"),
    "chunk-longer-than-its-size": _chunks(end=b"1\r\n##\r\n0\r\n\r\n"),
    "gzip-cut": _coded("gzip", lambda body: gzip.compress(body)[:-6]),
}

REFUSED: Final[dict[str, OddResponse]] = {
    "nul-in-head": _sized(b"X-A: \0\r\n"),
    "two-lengths": _lengths("n|3"),
    "two-lengths-in-a-list": _lengths("n, 3"),
    "no-http": lambda body: b"SSH-2.0-OpenSSH_9.6\r\n" + body,
    "no-head": lambda body: body,
    "status-of-four-digits": _sized(line=b"HTTP/1.1 2000 OK\r\n"),
    "no-status": _sized(line=b"HTTP/1.1 OK\r\n"),
    "status-0": _sized(line=b"HTTP/1.1 000 OK\r\n"),
    "head-cut": lambda _body: _OK + _TYPE,
    "switching": _sized(line=b"HTTP/1.1 101 Switching Protocols\r\n"),
    "lines-without-end": _sized(b"X: y\r\n" * 60_000),
    "interim-without-end": lambda body: (
        b"HTTP/1.1 103 Early Hints\r\n\r\n" * 4000 + _usual(body)
    ),
}

# Those that only the end of the connection ends.
CLOSED: Final = {
    *("to-close", "to-close-1.0", "to-close-kept", "not-chunked-1.0"),
    *("length-no-number", "length-negative", "length-empty", "length-with-plus"),
    *("length-enormous", "gzip-with-length-of-text", "head-cut"),
    *("length-too-long", "no-last-chunk", "last-chunk-cut", "size-cut"),
}
# Those that every parser reads in the same way.
STRICT: Final = {
    *(name for name in READ if name.startswith("coding-")),
    *(name for name in READ if name.endswith("-of-plain-text")),
    *("x-gzip", "deflate-zlib", "deflate-bare", "br", "zstd", "gzip-twice-named"),
    *("gzip-and-utf-8", "gzip-with-parameter", "gzip-in-quotes", "stacked"),
    *("gzip-called-deflate", "thrice", "gzip-in-two-lines", "length-in-blanks"),
    *("length-with-zeros", "chunked-upper", "zeros-before-size", "trailers"),
    *("line-by-line", "no-blank-behind-colon", "many-lines"),
    *("long-line", "no-reason", "blank-reason", "odd-reason", "status-299"),
    *("interim", "continue", "gzip-cut"),
}
