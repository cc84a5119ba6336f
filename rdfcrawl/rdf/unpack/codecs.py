"""Incremental decoders of compressed streams.

Each piece of output is bounded; the caller bounds the total.
"""

from __future__ import annotations

import bz2
import lzma
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import brotli  # type: ignore[import-untyped]
import inflate64
import lz4.frame
from isal import igzip_lib

from rdfcrawl.core.formats import PackingKind
from rdfcrawl.rdf.unpack.decoding import (
    PIECE_BYTES,
    BrokenStream,
    StreamCodec,
    parts_of,
)
from rdfcrawl.rdf.unpack.own_decoders import LzipMember, LzwStream

if sys.version_info >= (3, 14):  # pragma: no cover
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from rdfcrawl.rdf.unpack.limits import UnpackLimits

_KEPT_BYTES: Final = 256 * 1024  # first bytes, kept for decoding again up to an error
_TRAILER_BYTES: Final = 32  # at least the length of any trailer
_STEP_BYTES: Final = 32 * 1024  # decoded per call, and lost if an error follows
_ANY: Final = bytes(range(256))

# Raised by the libraries for broken input; only caught around library calls.
_BROKEN: Final[tuple[Any, ...]] = (  # the C modules' classes are typed loosely
    igzip_lib.error,
    brotli.error,
    zstd.ZstdError,
    lzma.LZMAError,
    OSError,
    ValueError,
    RuntimeError,
    EOFError,
)


class _FramedStreams:
    """Decoder of consecutive streams of one coding.

    Args:
        make: given the first bytes, returns a decompressor with the interface of `bz2`
            and `lzma`.
        follow: first bytes of further streams. Zeros before one are padding; other
            bytes are garbage and end decoding.
    """

    def __init__(self, make: Callable[[bytes], Any], *, follow: bytes = _ANY) -> None:
        self._make = make
        self._follow = follow
        self._stream: Any = None
        self.is_complete = False
        self.garbage = b""

    def pieces(self, data: bytes) -> Iterator[bytes]:
        if self._stream is None:
            data = self._begin(data)
        while (stream := self._stream) is not None:
            try:
                piece = stream.decompress(data, _STEP_BYTES)
            except _BROKEN as exc:
                raise BrokenStream.of(exc) from exc
            if piece:
                yield piece
            if stream.eof:
                self._stream, self.is_complete = None, True
                data = self._begin(stream.unused_data or b"")
            elif stream.needs_input or not (piece or data):
                return
            else:
                data = b""

    def _begin(self, data: bytes) -> bytes:
        """Open the next stream, if any; return its bytes."""
        if self.garbage:
            return b""
        if self.is_complete and self._follow is not _ANY:
            data = data.lstrip(b"\0")
            if data and data[0] not in self._follow:
                self.garbage = data
                return b""
        if data:
            try:
                self._stream = self._make(data)
            except _BROKEN as exc:
                raise BrokenStream.of(exc) from exc
            self.is_complete = False
        return data


class _CarefulCodec:
    """Wrapper of a codec that yields the output up to an error.

    On an error, the libraries discard the output of the latest input, which may be a
    complete short document. So a stream with an early error is decoded again in short
    parts. Later, the last bytes, which may be a checksum, are passed one by one, and
    another error loses the latest output.
    """

    def __init__(self, make: Callable[[], StreamCodec]) -> None:
        self._make = make
        self._codec = make()
        self._kept: list[bytes] = []
        self._n_in = self._n_out = 0

    @property
    def is_complete(self) -> bool:
        return self._codec.is_complete

    @property
    def garbage(self) -> bytes:
        return self._codec.garbage

    def pieces(self, data: bytes) -> Iterator[bytes]:
        self._n_in += len(data)
        is_early = self._n_in <= _KEPT_BYTES
        parts: Iterable[bytes] = (data,)
        if not is_early:
            parts = data[:-_TRAILER_BYTES], *parts_of(data[-_TRAILER_BYTES:], 1)
        try:
            for part in parts:
                for piece in self._codec.pieces(part):
                    self._n_out += len(piece)
                    yield piece
        except BrokenStream as error:
            if is_early and not error.needs_memory:
                yield from self._retry(data)
            raise
        if is_early:
            self._kept.append(data)
        else:
            self._kept.clear()

    def _retry(self, data: bytes) -> Iterator[bytes]:
        """Yield the output between the last piece and the error."""
        n_good = 0
        with suppress(BrokenStream):
            codec = self._make()
            for part in chain(self._kept, parts_of(data, _TRAILER_BYTES)):
                for _ in codec.pieces(part):
                    pass
                n_good += len(part)
        n_good -= sum(map(len, self._kept))
        last = data[n_good : n_good + _TRAILER_BYTES]
        codec, n_known = self._make(), self._n_out
        with suppress(BrokenStream):
            for part in chain(self._kept, (data[:n_good],), parts_of(last, 1)):
                for piece in codec.pieces(part):
                    if len(piece) > n_known:
                        yield piece[n_known:]
                    n_known = max(0, n_known - len(piece))


