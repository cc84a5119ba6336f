"""Read zip through its directory; without one, sequentially.

Source: PKWARE APPNOTE.TXT 6.3.10, whose section numbers are cited below.
"""

from __future__ import annotations

import re
import stat
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from struct import Struct
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.rdf.unpack import codecs
from rdfcrawl.rdf.unpack.members import ArchiveEntry, decode_name
from rdfcrawl.rdf.unpack.raw_codecs import lzma1
from rdfcrawl.rdf.unpack.scratch import BLOCK_BYTES, BlobReader, SeekableBytes
from rdfcrawl.rdf.unpack.streams import decoded

if TYPE_CHECKING:
    from rdfcrawl.rdf.unpack.decoding import StreamCodec
    from rdfcrawl.rdf.unpack.limits import PackingLayer, UnpackLimits

_LOCAL: Final = Struct("<4s5H3I2H")  # 4.3.7
_CENTRAL: Final = Struct("<4s6H3I5H2I")  # 4.3.12
_END: Final = Struct("<4s4H2IH")  # 4.3.16
_END64: Final = Struct("<4sQ2H2I4Q")  # 4.3.14
_LOCATOR64: Final = Struct("<4sIQI")  # 4.3.15
_DESCRIPTOR: Final = Struct("<3I")  # 4.3.9, after its signature
_DESCRIPTOR64: Final = Struct("<I2Q")
_IS_ENCRYPTED: Final = 0x2041  # 4.4.4: bits 0, 6 and 13
_HAS_DESCRIPTOR: Final = 0x0008
_IS_UTF8: Final = 0x0800
_UNIX: Final = (3, 19)  # 4.4.2.2: systems with modes of files; 19: macOS
_find_header = re.compile(rb"PK(?:\x03\x04|\x01\x02)").search
_MAX32: Final = 0xFFFF_FFFF
_ZIP64_EXTRA: Final = 0x0001
_UNICODE_PATH_EXTRA: Final = 0x7075
_METHODS: Final = {  # 4.4.5
    0: "stored", 8: "deflate", 9: "deflate64", 12: "bzip2", 14: "lzma",
    20: "zstd", 93: "zstd", 95: "xz",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Header:
    """Header of a member."""

    name: str
    flags: int
    method: int
    crc: int | None  # CRC-32 of the decoded bytes; None if unknown
    n_packed: int | None  # bytes of encoded data; None if the coding marks its end
    n_bytes: int | None  # decoded bytes; None if unknown
    at: int  # offset of the local header
    is_file: bool = True  # no link, device or folder


def iter_zip(
    blob: SeekableBytes, layer: PackingLayer, note: Callable[[SourceFault], None]
) -> Iterator[ArchiveEntry]:
    """Yield the files in the order of the directory; `note` takes faults of files.

    Raises:
        SourceFault: `BAD_ARCHIVE` if broken, `TOO_MANY_MEMBERS`.
    """
    zipped = _Zip(blob, layer)
    for header in zipped.headers():
        layer.meter.count_member()
        if header.name.endswith("/") or not header.is_file:
            continue
        try:
            yield zipped.entry(header)
        except SourceFault as fault:
            note(fault)
    zipped.check_end()


class _Zip:
    def __init__(self, blob: SeekableBytes, layer: PackingLayer) -> None:
        self._blob, self._layer = blob, layer
        self._n_packed = 0
        self._shift = 0  # of all offsets: a program may precede the archive
        self._lost: SourceFault | None = None

    def headers(self) -> Iterator[_Header]:
        try:
            begin, end = self._directory()
        except SourceFault as fault:
            self._lost = fault
            yield from self._scan()
            return
        at, seen = begin, set()
        while at < end:
            try:
                header, at = self._central(at, end)
            except SourceFault as fault:  # the rest may still be found
                self._lost = fault
                yield from (each for each in self._scan() if each.at not in seen)
                return
            seen.add(header.at)
            yield header
        if self._shift and self._has_archive_before():
            read = {self._place(at) for at in seen}
            for header in self._scan():
                if header.at < self._shift and header.at not in read:
                    yield header

    def _has_archive_before(self) -> bool:
        """Return whether the end of another archive is directly before this one."""
        if self._blob.read_at(0, 4) != b"PK\3\4":
            return False
        begin = max(0, self._shift - _END.size - 0xFFFF)
        before = self._blob.read_at(begin, self._shift - begin)
        found = _end_in(before)
        n_comment = int.from_bytes(before[found + 20 : found + 22], "little")
        return found >= 0 and found + _END.size + n_comment == len(before)

    def check_end(self) -> None:
        if self._lost is not None:
            raise self._lost

    def entry(self, header: _Header) -> ArchiveEntry:
        name = repr(header.name[:80])
        if header.flags & _IS_ENCRYPTED or header.method == 99:  # 99: AE-x
            raise SourceFault(Reason.ENCRYPTED, f"zip: {name}")
        if header.method not in _METHODS:
            detail = f"zip: {name}: method {header.method}"
            raise SourceFault(Reason.BAD_ARCHIVE, detail)
        at = self._place(header.at)
        if at < 0:
            detail = f"zip: {name}: a header is missing"
            raise SourceFault(Reason.BAD_ARCHIVE, detail)
        local = self._unpack(_LOCAL, at, b"PK\3\4")
        begin = at + _LOCAL.size + local[9] + local[10]
        if header.n_packed is not None and self._lost is None:
            # Overlapping members would make a bomb with a low ratio.
            self._n_packed += header.n_packed
            if self._n_packed > self._blob.n_bytes:
                raise SourceFault(Reason.BAD_ARCHIVE, "zip: members overlap")
        return ArchiveEntry(
            name=header.name,
            layer=self._layer.inside(),
            pieces=lambda layer: self._pieces(header, begin, layer),
            is_reopenable=True,
        )

    def _place(self, at: int) -> int:
        """Return the offset of a local header, which may not be shifted; else -1."""
        places = at, at - self._shift
        return next((x for x in places if self._blob.read_at(x, 4) == b"PK\3\4"), -1)

    def _pieces(
        self, header: _Header, begin: int, layer: PackingLayer
    ) -> Iterator[bytes]:
        what = f"zip: {header.name[:80]!r}"
        n_packed = header.n_packed
        ends_itself = n_packed is None
        end = self._blob.n_bytes if n_packed is None else begin + n_packed
        read = BlobReader(self._blob, begin, end).read
        codec = _codec(header, read, layer.meter.limits)
        crc, n_bytes = 0, 0
        for piece in decoded(read, codec, layer, what=what, ends_itself=ends_itself):
            crc = zlib.crc32(piece, crc)
            n_bytes += len(piece)
            yield piece
        if header.n_bytes is not None and n_bytes != header.n_bytes:
            detail = f"{what}: {counted(n_bytes, 'byte')}, not {header.n_bytes}"
            raise SourceFault(Reason.BAD_ARCHIVE, detail)
        if header.crc is not None and crc != header.crc:
            raise SourceFault(Reason.CHECKSUM, what)

    # -- the directory -------------------------------------------------------------

    def _directory(self) -> tuple[int, int]:
        n_bytes = self._blob.n_bytes
        tail_at = max(0, n_bytes - _END.size - 0xFFFF)  # longest comment
        tail = self._blob.read_at(tail_at, n_bytes - tail_at)
        found = _end_in(tail)
        if found < 0:
            raise SourceFault(Reason.BAD_ARCHIVE, "zip: cut off, no directory")
        end_at = tail_at + found
        _, _, _, _, n, size, offset, n_comment = _END.unpack_from(tail, found)
        if b"PK\3\4" in tail[found + _END.size + n_comment :]:
            detail = "zip: cut off, only the directory of an inner zip"
            raise SourceFault(Reason.BAD_ARCHIVE, detail)
        if n == 0xFFFF or _MAX32 in (size, offset):
            end_at, size, offset = self._end64(end_at, size, offset)
        begin = end_at - size
        # Some writers leave the offset out.
        self._shift = 0 if offset == _MAX32 else begin - offset
        if begin < 0 or self._shift < 0:
            raise SourceFault(Reason.BAD_ARCHIVE, "zip: directory outside of the file")
        return begin, end_at

    def _end64(self, end_at: int, size: int, offset: int) -> tuple[int, int, int]:
        locator_at = end_at - _LOCATOR64.size
        if locator_at < 0 or self._blob.read_at(locator_at, 4) != b"PK\6\7":
            return end_at, size, offset  # no zip64
        at = self._unpack(_LOCATOR64, locator_at, b"PK\6\7")[2]
        if self._blob.read_at(at, 4) != b"PK\6\6":  # after a program
            at = locator_at - _END64.size
        end64 = self._unpack(_END64, at, b"PK\6\6")
        return at, end64[8], end64[9]

    def _central(self, at: int, end: int) -> tuple[_Header, int]:
        fields = self._unpack(_CENTRAL, at, b"PK\1\2")
        n_name, n_extra, n_note = fields[10:13]
        rest = self._blob.read_at(at + _CENTRAL.size, n_name + n_extra)
        after = at + _CENTRAL.size + n_name + n_extra + n_note
        if after > end:
            raise SourceFault(Reason.BAD_ARCHIVE, "zip: directory cut off")
        header = _header(fields[3:11], rest, fields[16])
        kind = stat.S_IFMT(fields[15] >> 16) if fields[1] >> 8 in _UNIX else 0
        is_file = kind in (0, stat.S_IFREG, stat.S_IFIFO)  # a pipe that was packed
        return replace(header, at=header.at + self._shift, is_file=is_file), after

    def _unpack(self, struct: Struct, at: int, signature: bytes) -> tuple[int, ...]:
        data = self._blob.read_at(at, struct.size)
        if len(data) < struct.size or not data.startswith(signature):
            raise SourceFault(Reason.BAD_ARCHIVE, "zip: a header is missing")
        fields: tuple[int, ...] = struct.unpack(data)
        return fields

    # -- without directory ---------------------------------------------------------

    def _scan(self) -> Iterator[_Header]:
        """Yield the local headers, one after another."""
        at = 0
        while (at := self._next_header(at)) < self._blob.n_bytes:
            try:
                fields = self._unpack(_LOCAL, at, b"PK\3\4")
            except SourceFault:  # a part of the directory
                at += 4
                continue
            n_name, n_extra = fields[9:11]
            rest = self._blob.read_at(at + _LOCAL.size, n_name + n_extra)
            if len(rest) < n_name + n_extra:
                return
            header = replace(_header(fields[2:10], rest, 0), at=at)
            at += _LOCAL.size + n_name + n_extra
            if header.flags & _HAS_DESCRIPTOR:
                # The sizes come after the data: search for the next header.
                end = self._next_header(at)
                yield self._described(header, at, end)
                at = end
            else:
                yield header
                at += header.n_packed or 0

    def _described(self, header: _Header, begin: int, end: int) -> _Header:
        """Return a header with the sizes after its data, which end before `end`."""
        for struct in (_DESCRIPTOR, _DESCRIPTOR64):
            for n_magic in (4, 0):  # which is optional
                size = struct.size + n_magic
                data = self._blob.read_at(max(begin, end - size), size)[n_magic:]
                if len(data) < struct.size:
                    continue
                crc, n_packed, n_bytes = struct.unpack(data)
                if n_packed == end - size - begin:
                    return replace(header, crc=crc, n_packed=n_packed, n_bytes=n_bytes)
        n_packed = None
        if _METHODS.get(header.method) == "stored":  # cut off
            tail_at = max(begin, end - _DESCRIPTOR64.size - 4)
            tail = self._blob.read_at(tail_at, end - tail_at)
            n_packed = tail_at + len(tail.partition(b"PK\7\x08")[0]) - begin
        return replace(header, crc=None, n_packed=n_packed, n_bytes=None)

    def _next_header(self, at: int) -> int:
        """Return the offset of the next apparent header; or of the end."""
        if self._blob.read_at(at, 4) == b"PK\3\4":
            return at
        while data := self._blob.read_at(at, BLOCK_BYTES):
            if found := _find_header(data):
                return at + found.start()
            at += max(1, len(data) - 3)
        return at


def _end_in(tail: bytes) -> int:
    """Return the place of the end record; its comment may contain another's magic."""
    last = found = tail.rfind(b"PK\5\6", 0, max(0, len(tail) - _END.size + 4))
    while found >= 0:
        n_comment = int.from_bytes(tail[found + 20 : found + 22], "little")
        if found + _END.size + n_comment == len(tail):
            return found
        found = tail.rfind(b"PK\5\6", 0, found)
    return last  # bytes follow that are not of the archive


def _header(fields: tuple[int, ...], rest: bytes, at: int) -> _Header:
    """Return the header of a member from its common fields, its name and extras."""
    flags, method, _, _, crc, n_packed, n_bytes, n_name = fields
    extra = rest[n_name:]
    n_bytes, n_packed, at = _zip64(extra, n_bytes, n_packed, at)
    name = _name(rest[:n_name], flags, extra)
    return _Header(name, flags, method, crc, n_packed, n_bytes, at)


def _codec(
    header: _Header, read: Callable[[int], bytes], limits: UnpackLimits
) -> StreamCodec:
    name = _METHODS[header.method]
    if name != "lzma":
        return codecs.codec_of(name, limits)
    # 5.8.8: version, size of the properties, properties
    size = int.from_bytes(read(4)[2:], "little")
    codec = lzma1(read(size), limits.codec_memory_bytes)
    if header.n_bytes is None:
        return codec
    return codecs.SizedStream(codec, header.n_bytes)  # it may lack an end marker


def _extras(extra: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(extra):
        size = int.from_bytes(extra[at + 2 : at + 4], "little")
        yield int.from_bytes(extra[at : at + 2], "little"), extra[at + 4 :][:size]
        at += 4 + size


def _zip64(
    extra: bytes, n_bytes: int, n_packed: int, offset: int
) -> tuple[int, int, int]:
    """Return sizes and offset, which may be in the extra field."""
    values = [n_bytes, n_packed, offset]
    for kind, field in _extras(extra):
        if kind == _ZIP64_EXTRA:  # 4.5.3: numbers that did not fit, in this order
            at = 0
            for i, value in enumerate(values):
                if value == _MAX32 and at + 8 <= len(field):
                    values[i] = int.from_bytes(field[at : at + 8], "little")
                    at += 8
            break
    return values[0], values[1], values[2]


def _name(octets: bytes, flags: int, extra: bytes) -> str:
    if not flags & _IS_UTF8:
        for kind, field in _extras(extra):
            # 4.6.9: version, CRC-32 of the name in the header, the name in UTF-8
            if kind == _UNICODE_PATH_EXTRA and len(field) > 5:
                crc = int.from_bytes(field[1:5], "little")
                if crc == zlib.crc32(octets):
                    return decode_name(field[5:], "cp437")
    return decode_name(octets, "cp437")
