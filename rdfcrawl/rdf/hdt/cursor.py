"""Read the parts of a file in order, with their checksums.

Integers of variable length have 7 bits a byte, lowest first, and 0x80 set on the last
byte. Control information is the preamble of the file, header, dictionary and triples.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.core.namespaces import HDT
from rdfcrawl.rdf.hdt.crc import CRC32C_BYTES, Crc32c, crc8, crc16

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.rdf.hdt.crc import Buffer


_MAX_BYTES = 10  # a 64 bit integer never takes more


def encode_vbyte(value: int) -> bytes:
    """Return an unsigned integer as bytes.

    >>> encode_vbyte(300).hex()
    '2c82'
    """
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F)
        value >>= 7
    out.append(value | 0x80)
    return bytes(out)


def decode_vbyte(buffer: bytes | memoryview, at: int) -> tuple[int, int]:
    """Return the integer at an offset, and the offset after it.

    Raises:
        ValueError: the integer has no end or more than 64 bits.
    """
    value = 0
    for n_byte, byte in enumerate(buffer[at : at + _MAX_BYTES]):
        value |= (byte & 0x7F) << 7 * n_byte
        if byte & 0x80:
            if value >> 64:
                break
            return value, at + n_byte + 1
    raise ValueError("an integer of variable length without an end")


def preamble(head: bytes, *numbers: int) -> bytes:
    """Return a type, integers of variable length and their CRC-8."""
    content = head + b"".join(map(encode_vbyte, numbers))
    return content + bytes([crc8(content)])


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

    def since(self, begin: int) -> memoryview:
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
        expected = crc8(self.since(begin))
        if self.take(1, what)[0] != expected:
            raise SourceFault(Reason.CHECKSUM, f"{what}: CRC-8 of its preamble")
        if found != kind:
            raise SourceFault(Reason.UNSUPPORTED_FORMAT, f"HDT {what} of type {found}")
        return numbers

    def take_checked(
        self, n_bytes: int, what: str, visit: Callable[[memoryview], None] | None = None
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


MAGIC = b"$HDT"

_MAX_TEXT_BYTES = 64 * 1024  # real ones have less than 200


class HdtPart(IntEnum):
    """Part of the file that follows a control information."""

    GLOBAL = 1
    HEADER = 2
    DICTIONARY = 3
    TRIPLES = 4


FORMATS = {
    HdtPart.GLOBAL: f"<{HDT}HDTv1>",
    HdtPart.HEADER: "ntriples",
    HdtPart.DICTIONARY: f"<{HDT}dictionaryFour>",
    HdtPart.TRIPLES: f"<{HDT}triplesBitmap>",
}
"""The supported format of each part."""


@dataclass(frozen=True, slots=True)
class ControlInformation:
    """Format (an IRI in angle brackets, or `ntriples`) and properties of a part."""

    part: HdtPart
    format: str
    properties: dict[str, str] = field(default_factory=dict)

    def encode(self) -> bytes:
        """Return the bytes, with the checksum."""
        pairs = "".join(f"{key}={value};" for key, value in self.properties.items())
        text = f"{self.format}\0{pairs}\0".encode()
        content = MAGIC + bytes([self.part]) + text
        return content + crc16(content).to_bytes(2, "little")


def read_control(cursor: FileCursor, part: HdtPart) -> ControlInformation:
    """Return the next control information, of this part in the supported format.

    Raises:
        SourceFault: `SYNTAX`, `CHECKSUM` or `UNSUPPORTED_FORMAT`.
    """
    what = f"{part.name.lower()} control information"
    begin = cursor.at
    if cursor.take(len(MAGIC), what) != MAGIC:
        raise SourceFault(Reason.SYNTAX, f"{what}: does not begin with $HDT")
    found = cursor.take(1, what)[0]
    texts = [cursor.take_until_nul(_MAX_TEXT_BYTES, what) for _ in range(2)]
    expected = crc16(cursor.since(begin))
    if int.from_bytes(cursor.take(2, what), "little") != expected:
        raise SourceFault(Reason.CHECKSUM, f"{what}: CRC-16")
    if found != part:
        raise SourceFault(Reason.SYNTAX, f"{what}: opens part {found}")
    name, pairs = (text.decode("utf-8", "replace") for text in texts)
    if name != FORMATS[part]:
        detail = f"HDT {part.name.lower()} in {name[:100]}"
        raise SourceFault(Reason.UNSUPPORTED_FORMAT, detail)
    properties = (pair.partition("=") for pair in pairs.split(";") if pair)
    return ControlInformation(part, name, {key: value for key, _, value in properties})
