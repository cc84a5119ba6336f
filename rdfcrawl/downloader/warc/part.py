"""A part of a WARC file: its records, with their offsets.

If each record of a compressed WARC file is a separate gzip member, reading may start at
any of them. A file of one member, or of none, is read from its beginning.

Source: The WARC Format 1.1 (IIPC), annex D.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import RdfcrawlError
from rdfcrawl.core.messages import counted

if TYPE_CHECKING:
    from typing import BinaryIO

READ_BYTES: Final = 64 * 1024
MAX_MEMBER_BYTES: Final = 4 * 1024**3
_GZIP: Final = b"\x1f\x8b\x08"
_WARC: Final = b"WARC/"
_GZIP_WINDOW: Final = 31


class PartEnds(RdfcrawlError):
    """The part ends, and the file does not."""


class BadMember(RdfcrawlError):
    """A gzip member is damaged, or its content has no end."""


class FilePart:
    """Bytes of a file from an offset on, read in order.

    Args:
        file: at the first byte of the part.
        offset: of that byte in the file.
        is_last: the part ends with the file.
    """

    def __init__(self, file: BinaryIO, offset: int, *, is_last: bool) -> None:
        self._file, self._is_last = file, is_last
        self._ahead = b""
        self._end = offset

    def tell(self) -> int:
        """Return the offset of the next byte in the file."""
        return self._end - len(self._ahead)

    def read(self, n_bytes: int = READ_BYTES) -> bytes:
        """Return the next bytes; none at the end of the file.

        Raises:
            PartEnds: at the end of a part other than the last.
        """
        if not self._ahead:
            self._ahead = self._file.read(READ_BYTES)
            self._end += len(self._ahead)
            if not self._ahead and not self._is_last:
                raise PartEnds
        taken, self._ahead = self._ahead[:n_bytes], self._ahead[n_bytes:]
        return taken

    def push_back(self, content: bytes) -> None:
        """Push back the bytes that were read last."""
        self._ahead = content + self._ahead

    def begins_gzip(self) -> bool:
        """Return whether a gzip member begins here."""
        head = self.read(READ_BYTES)
        while 0 < len(head) < len(_GZIP) and (more := self.read(READ_BYTES)):
            head += more
        self.push_back(head)
        return head.startswith(_GZIP)

    def seek_record(self) -> None:
        """Skip to the next possible start of a record, or to the end.

        Raises:
            PartEnds: no record starts in the part; it is read up to a possible start.
        """
        window = b""
        while True:
            try:
                content = self.read()
            except PartEnds:
                self.push_back(window[_first_undecided(window) :])
                raise
            if not content:
                return
            window += content
            for found in _places(window):
                if _begins_record(window[found:]):
                    self.push_back(window[found:])
                    return
            window = window[-READ_BYTES:] if len(window) > 2 * READ_BYTES else window


def _places(window: bytes) -> list[int]:
    places = []
    for magic in (_GZIP, b"\n" + _WARC):
        at = window.find(magic)
        while at >= 0:
            places.append(at + (magic[:1] == b"\n"))
            at = window.find(magic, at + 1)
    return sorted(places)


def _begins_record(content: bytes) -> bool | None:
    """Return whether a record begins here; None with too few bytes."""
    if content.startswith(_WARC):
        return True
    try:
        inflate = zlib.decompressobj(_GZIP_WINDOW)
        head = inflate.decompress(content, len(_WARC))
    except zlib.error:
        return False
    is_short = len(head) < len(_WARC) and not inflate.eof
    return None if is_short and _WARC.startswith(head) else head == _WARC


def _first_undecided(window: bytes) -> int:
    """Return the possible start of an incomplete record."""
    tail = max(0, len(window) - len(_WARC))  # perhaps the start of a magic number
    places = (at for at in _places(window) if _begins_record(window[at:]) is None)
    return min(next(places, tail), tail)


class PackedRecords:
    """The content of the gzip member at the start of a part; read once."""

    def __init__(self, part: FilePart) -> None:
        self._part = part
        self._inflate = zlib.decompressobj(_GZIP_WINDOW)
        self._n_bytes = 0
        self._unread = b""  # content before an error
        self._most_bytes = MAX_MEMBER_BYTES

    def allow(self, n_bytes: int) -> None:
        """Raise the limit of the content by `n_bytes`."""
        self._most_bytes = MAX_MEMBER_BYTES + n_bytes

    def read(self, n_bytes: int = READ_BYTES) -> bytes:
        """Return the next bytes; none at the end of the member.

        Raises:
            PartEnds: see `FilePart.read`.
            BadMember: the member is damaged, truncated or too long.
        """
        while not self._inflate.eof:
            packed = self._inflate.unconsumed_tail or self._part.read()
            if not packed:
                raise BadMember("the file ends within a record")
            try:
                content = self._inflate.decompress(packed, max(1, n_bytes))
            except zlib.error as error:
                self._unread = packed[1:]
                raise BadMember(f"gzip: {error}") from error
            self._unread = self._inflate.unconsumed_tail
            if self._inflate.eof:
                self._part.push_back(self._inflate.unused_data)
            self._n_bytes += len(content)
            if self._n_bytes > self._most_bytes:
                raise BadMember(
                    f"a record of more than {counted(self._most_bytes, 'byte')}"
                )
            if content:
                return content
        return b""

    def abandon(self) -> None:
        """Leave the part within the member, after the bytes read so far."""
        self._part.push_back(self._unread)
        self._unread = b""
