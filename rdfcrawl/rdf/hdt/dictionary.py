"""Read the four-section dictionary: numbers to terms, block by block."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import numpy as np

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.rdf.hdt.control import (
    DICTIONARY_FORMAT,
    HdtPart,
    demand_format,
    read_control,
)
from rdfcrawl.rdf.hdt.front_coding import (
    BrokenBlock,
    decode_block,
    decode_few,
    iter_long_block,
)
from rdfcrawl.rdf.hdt.sequences import LogArray

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rdfcrawl.rdf.hdt.cursor import FileCursor

    Numbers = NDArray[np.int64]

TYPE_FRONT_CODING: Final = 2
_MAX_BLOCK_STRINGS = 2**16  # all known writers put 16 into a block
_LONG_BLOCK_BYTES = 256 * 1024
_LONG_BLOCK_DECODED_BYTES = 16 * 2**20
_FEW = 4  # strings of a block that are decoded without the rest
_OBJECT_BYTES = 41  # of a decoded string, without its content
_CACHE_BYTES = 48 * 2**20
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
        self,
        cursor: FileCursor,
        what: str,
        *,
        cache: BlockCache,
        longest: int,
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
        demand_format(read_control(cursor, HdtPart.DICTIONARY), DICTIONARY_FORMAT)
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
