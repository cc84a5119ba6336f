"""The progress of a crawl over all of its workers, as a table and as lines."""

from __future__ import annotations

import io
import logging
import os
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import RLock
from typing import Final, TextIO, cast

from rdfcrawl.core.console import has_log_file
from rdfcrawl.core.errors import TRAPS, Reason, safe_text
from rdfcrawl.core.json_logs import json_lines
from rdfcrawl.core.messages import counted
from rdfcrawl.frontier.connection import HINT
from rdfcrawl.frontier.queue.bands import EpochTotals
from rdfcrawl.frontier.queue.frontier_client import Frontier, StateCounts
from rdfcrawl.frontier.queue.options import CrawlOptions, CrawlPaths
from rdfcrawl.frontier.queue.profiles import CrawlMember
from rdfcrawl.frontier.queue.queued_records import NOTHING_OWED, OwedUris
from rdfcrawl.frontier.queue.worker_reports import (
    OWN_FAULT_DOCUMENTS,
    OwnFaults,
    shared_examples,
)
from rdfcrawl.frontier.worker.worker_state import FAULT, STATUS
from rdfcrawl.stores.options import SEGMENTS

logger = logging.getLogger(__name__)

_MOST_FAULTS = 8
_RATE_SECS = 15.0  # steady even at one document every few seconds


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
        f"{f', {_epochs(now)}' if now.epochs else ''}"
    )


def _epochs(now: CrawlSnapshot) -> str:
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


def as_notes(lost: Sequence[str], not_due: str) -> dict[str, str]:
    """Return rows of a summary: logs that were deleted, and pages that are not due."""
    return {"missing": "; ".join(lost), "not due": not_due}


def print_summary(
    now: CrawlSnapshot,
    crawl: CrawlOptions,
    *,
    done: int,
    secs: float,
    outcome: str,
    own: OwnFaults,
    notes: Mapping[str, str],
    member: CrawlMember,
) -> None:
    """Print the summary of a crawl to stderr, and one line of it to a log file.

    `done`, `secs` and `own` concern only this run; `outcome` is one word for its end;
    `notes` are the rows `missing`, of logs that were deleted earlier, and `not due`, of
    pages that this run has not requested again; `member` is the spider of the command.
    """
    paths, store = crawl.paths, crawl.stores.uri
    left = now.counts.queued + now.counts.leased + now.counts.waiting
    trapped = {name: n for name, n in now.faults.items() if name in TRAPS}
    from rdfcrawl.launch.empty_advice import LOOK  # noqa: PLC0415 (at the end)
    from rdfcrawl.launch.result_tables import ResultSummary  # noqa: PLC0415 (same)

    results = ResultSummary.read(paths.results)
    rows = {
        "outcome": outcome + results.failed,
        "documents": f"{now.documents:,} on {counted(now.counts.hosts, 'host')}",
        "quads": f"{now.quads:,}",
        "changes": ", ".join(f"{n:,} {name}" for name, n in now.changes.items()),
        "left in queue": f"{left:,}",
        "not due": safe_text(notes["not due"]),
        "owed": _owed(now.owed),
        "wanted": _wanted(now),
        "unlikely": safe_text(_unlikely(now)),
        "quotas": _epochs(now),
        "this run": f"{counted(done, 'document')} in {secs:,.1f} s",
        "faults": _faults(now.faults),
        "own faults": safe_text(own),
        "missing": notes["missing"],
        "traps": _faults(trapped),
        "data": f"{_shown(paths.quads)}/*.nq.gz" if store == SEGMENTS else store,
        "provenance": f"{_shown(paths.provenance)}/*.nq.gz",
    }
    is_there = {
        "changes": now.changes,
        "not due": notes["not due"],
        "owed": now.owed.n_uris,
        "wanted": "want/documents" in now.figures or "want" in member.given,
        "unlikely": now.counts.unlikely,
        "quotas": now.epochs,
        "own faults": own,
        "missing": notes["missing"],
        "traps": trapped,
    }
    for name in [name for name, value in is_there.items() if not value]:
        del rows[name]
    hint = _hint(
        now,
        paths,
        own,
        member,
        why_empty=results.why_empty or LOOK,
        left=left,
        done=done,
        outcome=outcome,
    )
    if hint := HINT if notes["missing"] else hint:
        rows["hint"] = hint
    if has_log_file() or json_lines():
        logger.info("%s: %s%s", outcome, one_line(now, None), results.failed)
    if json_lines():
        for name, value in rows.items():
            logger.info("%s: %s", name, value)
        return
    width = max(map(len, rows))
    bold, plain = ("\x1b[1m", "\x1b[0m") if sys.stderr.isatty() else ("", "")
    with suppress(OSError):  # the terminal may be closed
        for name, value in rows.items():
            sys.stderr.write(f"{bold}{name:{width}}{plain} {value}\n")
        sys.stderr.writelines(f"{line}\n" for line in results.lines)


