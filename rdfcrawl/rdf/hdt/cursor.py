"""A place in the file from which the parts are read, one after another, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.rdf.hdt.crc import CRC32C_BYTES, Crc32c, crc8
from rdfcrawl.rdf.hdt.vbyte import decode_vbyte

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rdfcrawl.rdf.hdt.crc import Buffer

CHUNK_BYTES = 2**20


class FileCursor:
    """Reads the parts of a file in order; nothing is taken from behind its end.

    Args:
        buffer: the file, only ever looked at in pieces.

    Attributes:
        at: offset of the next byte.
    """

    __slots__ = ("_view", "at")

    def __init__(self, buffer: Buffer) -> None:
        self._view = memoryview(buffer).cast("B")
        self.at = 0

    def take(self, n_bytes: int, what: str) -> memoryview:
        """Return a view of the next bytes.

        Raises:
            SourceFault: the file ends before.
        """
        n_left = len(self._view) - self.at
        if n_bytes > n_left:
            detail = f"{what}: {n_bytes} bytes are needed, {n_left} are left"
            raise SourceFault(Reason.SYNTAX, detail)
        self.at += n_bytes
        return self._view[self.at - n_bytes : self.at]

    def peek(self, n_bytes: int) -> memoryview:
        """Return a view of the next bytes, fewer if the file ends before."""
        return self._view[self.at : self.at + n_bytes]

    def take_until_nul(self, most: int, what: str) -> bytes:
        """Return the next bytes up to a NUL, which is passed over.

        Raises:
            SourceFault: there is none among the next `most`.
        """
        text, nul, _ = bytes(self._view[self.at : self.at + most]).partition(b"\0")
        if not nul:
            raise SourceFault(Reason.SYNTAX, f"{what}: no end in {most} bytes")
        self.at += len(text) + 1
        return text

    def take_vbyte(self, what: str) -> int:
        """Return the next integer of variable length.

        Raises:
            SourceFault: there is none.
        """
        try:
            value, self.at = decode_vbyte(self._view, self.at)
        except ValueError as error:
            raise SourceFault(Reason.SYNTAX, f"{what}: {error}") from error
        return value

    def take_since(self, begin: int) -> memoryview:
        """Return a view of what was read since a place."""
        return self._view[begin : self.at]

    def check_crc8(self, begin: int, what: str) -> None:
        """Compare the next byte with the checksum of what was read since a place.

        Raises:
            SourceFault: they differ.
        """
        expected = crc8(self.take_since(begin))
        if self.take(1, what)[0] != expected:
            raise SourceFault(Reason.CHECKSUM, f"{what}: CRC-8 of its preamble")

    def take_checked(
        self,
        n_bytes: int,
        what: str,
        visit: Callable[[memoryview], None] | None = None,
    ) -> memoryview:
        """Return a view of the next bytes, whose CRC-32C follows them.

        Args:
            n_bytes: how many.
            what: names them in a fault.
            visit: called with one piece after another, if anything else is to be
                found out on the way; all but the last have `CHUNK_BYTES`.

        Raises:
            SourceFault: the file ends before, or the checksum differs.
        """
        begin = self.at
        if n_bytes + CRC32C_BYTES > len(self._view) - begin:
            self.take(n_bytes + CRC32C_BYTES, what)
        content = self.take(n_bytes, what)
        crc = Crc32c()
        for piece in _pieces(content):
            crc.update(piece)
            if visit:
                visit(piece)
        if int.from_bytes(self.take(CRC32C_BYTES, what), "little") != crc.value:
            raise SourceFault(Reason.CHECKSUM, f"{what}: CRC-32C of its content")
        return content


def _pieces(view: memoryview) -> Iterator[memoryview]:
    for begin in range(0, len(view), CHUNK_BYTES):
        yield view[begin : begin + CHUNK_BYTES]
