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
    "stored": lambda _: _StoredCodec(),
    "deflate": lambda _: deflate(is_bare=True),
    "deflate64": lambda _: _Deflate64(),
}


def codec_of(name: str, limits: UnpackLimits) -> StreamCodec:
    """Return a decoder of a `PackingKind` or a method of zip and 7z."""
    return _MAKERS[name](limits)


_LEAST_DICTIONARY: Final = 4096
# Old and new 7z ids of filters for machine code; some writers apply them to any data.
_NEW_FILTERS: Final = {
    b"\x04": lzma.FILTER_X86,
    b"\x05": lzma.FILTER_POWERPC,
    b"\x06": lzma.FILTER_IA64,
    b"\x07": lzma.FILTER_ARM,
    b"\x08": lzma.FILTER_ARMTHUMB,
    b"\x09": lzma.FILTER_SPARC,
}
_OLD_IDS: Final = ("0103", "0205", "0401", "0501", "0701", "0805")
_FILTERS: Final = _NEW_FILTERS | {
    bytes.fromhex(f"0303{old}"): found
    for old, found in zip(_OLD_IDS, _NEW_FILTERS.values(), strict=True)
}
_DELTA: Final = b"\x03"
_CHUNK_BYTES: Final = 2**16  # xz file format 5.3.1: of LZMA2


def lzma1(properties: bytes, max_bytes: int) -> StreamCodec:
    """Return an LZMA decoder with a dictionary of at most `max_bytes`.

    `properties` are `(pb * 5 + lp) * 9 + lc` and the size of the dictionary.

    Raises:
        SourceFault: `BAD_ARCHIVE`, or `TOO_LARGE` for the dictionary.
    """
    if len(properties) < 5 or properties[0] >= 9 * 5 * 5:
        raise _bad("LZMA")
    rest, lc = divmod(properties[0], 9)
    pb, lp = divmod(rest, 5)
    if lc + lp > 4:  # as in all current decoders
        raise _bad("LZMA")
    size = _checked(int.from_bytes(properties[1:5], "little"), max_bytes)
    return raw_lzma(
        [{"id": lzma.FILTER_LZMA1, "dict_size": size, "lc": lc, "lp": lp, "pb": pb}]
    )


def lzma2(properties: bytes, max_bytes: int) -> StreamCodec:
    """Return an LZMA2 decoder; see `lzma1`.

    Source: xz file format 5.3.1.
    """
    if len(properties) != 1 or properties[0] > 40:
        raise _bad("LZMA2")
    bits = properties[0]
    size = (2 | (bits & 1)) << (bits // 2 + 11) if bits < 40 else 0xFFFF_FFFF
    size = _checked(size, max_bytes)
    return raw_lzma([{"id": lzma.FILTER_LZMA2, "dict_size": size}])


def plain_filter(method: bytes, properties: bytes, n_bytes: int) -> StreamCodec | None:
    """Return a decoder of Delta or a filter for machine code (BCJ), else None.

    `method` is a 7z id; `n_bytes` is the length of the data.
    """
    if method == _DELTA and len(properties) == 1:
        return _Filter({"id": lzma.FILTER_DELTA, "dist": properties[0] + 1}, n_bytes)
    found = _FILTERS.get(method)
    return None if found is None else _Filter({"id": found}, n_bytes)


class _Filter:
    """Decoder of a filter, which delays the last bytes.

    liblzma only supports filters in front of LZMA2, so it receives the bytes as
    uncompressed LZMA2 chunks.
    """

    is_complete = True
    garbage = b""

    def __init__(self, first: dict[str, int], n_bytes: int) -> None:
        filters = [first, {"id": lzma.FILTER_LZMA2, "dict_size": 4096}]
        self._stream = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters)
        self._n_left = n_bytes

    def pieces(self, data: bytes) -> Iterator[bytes]:
        data = data[: self._n_left]
        self._n_left -= len(data)
        for start in range(0, len(data), _CHUNK_BYTES):
            chunk = data[start : start + _CHUNK_BYTES]
            head = b"\1" + (len(chunk) - 1).to_bytes(2)  # 1: new dictionary
            yield self._stream.decompress(head + chunk)
        if data and not self._n_left:
            yield self._stream.decompress(b"\0")  # ends LZMA2


def _checked(size: int, max_bytes: int) -> int:
    if size > max_bytes:
        raise SourceFault(
            Reason.TOO_LARGE, f"a decoder with {counted(size, 'byte')} of memory"
        )
    return max(size, _LEAST_DICTIONARY)


def _bad(what: str) -> SourceFault:
    return SourceFault(Reason.BAD_ARCHIVE, f"invalid properties of {what}")
