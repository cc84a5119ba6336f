"""The four-section dictionary: numbers to terms, a block at a time."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

import numpy as np

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.rdf.hdt.block_cache import OBJECT_BYTES, BlockCache
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
from rdfcrawl.rdf.hdt.log_array import LogArray

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rdfcrawl.rdf.hdt.cursor import FileCursor

    Numbers = NDArray[np.int64]

TYPE_FRONT_CODING: Final = 2
_MAX_BLOCK_STRINGS = 2**16  # all known writers put 16 into a block
_LONG_BLOCK_BYTES = 256 * 1024
_LONG_BLOCK_DECODED_BYTES = 16 * 2**20
_FEW = 4  # strings of a block for which the rest of it is not decoded


class TooMuch(Exception):
    """The terms of a window do not fit into memory together."""


class DictionarySection:
    """One sorted list of strings in front coding.

    Attributes:
        n_strings: how many it has.
    """

    __slots__ = (
        "_block_strings",
        "_blocks",
        "_cache",
        "_longest",
        "_packed",
        "_what",
        "n_strings",
    )

    def __init__(
        self,
        cursor: FileCursor,
        what: str,
        *,
        cache: BlockCache,
        longest: int,
    ) -> None:
        """Read the section that comes next; its checksums are checked.

        Args:
            cursor: stands at it.
            what: names it in faults.
            cache: keeps decoded blocks.
            longest: strings of more bytes are left out.

        Raises:
            SourceFault: it is none, is cut off, a checksum is wrong, or its counts
                contradict each other.
        """
        begin = cursor.at
        kind = cursor.take(1, what)[0]
        self._what, self._cache = what, cache
        self._longest = longest
        self.n_strings = cursor.take_vbyte(what)
        n_bytes = cursor.take_vbyte(what)
        self._block_strings = cursor.take_vbyte(what)
        cursor.check_crc8(begin, what)
        if kind != TYPE_FRONT_CODING:
            detail = f"HDT dictionary section of type {kind}"
            raise SourceFault(Reason.UNSUPPORTED_FORMAT, detail)
        self._blocks = LogArray.read(cursor, f"{what}, block offsets")
        self._check_counts(n_bytes)
        self._packed = cursor.take_checked(n_bytes, what)

    def _check_counts(self, n_bytes: int) -> None:
        """Check that the counts fit together.

        Raises:
            SourceFault: they do not.
        """
        if not self.n_strings:
            return
        if self.n_strings > n_bytes:
            detail = f"{self._what}: {self.n_strings} strings in {n_bytes} bytes"
            raise SourceFault(Reason.SYNTAX, detail)
        if not 0 < self._block_strings <= _MAX_BLOCK_STRINGS:
            detail = f"{self._what}: blocks of {self._block_strings} strings"
            raise SourceFault(Reason.SYNTAX, detail)
        n_blocks = -(-self.n_strings // self._block_strings)
        # hdt-cpp and hdt-java close the list of offsets with the end of the last block.
        if self._blocks.n_entries != n_blocks + 1:
            detail = (
                f"{self._what}: {self._blocks.n_entries} offsets, {n_blocks} blocks"
            )
            raise SourceFault(Reason.SYNTAX, detail)

    def strings(self, indexes: Numbers, room: int) -> list[bytes | Reason]:
        """Return the strings at some places.

        Args:
            indexes: rising, from 0, within the section.
            room: bytes that they may take together.

        Returns:
            One for each; `SYNTAX` where its block is broken, `LITERAL_TOO_LONG` where
            it is too long.

        Raises:
            TooMuch: they take more room, and are more than one.
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
        """Return strings of one block, at places that rise.

        Raises:
            TooMuch: see `strings`.
        """
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
        """Return a whole block, which is kept; None if it is broken."""
        try:
            strings = decode_block(packed, n_strings)
        except BrokenBlock:
            return None
        self._cache.put((self._what, number), strings)
        return strings

    def _offsets(self, numbers: Numbers) -> Iterator[tuple[int, int]]:
        """Yield begin and end of blocks, whose numbers rise."""
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
        # Each string may repeat all of the one before it.
        most = _LONG_BLOCK_DECODED_BYTES // self._block_strings
        return min(_LONG_BLOCK_BYTES, self._longest, most)

    def _rare(
        self, number: int, offsets: tuple[int, int], wanted: list[int], room: int
    ) -> list[bytes | Reason]:
        """Return strings of a block that is large or broken.

        Raises:
            TooMuch: see `strings`; a few bytes may tell of many long strings.
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
        # What came before the place where it is broken is as good as any.
        return strings + [Reason.SYNTAX] * (len(wanted) - len(strings))


def _n_bytes(strings: Sequence[bytes | Reason]) -> int:
    return sum(map(len, strings)) + OBJECT_BYTES * len(strings)


class TermDictionary:
    """All terms of a file, by role and number.

    Attributes:
        n_shared: terms that are subjects and objects; they have the lowest numbers.
        subjects: how many numbers subjects have,
        predicates: and predicates,
        objects: and objects.
    """

    __slots__ = ("_objects", "_predicates", "_shared", "_subjects", "n_shared")

    def __init__(self, cursor: FileCursor, *, longest: int) -> None:
        """Read the dictionary that comes next; see `DictionarySection`.

        Raises:
            SourceFault: it is none, or not one that can be read.
        """
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
        self.n_shared = self._shared.n_strings

    def n_terms(self, role: str) -> int:
        """Return how many numbers a role (`s`, `p` or `o`) has."""
        if role == "p":
            return self._predicates.n_strings
        return self.n_shared + self._own(role).n_strings

    def _own(self, role: str) -> DictionarySection:
        return self._subjects if role == "s" else self._objects

    def terms(self, role: str, numbers: Numbers, room: int) -> list[bytes | Reason]:
        """Return the terms of some numbers, as the dictionary holds them.

        Args:
            role: `s`, `p` or `o`.
            numbers: rising, from 1 to `n_terms`.
            room: bytes that they may take together.

        Raises:
            TooMuch: they take more; see `DictionarySection.strings`.
        """
        if role == "p":
            return self._predicates.strings(numbers - 1, room)
        n_shared = int(np.searchsorted(numbers, self.n_shared, "right"))
        shared = self._shared.strings(numbers[:n_shared] - 1, room)
        own = numbers[n_shared:] - 1 - self.n_shared
        return shared + self._own(role).strings(own, room)
