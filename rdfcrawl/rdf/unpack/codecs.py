"""Incremental decoders of compressed streams.

Each piece of output is bounded; the caller bounds the total.
"""

from __future__ import annotations

import bz2
import lzma
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, Protocol

import brotli  # type: ignore[import-untyped]
import inflate64
import lz4.frame
from isal import igzip_lib

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.formats import PackingKind
from rdfcrawl.core.messages import counted

if sys.version_info >= (3, 14):  # pragma: no cover
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from rdfcrawl.rdf.unpack.limits import UnpackLimits

PIECE_BYTES: Final = 256 * 1024  # longest piece of output, so a bomb stays small
_KEPT_BYTES: Final = 256 * 1024  # first bytes, kept for decoding again up to an error
_TRAILER_BYTES: Final = 32  # at least the length of any trailer
_STEP_BYTES: Final = 32 * 1024  # decoded per call, and lost if an error follows
_ANY: Final = bytes(range(256))
_LZIP_HEAD: Final = 6
_LZIP_TRAILER: Final = Struct("<I2Q")
_LZW_CODES: Final = 4096  # decoded at a time

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
_MEMORY_WORDS: Final = ("memory usage limit", "too much memory")


class BrokenStream(Exception):
    """Bytes are invalid, or need too much memory (`needs_memory`)."""

    def __init__(self, detail: str, *, needs_memory: bool = False) -> None:
        super().__init__(detail)
        self.needs_memory = needs_memory

    @classmethod
    def of(cls, error: Exception) -> BrokenStream:
        """Return the exception for an error of a library."""
        detail = str(error)[:200]
        lower = detail.lower()
        return cls(detail, needs_memory=any(each in lower for each in _MEMORY_WORDS))


class StreamCodec(Protocol):
    """Decoder of one stream."""

    @property
    def is_complete(self) -> bool:
        """Whether the stream ended properly."""

    @property
    def garbage(self) -> bytes:
        """First bytes after the end that do not begin a further frame."""

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield the decoded `data`, at most `PIECE_BYTES` at a time.

        Raises:
            BrokenStream: the data is invalid.
        """


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
            parts = data[:-_TRAILER_BYTES], *_parts(data[-_TRAILER_BYTES:], 1)
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
            for part in chain(self._kept, _parts(data, _TRAILER_BYTES)):
                for _ in codec.pieces(part):
                    pass
                n_good += len(part)
        n_good -= sum(map(len, self._kept))
        last = data[n_good : n_good + _TRAILER_BYTES]
        codec, n_known = self._make(), self._n_out
        with suppress(BrokenStream):
            for part in chain(self._kept, (data[:n_good],), _parts(last, 1)):
                for piece in codec.pieces(part):
                    if len(piece) > n_known:
                        yield piece[n_known:]
                    n_known = max(0, n_known - len(piece))


def _parts(data: bytes, n_bytes: int) -> Iterator[bytes]:
    return (data[i : i + n_bytes] for i in range(0, len(data), n_bytes))


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


class _Lzip:
    """Decoder of one member of lzip, with the interface of `lzma`.

    Source: the manual of lzip, "File format".
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._rest = b""  # of the header, then of the trailer
        self._stream: lzma.LZMADecompressor | None = None
        self._crc = self._n_bytes = 0
        self.eof = False
        self.needs_input = True
        self.unused_data = b""

    def decompress(self, data: bytes, max_bytes: int) -> bytes:
        if self._stream is None:
            self._rest += data
            if len(self._rest) < _LZIP_HEAD:
                return b""
            self._stream, data = self._begin(self._rest), self._rest[_LZIP_HEAD:]
            self._rest = b""
        piece = b""
        if self._stream.eof:
            self._rest += data
            if len(self._rest) >= _LZIP_TRAILER.size:
                self._end()
        else:
            piece = self._stream.decompress(data, max_bytes)
            self._crc = zlib.crc32(piece, self._crc)
            self._n_bytes += len(piece)
            self._rest = self._stream.unused_data
        self.needs_input = (
            len(self._rest) < _LZIP_TRAILER.size
            if self._stream.eof
            else self._stream.needs_input
        )
        return piece

    def _begin(self, head: bytes) -> lzma.LZMADecompressor:
        if not head.startswith(b"LZIP\1"):
            raise ValueError("no header of lzip")
        size = 1 << (head[5] & 0x1F)
        size = checked_dictionary(size - size // 16 * (head[5] >> 5), self._max_bytes)
        found = {"id": lzma.FILTER_LZMA1, "dict_size": size, "lc": 3, "lp": 0, "pb": 2}
        return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[found])

    def _end(self) -> None:
        crc, n_bytes, _ = _LZIP_TRAILER.unpack_from(self._rest)
        if (crc, n_bytes) != (self._crc, self._n_bytes):
            raise ValueError("wrong checksum or length")
        self.eof, self.unused_data = True, self._rest[_LZIP_TRAILER.size :]


