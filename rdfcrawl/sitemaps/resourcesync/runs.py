"""Whether all parts of a run are done, and what is known then.

A run reads one set of resources. Its parts are read in any order and more than once:
the root has the place "", the third child of its second child "2.3". Each part that is
done is one `Part`; the adapter keeps them by source, run and place, one value each, and
the run is complete when as many leaves came as were announced.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdfcrawl.sitemaps.resourcesync.mirror import State
from rdfcrawl.tasks.sync import SyncMode, SyncStep, SyncTask

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a run that was read to its end.

    Attributes:
        source: whose state the run leads to.
        run: that it is of.
        mode: of the run.
        place: in the run.
        n_children: parts that it announces; 0 for one that was all in itself.
        at_us: begin of the snapshot that it is of.
        seen_us: latest change in it.
        closed_us: its end, if it takes no more changes.
    """

    source: str
    run: str
    mode: SyncMode
    place: str = ""
    n_children: int = 0
    at_us: int | None = None
    seen_us: int | None = None
    closed_us: int | None = None


def n_outstanding(parts: Iterable[Part]) -> int:
    """Return how many leaves are still to come; 0: the run is complete.

    Args:
        parts: one for each place that is done. An adapter may as well add up
            `n_children - 1` of each place that it did not have before, from 1.
    """
    return 1 + sum(part.n_children - 1 for part in parts)


def commit(state: State, parts: Mapping[str, Part]) -> tuple[State, list[SyncTask]]:
    """Return the state that a complete run leads to, and what to do next.

    Args:
        state: before the run.
        parts: all parts by place.

    Returns:
        The state; and tasks for the record of `State.url`: after a baseline or an
        audit, the changes since the snapshot was begun.
    """
    mode = parts[""].mode
    if mode is SyncMode.CHANGES:
        seen_us = _latest(state.seen_us, *(part.seen_us for part in parts.values()))
        ends = (part.closed_us for part in parts.values())
        closed_us = _latest(state.closed_us, *ends)
        return _with(state, state.at_us, seen_us, closed_us), []
    begins = [part.at_us for part in parts.values() if part.at_us is not None]
    at_us = (
        parts[""].at_us if parts[""].at_us is not None else min(begins, default=None)
    )
    after = _with(state, at_us, at_us, None)
    task = SyncTask(
        do=SyncStep.READ,
        mode=SyncMode.CHANGES,
        source=parts[""].source,
        run=f"{parts[''].run}+",
    )
    return after, [task]


def _with(
    state: State, at_us: int | None, seen_us: int | None, closed_us: int | None
) -> State:
    return State(
        url=state.url,
        at_us=at_us,
        seen_us=seen_us,
        closed_us=closed_us,
        has_baseline=True,
    )


def _latest(*times: int | None) -> int | None:
    return max((time for time in times if time is not None), default=None)
