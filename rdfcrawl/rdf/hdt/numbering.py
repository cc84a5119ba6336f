"""Numbers the terms of all runs and writes them into the four dictionary sections."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rdfcrawl.rdf.hdt.packing import SectionWriter
from rdfcrawl.rdf.hdt.sorting import merge_strings

if TYPE_CHECKING:
    from typing import BinaryIO

    from numpy.typing import NDArray

    from rdfcrawl.rdf.hdt.runs import SortedRun
    from rdfcrawl.rdf.hdt.sorting import Places
    from rdfcrawl.rdf.hdt.spill import SpillFolder


class DictionaryWriter:
    """The dictionary of all runs, whose terms know their numbers when it is made.

    Attributes:
        shared: terms that are subjects and objects,
        subjects: those that are subjects only,
        predicates: all of them, and
        objects: those that are objects only.
    """

    __slots__ = ("objects", "predicates", "shared", "subjects")

    def __init__(
        self, runs: list[SortedRun], spills: SpillFolder, memory_bytes: int
    ) -> None:
        self.shared, self.subjects = SectionWriter(spills), SectionWriter(spills)
        self.predicates, self.objects = SectionWriter(spills), SectionWriter(spills)
        self._number_predicates(runs, memory_bytes)
        self._number_nodes(runs, memory_bytes)

    def _number_predicates(self, runs: list[SortedRun], memory_bytes: int) -> None:
        merged = merge_strings([run.terms["p"] for run in runs], memory_bytes)
        for strings, all_places in merged:
            first = self.predicates.n_strings + 1
            self.predicates.add(strings)
            for run, places in zip(runs, all_places, strict=True):
                run.numbers["p"].add(places + first)

    def _number_nodes(self, runs: list[SortedRun], memory_bytes: int) -> None:
        """Number subjects and objects.

        How many are shared is known only at the end; till then the number of one
        that is not is kept negative, see `resolve`.
        """
        roles = [(run, role) for role in "so" for run in runs]
        merged = merge_strings([run.terms[role] for run, role in roles], memory_bytes)
        for strings, all_places in merged:
            uses = np.zeros(len(strings), np.uint8)
            for (_, role), places in zip(roles, all_places, strict=True):
                uses[places] |= 1 if role == "s" else 2
            numbers = np.empty(len(strings), np.int64)
            sections = (self.subjects, -1), (self.objects, -1), (self.shared, 1)
            for use, (section, sign) in enumerate(sections, 1):
                numbers[uses == use] = sign * _add(section, strings, uses == use)
            for (run, role), places in zip(roles, all_places, strict=True):
                if len(places):
                    run.numbers[role].add(numbers[places])

    def resolve(self, numbers: Places) -> Places:
        """Return the final numbers of nodes."""
        return np.where(numbers < 0, self.shared.n_strings - numbers, numbers)

    @property
    def counts(self) -> dict[str, int]:
        """How many numbers each role has."""
        return {
            "s": self.shared.n_strings + self.subjects.n_strings,
            "p": self.predicates.n_strings,
            "o": self.shared.n_strings + self.objects.n_strings,
        }

    def write(self, out: BinaryIO) -> None:
        """Write the sections."""
        for section in self.shared, self.subjects, self.predicates, self.objects:
            section.write(out)


def _add(
    section: SectionWriter, strings: list[bytes], chosen: NDArray[np.bool_]
) -> Places:
    """Add the chosen strings to a section; return their numbers in it."""
    first = section.n_strings + 1
    indexes = np.flatnonzero(chosen)
    section.add([strings[index] for index in indexes.tolist()])
    return np.arange(first, first + len(indexes))
