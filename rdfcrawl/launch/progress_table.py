"""The progress of a crawl over all of its workers, as a table and as lines."""

from __future__ import annotations

import io
import logging
import os
import sys
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Final, TextIO, cast

from rdfcrawl.core.messages import counted
from rdfcrawl.frontier.queue.bands import EpochTotals
from rdfcrawl.frontier.queue.frontier_client import Frontier, StateCounts
from rdfcrawl.frontier.queue.queued_records import NOTHING_OWED, OwedUris
from rdfcrawl.frontier.queue.worker_reports import (
    OwnFaults,
    shared_examples,
    sums_of,
)
from rdfcrawl.frontier.worker.worker_state import FAULT, STATUS

logger = logging.getLogger(__name__)

_RATE_SECS = 15.0  # steady even at one document every few seconds
_MOST_DOWN: Final = 3  # hosts listed by name
_MOST_FORMS: Final = 5  # of URLs that were set aside


def one_line(now: CrawlSnapshot, earlier: CrawlSnapshot | None) -> str:
    """Return the progress as one line of a log."""
    counts = now.counts
    faults = counted(sum(now.faults.values()), "fault")
    if now.own:
        faults = (
            f"{faults} ({counted(now.own.n_documents, 'document')} with own faults)"
        )
    rate = f" ({now.rate_since(earlier):.1f}/s)" if earlier else ""
    down = f" ({now.n_down:,} waited for)" if now.n_down else ""
    return (
        f"{counted(now.documents, 'document')}{rate}, "
        f"{counted(now.quads, 'quad')}, "
        f"{counts.queued:,} queued, {counts.leased:,} leased, "
        f"{counted(counts.hosts, 'host')}{down}, {faults}, "
        f"{counted(now.workers, 'worker')}"
        f"{f', {epochs_text(now)}' if now.epochs else ''}"
    )


def epochs_text(now: CrawlSnapshot) -> str:
    """Return the number of URIs waiting for epochs, and the shares of granted ones."""
    epochs = now.epochs or EpochTotals()
    total = max(1, epochs.sitemaps + epochs.links + epochs.further)
    return (
        f"{now.counts.waiting:,} wait for an epoch"
        f" ({epochs.begun:,} begun: sitemaps {epochs.sitemaps / total:.0%},"
        f" links {epochs.links / total:.0%}, further {epochs.further / total:.0%})"
    )


class LiveTable(io.TextIOBase):
    """A table at the bottom of the terminal; text written to stderr scrolls above.

    Nothing is drawn if stderr is not a terminal with cursor control.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._stderr = sys.stderr
        self._has_cursor = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._lock = RLock()  # log lines come from threads, too
        self._table: list[str] = []
        self._unfinished = ""  # last line, without line feed
        self._n_drawn = 0
        self._seen: deque[CrawlSnapshot] = deque()  # the last _RATE_SECS

    def open(self) -> None:
        """Replace stderr, including for log handlers."""
        sys.stderr = cast("TextIO", self)
        _redirect(self._stderr, sys.stderr)

    def show(self, now: CrawlSnapshot, more: Sequence[str] = ()) -> None:
        """Update the table, with additional lines below it."""
        while self._seen and now.taken - self._seen[0].taken > _RATE_SECS:
            self._seen.popleft()
        earlier = self._seen[0] if self._seen else None
        self._table = [f"{self._title}\n", *_rows(now, earlier), *more]
        self._draw()
        self._seen.append(now)

    def close(self) -> None:
        """Remove the table, and restore stderr."""
        if sys.stderr is self:
            self._table = []
            self._draw(self._unfinished)
            _redirect(cast("TextIO", self), self._stderr)
            sys.stderr = self._stderr
        super().close()

    def write(self, text: str) -> int:
        """Write complete lines above the table."""
        with self._lock:
            lines, end, self._unfinished = (self._unfinished + text).rpartition("\n")
            if end:
                self._draw(lines + end)
        return len(text)

    def fileno(self) -> int:
        """Return the descriptor of the terminal."""
        return self._stderr.fileno()

    def isatty(self) -> bool:
        """Return whether stderr is a terminal."""
        return self._stderr.isatty()

    def _draw(self, above: str = "") -> None:
        with self._lock, suppress(OSError):  # the terminal may be closed
            away = f"\x1b[{self._n_drawn}F\x1b[J" if self._n_drawn else ""
            lines = self._table if self._has_cursor else []
            if lines:
                width = os.get_terminal_size(self._stderr.fileno()).columns or 80
                lines = [f"{line[:width].rstrip()}\n" for line in lines]
            self._n_drawn = len(lines)
            self._stderr.write("".join((away, above, *lines)))
            self._stderr.flush()


def _redirect(stream: TextIO, other: TextIO) -> None:
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler) and handler.stream is stream:
            handler.setStream(other)


def _rows(now: CrawlSnapshot, earlier: CrawlSnapshot | None) -> list[str]:
    """Return the column names, and the values below them."""
    columns = {
        "documents": f"{now.documents:,}",
        "per second": f"{now.rate_since(earlier):,.1f}",
        "quads": f"{now.quads:,}",
        "queued": f"{now.counts.queued:,}",
        "leased": f"{now.counts.leased:,}",
        "hosts": f"{now.counts.hosts:,}",
        "waited for": f"{now.n_down:,}",
        "faults": f"{sum(now.faults.values()):,}",
        "workers": f"{now.workers}",
    }
    if now.own:
        columns["own faults"] = f"{now.own.n_documents:,}"
    widths = [max(len(name), len(value)) for name, value in columns.items()]
    return [
        "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
        for row in (columns, columns.values())
    ]


@dataclass(frozen=True, slots=True)
class CrawlSnapshot:
    """Progress of a crawl at one moment."""

    taken: float  # time on the monotonic clock
    counts: StateCounts  # of the frontier
    workers: int  # alive
    n_down: int = 0  # hosts with work that do not respond, or are busy
    down: tuple[str, ...] = ()  # some of them
    owed: OwedUris = NOTHING_OWED  # set only at the end of the crawl
    n_given_up: int = 0  # URIs that `retry=failed` requests again; likewise
    # forms of URLs that were set aside, and their numbers; likewise
    unlikely: tuple[tuple[str, int], ...] = ()
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
            "with new statements": int(self.figures.get("document/changed", 0)),
            "deleted": int(self.figures.get(f"{STATUS}deleted", 0)),
            "not modified": n_unchanged - n_same,
            "with equal statements": n_same,
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
    """Return a snapshot at the end, including owed URIs and those set aside."""
    now = await take_snapshot(frontier)
    owed = await frontier.owed.list(_MOST_DOWN)
    now = replace(now, owed=owed, n_given_up=await frontier.owed.n_given_up())
    if not now.counts.unlikely:
        return now
    return replace(now, unlikely=tuple(await frontier.forms.shown(_MOST_FORMS)))


async def take_snapshot(frontier: Frontier) -> CrawlSnapshot:
    """Return a snapshot of a crawl, in four round trips.

    It takes one more for a crawl with quotas, and one for a crawl with own faults.
    """
    total = sums_of((await frontier.figures()).values())
    counts = await frontier.counts()
    workers = len(await frontier.live_workers())
    n_down, down = await frontier.owed.refusing(_MOST_DOWN)
    epochs = await frontier.epochs.totals() if frontier.epochs.is_scheduled else None
    examples = {}
    if OwnFaults.of(total, {}):
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
