"""The summary of a crawl at its end: its rows, and a hint of the next step."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from rdfcrawl.core.console import has_log_file
from rdfcrawl.core.errors import TRAPS, Reason, safe_text
from rdfcrawl.core.json_logs import json_lines
from rdfcrawl.core.messages import counted, listed
from rdfcrawl.frontier.connection import HINT
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.frontier.queue.profiles import CrawlMember
from rdfcrawl.frontier.queue.queued_records import OwedUris
from rdfcrawl.frontier.queue.worker_reports import OwnFaults
from rdfcrawl.launch.empty_advice import LOOK
from rdfcrawl.launch.progress_table import CrawlSnapshot, epochs_text, one_line
from rdfcrawl.launch.result_tables import ResultSummary
from rdfcrawl.stores.options import SEGMENTS

logger = logging.getLogger(__name__)

_MOST_FAULTS: Final = 8
_WANT_NAMES: Final = "`look SITE` lists the names of its classes and properties"
_RETRY: Final = "-a retry=failed retries the URIs of hosts that failed"
_FOLLOWING: Final = "-a fresh=1 -a scope=host -a follow=abox,hyperlink"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """The end of one run of a crawl.

    Attributes:
        now: the crawl, over all runs.
        crawl: its options.
        member: the spider of the command.
        run: number of finished runs when this one began.
        n_done: documents of this run.
        secs: duration of this run.
        outcome: one word for its end.
        own: own faults of this run.
        lost_logs: logs that were deleted earlier.
        not_due: pages that this run has not requested again; empty: none.
    """

    now: CrawlSnapshot
    crawl: CrawlOptions
    member: CrawlMember
    run: int
    n_done: int
    secs: float
    outcome: str
    own: OwnFaults
    lost_logs: Sequence[str]
    not_due: str

    @property
    def n_left(self) -> int:
        """URIs still to be crawled."""
        counts = self.now.counts
        return counts.queued + counts.leased + counts.waiting

    @property
    def has_want(self) -> bool:
        """Whether the command wants certain statements."""
        return "want" in self.member.given


def print_summary(end: RunEnd) -> None:
    """Print the summary of a crawl to stderr, and one line of it to a log file."""
    results = ResultSummary.read(end.crawl.paths.results, end.run)
    rows = _rows(end, results)
    if has_log_file() or json_lines():
        failed = rows["outcome"].removeprefix(end.outcome)
        logger.info("%s: %s%s", end.outcome, one_line(end.now, None), failed)
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


def _rows(end: RunEnd, results: ResultSummary) -> dict[str, str]:
    """Return the rows that have a value."""
    now, paths, store = end.now, end.crawl.paths, end.crawl.stores.uri
    trapped = {name: n for name, n in now.faults.items() if name in TRAPS}
    n_owed, n_parts = now.owed.n_uris, len(end.own.parts)
    failed = f"; {counted(n_owed, 'URI is', 'URIs are')} owed" if n_owed else ""
    failed += f"; {counted(n_parts, 'part')} of the crawler failed" if n_parts else ""
    rows = {
        "outcome": end.outcome + results.failed + failed,
        "documents": f"{now.documents:,} on {counted(now.counts.hosts, 'host')}",
        "quads": f"{now.quads:,}",
        "changes": ", ".join(f"{n:,} {name}" for name, n in now.changes.items()),
        "left in queue": f"{end.n_left:,}",
        "not due": safe_text(end.not_due),
        "owed": _owed(now.owed),
        "incomplete": results.lacks,
        "wanted": _wanted(end),
        "unlikely": safe_text(_unlikely(now)),
        "quotas": epochs_text(now) if now.epochs else "",
        "this run": f"{counted(end.n_done, 'document')} in {end.secs:,.1f} s",
        "faults": _faults(now.faults) or "none",
        "own faults": safe_text(end.own) if end.own else "",
        "missing": "; ".join(end.lost_logs),
        "traps": _faults(trapped),
        "data": f"{_shown(paths.quads)}/*.nq.gz" if store == SEGMENTS else store,
        "provenance": f"{_shown(paths.provenance)}/*.jsonl.gz",
        "hint": HINT if end.lost_logs else _hint(end, results),
    }
    return {name: text for name, text in rows.items() if text}


def _hint(end: RunEnd, results: ResultSummary) -> str:
    """Return the first hint that holds; empty if none does."""
    hints = (*_hints_of_queue(end), *_hints_of_results(end, results))
    return next((text for holds, text in hints if holds), "")


def _hints_of_queue(end: RunEnd) -> tuple[tuple[bool, str], ...]:
    now, member = end.now, end.member
    source = member.accepts.source
    begin = f"give -a {source}=URL or -a {source}=@FILE"
    has_raised = Reason.INTERNAL in now.faults
    is_over = not end.n_done and (now.documents > 0 or not has_raised)
    return (
        (
            now.owed.n_uris > 0 and end.n_left == now.owed.n_waiting,
            "the same command requests the owed URIs again",
        ),
        (end.n_left > 0, "the same command continues the crawl, unless it has fresh=1"),
        (
            end.outcome == "not finished",
            f"see the logs of the workers: {_shown(end.crawl.paths.logs)}",
        ),
        (end.outcome == "start_error", "see the exception in the log"),
        (not now.counts.seen, f"nothing to crawl: {begin}"),
        (is_over and not member.has_seeds, f"nothing was queued: {begin}"),
        (is_over, "the crawl had already finished; -a fresh=1 starts it again"),
        (bool(end.own), end.own.hint),
    )


def _hints_of_results(
    end: RunEnd, results: ResultSummary
) -> tuple[tuple[bool, str], ...]:
    now, figures = end.now, end.now.figures
    n_hyperlinks = int(figures.get("link/hyperlinks_of_seeds", 0))
    return (
        (
            bool(results.incomplete),
            ("" if now.quads else f"no statements were found: {LOOK}; ")
            + "the same command reads incomplete sources again",
        ),
        (now.n_given_up > 0, _RETRY),
        (
            n_hyperlinks > (now.quads and figures.get("link/offered", 0)),
            f"{counted(n_hyperlinks, 'hyperlink')} of seeds not followed: {_FOLLOWING}",
        ),
        (not now.quads, f"no statements were found: {results.why_empty or LOOK}"),
        (
            end.has_want and not figures.get("want/statements"),
            f"nothing wanted was found: {_WANT_NAMES}",
        ),
        (
            "items" in end.member.given and not figures.get("items/built"),
            f"no items were found: {_WANT_NAMES}",
        ),
    )


def _shown(path: Path) -> str:
    """Return a path relative to the current folder, if shorter."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _owed(owed: OwedUris) -> str:
    """Return the number of owed URIs by host, with the times of failure and retry."""
    if not owed.n_uris:
        return ""
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
        f"{owed.n_failed:,} of hosts that failed",
    )
    counts = (owed.n_waiting, owed.n_failed)
    text = "; ".join(part for part, n in zip(parts, counts, strict=True) if n)
    return f"{counted(owed.n_uris, 'URI')}: {text}"


