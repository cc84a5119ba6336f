"""Read bitmap triples: the numbers of the terms of all statements, sorted.

Each first component (`x`) has a list of second ones (`y`), and each of these a list of
third ones (`z`). `x` counts up from 1; a bit in a bitmap closes a list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.rdf.hdt.control import (
    TRIPLES_FORMAT,
    HdtPart,
    demand_format,
    read_control,
)
from rdfcrawl.rdf.hdt.sequences import LogArray, WindowedBitmap

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rdfcrawl.rdf.hdt.cursor import FileCursor

    Numbers = dict[str, NDArray[np.uint64]]  # of the terms by role, `s`, `p` and `o`

# Roles of x, y and z by the property `order`.
ORDERS: Final = {"1": "spo", "2": "sop", "3": "pso", "4": "pos", "5": "osp", "6": "ops"}


@dataclass(frozen=True, slots=True)
class HdtPosition:
    """A place between two statements.

    Attributes:
        z: statements before the place.
        y: lists of z closed before.
        x: lists of y closed before.
    """

    z: int = 0
    y: int = 0
    x: int = 0


class FileTriples:
    """The statements of a file."""

    __slots__ = ("_bits_y", "_bits_z", "_roles", "_ys", "_zs", "n_triples")

    def __init__(self, cursor: FileCursor) -> None:
        """Read the next triples, with their checksums verified.

        Raises:
            SourceFault: the bytes are no triples, in an unsupported format or order,
                or the counts contradict each other.
        """
        control = read_control(cursor, HdtPart.TRIPLES)
        demand_format(control, TRIPLES_FORMAT)
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
        """Check that each entry has its bit, and each list its parent.

        Then windows lie within the arrays.
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
        """Return at most `n` statements from a place on, and the place after them."""
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
