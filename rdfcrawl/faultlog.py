"""The faults of one document while it is read: one per reason, counted."""

from __future__ import annotations

from dataclasses import replace

from rdfcrawl.errors import Fault, Reason, one_line


class FaultLog:
    """The faults of a document by reason: their number, and the detail of the first."""

    __slots__ = ("_faults",)

    def __init__(self) -> None:
        self._faults: dict[tuple[Reason, str], Fault] = {}

    def note(
        self, reason: Reason, detail: str = "", count: int = 1, *, apart: bool = False
    ) -> None:
        """Count a fault; `apart` keeps one fault per detail, not per reason."""
        key = (reason, detail if apart else "")
        known = self._faults.get(key)
        if known is None:
            self._faults[key] = Fault(reason, one_line(detail), count)
        else:
            self._faults[key] = replace(known, count=known.count + count)

    def count(self, reason: Reason) -> int:
        """Return how many faults were noted with this reason and not apart."""
        known = self._faults.get((reason, ""))
        return known.count if known else 0

    def snapshot(self) -> FaultLog:
        """Return a copy of the state, for `restore`."""
        copy = FaultLog()
        copy._faults = dict(self._faults)  # of its own class
        return copy

    def restore(
        self, snapshot: FaultLog, *, kept: frozenset[Reason] = frozenset()
    ) -> None:
        """Forget the faults noted since the snapshot, but for those `kept`."""
        since = {key: x for key, x in self._faults.items() if key[0] in kept}
        self._faults = snapshot._faults | since  # of its own class

    def all(self) -> list[Fault]:
        """Return the faults in the order their reasons first came."""
        return list(self._faults.values())