_WANT_NAMES: Final = "`look SITE` lists the names of its classes and properties"
_FOLLOWING: Final = "-a fresh=1 -a scope=host -a follow=abox,hyperlink"


def _hint(  # keyword arguments of a single caller
    now: CrawlSnapshot,
    paths: CrawlPaths,
    own: OwnFaults,
    member: CrawlMember,
    *,
    why_empty: str,
    left: int,
    done: int,
    outcome: str,
) -> str:
    has_raised = Reason.INTERNAL in now.faults
    source = member.accepts.source
    begin = f"give -a {source}=URL or -a {source}=@FILE"
    is_over = not done and (now.documents > 0 or not has_raised)
    n_hyperlinks = int(now.figures.get("link/hyperlinks_of_seeds", 0))
    hints = (
        (
            now.owed.n_uris > 0 and left == now.owed.n_waiting,
            "the same command requests the owed URIs again",
        ),
        (left > 0, "the same command continues the crawl, unless it has fresh=1"),
        (
            outcome == "not finished",
            f"see the logs of the workers: {_shown(paths.logs)}",
        ),
        (not now.counts.seen, f"nothing to crawl: {begin}"),
        (is_over and not member.has_seeds, f"nothing was queued: {begin}"),
        (is_over, "the crawl had already finished; -a fresh=1 starts it again"),
        (bool(own), own.hint),
        (
            now.n_given_up > 0,
            "-a retry=failed retries the URIs of hosts that failed",
        ),
        (
            n_hyperlinks > (now.quads and now.figures.get("link/offered", 0)),
            f"{counted(n_hyperlinks, 'hyperlink')} of seeds not followed: {_FOLLOWING}",
        ),
        (not now.quads, f"no statements were found: {why_empty}"),
        (
            "want" in member.given and not now.figures.get("want/statements"),
            f"nothing wanted was found: {_WANT_NAMES}",
        ),
    )
    return next((text for holds, text in hints if holds), "")


def _shown(path: Path) -> str:
    """Return a path relative to the current folder, if shorter."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _owed(owed: OwedUris) -> str:
    """Return the number of owed URIs by host, with the times of failure and retry."""
    now = datetime.now(UTC)
    hosts = [
        f"{host.key} {host.n_uris:,} (since {_moment(now, -host.since_secs)},"
        f" again from {_moment(now, host.due_secs)})"
        for host in owed.hosts
    ]
    more = owed.n_hosts - len(hosts)
    named = ", ".join(hosts) + (f" and {more:,} more" if more > 0 else "")
    parts = (
        f"{owed.n_waiting:,} of hosts that refused them: {named}",
        f"{owed.n_failed:,} of other hosts that failed",
    )
    counts = (owed.n_waiting, owed.n_failed)
    text = "; ".join(part for part, n in zip(parts, counts, strict=True) if n)
    return f"{counted(owed.n_uris, 'URI')}: {text}"


def _wanted(now: CrawlSnapshot) -> str:
    """Return the numbers of wanted statements and of the bytes around them."""
    figures = now.figures
    n_bytes = figures.get("http/bytes", 0)
    share = figures.get("want/bytes", 0) / n_bytes if n_bytes else 0
    statements = counted(int(figures.get("want/statements", 0)), "statement")
    documents = counted(int(figures.get("want/documents", 0)), "document")
    return f"{statements} in {documents}, with {share:.0%} of the bytes"


def _unlikely(now: CrawlSnapshot) -> str:
    """Return the number of URLs that were set aside, and how to request them."""
    forms = ", ".join(f"{form} {n:,}" for form, n in now.unlikely)
    urls = counted(now.counts.unlikely, "URL")
    return (
        f"{urls} not requested, of forms that led to nothing wanted ({forms}):"
        " -a retry=unlikely requests them"
    )


def _moment(now: datetime, secs: float) -> str:
    return f"{now + timedelta(seconds=secs):%Y-%m-%d %H:%M:%S}"


def _faults(faults: dict[str, int]) -> str:
    if not faults:
        return "none"
    named = [f"{name} {n:,}" for name, n in list(faults.items())[:_MOST_FAULTS]]
    more = len(faults) - _MOST_FAULTS
    return ", ".join(named) + (f" and {counted(more, 'more kind')}" if more > 0 else "")


_MOST_DOWN: Final = 3  # hosts listed by name
_MOST_FORMS: Final = 5  # of URLs that were set aside


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
