"""Incremental decoders of compressed streams, piece by piece.

They bound what comes out at once, not how much in all; that is the caller's.
"""

from __future__ import annotations

import bz2
import lzma
import sys
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Protocol

import brotli  # type: ignore[import-untyped]
import inflate64
import lz4.frame
from isal import igzip_lib

from rdfcrawl.formats import PackingKind

if sys.version_info >= (3, 14):  # pragma: no cover
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PIECE_BYTES: Final = 256 * 1024  # longest piece handed out, so a bomb stays small
_KEPT_BYTES: Final = (
    256 * 1024
)  # of a stream's begin, to decode it again up to an error
_TRAILER_BYTES: Final = 32  # at least what follows the data of a stream
_STEP_BYTES: Final = 32 * 1024  # decoded at once: what an error behind them loses
_ANY: Final = bytes(range(256))

# What the libraries raise for broken input; nothing but them runs where it is caught.
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
_MEMORY_WORDS: Final = ("memory usage limit", "too much memory")


class BrokenStream(Exception):
    """Bytes cannot be decoded, or need more memory than allowed (`needs_memory`)."""

    def __init__(self, detail: str, *, needs_memory: bool = False) -> None:
        super().__init__(detail)
        self.needs_memory = needs_memory

    @classmethod
    def of(cls, error: Exception) -> BrokenStream:
        """Return what a library's error says."""
        detail = str(error)[:200]
        lower = detail.lower()
        return cls(detail, needs_memory=any(each in lower for each in _MEMORY_WORDS))


class StreamCodec(Protocol):
    """One stream of one coding.

    Attributes:
        is_complete: the stream has ended where it should.
        garbage: begin of what follows the end and is no further frame.
    """

    @property
    def is_complete(self) -> bool:
        """See above."""

    @property
    def garbage(self) -> bytes:
        """See above."""

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` decodes to, at most `PIECE_BYTES` at a time.

        Raises:
            BrokenStream: it is broken here.
        """


class FramedStreams:
    """Streams of one coding, one after another, decoded as one.

    Args:
        make: given the first bytes, returns a decompressor shaped like those of the
            standard library (`bz2`, `lzma`).
        follow: first bytes a further stream may have; zeros before it are padding,
            anything else is garbage that ends the decoding. All: whatever follows
            is a stream; none: nothing follows.
    """

    def __init__(self, make: Callable[[bytes], Any], *, follow: bytes = _ANY) -> None:
        self._make = make
        self._follow = follow
        self._stream: Any = None
        self.is_complete = False
        self.garbage = b""

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` decodes to; see `StreamCodec`."""
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
        """Open the next stream, if there is one; return its bytes."""
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


class CarefulCodec:
    """A codec that yields what it decodes up to an error; `make` returns it new.

    The libraries raise, and what they had decoded of the bytes given last is lost: all
    of a short document. So the last bytes, which may be a checksum, are given one by
    one, and a stream broken near its begin is decoded again in short parts. A stream
    broken further on loses what was decoded last.
    """

    def __init__(self, make: Callable[[], StreamCodec]) -> None:
        self._make = make
        self._codec = make()
        self._kept: list[bytes] = []
        self._n_in = self._n_out = 0

    @property
    def is_complete(self) -> bool:
        """The stream has ended."""
        return self._codec.is_complete

    @property
    def garbage(self) -> bytes:
        """Begin of what follows the end."""
        return self._codec.garbage

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` decodes to; see `StreamCodec`."""
        self._n_in += len(data)
        try:
            for part in (data[:-_TRAILER_BYTES], *_parts(data[-_TRAILER_BYTES:], 1)):
                for piece in self._codec.pieces(part):
                    self._n_out += len(piece)
                    yield piece
        except BrokenStream as error:
            if self._n_in <= _KEPT_BYTES and not error.needs_memory:
                yield from self._again(data)
            raise
        if self._n_in <= _KEPT_BYTES:
            self._kept.append(data)
        else:
            self._kept.clear()

    def _again(self, data: bytes) -> Iterator[bytes]:
        """Yield what comes between what was handed out and the error."""
        codec, n_known = self._make(), self._n_out
        with suppress(BrokenStream):
            for part in chain(self._kept, _parts(data, _TRAILER_BYTES)):
                for piece in codec.pieces(part):
                    if len(piece) > n_known:
                        yield piece[n_known:]
                    n_known = max(0, n_known - len(piece))


def _parts(data: bytes, n_bytes: int) -> Iterator[bytes]:
    return (data[i : i + n_bytes] for i in range(0, len(data), n_bytes))


