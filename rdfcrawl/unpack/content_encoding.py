"""Undo `Content-Encoding`, piece by piece and within limits (RFC 9110 8.4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.unpack import codecs
from rdfcrawl.unpack.codecs import BrokenStream, StreamCodec
from rdfcrawl.unpack.limits import RATIO_FREE_BYTES

ZSTD_WINDOW_LOG: Final = 23  # RFC 9659: a content coding's windows are <= 8 MiB
MAX_CODINGS: Final = 2  # more is an attack, not a server


class BodyDecoder:
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
        """Yield what `data` decodes to, at most `codecs.PIECE_BYTES` at a time.

        Raises:
            SourceFault: `BAD_CONTENT_ENCODING` if the stream is broken, `TOO_LARGE`
                if it grows by more than `max_ratio` (a bomb).
        """
        self._n_in += len(data)
        try:
            for piece in self._through(data, len(self._codecs) - 1):
                self._n_out += len(piece)
                if self._n_out > max(RATIO_FREE_BYTES, self._n_in * self._max_ratio):
                    told = f"{self._n_in} bytes decode to over {self._n_out}"
                    raise SourceFault(Reason.TOO_LARGE, told)
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
        """Undo codings from the one applied last (RFC 9110 8.4: listed in order)."""
        if last < 0:
            yield data
            return
        for piece in self._codecs[last].pieces(data):
            yield from self._through(piece, last - 1)


def _codings(content_encoding: str) -> list[str]:
    names = [name.strip().lower() for name in content_encoding.split(",")]
    names = [name for name in names if name and name != "identity"]
    if len(names) > MAX_CODINGS:
        raise SourceFault(Reason.BAD_CONTENT_ENCODING, "too many content codings")
    return names


def _codec(name: str) -> StreamCodec:
    match name:
        case "gzip" | "x-gzip":  # RFC 9110 8.4.1.3: x-gzip is equivalent
            return codecs.gzip()
        case "deflate":
            return codecs.deflate()
        case "br":
            return codecs.br()
        case "zstd":
            return codecs.zstandard(ZSTD_WINDOW_LOG)
    raise SourceFault(Reason.BAD_CONTENT_ENCODING, f"unknown coding {name[:40]!r}")
