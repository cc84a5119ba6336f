"""Write bitmap triples of runs: sorted by subject, predicate, object, and distinct."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rdfcrawl.rdf.hdt.sorting import KeyRun, merge_keys, sort_keys
from rdfcrawl.rdf.hdt.spill import IntegerPacker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from numpy.typing import NDArray

    from rdfcrawl.rdf.hdt.sorting import Keys, Places
    from rdfcrawl.rdf.hdt.spill import SpillFile, SpillFolder

    Columns = tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]

_WORD_BITS = 64


class KeyCodec:
    """Codec of statements as keys in the same order, given the terms of each role.

    A key is one word if the numbers fit, else two, as 16 bytes that numpy compares as
    a string; trailing NULs, which it ignores, do not matter among equal lengths.
    """

    __slots__ = ("_o_bits", "_p_bits", "_s_bits")

    def __init__(self, counts: dict[str, int]) -> None:
        self._s_bits, self._p_bits, self._o_bits = (
            np.uint64(counts[role].bit_length()) for role in "spo"
        )

    @property
    def is_wide(self) -> bool:
        """Whether a key has two words."""
        return int(self._s_bits + self._p_bits + self._o_bits) > _WORD_BITS

    def join(self, columns: Iterable[Places]) -> Keys:
        """Return statements as keys."""
        s, p, o = (column.astype(np.uint64) for column in columns)
        low = p << self._o_bits | o
        if not self.is_wide:
            return s << (self._p_bits + self._o_bits) | low
        words = np.stack((s, low), axis=1).astype(">u8")
        return words.view("S16").ravel()

    def split(self, keys: Keys) -> Columns:
        """Return keys as subjects, predicates and objects."""
        if self.is_wide:
            words = np.ascontiguousarray(keys).view(">u8").reshape(-1, 2)
            s, low = words.astype(np.uint64).T
        else:
            low = keys.astype(np.uint64)
            s = low >> (self._p_bits + self._o_bits)
        p = low >> self._o_bits & _mask(self._p_bits)
        return s, p, low & _mask(self._o_bits)


def _mask(n_bits: np.uint64) -> np.uint64:
    return np.uint64((1 << int(n_bits)) - 1)


def sort_triples(
    runs: Iterable[Iterable[Places]],
    codec: KeyCodec,
    spill: SpillFile,
    memory_bytes: int,
) -> Iterator[Columns]:
    """Yield the distinct statements of all runs, sorted, some at a time.

    The runs are sorted in a spill, and merged within `memory_bytes`.
    """
    sorted_runs = [KeyRun(spill, sort_keys(codec.join(run))) for run in runs]
    for keys in merge_keys(sorted_runs, memory_bytes):
        yield codec.split(keys)


class TriplesWriter:
    """Writer of sorted statements as bitmap triples, given the terms of each role."""

    __slots__ = ("_bits_y", "_bits_z", "_last", "_ys", "_zs")

    def __init__(self, counts: dict[str, int], spills: SpillFolder) -> None:
        self._bits_y, self._bits_z = IntegerPacker(1, spills), IntegerPacker(1, spills)
        self._ys, self._zs = (
            IntegerPacker(max(counts[role].bit_length(), 1), spills) for role in "po"
        )
        self._last = np.zeros(2, np.uint64)  # no number is 0

    @property
    def n_triples(self) -> int:
        """Number of statements so far."""
        return self._zs.n_entries

    def add(self, columns: Columns) -> None:
        """Add statements, each above all before."""
        s, p, o = columns
        new_s = _differs(s, self._last[0])
        new_pair = new_s | _differs(p, self._last[1])
        self._last = np.array([s[-1], p[-1]])
        # A list is known to be closed when the next one begins.
        is_first = not self.n_triples
        closes_z, closes_y = new_pair, new_s[new_pair]
        self._bits_z.add(closes_z[is_first:].astype(np.uint64))
        self._bits_y.add(closes_y[is_first:].astype(np.uint64))
        self._ys.add(p[new_pair])
        self._zs.add(o)

    def write(self, out: BinaryIO) -> None:
        """Write the bitmaps and arrays."""
        if self.n_triples:
            self._bits_z.add(np.ones(1, np.uint64))
            self._bits_y.add(np.ones(1, np.uint64))
        self._bits_y.write_bitmap(out)
        self._bits_z.write_bitmap(out)
        self._ys.write_log_array(out)
        self._zs.write_log_array(out)


def _differs(values: NDArray[np.uint64], before: np.uint64) -> NDArray[np.bool_]:
    """Return which values differ from their predecessor."""
    return np.asarray(np.diff(values, prepend=before) != 0, np.bool_)