class _Lzw:
    """Decoder of compress (`.Z`): LZW with codes of 9 to 16 bits.

    Codes come in groups of eight, and the rest of a group is skipped where the length
    of the codes changes. The format has no end, length or checksum.
    """

    garbage = b""

    def __init__(self, max_bytes: int) -> None:
        self._n_free = max_bytes  # for the table
        self._rest = b""  # from the beginning of a group
        self._n_skipped = 0  # bytes to skip
        self._n_done = 0  # codes of the group
        self._n_most = 0  # bits of the longest code; 0 before the header
        self._n_bits, self._has_reset = 9, False
        self._table = [bytes((octet,)) for octet in range(256)]
        self._last = b""

    @property
    def is_complete(self) -> bool:
        """Whether the header is complete, and no part of a code is left."""
        n_used = (self._n_done * self._n_bits + 7) // 8
        return self._n_most > 0 and not self._rest[n_used:].strip(b"\0")

    def pieces(self, data: bytes) -> Iterator[bytes]:
        data = self._rest + data
        if not self._n_most:
            if len(data) < 3:
                self._rest = data
                return
            self._n_most, self._has_reset = data[2] & 0x1F, data[2] > 0x7F
            if not data.startswith(b"\x1f\x9d") or not 9 <= self._n_most <= 16:
                raise BrokenStream("no header of compress")
            self._table += [b""] * self._has_reset
            data = data[3:]
        out: list[bytes] = []
        at = self._n_skipped
        while at < len(data):
            n_bits = self._n_bits
            group = data[at : at + n_bits]
            if not self._decode(group, out):
                break
            at += n_bits
            if len(out) >= _LZW_CODES or (out and len(out[-1]) > _LZW_CODES):
                yield from _parts(b"".join(out), PIECE_BYTES)
                out.clear()
        self._n_skipped, self._rest = max(0, at - len(data)), data[at:]
        yield from _parts(b"".join(out), PIECE_BYTES)

    def _decode(self, group: bytes, out: list[bytes]) -> bool:
        """Decode the codes of a group; return whether the next one follows."""
        table, n_bits, last = self._table, self._n_bits, self._last
        n_codes = len(group) * 8 // n_bits
        bits = int.from_bytes(group, "little") >> (self._n_done * n_bits)
        mask = (1 << n_bits) - 1
        for _ in range(self._n_done, n_codes):
            code = bits & mask
            bits >>= n_bits
            if code == 256 and self._has_reset:
                self._n_free += sum(map(len, table[257:]))
                del table[257:]
                self._n_bits, self._n_done, self._last = 9, 0, b""
                return True
            if code < len(table):
                found = table[code]
            elif code == len(table) and last:
                found = last + last[:1]
            else:
                raise BrokenStream("a code that is not in the table")
            out.append(found)
            if last and len(table) < 1 << self._n_most:
                table.append(last + found[:1])
                self._n_free -= len(last) + 1
            last = found
            if len(table) > mask and n_bits < self._n_most:
                self._n_bits, self._n_done, self._last = n_bits + 1, 0, last
                return True
        if self._n_free < 0:
            raise BrokenStream("needs too much memory", needs_memory=True)
        self._n_done, self._last = n_codes % 8, last
        return n_codes == 8


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
        lambda _: _Lzip(limits.codec_memory_bytes), b"L"
    ),
    PackingKind.COMPRESS: lambda limits: _Lzw(limits.codec_memory_bytes),
    "stored": lambda _: _StoredCodec(),
    "deflate": lambda _: deflate(is_bare=True),
    "deflate64": lambda _: _Deflate64(),
}


def codec_of(name: str, limits: UnpackLimits) -> StreamCodec:
    """Return a decoder of a `PackingKind` or a method of zip and 7z."""
    return _MAKERS[name](limits)


LEAST_DICTIONARY: Final = 4096


def checked_dictionary(size: int, max_bytes: int) -> int:
    """Return the size of a dictionary for a decoder (`TOO_LARGE`)."""
    if size > max_bytes:
        raise SourceFault(
            Reason.TOO_LARGE, f"a decoder with {counted(size, 'byte')} of memory"
        )
    return max(size, LEAST_DICTIONARY)
