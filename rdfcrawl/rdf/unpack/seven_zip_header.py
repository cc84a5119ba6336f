"""Read the header of a 7z archive in bounded memory.

Numbers per file are stored in arrays, file names stay undecoded.

Source: 7zFormat.txt of the LZMA SDK (public domain), which names the properties.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.unpack.members import clean_name

_END, _PACK_INFO, _UNPACK_INFO, _SUBSTREAMS_INFO = 0x00, 0x06, 0x07, 0x08
_SIZE, _CRC, _FOLDER, _CODERS_UNPACK_SIZE, _NUM_UNPACK_STREAM = 9, 10, 11, 12, 13
_EMPTY_STREAM, _NAMES, _WIN_ATTRIBUTES = 0x0E, 0x11, 0x15
_MAIN_STREAMS_INFO, _FILES_INFO, _ARCHIVE_PROPERTIES = 0x04, 0x05, 0x02
_ADDITIONAL_STREAMS_INFO: Final = 0x03
HEADER, ENCODED_HEADER = 0x01, 0x17

MAX_HEADER_BYTES: Final = 64 * 2**20
_MAX_ENTRIES: Final = 2**20  # of each list: files, folders, streams
_MAX_CODERS: Final = 8
_MAX_SIZE: Final = 2**62
_HAS_UNIX_MODE: Final = 0x8000
_IS_FOLDER: Final = 0x10


@dataclass(frozen=True, slots=True)
class CoderStep:
    """One step of decoding; `is_simple` with one input and one output."""

    method: bytes
    properties: bytes
    is_simple: bool
    n_bytes: int = 0


@dataclass(slots=True)
class SolidFolder:
    """Files that are coded as one stream."""

    # in decoding order; none if they are not simple or not a chain
    coders: list[CoderStep]
    n_packed_streams: int
    n_bytes: int = 0  # decoded length
    crc: int | None = None  # of the decoded bytes; None if unknown
    n_files: int = 1


@dataclass(slots=True)
class StreamTable:
    """The coded streams of an archive."""

    begin: int = 0  # of the packed streams, from the end of the signature header
    packed_sizes: array[int] = field(default_factory=lambda: array("Q"))
    folders: list[SolidFolder] = field(default_factory=list)
    # of all files in the folders
    sizes: array[int] = field(default_factory=lambda: array("Q"))
    # of these files; -1 if unknown
    crcs: array[int] = field(default_factory=lambda: array("q"))


@dataclass(slots=True)
class SevenZipFiles:
    """The entries of an archive."""

    n: int = 0
    is_empty: bytes = b""  # per entry, whether it has no data
    names: bytes = b""
    # per entry, Windows attributes, with the Unix mode in the upper half
    attributes: array[int] = field(default_factory=lambda: array("I"))

    def iter_names(self) -> Iterator[str]:
        """Yield the names; missing names are empty."""
        at = 0
        for _ in range(self.n):
            end = at
            while (end := self.names.find(b"\0\0", end)) >= 0 and (end - at) % 2:
                end += 1
            if end < 0:
                yield ""
                continue
            yield clean_name(self.names[at:end].decode("utf-16-le", "replace"))
            at = end + 2

    def is_file(self, i: int) -> bool:
        """Return whether an entry is a regular file."""
        if i >= len(self.attributes):
            return True
        value = self.attributes[i]
        if value & _HAS_UNIX_MODE:
            return value >> 28 in (0, 0o10)  # S_IFREG
        return not value & _IS_FOLDER


class HeaderReader:
    """Reader of a header; raises `BAD_ARCHIVE` and `TOO_MANY_MEMBERS`."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def archive(self) -> tuple[StreamTable, SevenZipFiles]:
        """Return the streams and files of a header, after its id."""
        streams, files = StreamTable(), SevenZipFiles()
        while (kind := self.number()) != _END:
            if kind == _ARCHIVE_PROPERTIES:
                while self.number() != _END:
                    self._bytes(self.number())
            elif kind == _ADDITIONAL_STREAMS_INFO:
                self.streams()
            elif kind == _MAIN_STREAMS_INFO:
                streams = self.streams()
            elif kind == _FILES_INFO:
                files = self._files()
            else:
                raise _bad(f"property {kind}")
        return streams, files

    def streams(self) -> StreamTable:
        """Return the coded streams."""
        streams = StreamTable()
        has_substreams = False
        while (kind := self.number()) != _END:
            if kind == _PACK_INFO:
                self._pack_info(streams)
            elif kind == _UNPACK_INFO:
                self._unpack_info(streams)
            elif kind == _SUBSTREAMS_INFO:
                has_substreams = True
                self._substreams_info(streams)
            else:
                raise _bad(f"property {kind}")
        if not has_substreams:
            for folder in streams.folders:
                streams.sizes.append(folder.n_bytes)
                streams.crcs.append(-1 if folder.crc is None else folder.crc)
        return streams

    # -- streams -------------------------------------------------------------------

    def _pack_info(self, streams: StreamTable) -> None:
        streams.begin = self.number()
        n = self._count()
        while (kind := self.number()) != _END:
            if kind == _SIZE:
                streams.packed_sizes = array("Q", (self.number() for _ in range(n)))
            elif kind == _CRC:
                self._digests(n)
            else:
                raise _bad(f"property {kind} of packed streams")

    def _unpack_info(self, streams: StreamTable) -> None:
        self._expect(_FOLDER)
        n = self._count()
        self._refuse_external()
        chains = [self._folder() for _ in range(n)]
        self._expect(_CODERS_UNPACK_SIZE)
        streams.folders = [self._sized(*chain) for chain in chains]
        while (kind := self.number()) != _END:
            if kind != _CRC:
                raise _bad(f"property {kind} of folders")
            for folder, crc in zip(streams.folders, self._digests(n), strict=True):
                folder.crc = crc if crc >= 0 else None

    def _folder(self) -> tuple[list[CoderStep], list[int], int, int]:
        """Return the coders, their order, and the numbers of streams out and in."""
        n_coders = self.number()
        if not 0 < n_coders <= _MAX_CODERS:
            raise _bad("coders")
        coders, n_in, n_out = [], 0, 0
        for _ in range(n_coders):
            flags = self._bytes(1)[0]
            if flags & 0xC0:
                raise _bad("coder")
            method = self._bytes(flags & 0x0F)
            own_in, own_out = 1, 1
            if flags & 0x10:
                own_in, own_out = self.number(), self.number()
                if not 0 < own_in <= _MAX_CODERS or own_out != 1:
                    raise _bad("coder")
            properties = self._bytes(self.number()) if flags & 0x20 else b""
            coders.append(CoderStep(method, properties, own_in == 1))
            n_in, n_out = n_in + own_in, n_out + own_out
        pairs = {self.number(): self.number() for _ in range(n_out - 1)}
        n_packed = n_in - len(pairs)
        if n_packed < 1:
            raise _bad("folder")
        if n_packed > 1:
            for _ in range(n_packed):
                self.number()
        return coders, _order(coders, pairs), n_out, n_packed

    def _sized(
        self, coders: list[CoderStep], order: list[int], n_out: int, n_packed: int
    ) -> SolidFolder:
        sizes = [self.number() for _ in range(n_out)]
        chain = [
            CoderStep(coders[i].method, coders[i].properties, True, sizes[i])
            for i in order
        ]
        if chain:
            return SolidFolder(chain, n_packed, chain[-1].n_bytes)
        unread = [CoderStep(each.method, b"", False) for each in coders]
        return SolidFolder(unread, n_packed, max(sizes))

    def _substreams_info(self, streams: StreamTable) -> None:
        kind = self.number()
        n_files = 0
        if kind == _NUM_UNPACK_STREAM:
            for folder in streams.folders:
                folder.n_files = self.number()
                n_files += folder.n_files
                if n_files > _MAX_ENTRIES:
                    raise SourceFault(Reason.TOO_MANY_MEMBERS, f"7z: {n_files}")
            kind = self.number()
        self._file_sizes(streams, has_sizes=kind == _SIZE)
        if kind == _SIZE:
            kind = self.number()
        self._file_crcs(streams, has_crcs=kind == _CRC)
        if kind == _CRC:
            kind = self.number()
        if kind != _END:
            raise _bad(f"property {kind} of files in folders")

    def _file_sizes(self, streams: StreamTable, *, has_sizes: bool) -> None:
        for folder in streams.folders:
            left = folder.n_bytes
            for _ in range(folder.n_files - 1):
                if not has_sizes:
                    raise _bad("no sizes")
                size = self.number()
                left -= size
                if left < 0:
                    raise _bad("sizes")
                streams.sizes.append(size)
            if folder.n_files:
                streams.sizes.append(left)

    def _file_crcs(self, streams: StreamTable, *, has_crcs: bool) -> None:
        n_unknown = sum(
            folder.n_files
            for folder in streams.folders
            if folder.n_files != 1 or folder.crc is None
        )
        crcs = iter(self._digests(n_unknown) if has_crcs else array("q"))
        for folder in streams.folders:
            if folder.n_files == 1 and folder.crc is not None:
                streams.crcs.append(folder.crc)
            else:
                streams.crcs.extend(next(crcs, -1) for _ in range(folder.n_files))

    # -- files ---------------------------------------------------------------------

    def _files(self) -> SevenZipFiles:
        files = SevenZipFiles(n=self._count())
        while (kind := self.number()) != _END:
            part = HeaderReader(self._bytes(self.number()))
            if kind == _EMPTY_STREAM:
                files.is_empty = part._bits(files.n)
            elif kind == _NAMES:
                part._refuse_external()
                files.names = part._bytes(len(part._data) - part._at)
            elif kind == _WIN_ATTRIBUTES:
                is_known = part._optional_bits(files.n)
                part._refuse_external()
                files.attributes = array(
                    "I", (part._uint32() if known else 0 for known in is_known)
                )
        return files

    # -- primitives ----------------------------------------------------------------

    def _digests(self, n: int) -> array[int]:
        is_known = self._optional_bits(n)
        return array("q", (self._uint32() if known else -1 for known in is_known))

    def _optional_bits(self, n: int) -> bytes:
        return b"\1" * n if self._bytes(1)[0] else self._bits(n)

    def _bits(self, n: int) -> bytes:
        packed = self._bytes(-(-n // 8))
        return bytes(packed[i >> 3] >> (7 - (i & 7)) & 1 for i in range(n))

    def _refuse_external(self) -> None:
        if self._bytes(1)[0]:
            raise _bad("external parts of the header")

    def _expect(self, kind: int) -> None:
        if (found := self.number()) != kind:
            raise _bad(f"property {found}")

    def _count(self) -> int:
        n = self.number()
        if n > _MAX_ENTRIES:
            raise SourceFault(Reason.TOO_MANY_MEMBERS, f"7z: {n}")
        if n > 8 * len(self._data):  # an entry takes at least a bit
            raise _bad("counts")
        return n

    def number(self) -> int:
        """Return a NUMBER: leading ones of the first byte count the bytes after it."""
        first = self._bytes(1)[0]
        n = 0
        while n < 8 and first & (0x80 >> n):
            n += 1
        value = int.from_bytes(self._bytes(n), "little")
        if n < 7:
            value |= (first & (0x7F >> n)) << (8 * n)
        if value > _MAX_SIZE:
            raise _bad("a number")
        return value

    def _uint32(self) -> int:
        return int.from_bytes(self._bytes(4), "little")

    def _bytes(self, n: int) -> bytes:
        data = self._data[self._at : self._at + n]
        if len(data) < n:
            raise _bad("cut off")
        self._at += n
        return data


def _order(coders: list[CoderStep], pairs: dict[int, int]) -> list[int]:
    """Return the order of coders from the packed stream; empty without a chain.

    `pairs` maps an input stream to the output stream that feeds it; each coder has one
    output.
    """
    if not all(coder.is_simple for coder in coders) or len(pairs) != len(coders) - 1:
        return []
    feeds = {out: into for into, out in pairs.items()}
    at = next((i for i in range(len(coders)) if i not in pairs), None)
    order: list[int] = []
    while at is not None and at < len(coders) and at not in order:
        order.append(at)
        at = feeds.get(at)
    return order if len(order) == len(coders) else []


def _bad(what: str) -> SourceFault:
    return SourceFault(Reason.BAD_ARCHIVE, f"7z: bad header: {what}")
