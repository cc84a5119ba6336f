"""Read the parts of a file in order, with their checksums."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.rdf.hdt.crc import CRC32C_BYTES, Crc32c, crc8
from rdfcrawl.rdf.hdt.vbyte import decode_vbyte

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.rdf.hdt.crc import Buffer

CHUNK_BYTES = 2**20


class FileCursor:
    """Reader of a file from its beginning, piece by piece.

    The methods raise `SourceFault` (`SYNTAX`) if the file ends too early, or has
    unexpected bytes; `what` names the part in the fault.

    Attributes:
        at: offset of the next byte.
    """

    def __init__(self, buffer: Buffer) -> None:
        self._view = memoryview(buffer).cast("B")
        self.at = 0

    def take(self, n_bytes: int, what: str) -> memoryview:
        """Return a view of the next bytes."""
        n_left = len(self._view) - self.at
        if n_bytes > n_left:
            detail = f"{what}: {counted(n_bytes, 'byte')} needed, {n_left} left"
            raise SourceFault(Reason.SYNTAX, detail)
        self.at += n_bytes
        return self._view[self.at - n_bytes : self.at]

    def peek(self, n_bytes: int) -> memoryview:
        """Return a view of the next bytes, fewer at the end of the file."""
        return self._view[self.at : self.at + n_bytes]

    def take_until_nul(self, most: int, what: str) -> bytes:
        """Return the bytes up to a NUL within the next `most`; skip the NUL."""
        text, nul, _ = bytes(self._view[self.at : self.at + most]).partition(b"\0")
        if not nul:
            raise SourceFault(
                Reason.SYNTAX, f"{what}: no end in {counted(most, 'byte')}"
            )
        self.at += len(text) + 1
        return text

    def take_vbyte(self, what: str) -> int:
        """Return the next integer of variable length."""
        try:
            value, self.at = decode_vbyte(self._view, self.at)
        except ValueError as error:
            raise SourceFault(Reason.SYNTAX, f"{what}: {error}") from error
        return value

    def take_since(self, begin: int) -> memoryview:
        """Return a view of the bytes read since an offset."""
        return self._view[begin : self.at]

    def take_preamble(
        self, kind: int, what: str, *, n_octets: int = 0, n_integers: int = 1
    ) -> list[int]:
        """Return the octets and the integers of variable length after a type.

        Raises:
            SourceFault: `CHECKSUM`; `UNSUPPORTED_FORMAT` for another type.
        """
        begin = self.at
        found, *numbers = self.take(1 + n_octets, what)
        numbers += [self.take_vbyte(what) for _ in range(n_integers)]
        expected = crc8(self.take_since(begin))
        if self.take(1, what)[0] != expected:
            raise SourceFault(Reason.CHECKSUM, f"{what}: CRC-8 of its preamble")
        if found != kind:
            raise SourceFault(Reason.UNSUPPORTED_FORMAT, f"HDT {what} of type {found}")
        return numbers

    def take_checked(
        self,
        n_bytes: int,
        what: str,
        visit: Callable[[memoryview], None] | None = None,
    ) -> memoryview:
        """Return a view of the next bytes; their CRC-32C follows (`CHECKSUM`).

        `visit` is called with each piece of `CHUNK_BYTES`.
        """
        begin = self.at
        if n_bytes + CRC32C_BYTES > len(self._view) - begin:
            self.take(n_bytes + CRC32C_BYTES, what)
        content = self.take(n_bytes, what)
        crc = Crc32c()
        for at in range(0, n_bytes, CHUNK_BYTES):
            piece = content[at : at + CHUNK_BYTES]
            crc.update(piece)
            if visit:
                visit(piece)
        if int.from_bytes(self.take(CRC32C_BYTES, what), "little") != crc.value:
            raise SourceFault(Reason.CHECKSUM, f"{what}: CRC-32C of its content")
        return content
