"""Decoders by the properties that zip and 7z keep of them: LZMA, LZMA2, BCJ."""

from __future__ import annotations

import lzma
from typing import TYPE_CHECKING, Any, Final

import bcj

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.unpack import codecs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.unpack.codecs import Codec

_LEAST_DICTIONARY: Final = 4096
# Ids of 7z, old and new ones: filters of machine code, which some writers apply to
# whatever they pack.
_FILTERS: Final = {
    b"\x03\x03\x01\x03": "BCJDecoder",
    b"\x04": "BCJDecoder",
    b"\x03\x03\x02\x05": "PPCDecoder",
    b"\x05": "PPCDecoder",
    b"\x03\x03\x04\x01": "IA64Decoder",
    b"\x06": "IA64Decoder",
    b"\x03\x03\x05\x01": "ARMDecoder",
    b"\x07": "ARMDecoder",
    b"\x03\x03\x07\x01": "ARMTDecoder",
    b"\x08": "ARMTDecoder",
    b"\x03\x03\x08\x05": "SparcDecoder",
    b"\x09": "SparcDecoder",
}


def lzma1(properties: bytes, max_bytes: int) -> Codec:
    """Return a decoder of LZMA.

    Args:
        properties: `(pb * 5 + lp) * 9 + lc` and the size of the dictionary.
        max_bytes: largest dictionary.

    Raises:
        SourceFault: `BAD_ARCHIVE`, or `TOO_LARGE` for the dictionary.
    """
    if len(properties) < 5 or properties[0] >= 9 * 5 * 5:
        raise _bad("LZMA")
    rest, lc = divmod(properties[0], 9)
    pb, lp = divmod(rest, 5)
    if lc + lp > 4:  # as all decoders of today
        raise _bad("LZMA")
    size = _checked(int.from_bytes(properties[1:5], "little"), max_bytes)
    return codecs.raw_lzma(
        [{"id": lzma.FILTER_LZMA1, "dict_size": size, "lc": lc, "lp": lp, "pb": pb}]
    )


def lzma2(properties: bytes, max_bytes: int) -> Codec:
    """Return a decoder of LZMA2; see `lzma1`.

    Source: xz file format 5.3.1.
    """
    if len(properties) != 1 or properties[0] > 40:
        raise _bad("LZMA2")
    bits = properties[0]
    size = (2 | (bits & 1)) << (bits // 2 + 11) if bits < 40 else 0xFFFF_FFFF
    size = _checked(size, max_bytes)
    return codecs.raw_lzma([{"id": lzma.FILTER_LZMA2, "dict_size": size}])


def branch_filter(method: bytes, n_bytes: int) -> Codec | None:
    """Return what undoes a filter of machine code (BCJ); None if it is none.

    Args:
        method: id of 7z.
        n_bytes: that go through it.
    """
    name = _FILTERS.get(method)
    return None if name is None else _Filter(getattr(bcj, name)(n_bytes))


class _Filter:
    """As many bytes come out as go in, the last ones late."""

    is_complete = True
    garbage = b""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def pieces(self, data: bytes) -> Iterator[bytes]:
        if piece := self._stream.decode(data):
            yield bytes(piece)


def _checked(size: int, max_bytes: int) -> int:
    if size > max_bytes:
        raise SourceFault(Reason.TOO_LARGE, f"a decoder with {size} bytes of memory")
    return max(size, _LEAST_DICTIONARY)


def _bad(what: str) -> SourceFault:
    return SourceFault(Reason.BAD_ARCHIVE, f"bad properties of {what}")
