"""The four-section dictionary: numbers to terms, block by block.

Sorted strings have plain front coding. A block begins with a full string; each further
string is the length of the prefix it shares with the previous one, and the rest. Every
string ends with a NUL.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.rdf.hdt.cursor import HdtPart, decode_vbyte, encode_vbyte, read_control
from rdfcrawl.rdf.hdt.sequences import LogArray

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rdfcrawl.rdf.hdt.cursor import FileCursor

    Numbers = NDArray[np.int64]


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


TYPE_FRONT_CODING: Final = 2
_MAX_BLOCK_STRINGS = 2**16  # all known writers put 16 into a block
_LONG_BLOCK_BYTES = 256 * 1024
_LONG_BLOCK_DECODED_BYTES = 16 * 2**20
_FEW = 4  # strings of a block that are decoded without the rest
_OBJECT_BYTES = 41  # of a decoded string, without its content
_CACHE_BYTES = 16 * 2**20
_LONGEST_CACHED_BYTES = 256 * 1024  # of one block


class TooMuch(Exception):
    """The terms of a window do not fit in memory together."""


class BlockCache:
    """The most recently used blocks of all sections, up to a number of bytes."""

    def __init__(self) -> None:
        self._blocks: OrderedDict[tuple[str, int], tuple[list[bytes], int]]
        self._blocks = OrderedDict()
        self._n_bytes = 0

    def get(self, key: tuple[str, int]) -> list[bytes] | None:
        """Return a block, if cached."""
        known = self._blocks.get(key)
        if known is None:
            return None
        self._blocks.move_to_end(key)
        return known[0]

    def put(self, key: tuple[str, int], strings: list[bytes]) -> None:
        """Cache a block, and evict the least recently used ones."""
        n_bytes = sum(map(len, strings)) + _OBJECT_BYTES * len(strings)
        if n_bytes > _LONGEST_CACHED_BYTES:
            return
        self._blocks[key] = strings, n_bytes
        self._n_bytes += n_bytes
        while self._n_bytes > _CACHE_BYTES:
            self._n_bytes -= self._blocks.popitem(last=False)[1][1]


class DictionarySection:
    """One sorted list of strings in front coding."""

    def __init__(
        self, cursor: FileCursor, what: str, *, cache: BlockCache, longest: int
    ) -> None:
        """Read the next section, and verify its checksums.

        Args:
            cursor: of the file.
            what: name of the section in faults.
            cache: of decoded blocks.
            longest: longer strings, in bytes, are left out.

        Raises:
            SourceFault: not a section, truncated, a wrong checksum, or contradictory
                counts.
        """
        self._what, self._cache, self._longest = what, cache, longest
        self.n_strings, n_bytes, self._block_strings = cursor.take_preamble(
            TYPE_FRONT_CODING, what, n_integers=3
        )
        self._blocks = LogArray.read(cursor, f"{what}, block offsets")
        self._check_counts(n_bytes)
        self._packed = cursor.take_checked(n_bytes, what)

    def _check_counts(self, n_bytes: int) -> None:
        if not self.n_strings:
            return
        if self.n_strings > n_bytes:
            strings = counted(self.n_strings, "string")
            detail = f"{self._what}: {strings} in {counted(n_bytes, 'byte')}"
            raise SourceFault(Reason.SYNTAX, detail)
        if not 0 < self._block_strings <= _MAX_BLOCK_STRINGS:
            detail = f"{self._what}: blocks of {counted(self._block_strings, 'string')}"
            raise SourceFault(Reason.SYNTAX, detail)
        n_blocks = -(-self.n_strings // self._block_strings)
        # The last offset is the end of the last block, as in hdt-cpp and hdt-java.
        if self._blocks.n_entries != n_blocks + 1:
            offsets = counted(self._blocks.n_entries, "offset")
            detail = f"{self._what}: {offsets}, {counted(n_blocks, 'block')}"
            raise SourceFault(Reason.SYNTAX, detail)

    def strings(self, indexes: Numbers, room: int) -> list[bytes | Reason]:
        """Return the strings at ascending indexes from 0, or reasons.

        The reason is `SYNTAX` for a string of a broken block, `LITERAL_TOO_LONG` for
        one that is too long.

        Raises:
            TooMuch: several strings take more than `room` bytes together.
        """
        found: list[bytes | Reason] = []
        if not len(indexes):
            return found
        blocks = indexes // self._block_strings
        places = (indexes - blocks * self._block_strings).tolist()
        begins = np.flatnonzero(np.diff(blocks, prepend=-1))
        ends = [*begins[1:].tolist(), len(indexes)]
        spans = zip(begins.tolist(), ends, strict=True)
        numbers = blocks[begins]
        for offsets, number, (begin, end) in zip(
            self._offsets(numbers), numbers.tolist(), spans, strict=True
        ):
            strings = self._strings_of(number, offsets, places[begin:end], room)
            room -= _n_bytes(strings)
            if room < 0 and len(indexes) > 1:
                raise TooMuch
            found += strings
        return found

    def _strings_of(
        self, number: int, offsets: tuple[int, int], wanted: list[int], room: int
    ) -> Sequence[bytes | Reason]:
        """Return strings at ascending positions of one block; see `strings`."""
        block = self._cache.get((self._what, number))
        begin, end = offsets
        if block is None and 0 < end - begin <= self._most_block_bytes():
            packed = bytes(self._packed[begin:end])
            n_strings = self._n_strings_of(number)
            if len(wanted) <= _FEW:
                few = decode_few(packed, n_strings, wanted)
                if few is not None:
                    return few
            block = self._decoded(number, packed, n_strings)
        if block is None:
            return self._rare(number, offsets, wanted, room)
        return [block[place] for place in wanted]

    def _decoded(
        self, number: int, packed: bytes, n_strings: int
    ) -> list[bytes] | None:
        """Return and cache all strings of a block; None for a broken block."""
        try:
            strings = decode_block(packed, n_strings)
        except BrokenBlock:
            return None
        self._cache.put((self._what, number), strings)
        return strings

    def _offsets(self, numbers: Numbers) -> Iterator[tuple[int, int]]:
        """Yield begin and end of blocks with ascending numbers."""
        window = 4096
        at = 0
        while at < len(numbers):
            first = int(numbers[at])
            behind = int(np.searchsorted(numbers, first + window))
            last = int(numbers[behind - 1])
            offsets = self._blocks.window(first, last + 2)
            near = numbers[at:behind] - first
            yield from zip(
                offsets[near].tolist(), offsets[near + 1].tolist(), strict=True
            )
            at = behind

    def _n_strings_of(self, number: int) -> int:
        return min(self._block_strings, self.n_strings - number * self._block_strings)

    def _most_block_bytes(self) -> int:
        # Each string may repeat the full previous one.
        most = _LONG_BLOCK_DECODED_BYTES // self._block_strings
        return min(_LONG_BLOCK_BYTES, self._longest, most)

    def _rare(
        self, number: int, offsets: tuple[int, int], wanted: list[int], room: int
    ) -> list[bytes | Reason]:
        """Return strings of a large or broken block; see `strings`.

        A few bytes may encode many long strings.
        """
        begin, end = offsets
        if not begin < end <= len(self._packed):
            return [Reason.SYNTAX] * len(wanted)
        n_strings = self._n_strings_of(number)
        strings: list[bytes | Reason] = []
        places = set(wanted)
        with suppress(BrokenBlock):
            for place, string in enumerate(
                iter_long_block(self._packed[begin:end], n_strings, self._longest)
            ):
                if place in places:
                    too_long = Reason.LITERAL_TOO_LONG
                    strings.append(too_long if string is None else string)
                    room -= _n_bytes(strings[-1:])
                    if room < 0 and len(wanted) > 1:
                        raise TooMuch
                    if len(strings) == len(wanted):
                        break
        # Strings before the error are intact.
        return strings + [Reason.SYNTAX] * (len(wanted) - len(strings))


def _n_bytes(strings: Sequence[bytes | Reason]) -> int:
    return sum(map(len, strings)) + _OBJECT_BYTES * len(strings)


class TermDictionary:
    """All terms of a file, by role and number.

    Terms that are both subjects and objects have the lowest numbers.
    """

    def __init__(self, cursor: FileCursor, *, longest: int) -> None:
        """Read the next dictionary; see `DictionarySection`."""
        read_control(cursor, HdtPart.DICTIONARY)
        cache = BlockCache()
        self._shared, self._subjects, self._predicates, self._objects = (
            DictionarySection(cursor, what, cache=cache, longest=longest)
            for what in (
                "dictionary of shared terms",
                "dictionary of subjects",
                "dictionary of predicates",
                "dictionary of objects",
            )
        )
        self._n_shared = self._shared.n_strings

    def n_terms(self, role: str) -> int:
        """Return the largest number in a role (`s`, `p` or `o`)."""
        if role == "p":
            return self._predicates.n_strings
        return self._n_shared + self._own(role).n_strings

    def _own(self, role: str) -> DictionarySection:
        return self._subjects if role == "s" else self._objects

    def terms(self, role: str, numbers: Numbers, room: int) -> list[bytes | Reason]:
        """Return the terms of ascending numbers from 1 to `n_terms`, or reasons.

        Raises:
            TooMuch: see `DictionarySection.strings`.
        """
        if role == "p":
            return self._predicates.strings(numbers - 1, room)
        n_shared = int(np.searchsorted(numbers, self._n_shared, "right"))
        shared = self._shared.strings(numbers[:n_shared] - 1, room)
        own = numbers[n_shared:] - 1 - self._n_shared
        return shared + self._own(role).strings(own, room)
