"""Plain front coding of sorted strings.

A block begins with a full string; each further string is the length of the prefix it
shares with the previous one, and the rest. Every string ends with a NUL.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.hdt.vbyte import decode_vbyte, encode_vbyte

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_PIECE_BYTES = 64 * 1024
_MOST_SHARED = 2**14 - 1  # a longer shared prefix is partly repeated


class BrokenBlock(SourceFault):
    """A block is not a valid front coding of the expected number of strings."""

    def __init__(self) -> None:
        super().__init__(Reason.SYNTAX, "a broken block in the dictionary")


def decode_block(block: bytes, n_strings: int) -> list[bytes]:
    """Return the strings of a small block (`BrokenBlock`)."""
    pieces = block.split(b"\0")
    if len(pieces) != n_strings + 1 or pieces[-1]:
        return _decode_rare(block, n_strings)
    last = pieces[0]
    strings = [last]
    for piece in pieces[1:-1]:
        shared = (piece[0] if piece else 0) - 0x80
        if shared < 0:  # the length takes more than a byte
            return _decode_rare(block, n_strings)
        if shared > len(last):
            raise BrokenBlock
        last = last[:shared] + piece[1:]
        strings.append(last)
    return strings


def decode_few(block: bytes, n_strings: int, places: list[int]) -> list[bytes] | None:
    """Return some strings of a block; None for an unusual or broken block."""
    pieces = block.split(b"\0")
    if len(pieces) != n_strings + 1 or pieces[-1]:
        return None
    try:
        return [_decode_one(pieces, place) for place in places]
    except (IndexError, BrokenBlock):
        return None


def _decode_one(pieces: list[bytes], place: int) -> bytes:
    """Return one string, joined from its end backwards.

    Raises:
            IndexError: the length of a prefix is missing.
        BrokenBlock: a length takes more than a byte, or is too large.
    """
    parts: list[bytes] = []
    n_left = -1
    while place:
        piece = pieces[place]
        shared = piece[0] - 0x80
        if shared < 0:
            raise BrokenBlock
        if n_left < 0:
            parts.append(piece[1:])
            n_left = shared
        elif shared < n_left:
            part = piece[1 : 1 + n_left - shared]
            if shared + len(part) != n_left:
                raise BrokenBlock
            parts.append(part)
            n_left = shared
        place -= 1
    if n_left > len(pieces[0]):
        raise BrokenBlock
    parts.append(pieces[0] if n_left < 0 else pieces[0][:n_left])
    return b"".join(parts[::-1])


def _decode_rare(block: bytes, n_strings: int) -> list[bytes]:
    """Return the strings of a block with prefix lengths that may contain NUL bytes."""
    strings = list(iter_long_block(memoryview(block), n_strings, len(block)))
    return [string for string in strings if string is not None]


def iter_long_block(
    block: memoryview, n_strings: int, most: int
) -> Iterator[bytes | None]:
    """Yield the strings of a block of any size; None for a string longer than `most`.

    No more than `most` bytes are held (`BrokenBlock`).
    """
    last, n_last, at = b"", 0, 0
    for index in range(n_strings):
        shared = 0
        if index:
            try:
                shared, at = decode_vbyte(block, at)
            except ValueError as error:
                raise BrokenBlock from error
        end = _find_nul(block, at)
        if shared > n_last:
            raise BrokenBlock
        n_last = shared + end - at
        # Longer strings are truncated: later ones may only share the beginning.
        last = last[:shared] + bytes(block[at : min(end, at + most)])
        last = last[:most]
        yield last if n_last <= most else None
        at = end + 1
    if at != len(block):
        raise BrokenBlock


def _find_nul(block: memoryview, begin: int) -> int:
    for at in range(begin, len(block), _PIECE_BYTES):
        found = bytes(block[at : at + _PIECE_BYTES]).find(b"\0")
        if found >= 0:
            return at + found
    raise BrokenBlock


def encode_blocks(
    strings: Sequence[bytes], size: int
) -> tuple[bytes, NDArray[np.uint64]]:
    r"""Return sorted strings without NUL in blocks of `size`, and the block lengths.

    >>> encode_blocks([b"abc", b"abe"], 16)
    (b'abc\x00\x82e\x00', array([7], dtype=uint64))
    """
    if not strings:
        return b"", np.empty(0, np.uint64)
    shared = np.minimum(_n_shared(strings), _MOST_SHARED)
    codes = shared + 1
    shared[::size] = codes[::size] = 0
    lengths = _lengths()
    pieces = [
        lengths[code] + string[start:]
        for code, start, string in zip(
            codes.tolist(), shared.tolist(), strings, strict=True
        )
    ]
    n_bytes = np.fromiter(map(len, pieces), np.uint64, len(pieces)) + np.uint64(1)
    pieces.append(b"")
    return b"\0".join(pieces), np.add.reduceat(
        n_bytes, np.arange(0, len(strings), size)
    )


@cache
def _lengths() -> list[bytes]:
    """Return the codes of shared prefix lengths, after an empty one for no prefix."""
    return [b"", *map(encode_vbyte, range(_MOST_SHARED + 1))]


def _n_shared(strings: Sequence[bytes]) -> NDArray[np.int64]:
    """Return the length of the prefix that each string shares with the previous one."""
    content = b"".join((*strings, bytes(8)))
    # A word of 8 bytes starting at each byte.
    words = np.ndarray(len(content) - 7, "<u8", content, strides=(1,))
    lengths = np.fromiter(map(len, strings), np.int64, len(strings))
    ends = np.cumsum(lengths)
    begins = ends - lengths
    shared = np.zeros(len(strings), np.int64)
    most = np.minimum(lengths[1:], lengths[:-1])
    left = np.arange(1, len(strings))
    at = 0
    while len(left):
        differ = words[begins[left] + at] ^ words[begins[left - 1] + at]
        # The lowest set bit is in the first byte that differs; none: all 8 are equal.
        n_zeros = np.bitwise_count(~differ & (differ - np.uint64(1))).astype(np.int64)
        shared[left] = np.minimum(at + n_zeros // 8, most[left - 1])
        at += 8
        left = left[(n_zeros == 64) & (most[left - 1] > at)]
    return shared