class _Brotli:
    """Decoder of brotli, with windows of at most 16 MiB."""

    # The library rounds its limit up to the end of a block, at most to twice as much.
    _LIMIT: Final = _STEP_BYTES

    def __init__(self) -> None:
        self._stream = brotli.Decompressor()
        self.garbage = b""

    @property
    def is_complete(self) -> bool:
        return bool(self._stream.is_finished())

    def pieces(self, data: bytes) -> Iterator[bytes]:
        if self._stream.is_finished():
            self.garbage = self.garbage or data
            return
        while piece := self._process(data):
            yield piece
            if self._stream.is_finished():
                return
            data = b""

    def _process(self, data: bytes) -> bytes:
        try:
            piece: bytes = self._stream.process(data, output_buffer_limit=self._LIMIT)
        except _BROKEN as exc:
            raise BrokenStream.of(exc) from exc
        return piece


class _Deflate64:
    """Decoder of Deflate64, used in zip and 7z: deflate with windows of 64 KiB."""

    # The library does not limit its output; deflate expands at most 1032 times.
    _STEP: Final = PIECE_BYTES // 1032

    def __init__(self) -> None:
        self._stream = inflate64.Inflater()
        self.garbage = b""

    @property
    def is_complete(self) -> bool:
        return bool(self._stream.eof)

    def pieces(self, data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), self._STEP):
            if self._stream.eof:
                return
            try:
                piece = self._stream.inflate(data[start : start + self._STEP])
            except _BROKEN as exc:
                raise BrokenStream.of(exc) from exc
            if piece:
                yield piece


class _StoredCodec:
    is_complete = True
    garbage = b""

    def pieces(self, data: bytes) -> Iterator[bytes]:
        if data:
            yield data


class SizedStream:
    """Wrapper of a codec that ends the stream after `n_bytes`."""

    garbage = b""

    def __init__(self, codec: StreamCodec, n_bytes: int) -> None:
        self._codec, self._n_left = codec, n_bytes

    @property
    def is_complete(self) -> bool:
        """Whether all bytes were decoded."""
        return not self._n_left

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield the decoded `data`; see `StreamCodec`."""
        if not self._n_left:
            return
        for piece in self._codec.pieces(data):
            part = piece[: self._n_left]
            self._n_left -= len(part)
            yield part
            if not self._n_left:
                return


def gzip() -> StreamCodec:
    """Return a decoder of consecutive gzip members (RFC 1952 2.2), with CRC checks."""
    return _careful(
        lambda _: igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP),
        follow=b"\x1f",
    )


def deflate(*, is_bare: bool | None = None) -> StreamCodec:
    """Return a decoder of deflate, raw (RFC 1951) or in zlib format (RFC 1950)."""

    def make(data: bytes) -> Any:
        # RFC 1950 2.2: the low four bits of the first byte are 8; otherwise raw.
        bare = data[0] & 0x0F != 8 if is_bare is None else is_bare
        flag = igzip_lib.DECOMP_DEFLATE if bare else igzip_lib.DECOMP_ZLIB
        return igzip_lib.IgzipDecompressor(flag=flag)

    return _careful(make, follow=b"")


def raw_lzma(filters: list[dict[str, int]]) -> StreamCodec:
    """Return a decoder of LZMA or LZMA2 without container."""
    return _careful(
        lambda _: lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters), follow=b""
    )


def zstandard(window_log: int) -> StreamCodec:
    """Return a decoder of zstd (RFC 8878) with windows up to 2**`window_log`."""
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: window_log}
    return _careful(lambda _: zstd.ZstdDecompressor(options=options))


def br() -> StreamCodec:
    """Return a decoder of brotli (RFC 7932)."""
    return _CarefulCodec(_Brotli)


def _careful(make: Callable[[bytes], Any], follow: bytes = _ANY) -> StreamCodec:
    return _CarefulCodec(lambda: _FramedStreams(make, follow=follow))


_MAKERS: Final[dict[str, Callable[[UnpackLimits], StreamCodec]]] = {
    PackingKind.GZIP: lambda _: gzip(),
    PackingKind.BZIP2: lambda _: _careful(lambda _: bz2.BZ2Decompressor(), b"B"),
    PackingKind.XZ: lambda limits: _careful(
        # The dictionary, and 1 MiB of further allocations.
        lambda _: lzma.LZMADecompressor(
            lzma.FORMAT_XZ, memlimit=limits.codec_memory_bytes + 2**20
        ),
        b"\xfd",
    ),
    PackingKind.ZSTD: lambda limits: zstandard(limits.window_log),
    PackingKind.BROTLI: lambda _: br(),
    # consecutive frames (LZ4 frame format 1.6)
    PackingKind.LZ4: lambda _: _careful(lambda _: lz4.frame.LZ4FrameDecompressor()),
    PackingKind.LZMA: lambda limits: _careful(
        lambda _: lzma.LZMADecompressor(
            lzma.FORMAT_ALONE, memlimit=limits.codec_memory_bytes + 2**20
        )
    ),
    PackingKind.LZIP: lambda limits: _careful(
        lambda _: LzipMember(limits.codec_memory_bytes), b"L"
    ),
    PackingKind.COMPRESS: lambda limits: LzwStream(limits.codec_memory_bytes),
    "stored": lambda _: _StoredCodec(),
    "deflate": lambda _: deflate(is_bare=True),
    "deflate64": lambda _: _Deflate64(),
}


def codec_of(name: str, limits: UnpackLimits) -> StreamCodec:
    """Return a decoder of a `PackingKind` or a method of zip and 7z."""
    return _MAKERS[name](limits)
