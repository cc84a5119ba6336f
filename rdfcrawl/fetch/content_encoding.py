"""Undo `Content-Encoding`, piece by piece and within limits (RFC 9110 8.4)."""

from __future__ import annotations

import sys
import zlib
from typing import TYPE_CHECKING, Any, Final, Protocol

import brotli  # type: ignore[import-untyped]
from isal import isal_zlib

from rdfcrawl.errors import Reason, SourceFault

if sys.version_info >= (3, 14):  # pragma: no cover
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECE_BYTES: Final = 256 * 1024  # longest piece handed out, so a bomb stays small
RATIO_FREE_BYTES: Final = 1024 * 1024  # short bodies may compress as well as they like
MAX_CODINGS: Final = 2  # more is an attack, not a server

_BROKEN: Final[tuple[Any, ...]] = (  # the C modules' classes are typed loosely
    zlib.error,
    isal_zlib.error,
    brotli.error,
    zstd.ZstdError,
)


class _Codec(Protocol):
    """One stream of one coding."""

    @property
    def is_complete(self) -> bool:
        """The stream has ended where it should."""
        ...

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` decodes to, at most `PIECE_BYTES` at a time."""
        ...


class _Deflate:
    """gzip (RFC 1952, members in a row) or deflate (RFC 1950, often bare 1951)."""

    def __init__(self, *, is_gzip: bool) -> None:
        self._is_gzip = is_gzip
        self._stream: Any = None
        self.is_complete = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        is_full = False  # the stream may hold more than one piece of its input
        while data or is_full:
            if self._stream is None and not self._begin(data):
                return
            piece = self._stream.decompress(data, PIECE_BYTES)
            if piece:
                yield piece
            if self._stream.eof:
                data = self._stream.unused_data
                self._stream, self.is_complete, is_full = None, True, False
            else:
                data = self._stream.unconsumed_tail
                is_full = len(piece) == PIECE_BYTES

    def _begin(self, data: bytes) -> bool:
        """Open the next stream; what follows the last one is padding."""
        if self.is_complete and (not self._is_gzip or data[0] != 0x1F):
            return False
        # RFC 1950 2.2: the low four bits of the first byte are 8, or it is bare 1951.
        deflate = 15 if data[0] & 0x0F == 8 else -15
        self._stream = isal_zlib.decompressobj(wbits=31 if self._is_gzip else deflate)
        self.is_complete = False
        return True


class _Brotli:
    """br (RFC 7932)."""

    # The library rounds its limit up to the end of a block, at most twice as much.
    _LIMIT: Final = PIECE_BYTES // 2

    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    @property
    def is_complete(self) -> bool:
        return bool(self._stream.is_finished())

    def pieces(self, data: bytes) -> Iterator[bytes]:
        piece = self._stream.process(data, output_buffer_limit=self._LIMIT)
        while piece:
            yield piece
            if self._stream.is_finished():
                return
            piece = self._stream.process(b"", output_buffer_limit=self._LIMIT)


class _Zstd:
    """zstd (RFC 8878), frames in a row."""

    # RFC 9659: a content coding uses windows of at most 8 MiB.
    _LIMITS: Final[dict[int, int]] = {zstd.DecompressionParameter.window_log_max: 23}

    def __init__(self) -> None:
        self._stream = zstd.ZstdDecompressor(options=self._LIMITS)
        self.is_complete = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while True:
            if self._stream.eof:
                data = self._stream.unused_data or data
                if not data:
                    return
                self._stream = zstd.ZstdDecompressor(options=self._LIMITS)
            piece = self._stream.decompress(data, PIECE_BYTES)
            data = b""
            if piece:
                yield piece
            self.is_complete = self._stream.eof
            if self._stream.needs_input or (
                self._stream.eof and not self._stream.unused_data
            ):
                return


class Decoder:
    """The decoded pieces of one body, as its bytes arrive.

    Raises:
        SourceFault: `BAD_CONTENT_ENCODING` for a coding that is not known, when
            made; see `pieces` and `finish` for the rest.
    """

    def __init__(self, content_encoding: str, *, max_ratio: float) -> None:
        self._codecs = [_codec(name) for name in _codings(content_encoding)]
        self._max_ratio = max_ratio
        self._n_in = 0
        self._n_out = 0

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` decodes to, at most `PIECE_BYTES` at a time.

        Raises:
            SourceFault: `BAD_CONTENT_ENCODING` if the stream is broken, `TOO_LARGE`
                if it grows by more than `max_ratio` (a bomb).
        """
        self._n_in += len(data)
        try:
            for piece in self._through(data, len(self._codecs) - 1):
                self._n_out += len(piece)
                self._check_ratio()
                yield piece
        except _BROKEN as exc:
            raise SourceFault(Reason.BAD_CONTENT_ENCODING, str(exc)[:200]) from exc

    def finish(self) -> None:
        """Check that every stream has come to its end.

        Raises:
            SourceFault: `TRUNCATED_BODY` otherwise.
        """
        if self._n_in and not all(codec.is_complete for codec in self._codecs):
            raise SourceFault(Reason.TRUNCATED_BODY, "compressed stream is cut off")

    def _through(self, data: bytes, last: int) -> Iterator[bytes]:
        """Undo codings from the one applied last (RFC 9110 8.4: listed in order)."""
        if last < 0:
            yield data
            return
        for piece in self._codecs[last].pieces(data):
            yield from self._through(piece, last - 1)

    def _check_ratio(self) -> None:
        if self._n_out > max(RATIO_FREE_BYTES, self._n_in * self._max_ratio):
            raise SourceFault(
                Reason.TOO_LARGE, f"{self._n_in} bytes decode to over {self._n_out}"
            )


def _codings(content_encoding: str) -> list[str]:
    names = [name.strip().lower() for name in content_encoding.split(",")]
    names = [name for name in names if name and name != "identity"]
    if len(names) > MAX_CODINGS:
        raise SourceFault(Reason.BAD_CONTENT_ENCODING, "too many content codings")
    return names


def _codec(name: str) -> _Codec:
    match name:
        case "gzip" | "x-gzip":  # RFC 9110 8.4.1.3: x-gzip is equivalent
            return _Deflate(is_gzip=True)
        case "deflate":
            return _Deflate(is_gzip=False)
        case "br":
            return _Brotli()
        case "zstd":
            return _Zstd()
    raise SourceFault(Reason.BAD_CONTENT_ENCODING, f"unknown coding {name[:40]!r}")
