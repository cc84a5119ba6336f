"""Control information: the preambles of the file, header, dictionary and triples."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.namespaces import HDT
from rdfcrawl.rdf.hdt.crc import crc16

if TYPE_CHECKING:
    from rdfcrawl.rdf.hdt.cursor import FileCursor

MAGIC = b"$HDT"
GLOBAL_FORMAT = f"<{HDT}HDTv1>"
HEADER_FORMAT = "ntriples"
DICTIONARY_FORMAT = f"<{HDT}dictionaryFour>"
TRIPLES_FORMAT = f"<{HDT}triplesBitmap>"

_MAX_TEXT_BYTES = 64 * 1024  # real ones have less than 200


class HdtPart(IntEnum):
    """Part of the file that follows a control information."""

    GLOBAL = 1
    HEADER = 2
    DICTIONARY = 3
    TRIPLES = 4


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
    """Return the next control information, which must be of this part.

    Raises:
        SourceFault: `SYNTAX` or `CHECKSUM`.
    """
    what = f"{part.name.lower()} control information"
    begin = cursor.at
    if cursor.take(len(MAGIC), what) != MAGIC:
        raise SourceFault(Reason.SYNTAX, f"{what}: does not begin with $HDT")
    found = cursor.take(1, what)[0]
    texts = [cursor.take_until_nul(_MAX_TEXT_BYTES, what) for _ in range(2)]
    expected = crc16(cursor.take_since(begin))
    if int.from_bytes(cursor.take(2, what), "little") != expected:
        raise SourceFault(Reason.CHECKSUM, f"{what}: CRC-16")
    if found != part:
        raise SourceFault(Reason.SYNTAX, f"{what}: opens part {found}")
    name, pairs = (text.decode("utf-8", "replace") for text in texts)
    properties = (pair.partition("=") for pair in pairs.split(";") if pair)
    return ControlInformation(part, name, {key: value for key, _, value in properties})


def demand_format(control: ControlInformation, supported: str) -> None:
    """Check that a part is in the supported format (`UNSUPPORTED_FORMAT`)."""
    if control.format != supported:
        detail = f"HDT {control.part.name.lower()} in {control.format[:100]}"
        raise SourceFault(Reason.UNSUPPORTED_FORMAT, detail)
