"""Bitmap triples: the numbers of the terms of all statements, sorted and distinct.

Each first component (`x`) has a list of second ones (`y`), and each of these a list of
third ones (`z`). `x` counts up from 1; a bit in a bitmap closes a list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.hdt.cursor import HdtPart, read_control
from rdfcrawl.rdf.hdt.sequences import (
    IntegerPacker,
    KeyRun,
    LogArray,
    WindowedBitmap,
    merge_keys,
    sort_keys,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from numpy.typing import NDArray

    from rdfcrawl.core.sorting import SpillFile, SpillFolder
    from rdfcrawl.rdf.hdt.cursor import FileCursor
    from rdfcrawl.rdf.hdt.sequences import Keys, Places

    Columns = tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]
    Numbers = dict[str, NDArray[np.uint64]]  # of the terms by role, `s`, `p` and `o`

_WORD_BITS: Final = 64
# Roles of x, y and z by the property `order`.
ORDERS: Final = {"1": "spo", "2": "sop", "3": "pso", "4": "pos", "5": "osp", "6": "ops"}


@dataclass(frozen=True, slots=True)
class HdtPosition:
    """A position between two statements."""

    z: int = 0  # statements before it
    y: int = 0  # lists of z closed before it
    x: int = 0  # lists of y closed before it


class FileTriples:
    """The statements of a file."""

    def __init__(self, cursor: FileCursor) -> None:
        """Read the next triples, and verify their checksums.

        Raises:
            SourceFault: not triples, an unsupported format or order, or contradictory
                counts.
        """
        control = read_control(cursor, HdtPart.TRIPLES)
        order = control.properties.get("order", "1")
        if order not in ORDERS:
            detail = f"HDT triples in order {order[:20]}"
            raise SourceFault(Reason.UNSUPPORTED_FORMAT, detail)
        self._roles = ORDERS[order]
        self._bits_y = WindowedBitmap.read(cursor, "bitmap y")
        self._bits_z = WindowedBitmap.read(cursor, "bitmap z")
        self._ys = LogArray.read(cursor, "array y")
        self._zs = LogArray.read(cursor, "array z")
        self.n_triples = self._zs.n_entries
        self._check_counts()

    def _check_counts(self) -> None:
        """Check that each entry has a bit, and each list a parent.

        Windows then lie within the arrays.
        """
        counts = (
            (self._bits_z.n_bits, self._zs.n_entries, "bits z, entries z"),
            (self._bits_z.n_ones, self._ys.n_entries, "lists z, entries y"),
            (self._bits_y.n_bits, self._ys.n_entries, "bits y, entries y"),
        )
        for one, other, what in counts:
            if one != other:
                raise SourceFault(Reason.SYNTAX, f"{what}: {one}, {other}")

    def window(self, at: HdtPosition, n: int) -> tuple[Numbers, HdtPosition]:
        """Return at most `n` statements from a position, and the position after."""
        end = min(at.z + n, self.n_triples)
        closes_z = self._bits_z.window(at.z, end)
        y = _n_closed_before(closes_z)
        n_y = int(y[-1]) + 1
        closes_y = self._bits_y.window(at.y, at.y + n_y)
        x = _n_closed_before(closes_y)
        ys = self._ys.window(at.y, at.y + n_y)
        columns = ((x + (at.x + 1)).astype(np.uint64)[y], ys[y])
        columns += (self._zs.window(at.z, end),)  # type: ignore[assignment]
        closed_z = int(closes_z[-1])
        after = HdtPosition(
            end,
            at.y + n_y - 1 + closed_z,
            at.x + int(x[-1]) + (int(closes_y[-1]) if closed_z else 0),
        )
        return dict(zip(self._roles, columns, strict=True)), after


def _n_closed_before(closes: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return for each entry the number of lists of the window closed before."""
    closed = np.cumsum(closes, dtype=np.int64)
    return closed - closes


class KeyCodec:
    """Codec between statements and keys with the same order, given the counts by role.

    A key is one word if the numbers fit, else two, as 16 bytes that numpy compares as
    a string; numpy ignores trailing NULs, which is harmless for equal lengths.
    """

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
    """Yield the distinct statements of all runs, sorted, in batches.

    The runs are sorted in a spill, and merged within `memory_bytes`.
    """
    sorted_runs = [KeyRun(spill, sort_keys(codec.join(run))) for run in runs]
    for keys in merge_keys(sorted_runs, memory_bytes):
        yield codec.split(keys)


class TriplesWriter:
    """Writer of sorted statements as bitmap triples, given the terms of each role."""

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
        """Add statements, each greater than all previous ones."""
        s, p, o = columns
        new_s = _differs(s, self._last[0])
        new_pair = new_s | _differs(p, self._last[1])
        self._last = np.array([s[-1], p[-1]])
        # A list is only known to be closed when the next one begins.
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
