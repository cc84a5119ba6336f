"""Read tar as a stream: ustar, pax, GNU and older archives.

Headers are read in bounded memory; sparse files, links, folders and devices are left
out.

Source: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Header Block"; GNU tar
manual, "Basic Tar Format".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.unpack.members import ArchiveEntry, decode_name
from rdfcrawl.rdf.unpack.scratch import BLOCK_BYTES

if TYPE_CHECKING:
    from rdfcrawl.rdf.unpack.limits import PackingLayer

_RECORD: Final = 512
_MAX_HEADER_BYTES: Final = 2**20  # of a pax header or a long name
_FILES: Final = b"\0" + b"07"
_HEADER_ONLY: Final = b"123456"  # links, devices, folders, FIFOs: no data follow
_PAX: Final = re.compile(rb"([0-9]{1,10}) ([^=\n]+)=", re.ASCII)


def iter_tar(stream: BinaryIO, layer: PackingLayer) -> Iterator[ArchiveEntry]:
    """Yield the files of an archive; unread bytes are skipped.

    Raises:
        SourceFault: `BAD_ARCHIVE` if broken or cut off, `TOO_MANY_MEMBERS`.
    """
    tar = _Tar(stream, layer)
    while (entry := tar.next()) is not None:
        yield entry
        tar.skip()


class _Tar:
    def __init__(self, stream: BinaryIO, layer: PackingLayer) -> None:
        self._stream, self._layer = stream, layer
        self._n_left = 0  # unread data of the entry
        self._n_padding = 0
        self._shared: dict[bytes, bytes] = {}  # pax global header
        self._own: dict[bytes, bytes] = {}
        self._n_zeros = 0
        self._n_headers = 0

    def next(self) -> ArchiveEntry | None:
        while (header := self._header()) is not None:
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
                entry = self._entry(header, kind, size)
                if entry is not None:
                    return entry
                self.skip()
        return None

    def _entry(self, header: bytes, kind: bytes, size: int) -> ArchiveEntry | None:
        pax = self._shared | self._own
        self._own = {}
        self._layer.meter.count_member()
        name = pax.get(b"path") or _name(header)
        if b"size" in pax:
            size = _number(pax[b"size"], 10)
        self._n_left = 0 if kind in _HEADER_ONLY else size
        self._n_padding = -self._n_left % _RECORD
        has_holes = kind == b"S" or b"holes" in pax
        # Before ustar, a folder was a file with a trailing slash in its name.
        if kind not in _FILES or has_holes or name.endswith(b"/"):
            if kind == b"S":
                self._skip_sparse_headers(header)
            return None
        return ArchiveEntry(
            name=decode_name(name), layer=self._layer, pieces=lambda _: self._pieces()
        )

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
            raise SourceFault(Reason.BAD_ARCHIVE, "tar: a header is too long")
        return self._exactly(size + -size % _RECORD)[:size]

    def _header(self) -> bytes | None:
        """Return the next header; None at two zero records or the end of file."""
        while True:
            header = self._stream.read(_RECORD)
            if not header and (self._n_zeros or self._n_headers):
                return None  # some writers omit the end marker
            if len(header) < _RECORD:
                raise SourceFault(Reason.BAD_ARCHIVE, "tar: cut off")
            if not any(header):
                self._n_zeros += 1
                if self._n_zeros == 2:
                    return None
                continue
            self._n_zeros = 0
            self._check(header)
            self._n_headers += 1
            return header

    def _check(self, header: bytes) -> None:
        blank = header[:148] + b" " * 8 + header[156:]
        # Some old writers summed signed bytes.
        signed = sum(blank) - 256 * sum(octet > 127 for octet in blank)
        if _number(header[148:156], 8) not in (sum(blank), signed):
            raise SourceFault(Reason.BAD_ARCHIVE, "tar: a header is missing")

    def _skip_sparse_headers(self, header: bytes) -> None:
        """Skip the further headers of old GNU sparse files; byte 504 announces each."""
        is_extended = header[482]
        n_bytes = 0
        while is_extended:
            n_bytes += _RECORD
            if n_bytes > _MAX_HEADER_BYTES:
                raise SourceFault(Reason.BAD_ARCHIVE, "tar: a header is too long")
            is_extended = self._exactly(_RECORD)[504]


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
            raise SourceFault(Reason.BAD_ARCHIVE, "tar: negative number")
        return int.from_bytes(field[1:])
    digits = field.partition(b"\0")[0].strip(b" \0")[:20]
    if not digits:
        return 0
    try:
        number = int(digits, base)
    except ValueError:
        number = -1
    if number < 0:
        raise SourceFault(Reason.BAD_ARCHIVE, "tar: bad number")
    return number


def _pax(records: bytes) -> dict[bytes, bytes]:
    r"""Return path, size and holes from a pax header, a list of "%d %s=%s\n"."""
    found: dict[bytes, bytes] = {}
    at = 0
    while match := _PAX.match(records, at):
        end = at + int(match[1])
        if end <= match.end() or end > len(records):
            break
        if match[2] in (b"path", b"size"):
            found[match[2]] = records[match.end() : end - 1]
        elif match[2].startswith(b"GNU.sparse"):
            found[b"holes"] = b""
        at = end
    return found
