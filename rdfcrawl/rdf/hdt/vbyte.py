"""Variable-length integers: 7 bits a byte, lowest first, 0x80 set on the last byte."""

from __future__ import annotations

from rdfcrawl.rdf.hdt.crc import crc8

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
