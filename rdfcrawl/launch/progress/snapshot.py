"""Take snapshots of the progress of a crawl, over all of its workers."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.frontier.queue.queued_records import NOTHING_OWED, OwedUris
from rdfcrawl.frontier.queue.worker_reports import (
    OWN_FAULT_DOCUMENTS,
    OwnFaults,
    shared_examples,
)
from rdfcrawl.frontier.worker.worker_state import FAULT, STATUS

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.bands import EpochTotals
    from rdfcrawl.frontier.queue.frontier_client import Frontier, StateCounts

_MOST_DOWN: Final = 3  # hosts listed by name


@dataclass(frozen=True, slots=True)
class CrawlSnapshot:
    """Progress of a crawl at one moment."""

    taken: float  # time on the monotonic clock
    counts: StateCounts  # of the frontier
    workers: int  # alive
    n_down: int = 0  # hosts with work that do not respond, or are busy
    down: tuple[str, ...] = ()  # some of them
    owed: OwedUris = NOTHING_OWED  # set only at the end of the crawl
    epochs: EpochTotals | None = None  # of domains, in a crawl that has quotas
    # statistics summed over all workers, including dead ones
    figures: dict[str, float] = field(default_factory=dict)
    # examples of own faults by part, of workers that have ended
    examples: dict[str, str] = field(default_factory=dict)

    @property
    def documents(self) -> int:
        """URIs processed, with any result."""
        return int(self.figures.get("document/seen", 0))

    @property
    def quads(self) -> int:
        """Statements stored."""
        return int(self.figures.get("document/quads", 0))

    @property
    def changes(self) -> dict[str, int]:
        """Documents known from earlier runs, by change; without zeros."""
        n_same = int(self.figures.get("document/same", 0))
        n_unchanged = int(self.figures.get(f"{STATUS}unchanged", 0))
        found = {
            "changed": int(self.figures.get("document/changed", 0)),
            "deleted": int(self.figures.get(f"{STATUS}deleted", 0)),
            "unchanged": n_unchanged - n_same,
            "fetched but equal": n_same,
        }
        return {name: n for name, n in found.items() if n}

    @property
    def own(self) -> OwnFaults:
        """Own faults over all runs."""
        return OwnFaults.of(self.figures, self.examples)

    @property
    def faults(self) -> dict[str, int]:
        """Faults by reason, the most frequent first."""
        named = {
            name.removeprefix(FAULT): int(value)
            for name, value in self.figures.items()
            if name.startswith(FAULT)
        }
        return dict(sorted(named.items(), key=lambda pair: -pair[1]))

    def rate_since(self, earlier: CrawlSnapshot | None) -> float:
        """Return documents per second since an earlier snapshot."""
        if earlier is None or self.taken <= earlier.taken:
            return 0.0
        done = self.documents - earlier.documents
        return max(0.0, done / (self.taken - earlier.taken))


async def take_last_snapshot(frontier: Frontier) -> CrawlSnapshot:
    """Return a snapshot at the end of a crawl, including owed URIs."""
    now = await take_snapshot(frontier)
    return replace(now, owed=await frontier.owed.list(_MOST_DOWN))


async def take_snapshot(frontier: Frontier) -> CrawlSnapshot:
    """Return a snapshot of a crawl, in four round trips.

    It takes one more for a crawl with quotas, and one for a crawl with own faults.
    """
    total: dict[str, float] = {}
    for figures in (await frontier.figures()).values():
        for name, value in figures.items():
            total[name] = total.get(name, 0) + value
    counts = await frontier.counts()
    workers = len(await frontier.live_workers())
    n_down, down = await frontier.waited_for(_MOST_DOWN)
    epochs = await frontier.epochs.totals() if frontier.epochs.is_scheduled else None
    examples = {}
    if total.get(OWN_FAULT_DOCUMENTS):
        examples = await shared_examples(frontier.redis, frontier.key)
    return CrawlSnapshot(
        taken=time.monotonic(),
        counts=counts,
        workers=workers,
        n_down=n_down,
        down=tuple(down),
        epochs=epochs,
        figures=total,
        examples=examples,
    )
