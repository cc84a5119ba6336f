"""Read tar as a stream: ustar, pax, GNU and older archives.

Headers are read in bounded memory; links, folders and devices are left out. Holes of
sparse files are read as zeros. After a bad header, the next good one is read.

Source: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Header Block"; GNU tar
manual, "Basic Tar Format" and "Storing Sparse Files".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.unpack.members import ArchiveEntry, decode_name
from rdfcrawl.rdf.unpack.scratch import BLOCK_BYTES

if TYPE_CHECKING:
    from rdfcrawl.rdf.unpack.limits import PackingLayer

_RECORD: Final = 512
_MAX_HEADER_BYTES: Final = 2**20  # of a pax header or a long name
_HEADER_ONLY: Final = b"123456"  # links, devices, folders, FIFOs: no data follow
# Also folders, volumes, old names and access rights of GNU and Solaris; all other types
# are files (POSIX).
_NO_FILES: Final = _HEADER_ONLY + b"DVNAEI"
_N_AT_END: Final = 2  # records of zeros
_MAX_HOLES: Final = 100_000
_ZEROS: Final = bytes(BLOCK_BYTES)
_PAX: Final = re.compile(rb"([0-9]{1,10}) ([^=\n]+)=", re.ASCII)


_Holes = list[tuple[int, int]]
"""Places and lengths of the data of a sparse file; an empty one is at its end."""


def iter_tar(
    stream: BinaryIO, layer: PackingLayer, note: Callable[[SourceFault], None]
) -> Iterator[ArchiveEntry]:
    """Yield the files of an archive; unread bytes are skipped.

    Args:
        stream: of the archive.
        layer: of the archive.
        note: takes the faults of headers.

    Raises:
        SourceFault: `BAD_ARCHIVE` if cut off, `TOO_MANY_MEMBERS`.
    """
    tar = _Tar(stream, layer, note)
    while (entry := tar.next()) is not None:
        yield entry
        tar.skip()


class _Tar:
    def __init__(
        self,
        stream: BinaryIO,
        layer: PackingLayer,
        note: Callable[[SourceFault], None],
    ) -> None:
        self._stream, self._layer, self._note = stream, layer, note
        self._n_left = 0  # unread data of the entry
        self._n_padding = 0
        self._shared: dict[bytes, bytes] = {}  # pax global header
        self._own: dict[bytes, bytes] = {}
        self._n_zeros = 0
        self._n_headers = 0
        self._is_lost = False  # after a bad header

    def next(self) -> ArchiveEntry | None:
        while (header := self._header()) is not None:
            try:
                entry = self._read(header)
            except _BadHeader as fault:
                self._lose(fault)
                continue
            if entry is not None:
                return entry
            self.skip()
        return None

    def _read(self, header: bytes) -> ArchiveEntry | None:
        kind = header[156:157]
        size = _number(header[124:136], 8)
        if kind in (b"x", b"X"):
            self._own |= _pax(self._meta(size))
        elif kind == b"g":
            self._shared |= _pax(self._meta(size))
        elif kind in (b"L", b"K"):
            name = self._meta(size).rstrip(b"\0")
            if kind == b"L":
                self._own[b"path"] = name
        else:
            return self._entry(header, kind, size)
        return None

    def _lose(self, fault: SourceFault) -> None:
        """Note a bad header; the next one is searched for."""
        self._note(fault)
        self._is_lost, self._own = True, {}
        self._n_left = self._n_padding = 0

    def _entry(self, header: bytes, kind: bytes, size: int) -> ArchiveEntry | None:
        pax = self._shared | self._own
        self._own = {}
        self._layer.meter.count_member()
        name = pax.get(b"GNU.sparse.name") or pax.get(b"path") or _name(header)
        if b"size" in pax:
            size = _number(pax[b"size"], 10)
        self._n_left = 0 if kind in _HEADER_ONLY else size
        self._n_padding = -self._n_left % _RECORD
        # Before ustar, a folder was a file with a trailing slash in its name.
        if kind in _NO_FILES or name.endswith(b"/"):
            return None
        text = decode_name(name)
        if kind == b"M":
            detail = f"tar: {text[:80]!r} begins in another volume"
            self._note(SourceFault(Reason.BAD_ARCHIVE, detail))
            return None
        holes = self._old_holes(header) if kind == b"S" else self._pax_holes(pax)
        if holes is None:
            return ArchiveEntry(
                name=text, layer=self._layer, pieces=lambda _: self._pieces()
            )
        return ArchiveEntry(
            name=text,
            layer=self._layer.inside(),
            pieces=lambda layer: self._with_holes(holes, layer),
        )

    def _with_holes(self, holes: _Holes, layer: PackingLayer) -> Iterator[bytes]:
        """Yield the data of a sparse file, which may be a bomb."""
        data, at = memoryview(b""), 0
        pieces = self._pieces()
        for begin, n_data in holes:
            for n_zeros in _steps(begin - at):
                layer.count_out(n_zeros)
                yield _ZEROS[:n_zeros]
            at, n_wanted = max(at, begin), n_data
            while n_wanted > 0:
                data = data or memoryview(next(pieces, b""))
                if not data:
                    raise SourceFault(Reason.BAD_ARCHIVE, "tar: sparse data cut off")
                piece, data = bytes(data[:n_wanted]), data[n_wanted:]
                layer.count_in(len(piece))
                layer.count_out(len(piece))
                yield piece
                n_wanted -= len(piece)
                at += len(piece)

    def _pieces(self) -> Iterator[bytes]:
        while self._n_left:
            data = self._stream.read(min(self._n_left, BLOCK_BYTES))
            if not data:
                self._n_left = self._n_padding = 0
                raise SourceFault(Reason.BAD_ARCHIVE, "tar: cut off")
            self._n_left -= len(data)
            yield data

    def skip(self) -> None:
        for _ in self._pieces():
            pass
        self._exactly(self._n_padding)
        self._n_padding = 0

    def _exactly(self, n_bytes: int) -> bytes:
        data = self._stream.read(n_bytes)
        if len(data) < n_bytes:
            raise SourceFault(Reason.BAD_ARCHIVE, "tar: cut off")
        return data

    def _meta(self, size: int) -> bytes:
        if size > _MAX_HEADER_BYTES:
            raise _BadHeader("a header is too long")
        return self._exactly(size + -size % _RECORD)[:size]

    def _header(self) -> bytes | None:
        """Return the next header; None at the end.

        Another archive may follow two zero records.
        """
        while True:
            header = self._stream.read(_RECORD)
            if self._n_zeros >= _N_AT_END and any(header) and not _is_valid(header):
                self._note(SourceFault(Reason.BAD_ARCHIVE, "tar: trailing bytes"))
                return None
            if not header and (self._n_zeros or self._n_headers or self._is_lost):
                return None  # some writers omit the end marker
            if len(header) < _RECORD:
                if self._is_lost or self._n_zeros >= _N_AT_END:
                    return None
                raise SourceFault(Reason.BAD_ARCHIVE, "tar: cut off")
            if self._is_lost:
                if header[257:262] != b"ustar" or not _is_valid(header):
                    continue
            elif not any(header):
                self._n_zeros += 1
                continue
            elif not _is_valid(header):
                self._lose(_BadHeader("a header is missing"))
                continue
            self._is_lost, self._n_zeros = False, 0
            self._n_headers += 1
            return header

    def _old_holes(self, header: bytes) -> _Holes:
        """Return the places of data of old GNU sparse files.

        The header has four, each further record has 21; byte 504 announces another.
        """
        holes = _pairs(_number(x, 8) for x in _fields(header[386:482]))
        is_extended, n_bytes = header[482], 0
        while is_extended:
            n_bytes += _RECORD
            if n_bytes > _MAX_HEADER_BYTES:
                raise _BadHeader("a header is too long")
            more = self._exactly(_RECORD)
            holes += _pairs(_number(x, 8) for x in _fields(more[:504]))
            is_extended = more[504]
        return [*holes, (_number(header[483:495], 8), 0)]

    def _pax_holes(self, pax: dict[bytes, bytes]) -> _Holes | None:
        """Return the places of data of a sparse file of pax; None for other files."""
        if pax.get(b"GNU.sparse.major") == b"1":
            places = self._holes_before_data()
        elif b"GNU.sparse.map" in pax:
            places = [_number(x, 10) for x in pax[b"GNU.sparse.map"].split(b",")]
        else:
            return None
        size = pax.get(b"GNU.sparse.realsize") or pax.get(b"GNU.sparse.size", b"")
        return [*_pairs(iter(places)), (_number(size, 10), 0)]

    def _holes_before_data(self) -> list[int]:
        """Return the numbers in lines before the data (GNU sparse format 1.0)."""
        lines: list[bytes] = [b""]
        n_wanted = 1
        while len(lines) <= n_wanted:
            if self._n_left < _RECORD or len(lines[-1]) > _RECORD:
                raise _BadHeader("places of sparse data")
            record = self._exactly(_RECORD)
            self._n_left -= _RECORD
            first, *others = record.split(b"\n")
            lines[-1] += first
            lines += others
            if len(lines) > 1:
                n_wanted = 1 + 2 * min(_number(lines[0], 10), _MAX_HOLES)
        return [_number(line, 10) for line in lines[1:n_wanted]]


class _BadHeader(SourceFault):
    """A header cannot be read; the next one may be."""

    def __init__(self, detail: str) -> None:
        super().__init__(Reason.BAD_ARCHIVE, f"tar: {detail}")


def _is_valid(header: bytes) -> bool:
    """Return whether the checksum of a header is right."""
    blank = header[:148] + b" " * 8 + header[156:]
    try:
        excess = sum(blank) - _number(header[148:156], 8)
    except _BadHeader:
        return False
    # Some old writers summed signed bytes.
    return not excess or excess == 256 * sum(octet > 127 for octet in blank)


def _fields(places: bytes) -> list[bytes]:
    """Return the fields of places of data, each of 12 bytes, up to an empty one."""
    fields = [places[at : at + 12] for at in range(0, len(places), 12)]
    empty = (i for i in range(0, len(fields), 2) if not fields[i + 1].strip(b" \0"))
    return fields[: next(empty, len(fields))]


def _pairs(numbers: Iterator[int]) -> _Holes:
    return list(zip(numbers, numbers, strict=False))


def _steps(n_bytes: int) -> Iterator[int]:
    while n_bytes > 0:
        yield min(n_bytes, BLOCK_BYTES)
        n_bytes -= BLOCK_BYTES


def _name(header: bytes) -> bytes:
    name = header[:100].partition(b"\0")[0]
    # GNU's magic "ustar  " means other fields in place of the prefix.
    if header[257:263] == b"ustar\0":
        prefix = header[345:500].partition(b"\0")[0]
        if prefix:
            return prefix + b"/" + name
    return name


def _number(field: bytes, base: int) -> int:
    if base == 8 and field[0] & 0x80:  # GNU and star: big-endian binary
        if field[0] != 0x80:
            raise _BadHeader("negative number")
        return int.from_bytes(field[1:])
    digits = field.partition(b"\0")[0].strip(b" \0")[:20]
    if not digits:
        return 0
    try:
        number = int(digits, base)
    except ValueError:
        number = -1
    if number < 0:
        raise _BadHeader("bad number")
    return number


def _pax(records: bytes) -> dict[bytes, bytes]:
    r"""Return the values of a pax header, a list of "%d %s=%s\n".

    The places of data of format 0.0 (GNU), one by one, are joined as in 0.1.
    """
    found: dict[bytes, bytes] = {}
    places: list[bytes] = []
    at = 0
    while match := _PAX.match(records, at):
        end = at + int(match[1])
        if end <= match.end() or end > len(records):
            break
        value = records[match.end() : end - 1]
        if match[2] in (b"GNU.sparse.offset", b"GNU.sparse.numbytes"):
            places.append(value)
        elif match[2] in (b"path", b"size") or match[2].startswith(b"GNU.sparse."):
            found[match[2]] = value
        at = end
    if places:
        found[b"GNU.sparse.map"] = b",".join(places)
    return found
