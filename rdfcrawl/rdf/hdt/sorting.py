"""Merge runs as `core.sorting` does, with positions of strings, or of integers."""

from __future__ import annotations

from operator import ne
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rdfcrawl.core.sorting import piece_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rdfcrawl.core.sorting import SpillFile, StringRun

Keys: TypeAlias = "NDArray[Any]"  # words, or strings of bytes
Places: TypeAlias = "NDArray[np.int64]"


def merge_strings(
    runs: Sequence[StringRun], memory_bytes: int
) -> Iterator[tuple[list[bytes], list[Places]]]:
    """Yield the distinct strings of all runs, sorted, in batches.

    Each batch comes with the positions of each run's strings in it. Pieces take
    `memory_bytes` in total.
    """
    size = piece_bytes(memory_bytes // 8, len(runs))  # objects are far larger
    while live := [run for run in runs if run.refill(size)]:
        bound = min(run.piece[-1] for run in live)
        parts = [run.take(bound) if run.piece else [] for run in runs]
        strings: list[bytes] = []
        for part in parts:
            strings += part
        # sorted() detects ascending runs: this is a merge.
        order = sorted(range(len(strings)), key=strings.__getitem__)
        ordered = [strings[index] for index in order]
        is_new = np.fromiter(
            map(ne, ordered, [None, *ordered[:-1]]), np.bool_, len(ordered)
        )
        places = np.empty(len(ordered), np.int64)
        places[order] = np.cumsum(is_new) - 1
        different = [ordered[index] for index in np.flatnonzero(is_new).tolist()]
        cuts = np.cumsum([len(part) for part in parts])[:-1]
        yield different, np.split(places, cuts)


class KeyRun:
    """Spilled run of sorted, distinct keys."""

    def __init__(self, spill: SpillFile, keys: Keys) -> None:
        self._spill, self._dtype = spill, keys.dtype
        self._at, self._end = spill.add(memoryview(keys.tobytes()))
        self.piece: Keys = keys[:0]

    def refill(self, n_bytes: int) -> bool:
        """Read the next piece if none is loaded; return whether one is loaded now."""
        if not len(self.piece) and self._at < self._end:
            n_bytes -= n_bytes % self._dtype.itemsize
            end = min(self._at + n_bytes, self._end)
            content = self._spill.read(self._at, end)
            self.piece = np.frombuffer(content, self._dtype)
            self._at = end
        return len(self.piece) > 0

    def take(self, bound: np.uint64 | np.bytes_) -> Keys:
        """Remove and return the entries of the piece up to a bound."""
        n = int(np.searchsorted(self.piece, bound, "right"))
        taken, self.piece = self.piece[:n], self.piece[n:]
        return taken


def merge_keys(runs: Sequence[KeyRun], memory_bytes: int) -> Iterator[Keys]:
    """Yield the distinct keys of all runs, sorted, in batches."""
    size = piece_bytes(memory_bytes // 4, len(runs))
    while live := [run for run in runs if run.refill(size)]:
        bound = min(run.piece[-1] for run in live)
        parts = [run.take(bound) for run in live]
        yield parts[0] if len(parts) == 1 else sort_keys(np.concatenate(parts))


def sort_keys(keys: Keys) -> Keys:
    """Return the distinct keys, sorted."""
    ordered = np.sort(keys)  # `np.unique` hashes first, which is much slower
    is_new = np.ones(len(keys), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return ordered[is_new]
