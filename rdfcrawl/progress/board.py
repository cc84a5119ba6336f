"""The display of a crawl on a terminal, and its summary."""

from __future__ import annotations

import logging
import sys
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdfcrawl.console import has_log_file
from rdfcrawl.defaults import STORE
from rdfcrawl.errors import MAY_PASS

if TYPE_CHECKING:
    from rich.table import Table

    from rdfcrawl.frontier.options import CrawlPaths
    from rdfcrawl.progress.snapshot import CrawlSnapshot

logger = logging.getLogger(__name__)

_MOST_FAULTS = 8
_RATE_SECS = 15.0  # long enough to be steady at a document every few seconds


def one_line(now: CrawlSnapshot, earlier: CrawlSnapshot | None) -> str:
    """Return the progress as one line of a log."""
    counts = now.counts
    faults = sum(now.faults.values())
    rate = f" ({now.rate_since(earlier):.1f}/s)" if earlier else ""
    down = f" ({now.n_down:,} waited for)" if now.n_down else ""
    return (
        f"{now.documents:,} documents{rate}, "
        f"{now.quads:,} quads, {counts.queued:,} queued, {counts.leased:,} leased, "
        f"{counts.hosts:,} hosts{down}, {faults:,} faults, {now.workers} workers"
    )


class Board:
    """A live table on stderr; log lines scroll above it."""

    def __init__(self, title: str) -> None:
        from rich.console import Console  # noqa: PLC0415 (slow; for a terminal alone)
        from rich.live import Live  # noqa: PLC0415

        self._title = title
        self._console = Console(stderr=True)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._redirected: list[logging.StreamHandler[Any]] = []
        self._seen: deque[CrawlSnapshot] = deque()  # the last _RATE_SECS

    def open(self) -> None:
        """Show the table; send log lines that go to stderr through it."""
        stderr = sys.stderr
        self._live.start()
        for handler in logging.getLogger().handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is stderr:
                handler.setStream(sys.stderr)
                self._redirected.append(handler)

    def show(self, now: CrawlSnapshot) -> None:
        """Bring the table up to date."""
        while self._seen and now.taken - self._seen[0].taken > _RATE_SECS:
            self._seen.popleft()
        self._live.update(self._table(now), refresh=True)
        self._seen.append(now)

    def close(self) -> None:
        """Take the table away."""
        self._live.stop()
        for handler in self._redirected:
            handler.setStream(sys.stderr)
        self._redirected.clear()

    def _table(self, now: CrawlSnapshot) -> Table:
        from rich.table import Table  # noqa: PLC0415

        table = Table(title=self._title, title_justify="left", expand=False)
        faults = sum(now.faults.values())
        earlier = self._seen[0] if self._seen else None
        columns = {
            "documents": f"{now.documents:,}",
            "per second": f"{now.rate_since(earlier):,.1f}",
            "quads": f"{now.quads:,}",
            "queued": f"{now.counts.queued:,}",
            "leased": f"{now.counts.leased:,}",
            "hosts": f"{now.counts.hosts:,}",
            "waited for": f"{now.n_down:,}",
            "faults": f"{faults:,}",
            "workers": f"{now.workers}",
        }
        for name in columns:
            table.add_column(name, justify="right")
        table.add_row(*columns.values())
        return table


def print_summary(
    now: CrawlSnapshot,
    paths: CrawlPaths,
    *,
    store: str,
    done: int,
    secs: float,
    outcome: str,
) -> None:
    """Print to stderr what a crawl came to, and where its data lies.

    A log file gets it in one line: under scrapyd, nobody reads standard error.

    Args:
        now: the last look at the crawl.
        paths: of the crawl.
        store: URI of the store.
        done: documents of this run alone.
        secs: how long this run took.
        outcome: how it ended, in a word.
    """
    left = now.counts.queued + now.counts.leased
    rows = {
        "outcome": outcome,
        "documents": f"{now.documents:,} on {now.counts.hosts:,} hosts",
        "quads": f"{now.quads:,}",
        "changes": ", ".join(f"{n:,} {name}" for name, n in now.changes.items()),
        "left in queue": f"{left:,}",
        "waited for": _down(now),
        "this run": f"{done:,} documents in {secs:,.1f} s",
        "faults": _faults(now.faults),
        "data": f"{_shown(paths.quads)}/*.nq.gz" if store == STORE else store,
        "provenance": f"{_shown(paths.provenance)}/*.nq.gz",
    }
    for name, is_there in (("changes", now.changes), ("waited for", now.n_down)):
        if not is_there:
            del rows[name]
    if hint := _hint(now, paths, left=left, done=done, outcome=outcome):
        rows["hint"] = hint
    if has_log_file():
        logger.info("%s: %s", outcome, one_line(now, None))
    width = max(map(len, rows))
    bold, plain = ("\x1b[1m", "\x1b[0m") if sys.stderr.isatty() else ("", "")
    with suppress(OSError):  # who read it may be gone
        for name, value in rows.items():
            sys.stderr.write(f"{bold}{name:{width}}{plain} {value}\n")


def _hint(
    now: CrawlSnapshot, paths: CrawlPaths, *, left: int, done: int, outcome: str
) -> str:
    if left:
        return "the same command continues, unless it says fresh=1"
    if outcome == "not finished":
        return f"the logs of the workers say why: {_shown(paths.logs)}"
    if not now.counts.seen:
        return "nothing to crawl: give -a seeds=URL or -a seeds=@FILE"
    if not done:
        return "the crawl was over already; -a fresh=1 begins it anew"
    if MAY_PASS & now.faults.keys():
        return "-a retry=failed asks once more for what hosts failed to give"
    return ""


def _shown(path: Path) -> str:
    """Return a path as short as it can be typed from here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _down(now: CrawlSnapshot) -> str:
    more = now.n_down - len(now.down)
    return (
        f"{now.n_down:,} hosts that did not answer: {', '.join(now.down)}"
        f"{f' and {more:,} more' if more > 0 else ''}"
    )


def _faults(faults: dict[str, int]) -> str:
    if not faults:
        return "none"
    named = [f"{name} {n:,}" for name, n in list(faults.items())[:_MOST_FAULTS]]
    more = len(faults) - _MOST_FAULTS
    return ", ".join(named) + (f" and {more} more kinds" if more > 0 else "")
