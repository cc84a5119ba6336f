"""Bitmap triples: the numbers of the terms of all statements, sorted.

Under each first component (`x`) hangs a list of second ones (`y`), under each of those
a list of third ones (`z`). `x` counts up from 1; a bit in a bitmap closes a list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.rdf.hdt.bitmap import WindowedBitmap
from rdfcrawl.rdf.hdt.control import (
    TRIPLES_FORMAT,
    HdtPart,
    demand_format,
    read_control,
)
from rdfcrawl.rdf.hdt.log_array import LogArray

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rdfcrawl.rdf.hdt.cursor import FileCursor

# The property `order`: which roles x, y and z have.
ORDERS: Final = {"1": "spo", "2": "sop", "3": "pso", "4": "pos", "5": "osp", "6": "ops"}


@dataclass(slots=True)
class TripleWindow:
    """Statements that follow each other in the file.

    Attributes:
        numbers: of the terms by role (`s`, `p`, `o`); all of the same length.
        after: where the next window begins.
    """

    numbers: dict[str, NDArray[np.uint64]]
    after: HdtPosition


@dataclass(frozen=True, slots=True)
class HdtPosition:
    """A place between two statements.

    Attributes:
        z: statements before it,
        y: lists of statements closed before it,
        x: lists of those closed before it.
    """

    z: int = 0
    y: int = 0
    x: int = 0


class FileTriples:
    """The statements of a file.

    Attributes:
        n_triples: how many.
        roles: of x, y and z, as in `spo`.
    """

    __slots__ = ("_bits_y", "_bits_z", "_ys", "_zs", "n_triples", "roles")

    def __init__(self, cursor: FileCursor) -> None:
        """Read the triples that come next; their checksums are checked.

        Raises:
            SourceFault: they are none, are in a format that is not read, or their
                counts contradict each other.
        """
        control = read_control(cursor, HdtPart.TRIPLES)
        demand_format(control, TRIPLES_FORMAT)
        order = control.properties.get("order", "1")
        if order not in ORDERS:
            detail = f"HDT triples in order {order[:20]}"
            raise SourceFault(Reason.UNSUPPORTED_FORMAT, detail)
        self.roles = ORDERS[order]
        self._bits_y = WindowedBitmap.read(cursor, "bitmap y")
        self._bits_z = WindowedBitmap.read(cursor, "bitmap z")
        self._ys = LogArray.read(cursor, "array y")
        self._zs = LogArray.read(cursor, "array z")
        self.n_triples = self._zs.n_entries
        self._check_counts()

    def _check_counts(self) -> None:
        """Check that each entry has its bit and each list its parent.

        What a window reads then lies within the arrays.
        """
        counts = (
            (self._bits_z.n_bits, self._zs.n_entries, "bits z, entries z"),
            (self._bits_z.n_ones, self._ys.n_entries, "lists z, entries y"),
            (self._bits_y.n_bits, self._ys.n_entries, "bits y, entries y"),
        )
        for one, other, what in counts:
            if one != other:
                raise SourceFault(Reason.SYNTAX, f"{what}: {one}, {other}")

    def window(self, at: HdtPosition, n: int) -> TripleWindow:
        """Return at most `n` statements from a place."""
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
        return TripleWindow(dict(zip(self.roles, columns, strict=True)), after)


def _n_closed_before(closes: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return for each entry how many lists of the window were closed before it."""
    closed = np.cumsum(closes, dtype=np.int64)
    return closed - closes
