"""Gathers statements to runs: as many as memory holds, their terms sorted."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np

from rdfcrawl.rdf.hdt.sorting import StringRun
from rdfcrawl.rdf.hdt.terms import from_n_quads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfcrawl.rdf.hdt.sorting import Places
    from rdfcrawl.rdf.hdt.spill import SpillFile

ROLES: Final = "spo"
_LINE = re.compile(rb"([^ ]+) ([^ ]+) (.*) \.\n")
# Measured: what a term takes beside twice its bytes, and a statement.
_TERM_BYTES = 320
_TRIPLE_BYTES = 3 * 8 * 2


class SortedRun:
    """Some statements, put aside.

    Attributes:
        terms: by role, as a dictionary holds them.
        numbers: by role, of each term in its dictionary; see `SpilledIntegers`.
    """

    __slots__ = ("_n_triples", "_places", "_spill", "numbers", "terms")

    def __init__(
        self, terms: dict[str, StringRun], columns: list[Places], spill: SpillFile
    ) -> None:
        self.terms, self._spill = terms, spill
        self.numbers = {role: SpilledIntegers(spill) for role in ROLES}
        self._n_triples = len(columns[0])
        content = np.stack(columns).astype(np.uint32).tobytes()
        self._places, _ = spill.add(content)

    def columns(self) -> Iterator[Places]:
        """Yield for each role the numbers of the terms of the statements."""
        size = self._n_triples * 4
        for index, role in enumerate(ROLES):
            begin = self._places + index * size
            places = self._spill.read(begin, begin + size)
            yield self.numbers[role].all()[np.frombuffer(places, np.uint32)]


class SpilledIntegers:
    """Integers put aside a few at a time, read all at once."""

    __slots__ = ("_n_waiting", "_spans", "_spill", "_waiting")

    _MOST_WAITING = 4096

    def __init__(self, spill: SpillFile) -> None:
        self._spill = spill
        self._spans: list[tuple[int, int]] = []
        self._waiting: list[Places] = []
        self._n_waiting = 0

    def add(self, numbers: Places) -> None:
        """Add some."""
        self._waiting.append(numbers)
        self._n_waiting += len(numbers)
        if self._n_waiting > self._MOST_WAITING:
            content = np.concatenate(self._waiting).tobytes()
            self._spans.append(self._spill.add(content))
            self._waiting, self._n_waiting = [], 0

    def all(self) -> Places:
        """Return all in their order."""
        parts = [
            np.frombuffer(self._spill.read(*span), np.int64) for span in self._spans
        ]
        return np.concatenate([*parts, *self._waiting, np.empty(0, np.int64)])


class _Column:
    """One role of the statements of a run: its different terms, and their places."""

    __slots__ = ("_places", "ids", "n_bytes")

    def __init__(self) -> None:
        self.ids: defaultdict[bytes, int] = defaultdict()
        self.ids.default_factory = self.ids.__len__
        self._places: list[Places] = []
        self.n_bytes = 0

    def add(self, terms: list[bytes]) -> None:
        n_before = len(self.ids)
        self._places.append(
            np.fromiter(map(self.ids.__getitem__, terms), np.int64, len(terms))
        )
        new = islice(reversed(self.ids), len(self.ids) - n_before)
        self.n_bytes += sum(map(len, new))

    def sort(self, spill: SpillFile) -> tuple[StringRun, Places]:
        """Put the terms aside, sorted; return them and their places by statement."""
        terms = from_n_quads(self.ids)
        self.ids.clear()
        order = sorted(range(len(terms)), key=terms.__getitem__)
        ranks = np.empty(len(terms), np.int64)
        ranks[order] = np.arange(len(terms))
        run = StringRun(spill, [terms[index] for index in order])
        return run, ranks[np.concatenate(self._places)]


def iter_runs(
    blocks: Iterable[bytes], spill: SpillFile, memory_bytes: int
) -> Iterator[SortedRun]:
    """Yield runs of all statements.

    Args:
        blocks: whole lines of canonical N-Triples.
        spill: takes the runs.
        memory_bytes: about what a run takes before it is put aside.
    """
    columns = [_Column() for _ in ROLES]
    n_bytes = 0
    for block in blocks:
        # Each line leaves what stands before it, which is nothing, and its terms.
        parts = _LINE.split(block)
        for column, first in zip(columns, (1, 2, 3), strict=True):
            column.add(parts[first::4])
        n_bytes += len(parts) // 4 * _TRIPLE_BYTES
        held = sum(len(x.ids) * _TERM_BYTES + x.n_bytes * 2 for x in columns)
        if n_bytes + held > memory_bytes:
            yield _put_aside(columns, spill)
            columns, n_bytes = [_Column() for _ in ROLES], 0
    if n_bytes:
        yield _put_aside(columns, spill)


def _put_aside(columns: list[_Column], spill: SpillFile) -> SortedRun:
    terms, places = zip(*[column.sort(spill) for column in columns], strict=True)
    return SortedRun(dict(zip(ROLES, terms, strict=True)), list(places), spill)
