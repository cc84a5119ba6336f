"""Undo `Content-Encoding`, piece by piece and within limits (RFC 9110 8.4).

Servers name codings that do not exist (`UTF-8`, `none`) or that they did not apply.
The body is then used unchanged, as in browsers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.rdf.unpack import codecs
from rdfcrawl.rdf.unpack.decoding import BrokenStream, StreamCodec
from rdfcrawl.rdf.unpack.limits import RATIO_FREE_BYTES

ZSTD_WINDOW_LOG: Final = 23  # RFC 9659: windows of content codings are <= 8 MiB
MAX_CODINGS: Final = 5  # more is an attack; same limit as curl

# RFC 9110 8.4.1.3: x-gzip is equivalent.
_CODECS: Final[dict[str, Callable[[], StreamCodec]]] = {
    "gzip": codecs.gzip,
    "deflate": codecs.deflate,
    "br": codecs.br,
    "zstd": partial(codecs.zstandard, ZSTD_WINDOW_LOG),
}
_SYNONYMS: Final = {"x-gzip": "gzip", "x-deflate": "deflate"}
# Codings without a decoder here.
_NOT_DECODED: Final = frozenset(
    {"compress", "x-compress", "dcb", "dcz", "exi", "pack200-gzip", "sdch"}
)
# Formats that are compressed already; some servers wrongly declare a coding for them.
_MAGIC: Final = (b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"$HDT")
_GZIP, _ZSTD = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
_ZLIB: Final = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_LEAST_TEXT: Final = 16  # bytes; fewer may look like text by chance
_MOST_TEXT: Final = 1024  # bytes checked
_CONTROLS: Final = frozenset(range(32)) - frozenset(b"\t\n\f\r")


class UnknownCoding(SourceFault):
    """A body has a coding that cannot be decoded."""


class BodyDecoder:
    """Incremental decoder of one body.

    Raises:
        SourceFault: `BAD_CONTENT_ENCODING` on construction, for too many codings; see
            also `pieces` and `finish`.
    """

    def __init__(self, content_encoding: str, *, max_ratio: float) -> None:
        self._codecs = [_DeclaredCodec(name) for name in _codings(content_encoding)]
        self._max_ratio = max_ratio
        self._n_in = 0
        self._n_out = 0

    @property
    def has_ended(self) -> bool:
        """Whether the coded body is complete."""
        return bool(self._codecs) and all(codec.has_ended for codec in self._codecs)

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield the decoded `data`, at most `PIECE_BYTES` at a time.

        Raises:
            SourceFault: `BAD_CONTENT_ENCODING` if the stream is broken, `TOO_LARGE`
                if it grows by more than `max_ratio` (a bomb).
        """
        self._n_in += len(data)
        try:
            for piece in self._through(data, len(self._codecs) - 1):
                self._n_out += len(piece)
                if self._n_out > max(RATIO_FREE_BYTES, self._n_in * self._max_ratio):
                    n_in = counted(self._n_in, "byte")
                    detail = f"{n_in} decode to over {self._n_out}"
                    raise SourceFault(Reason.TOO_LARGE, detail)
                yield piece
        except BrokenStream as exc:
            raise SourceFault(Reason.BAD_CONTENT_ENCODING, str(exc)) from exc

    def finish(self) -> None:
        """Check that every stream is complete.

        Raises:
            SourceFault: `TRUNCATED_BODY` otherwise.
        """
        if self._n_in and not all(codec.is_complete for codec in self._codecs):
            raise SourceFault(Reason.TRUNCATED_BODY, "compressed stream is cut off")

    def _through(self, data: bytes, last: int) -> Iterator[bytes]:
        """Decode from the last applied coding (RFC 9110 8.4: listed in order)."""
        if last < 0:
            yield data
            return
        for piece in self._codecs[last].pieces(data):
            yield from self._through(piece, last - 1)


class _DeclaredCodec:
    """Decoder of a declared coding that the server may not have applied."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._codec: StreamCodec | None = None
        self._is_plain = False
        self._kept = b""  # input without output so far
        self._is_all_kept = True  # False beyond a limit
        self._is_begun = False  # there was output

    @property
    def is_complete(self) -> bool:
        return self._is_plain or (self._codec is not None and self._codec.is_complete)

    @property
    def has_ended(self) -> bool:
        return self._codec is not None and not self._is_plain and self.is_complete

    def pieces(self, data: bytes) -> Iterator[bytes]:
        if not data:
            return
        if self._codec is None and not self._is_plain:
            self._begin(data)
        if self._codec is None or self._is_plain:
            yield data
            return
        if not self._is_begun:
            if len(self._kept) < _MOST_TEXT:
                self._kept += data
            else:
                self._is_all_kept = False
        try:
            for piece in self._codec.pieces(data):
                self._is_begun = True
                yield piece
        except BrokenStream:
            if self._is_begun or not (self._is_all_kept and _is_text(self._kept)):
                raise
            self._is_plain = True
            yield self._kept

    def _begin(self, data: bytes) -> None:
        """Select the decoder by the first bytes of the body."""
        name = self._name
        is_text = len(data) >= _LEAST_TEXT and _is_text(data)
        if data.startswith(_GZIP) and name in ("deflate", "zstd", "br"):
            name = "gzip"
        elif data.startswith(_ZLIB) and name == "gzip":
            name = "deflate"
        elif data.startswith(_ZSTD) and name == "gzip":
            name = "zstd"
        elif is_text or data.startswith(_MAGIC):
            self._is_plain = True
            return
        if name in _NOT_DECODED and _is_text(data):
            self._is_plain = True
            return
        if name in _NOT_DECODED:
            detail = f"unknown coding {name!r}"
            raise UnknownCoding(Reason.BAD_CONTENT_ENCODING, detail)
        self._codec = _CODECS[name]()


def _is_text(data: bytes) -> bool:
    """Return whether a body begins like text, not like a compressed stream."""
    begin = data[:_MOST_TEXT]
    if not _CONTROLS.isdisjoint(begin):
        return False
    try:
        begin.decode()
    except UnicodeDecodeError as exc:
        # The last character may be truncated.
        return len(data) > _LEAST_TEXT and exc.start >= len(begin) - 3
    return True


def _codings(content_encoding: str) -> list[str]:
    """Return the codings that change a body, without unknown names."""
    names = (
        name.partition(";")[0].strip(" \t\"'").lower()
        for name in content_encoding.split(",")
    )
    names = (_SYNONYMS.get(name, name) for name in names)
    found = [name for name in names if name in _CODECS or name in _NOT_DECODED]
    if len(found) > MAX_CODINGS:
        raise SourceFault(Reason.BAD_CONTENT_ENCODING, "too many content codings")
    return found
