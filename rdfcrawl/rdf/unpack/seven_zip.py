"""Read 7z file by file; many files may be coded as one stream.

Source: 7zFormat.txt and Methods.txt of the LZMA SDK (public domain).
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.rdf.unpack import codecs
from rdfcrawl.rdf.unpack.decoding import PIECE_BYTES
from rdfcrawl.rdf.unpack.limits import PackingLayer, UnpackLimits, UnpackMeter
from rdfcrawl.rdf.unpack.members import ArchiveEntry
from rdfcrawl.rdf.unpack.raw_codecs import lzma1, lzma2, plain_filter
from rdfcrawl.rdf.unpack.scratch import BlobReader, SeekableBytes
from rdfcrawl.rdf.unpack.seven_zip_header import (
    ENCODED_HEADER,
    HEADER,
    MAX_HEADER_BYTES,
    HeaderReader,
    SevenZipFiles,
    StreamTable,
)
from rdfcrawl.rdf.unpack.streams import PieceReader, decoded

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Iterator

    from rdfcrawl.rdf.unpack.decoding import StreamCodec
    from rdfcrawl.rdf.unpack.seven_zip_header import CoderStep, SolidFolder

_SIGNATURE: Final = Struct("<6s2sIQQI")
_MAGIC: Final = b"7z\xbc\xaf\x27\x1c"
_AES: Final = b"\x06\xf1\x07\x01"
_METHODS: Final = {
    b"\x00": "stored",
    b"\x04\x01\x08": "deflate",
    b"\x04\x01\x09": "deflate64",
    b"\x04\x02\x02": "bzip2",
    b"\x04\xf7\x11\x01": "zstd",
    b"\x04\xf7\x11\x02": "brotli",
}
_LZMA: Final = {b"\x03\x01\x01": lzma1, b"\x21": lzma2}
# PPMd: the library for it writes out of bounds if the input is broken.
_UNREAD: Final = {b"\x03\x04\x01": "PPMd", b"": "BCJ2"}
_MAX_HEADERS: Final = 4  # a header may be coded, in a coded one at most


def iter_seven_zip(
    blob: SeekableBytes, layer: PackingLayer, note: Callable[[SourceFault], None]
) -> Iterator[ArchiveEntry]:
    """Yield the files of an archive in order; `note` takes faults of single files.

    Raises:
        SourceFault: `BAD_ARCHIVE`, `CHECKSUM` or `ENCRYPTED` if the header cannot be
            read, `TOO_MANY_MEMBERS`.
    """
    archive = _Archive(blob, layer)
    streams, files = archive.header()
    folders = archive.folders(streams)
    folder: _OpenFolder | None = None
    for i, name in enumerate(files.iter_names()):
        layer.meter.count_member()
        if i < len(files.is_empty) and files.is_empty[i]:
            continue
        if folder is None or not folder.n_left:
            folder = next(folders, None)
            if folder is None:
                raise SourceFault(Reason.BAD_ARCHIVE, "7z: more files than data")
        entry = folder.next_file(name, note)
        if entry is not None and files.is_file(i):
            yield entry


class _Archive:
    def __init__(self, blob: SeekableBytes, layer: PackingLayer) -> None:
        self._blob, self._layer = blob, layer

    def header(self) -> tuple[StreamTable, SevenZipFiles]:
        start = self._blob.read_at(0, _SIGNATURE.size)
        if len(start) < _SIGNATURE.size or not start.startswith(_MAGIC):
            raise SourceFault(Reason.BAD_ARCHIVE, "7z: cut off")
        _, _, start_crc, offset, size, crc = _SIGNATURE.unpack(start)
        if zlib.crc32(start[12:]) != start_crc:
            raise SourceFault(Reason.CHECKSUM, "7z: start header")
        if not size:
            return StreamTable(), SevenZipFiles()
        header = self._stored_header(offset, size)
        for _ in range(_MAX_HEADERS):
            if zlib.crc32(header) != crc:
                raise SourceFault(Reason.CHECKSUM, "7z: header")
            reader = HeaderReader(header)
            kind = reader.number()
            if kind == HEADER:
                return reader.archive()
            if kind != ENCODED_HEADER:
                break
            header, crc = self._coded_header(reader.streams())
        raise SourceFault(Reason.BAD_ARCHIVE, "7z: a header is missing")

    def _stored_header(self, offset: int, size: int) -> bytes:
        if size > MAX_HEADER_BYTES:
            raise SourceFault(
                Reason.TOO_LARGE, f"7z: a header of {counted(size, 'byte')}"
            )
        header = self._blob.read_at(_SIGNATURE.size + offset, size)
        if len(header) < size:
            raise SourceFault(Reason.BAD_ARCHIVE, "7z: cut off, no header")
        return header

    def _coded_header(self, streams: StreamTable) -> tuple[bytes, int]:
        folder = next(self.folders(streams), None)
        if folder is None or folder.coded.n_bytes > MAX_HEADER_BYTES:
            raise SourceFault(Reason.BAD_ARCHIVE, "7z: bad coded header")
        limits = replace(
            self._layer.meter.limits, n_bytes=MAX_HEADER_BYTES, ratio=float("inf")
        )
        header = b"".join(folder.decode(PackingLayer(UnpackMeter(limits))))
        crc = folder.coded.crc
        return header, zlib.crc32(header) if crc is None else crc

    def folders(self, streams: StreamTable) -> Iterator[_OpenFolder]:
        at = _SIGNATURE.size + streams.begin
        i_packed = i_file = 0
        for folder in streams.folders:
            begin = at
            last_packed = i_packed + folder.n_packed_streams
            at += sum(streams.packed_sizes[i_packed:last_packed])
            i_packed = last_packed
            if folder.n_files:
                last = i_file + folder.n_files
                yield _OpenFolder(
                    folder,
                    partial(BlobReader, self._blob, begin, at),
                    streams.sizes[i_file:last],
                    streams.crcs[i_file:last],
                    self._layer.inside(),
                )
                i_file = last


class _OpenFolder:
    """The files of a folder, in order; `n_left` remain."""

    def __init__(
        self,
        coded: SolidFolder,
        open_packed: Callable[[], BlobReader],
        sizes: array[int],
        crcs: array[int],
        layer: PackingLayer,
    ) -> None:
        self.coded, self._open_packed, self._layer = coded, open_packed, layer
        self._sizes, self._crcs = sizes, crcs
        self._file: _File | None = None
        self._stream: PieceReader | None = None
        self._broken_by: Reason | None = None
        self.n_left = coded.n_files

    def next_file(
        self, name: str, note: Callable[[SourceFault], None]
    ) -> ArchiveEntry | None:
        """Return the next file; None in a broken folder, which is noted."""
        i = self.coded.n_files - self.n_left
        self.n_left -= 1
        if self._broken_by is not None:
            note(SourceFault(self._broken_by, f"7z: {name[:80]!r}: not reached"))
            return None
        try:
            if self._file is not None:  # skip the unread rest of the previous file
                for _ in self._file.pieces():
                    pass
            if self._stream is None:
                self._stream = PieceReader(self.decode(self._layer))
        except SourceFault as fault:
            found = fault.fault
            self._broken_by = found.reason
            note(SourceFault(found.reason, f"{found.detail}: {name[:80]!r}"))
            return None
        file = self._file = _File(self._stream, self._sizes[i], self._crcs[i], name)
        return ArchiveEntry(
            name=name,
            layer=self._layer,
            pieces=lambda layer: self._pieces(file, layer),
            is_reopenable=self.coded.n_files == 1,
        )

    def _pieces(self, file: _File, layer: PackingLayer) -> Iterator[bytes]:
        if layer is self._layer:
            try:
                yield from file.pieces()
            except SourceFault as fault:
                if fault.fault.reason is not Reason.CHECKSUM:
                    self._broken_by = fault.fault.reason
                raise
        else:  # a second reading
            yield from self.decode(layer)

    def decode(self, layer: PackingLayer) -> Iterator[bytes]:
        """Return the decoded bytes of the folder, from the beginning."""
        coders = self.coded.coders
        if any(coder.method == _AES for coder in coders):
            raise SourceFault(Reason.ENCRYPTED, "7z")
        read = self._open_packed().read
        pieces: Iterator[bytes] = iter(())
        for coder in coders:
            codec = _codec(coder, layer.meter.limits)
            pieces = decoded(read, codec, layer, what="7z")
            layer, read = layer.inside(), PieceReader(pieces).read
        return pieces


class _File:
    """A file in a folder that is being read."""

    def __init__(self, stream: PieceReader, n_bytes: int, crc: int, name: str) -> None:
        self._stream, self._n_left, self._name = stream, n_bytes, name
        self._expected, self._crc = crc, 0

    def pieces(self) -> Iterator[bytes]:
        while self._n_left:
            data = self._stream.read(min(self._n_left, PIECE_BYTES))
            if not data:
                self._n_left, self._expected = 0, -1
                detail = f"7z: {self._name[:80]!r}: cut off"
                raise SourceFault(Reason.BAD_ARCHIVE, detail)
            self._n_left -= len(data)
            self._crc = zlib.crc32(data, self._crc)
            yield data
        expected, self._expected = self._expected, -1
        if expected not in (-1, self._crc):
            raise SourceFault(Reason.CHECKSUM, f"7z: {self._name[:80]!r}")


def _codec(coder: CoderStep, limits: UnpackLimits) -> StreamCodec:
    """Return the decoder of one step, limited to the length in the header."""
    method = coder.method if coder.is_simple else b""
    codec: StreamCodec | None
    if method in _METHODS:
        codec = codecs.codec_of(_METHODS[method], limits)
    elif method in _LZMA:
        codec = _LZMA[method](coder.properties, limits.codec_memory_bytes)
    else:
        codec = plain_filter(method, coder.properties, coder.n_bytes)
    if codec is None:
        what = _UNREAD.get(method, method.hex())
        detail = f"7z: unsupported coding: {what}"
        raise SourceFault(Reason.BAD_ARCHIVE, detail)
    return codecs.SizedStream(codec, coder.n_bytes)