class Brotli:
    """br (RFC 7932); its windows are at most 16 MiB."""

    # The library rounds its limit up to the end of a block, at most twice as much.
    _LIMIT: Final = _STEP_BYTES

    def __init__(self) -> None:
        self._stream = brotli.Decompressor()
        self.garbage = b""

    @property
    def is_complete(self) -> bool:
        """The stream has ended."""
        return bool(self._stream.is_finished())

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` decodes to; see `StreamCodec`."""
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


class Deflate64:
    """Deflate64, of zip and 7z: deflate with windows of 64 KiB."""

    # The library has no limit on its output; deflate grows by 1032 at most.
    _STEP: Final = PIECE_BYTES // 1032

    def __init__(self) -> None:
        self._stream = inflate64.Inflater()
        self.garbage = b""

    @property
    def is_complete(self) -> bool:
        """The stream has ended."""
        return bool(self._stream.eof)

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` decodes to; see `StreamCodec`."""
        for start in range(0, len(data), self._STEP):
            if self._stream.eof:
                return
            try:
                piece = self._stream.inflate(data[start : start + self._STEP])
            except _BROKEN as exc:
                raise BrokenStream.of(exc) from exc
            if piece:
                yield piece


class StoredCodec:
    """No coding at all."""

    is_complete = True
    garbage = b""

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield the bytes themselves."""
        if data:
            yield data


class SizedStream:
    """A stream that ends after so many bytes, whatever its coding says."""

    garbage = b""

    def __init__(self, codec: StreamCodec, n_bytes: int) -> None:
        self._codec, self._n_left = codec, n_bytes

    @property
    def is_complete(self) -> bool:
        """All bytes came."""
        return not self._n_left

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` decodes to; see `StreamCodec`."""
        if not self._n_left:
            return
        for piece in self._codec.pieces(data):
            part = piece[: self._n_left]
            self._n_left -= len(part)
            yield part
            if not self._n_left:
                return


def gzip() -> StreamCodec:
    """Return a decoder of gzip, members in a row (RFC 1952 2.2); CRCs are checked."""
    return _careful(
        lambda _: igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP),
        follow=b"\x1f",
    )


def deflate(*, is_bare: bool | None = None) -> StreamCodec:
    """Return a decoder of deflate; bare (RFC 1951), wrapped (RFC 1950), or either."""

    def make(data: bytes) -> Any:
        # RFC 1950 2.2: the low four bits of the first byte are 8, or it is bare.
        bare = data[0] & 0x0F != 8 if is_bare is None else is_bare
        flag = igzip_lib.DECOMP_DEFLATE if bare else igzip_lib.DECOMP_ZLIB
        return igzip_lib.IgzipDecompressor(flag=flag)

    return _careful(make, follow=b"")


def bzip2() -> StreamCodec:
    """Return a decoder of bzip2, streams in a row."""
    return _careful(lambda _: bz2.BZ2Decompressor(), follow=b"B")


def xz(memory_bytes: int) -> StreamCodec:
    """Return a decoder of xz, streams in a row with padding."""
    limit = memory_bytes + 2**20  # of all it allocates, not only the dictionary
    return _careful(
        lambda _: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=limit), follow=b"\xfd"
    )


def raw_lzma(filters: list[dict[str, int]]) -> StreamCodec:
    """Return a decoder of LZMA or LZMA2 without container."""
    return _careful(
        lambda _: lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters), follow=b""
    )


def zstandard(window_log: int) -> StreamCodec:
    """Return a decoder of zstd (RFC 8878), windows up to two to the `window_log`."""
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: window_log}
    return _careful(lambda _: zstd.ZstdDecompressor(options=options))


def lz4_frames() -> StreamCodec:
    """Return a decoder of lz4, frames in a row (LZ4 frame format 1.6)."""
    return _careful(lambda _: lz4.frame.LZ4FrameDecompressor())


def br() -> StreamCodec:
    """Return a decoder of brotli (RFC 7932)."""
    return CarefulCodec(Brotli)


def _careful(make: Callable[[bytes], Any], follow: bytes = _ANY) -> StreamCodec:
    return CarefulCodec(lambda: FramedStreams(make, follow=follow))


def codec_of(
    packing: PackingKind, *, memory_bytes: int, window_log: int
) -> StreamCodec:
    """Return a decoder of a packing that is no archive."""
    make: dict[PackingKind, Callable[[], StreamCodec]] = {
        PackingKind.GZIP: gzip,
        PackingKind.BZIP2: bzip2,
        PackingKind.XZ: lambda: xz(memory_bytes),
        PackingKind.ZSTD: lambda: zstandard(window_log),
        PackingKind.BROTLI: br,
        PackingKind.LZ4: lz4_frames,
    }
    return make[packing]()
