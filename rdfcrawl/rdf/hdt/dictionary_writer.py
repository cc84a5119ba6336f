"""Number the terms of all runs, and write them to the sections of a dictionary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rdfcrawl.rdf.hdt.dictionary import TYPE_FRONT_CODING
from rdfcrawl.rdf.hdt.front_coding import encode_blocks
from rdfcrawl.rdf.hdt.sorting import merge_strings
from rdfcrawl.rdf.hdt.spill import CheckedSpill, IntegerPacker
from rdfcrawl.rdf.hdt.vbyte import preamble

if TYPE_CHECKING:
    from typing import BinaryIO

    from numpy.typing import NDArray

    from rdfcrawl.core.sorting import SpillFolder
    from rdfcrawl.rdf.hdt.runs import SortedRun
    from rdfcrawl.rdf.hdt.sorting import Places

BLOCK_STRINGS = 16  # same as hdt-cpp and hdt-java


class DictionaryWriter:
    """The dictionary of all runs; terms are numbered on construction.

    Its sections: terms that are both subjects and objects, other subjects, predicates,
    other objects.
    """

    def __init__(
        self, runs: list[SortedRun], spills: SpillFolder, memory_bytes: int
    ) -> None:
        self.sections = tuple(SectionWriter(spills) for _ in range(4))
        self._shared, self._subjects, self._predicates, self._objects = self.sections
        self._number_predicates(runs, memory_bytes)
        self._number_nodes(runs, memory_bytes)

    def _number_predicates(self, runs: list[SortedRun], memory_bytes: int) -> None:
        merged = merge_strings([run.terms["p"] for run in runs], memory_bytes)
        for strings, all_places in merged:
            first = self._predicates.n_strings + 1
            self._predicates.add(strings)
            for run, places in zip(runs, all_places, strict=True):
                run.numbers["p"].add(places + first)

    def _number_nodes(self, runs: list[SortedRun], memory_bytes: int) -> None:
        """Number subjects and objects.

        The number of shared terms is only known at the end. Until then the numbers of
        other terms are negative; see `resolve`.
        """
        roles = [(run, role) for role in "so" for run in runs]
        merged = merge_strings([run.terms[role] for run, role in roles], memory_bytes)
        for strings, all_places in merged:
            uses = np.zeros(len(strings), np.uint8)
            for (_, role), places in zip(roles, all_places, strict=True):
                uses[places] |= 1 if role == "s" else 2
            numbers = np.empty(len(strings), np.int64)
            sections = (self._subjects, -1), (self._objects, -1), (self._shared, 1)
            for use, (section, sign) in enumerate(sections, 1):
                numbers[uses == use] = sign * _add(section, strings, uses == use)
            for (run, role), places in zip(roles, all_places, strict=True):
                if len(places):
                    run.numbers[role].add(numbers[places])

    def resolve(self, numbers: Places) -> Places:
        """Return the final numbers of nodes."""
        return np.where(numbers < 0, self._shared.n_strings - numbers, numbers)

    @property
    def counts(self) -> dict[str, int]:
        """Number of terms by role."""
        return {
            "s": self._shared.n_strings + self._subjects.n_strings,
            "p": self._predicates.n_strings,
            "o": self._shared.n_strings + self._objects.n_strings,
        }

    def write(self, out: BinaryIO) -> None:
        """Write the sections."""
        for section in self.sections:
            section.write(out)


def _add(
    section: SectionWriter, strings: list[bytes], chosen: NDArray[np.bool_]
) -> Places:
    """Add the chosen strings to a section; return their numbers there."""
    first = section.n_strings + 1
    indexes = np.flatnonzero(chosen)
    section.add([strings[index] for index in indexes.tolist()])
    return np.arange(first, first + len(indexes))


class SectionWriter:
    """A sorted list of strings, front-coded incrementally."""

    def __init__(self, spills: SpillFolder) -> None:
        self._spills = spills
        self._packed, self._offsets = CheckedSpill(spills), spills.new()
        self._rest: list[bytes] = []
        self.n_strings = self.string_bytes = 0

    def add(self, strings: list[bytes]) -> None:
        """Add strings, each greater than all previous ones."""
        self.n_strings += len(strings)
        self.string_bytes += sum(map(len, strings))
        strings = self._rest + strings
        n_ready = len(strings) - len(strings) % BLOCK_STRINGS
        self._add_blocks(strings[:n_ready])
        self._rest = strings[n_ready:]

    def _add_blocks(self, strings: list[bytes]) -> None:
        content, lengths = encode_blocks(strings, BLOCK_STRINGS)
        begins = np.cumsum(lengths, dtype=np.uint64) - lengths
        begins += np.uint64(self._packed.n_bytes)
        self._offsets.add(begins.astype("<u8").tobytes())
        self._packed.add(content)

    def write(self, out: BinaryIO) -> None:
        """Write the section, and free its spills."""
        self._add_blocks(self._rest)
        n_bytes = self._packed.n_bytes
        self._offsets.add(n_bytes.to_bytes(8, "little"))
        counts = self.n_strings, n_bytes, BLOCK_STRINGS
        out.write(preamble(bytes([TYPE_FRONT_CODING]), *counts))
        offsets = IntegerPacker(max(n_bytes.bit_length(), 1), self._spills)
        for piece in self._offsets.pieces():
            offsets.add(np.frombuffer(piece, "<u8"))
        offsets.write_log_array(out)
        self._offsets.drop()
        self._packed.write(out)
