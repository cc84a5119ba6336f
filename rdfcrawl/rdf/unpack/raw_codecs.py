"""Coders of zip and 7z that have no container: LZMA, LZMA2, filters."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.unpack.codecs import raw_lzma
from rdfcrawl.rdf.unpack.decoding import checked_dictionary

if TYPE_CHECKING:
    from rdfcrawl.rdf.unpack.decoding import StreamCodec

# Old and new 7z ids of filters for machine code; some writers apply them to any data.
_NEW_FILTERS: Final = {
    b"\x04": lzma.FILTER_X86,
    b"\x05": lzma.FILTER_POWERPC,
    b"\x06": lzma.FILTER_IA64,
    b"\x07": lzma.FILTER_ARM,
    b"\x08": lzma.FILTER_ARMTHUMB,
    b"\x09": lzma.FILTER_SPARC,
}
_OLD_IDS: Final = ("0103", "0205", "0401", "0501", "0701", "0805")
_FILTERS: Final = _NEW_FILTERS | {
    bytes.fromhex(f"0303{old}"): found
    for old, found in zip(_OLD_IDS, _NEW_FILTERS.values(), strict=True)
}
_DELTA: Final = b"\x03"
_CHUNK_BYTES: Final = 2**16  # xz file format 5.3.1: of LZMA2


def lzma1(properties: bytes, max_bytes: int) -> StreamCodec:
    """Return an LZMA decoder with a dictionary of at most `max_bytes`.

    `properties` are `(pb * 5 + lp) * 9 + lc` and the size of the dictionary.

    Raises:
        SourceFault: `BAD_ARCHIVE`, or `TOO_LARGE` for the dictionary.
    """
    if len(properties) < 5 or properties[0] >= 9 * 5 * 5:
        raise _bad("LZMA")
    rest, lc = divmod(properties[0], 9)
    pb, lp = divmod(rest, 5)
    if lc + lp > 4:  # as in all current decoders
        raise _bad("LZMA")
    size = checked_dictionary(int.from_bytes(properties[1:5], "little"), max_bytes)
    return raw_lzma(
        [{"id": lzma.FILTER_LZMA1, "dict_size": size, "lc": lc, "lp": lp, "pb": pb}]
    )


def lzma2(properties: bytes, max_bytes: int) -> StreamCodec:
    """Return an LZMA2 decoder; see `lzma1`.

    Source: xz file format 5.3.1.
    """
    if len(properties) != 1 or properties[0] > 40:
        raise _bad("LZMA2")
    bits = properties[0]
    size = (2 | (bits & 1)) << (bits // 2 + 11) if bits < 40 else 0xFFFF_FFFF
    size = checked_dictionary(size, max_bytes)
    return raw_lzma([{"id": lzma.FILTER_LZMA2, "dict_size": size}])


def plain_filter(method: bytes, properties: bytes, n_bytes: int) -> StreamCodec | None:
    """Return a decoder of Delta or a filter for machine code (BCJ), else None.

    `method` is a 7z id; `n_bytes` is the length of the data.
    """
    if method == _DELTA and len(properties) == 1:
        return _Filter({"id": lzma.FILTER_DELTA, "dist": properties[0] + 1}, n_bytes)
    found = _FILTERS.get(method)
    return None if found is None else _Filter({"id": found}, n_bytes)


class _Filter:
    """Decoder of a filter, which delays the last bytes.

    liblzma only supports filters in front of LZMA2, so it receives the bytes as
    uncompressed LZMA2 chunks.
    """

    is_complete = True
    garbage = b""

    def __init__(self, first: dict[str, int], n_bytes: int) -> None:
        filters = [first, {"id": lzma.FILTER_LZMA2, "dict_size": 4096}]
        self._stream = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters)
        self._n_left = n_bytes

    def pieces(self, data: bytes) -> Iterator[bytes]:
        data = data[: self._n_left]
        self._n_left -= len(data)
        for start in range(0, len(data), _CHUNK_BYTES):
            chunk = data[start : start + _CHUNK_BYTES]
            head = b"\1" + (len(chunk) - 1).to_bytes(2)  # 1: new dictionary
            yield self._stream.decompress(head + chunk)
        if data and not self._n_left:
            yield self._stream.decompress(b"\0")  # ends LZMA2


def _bad(what: str) -> SourceFault:
    return SourceFault(Reason.BAD_ARCHIVE, f"invalid properties of {what}")