def _wanted(end: RunEnd) -> str:
    """Return the numbers of wanted statements and of the bytes around them."""
    figures = end.now.figures
    if "want/documents" not in figures and not end.has_want:
        return ""
    n_bytes = figures.get("http/bytes", 0)
    share = figures.get("want/bytes", 0) / n_bytes if n_bytes else 0
    statements = counted(int(figures.get("want/statements", 0)), "statement")
    documents = counted(int(figures.get("want/documents", 0)), "document")
    return f"{statements} in {documents}, with {share:.0%} of the bytes"


def _unlikely(now: CrawlSnapshot) -> str:
    """Return the number of URLs that were set aside, and how to request them."""
    if not now.counts.unlikely:
        return ""
    forms = ", ".join(f"{form} {n:,}" for form, n in now.unlikely)
    urls = counted(now.counts.unlikely, "URL")
    return (
        f"{urls} not requested, of forms that led to nothing wanted ({forms}):"
        " -a retry=unlikely requests them"
    )


def _moment(now: datetime, secs: float) -> str:
    return f"{now + timedelta(seconds=secs):%Y-%m-%d %H:%M:%S}"


def _faults(faults: Mapping[str, int]) -> str:
    named = [f"{name} {n:,}" for name, n in faults.items()]
    return listed(named, _MOST_FAULTS, "kind")
