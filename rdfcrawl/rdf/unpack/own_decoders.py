"""Decoders of formats without a library: lzip and compress."""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Iterator
from struct import Struct
from typing import Final

from rdfcrawl.rdf.unpack.decoding import (
    PIECE_BYTES,
    BrokenStream,
    checked_dictionary,
    parts_of,
)

_LZIP_HEAD: Final = 6
_LZIP_TRAILER: Final = Struct("<I2Q")
_LZW_CODES: Final = 4096  # decoded at a time


class LzipMember:
    """Decoder of one member of lzip, with the interface of `lzma`.

    Source: the manual of lzip, "File format".
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._rest = b""  # of the header, then of the trailer
        self._stream: lzma.LZMADecompressor | None = None
        self._crc = self._n_bytes = 0
        self.eof = False
        self.needs_input = True
        self.unused_data = b""

    def decompress(self, data: bytes, max_bytes: int) -> bytes:
        """Return at most `max_bytes` of decoded data."""
        if self._stream is None:
            self._rest += data
            if len(self._rest) < _LZIP_HEAD:
                return b""
            self._stream, data = self._begin(self._rest), self._rest[_LZIP_HEAD:]
            self._rest = b""
        piece = b""
        if self._stream.eof:
            self._rest += data
            if len(self._rest) >= _LZIP_TRAILER.size:
                self._end()
        else:
            piece = self._stream.decompress(data, max_bytes)
            self._crc = zlib.crc32(piece, self._crc)
            self._n_bytes += len(piece)
            self._rest = self._stream.unused_data
        self.needs_input = (
            len(self._rest) < _LZIP_TRAILER.size
            if self._stream.eof
            else self._stream.needs_input
        )
        return piece

    def _begin(self, head: bytes) -> lzma.LZMADecompressor:
        if not head.startswith(b"LZIP\1"):
            raise ValueError("no header of lzip")
        size = 1 << (head[5] & 0x1F)
        size = checked_dictionary(size - size // 16 * (head[5] >> 5), self._max_bytes)
        found = {"id": lzma.FILTER_LZMA1, "dict_size": size, "lc": 3, "lp": 0, "pb": 2}
        return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[found])

    def _end(self) -> None:
        crc, n_bytes, _ = _LZIP_TRAILER.unpack_from(self._rest)
        if (crc, n_bytes) != (self._crc, self._n_bytes):
            raise ValueError("wrong checksum or length")
        self.eof, self.unused_data = True, self._rest[_LZIP_TRAILER.size :]


class LzwStream:
    """Decoder of compress (`.Z`): LZW with codes of 9 to 16 bits.

    Codes come in groups of eight, and the rest of a group is skipped where the length
    of the codes changes. The format has no end, length or checksum.
    """

    garbage = b""

    def __init__(self, max_bytes: int) -> None:
        self._n_free = max_bytes  # for the table
        self._rest = b""  # from the beginning of a group
        self._n_skipped = 0  # bytes to skip
        self._n_done = 0  # codes of the group
        self._n_most = 0  # bits of the longest code; 0 before the header
        self._n_bits, self._has_reset = 9, False
        self._table = [bytes((octet,)) for octet in range(256)]
        self._last = b""

    @property
    def is_complete(self) -> bool:
        """Whether the header is complete, and no part of a code is left."""
        n_used = (self._n_done * self._n_bits + 7) // 8
        return self._n_most > 0 and not self._rest[n_used:].strip(b"\0")

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield the decoded `data`; see `StreamCodec`."""
        data = self._rest + data
        if not self._n_most:
            if len(data) < 3:
                self._rest = data
                return
            self._n_most, self._has_reset = data[2] & 0x1F, data[2] > 0x7F
            if not data.startswith(b"\x1f\x9d") or not 9 <= self._n_most <= 16:
                raise BrokenStream("no header of compress")
            self._table += [b""] * self._has_reset
            data = data[3:]
        out: list[bytes] = []
        at = self._n_skipped
        while at < len(data):
            n_bits = self._n_bits
            group = data[at : at + n_bits]
            if not self._decode(group, out):
                break
            at += n_bits
            if len(out) >= _LZW_CODES or (out and len(out[-1]) > _LZW_CODES):
                yield from parts_of(b"".join(out), PIECE_BYTES)
                out.clear()
        self._n_skipped, self._rest = max(0, at - len(data)), data[at:]
        yield from parts_of(b"".join(out), PIECE_BYTES)

    def _decode(self, group: bytes, out: list[bytes]) -> bool:
        """Decode the codes of a group; return whether the next one follows."""
        table, n_bits, last = self._table, self._n_bits, self._last
        n_codes = len(group) * 8 // n_bits
        bits = int.from_bytes(group, "little") >> (self._n_done * n_bits)
        mask = (1 << n_bits) - 1
        for _ in range(self._n_done, n_codes):
            code = bits & mask
            bits >>= n_bits
            if code == 256 and self._has_reset:
                self._n_free += sum(map(len, table[257:]))
                del table[257:]
                self._n_bits, self._n_done, self._last = 9, 0, b""
                return True
            if code < len(table):
                found = table[code]
            elif code == len(table) and last:
                found = last + last[:1]
            else:
                raise BrokenStream("a code that is not in the table")
            out.append(found)
            if last and len(table) < 1 << self._n_most:
                table.append(last + found[:1])
                self._n_free -= len(last) + 1
            last = found
            if len(table) > mask and n_bits < self._n_most:
                self._n_bits, self._n_done, self._last = n_bits + 1, 0, last
                return True
        if self._n_free < 0:
            raise BrokenStream("needs too much memory", needs_memory=True)
        self._n_done, self._last = n_codes % 8, last
        return n_codes == 8
