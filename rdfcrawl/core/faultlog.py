"""The faults of one document while it is read: one per reason, counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from rdfcrawl.core.errors import Decision, Fault, Reason, one_line, safe_text

_MAX_REFUSED: Final = 1000  # URLs of a document; the log of decisions takes as many


class FaultLog:
    """The faults of a document by reason: their number, and the first detail."""

    __slots__ = ("_faults", "_refused")

    def __init__(self) -> None:
        self._faults: dict[tuple[Reason, str], Fault] = {}
        self._refused: list[tuple[Decision, str]] | None = None

    def refuse(self, why: Decision, url: str) -> None:
        """Note a URL that is not queued, for the log of decisions."""
        if self._refused is None:
            self._refused = []
        if len(self._refused) < _MAX_REFUSED:
            self._refused.append((why, url))

    def take_refused(self) -> list[tuple[Decision, str]]:
        """Return the refused URLs since the last call, with the decisions."""
        refused, self._refused = self._refused, None
        return refused or []

    def note(
        self,
        reason: Reason,
        detail: str = "",
        count: int = 1,
        *,
        apart: bool = False,
        part: str = "",
    ) -> None:
        """Count a fault; with `apart`, there is one fault per detail."""
        key = (reason, detail if apart else "")
        known = self._faults.get(key)
        if known is None:
            self._faults[key] = Fault(reason, one_line(detail), count, part)
        else:
            self._faults[key] = replace(known, count=known.count + count)

    def count(self, reason: Reason) -> int:
        """Return the number of faults noted with this reason and not apart."""
        known = self._faults.get((reason, ""))
        return known.count if known else 0

    def snapshot(self) -> FaultLog:
        """Return a copy of the state, for `restore`."""
        copy = FaultLog()
        copy._faults = dict(self._faults)  # same class
        return copy

    def restore(
        self, snapshot: FaultLog, *, kept: frozenset[Reason] = frozenset()
    ) -> None:
        """Remove the faults noted since the snapshot, except those `kept`."""
        since = {key: x for key, x in self._faults.items() if key[0] in kept}
        self._faults = snapshot._faults | since  # same class

    def all(self) -> list[Fault]:
        """Return the faults in the order in which their reasons first occurred."""
        return list(self._faults.values())


# Parts that have failed in this process, and the classes of their exceptions.
_logged: set[tuple[str, type[Exception]]] = set()


def fault_of_exception(error: Exception, part: str, url: str) -> Fault:
    """Return the fault of a document on which a part of the crawler has raised.

    Recursion and memory errors are limits that the document has exceeded. Every other
    exception is our fault, and is logged with its traceback once per process, part and
    class.
    """
    if isinstance(error, RecursionError):
        return Fault(Reason.TOO_DEEP, f"{part}: nested too deep")
    if isinstance(error, MemoryError):
        return Fault(Reason.TOO_LARGE, f"{part}: needs too much memory")
    is_missing = isinstance(error, ImportError)
    reason = Reason.NOT_INSTALLED if is_missing else Reason.PARSE_CRASH
    _log_once(error, part, url)
    text = error if is_missing else repr(error)
    return Fault(reason, one_line(f"{part}: {text}"), part=part)


def _log_once(error: Exception, part: str, url: str) -> None:
    from logging import getLogger  # noqa: PLC0415  # a child seldom logs

    kind = part, type(error)
    if kind not in _logged:
        _logged.add(kind)
        text = "%s: %s failed (logged once for each kind of exception)"
        getLogger(__name__).error(text, safe_text(url), part, exc_info=error)
