"""`scrapy refresh`: queue the pages of a crawl that are due to be fetched again."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from dataclasses import asdict
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Any

from rdfcrawl.core.console import QuietCommand, fail, option, switch, warn, write_lines
from rdfcrawl.core.messages import counted, raw_file

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

    from rdfcrawl.monitor.refreshing.eligibility import NotDuePages
    from rdfcrawl.monitor.refreshing.epochs import CrawlRefresh, PlannedEpoch
    from rdfcrawl.monitor.refreshing.planning import PlannedFetch


class Command(QuietCommand):
    """Bring the URL database up to date, and queue due pages by a policy."""

    synopsis = "[options]"
    summary = "Queue the pages of a crawl that are due to be fetched again"
    options = (
        switch("--follow", "continue, epoch after epoch"),
        switch("--dry-run", "show due pages, and queue none"),
        option(
            "--spider",
            "NAME",
            "use the arguments of this spider of the crawl (of the one that fetched"
            " the page)",
            default="",
        ),
        switch("--json", "write each line as JSON"),
    )

    def act(
        self, settings: BaseSettings, args: list[str], opts: argparse.Namespace
    ) -> int:
        """Refresh once, or until a signal ends it; return the exit code."""
        if args:
            fail(f"refresh: takes options only, not {args[0]}")
        if opts.follow and opts.dry_run:
            fail("refresh: --dry-run shows one epoch, without --follow")
        return _refresh(settings, opts)


def _refresh(settings: BaseSettings, opts: argparse.Namespace) -> int:
    """Refresh once, or until a signal ends it; return the exit code."""
    from rdfcrawl.core.options.scrapy_settings import apply_defaults
    from rdfcrawl.frontier.queue.options import CrawlOptions
    from rdfcrawl.monitor.refreshing.epochs import CrawlRefresh
    from rdfcrawl.monitor.refreshing.options import RefreshOptions
    from rdfcrawl.stores.crawl_folder import KeptTime, find_crawl

    settings = settings.copy()
    apply_defaults(settings)
    options = RefreshOptions.from_settings(settings)
    root = find_crawl(settings)
    crawl = CrawlOptions.from_settings(settings, root.name)
    KeptTime(root).resume()
    refresh = CrawlRefresh(root, options, crawl)
    if opts.dry_run:
        return _show(refresh, is_json=opts.json)
    with refresh.file.alone():
        epochs = _Epochs(refresh, settings, spider=opts.spider, is_json=opts.json)
        return epochs.run(goes_on=opts.follow)


class _Epochs:
    """Epochs of refresh, one after the other."""

    def __init__(
        self,
        refresh: CrawlRefresh,
        settings: BaseSettings,
        *,
        spider: str,
        is_json: bool,
    ) -> None:
        self._refresh = refresh
        self._settings = settings
        self._spider = spider
        self._is_json = is_json
        self._ended = Event()

    def run(self, *, goes_on: bool) -> int:
        """Plan and queue one epoch, or all from now on; return the exit code."""
        if not goes_on:
            return self._epoch()[0]
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self._ended.set())
        while not self._ended.is_set():
            _, end_ms = self._epoch()
            self._ended.wait(max(end_ms - _now_ms(), 0) / 1000)
        return 0

    def _epoch(self) -> tuple[int, int]:
        """Refresh once; return the exit code, and the end of the epoch."""
        progress = _ProgressLine()
        plan = self._refresh.plan(_now_ms(), progress.show)
        progress.end()
        n_queued = asyncio.run(self._refresh.queue(self._settings, self._spider))
        self._print_epoch(plan, n_queued)
        warn(*(f"refresh: {damage}" for damage in plan.damages))
        head = plan.head
        return int(bool(plan.damages)), head.begin_ms + head.length_ms

    def _print_epoch(self, plan: PlannedEpoch, n_queued: int) -> None:
        row: dict[str, Any] = {
            "epoch": _time(plan.head.begin_ms),
            "policy": plan.head.policy,
            "hosts": plan.n_hosts,
            "pages": plan.n_pages,
            "due": plan.n_due,
            "chosen": plan.n_chosen,
            "queued": n_queued,
            "is_new": plan.is_new,
            "outlooks": [
                asdict(each) | {"round_days": each.round_days} for each in plan.outlooks
            ],
        }
        if plan.aim is not None:
            row["freshness"] = asdict(plan.aim)
        not_due = None if plan.n_chosen else self._refresh.not_due(_now_ms())
        if not_due is not None:
            next_ms = not_due.next_ms
            counts = not_due.counts.items()
            row["not_due"] = {reason.name.lower(): n for reason, n in counts}
            row["next"] = None if next_ms is None else _time(next_ms)
        if self._is_json:
            write_lines(json.dumps(row))
            return
        head = f"epoch {row['epoch']}, {plan.head.policy}"
        if not_due is not None:
            write_lines(f"{head}: {_none(not_due)}", *_aims(plan))
            return
        write_lines(f"{head}: {_steps(plan, n_queued)}", *_aims(plan))


def _aims(plan: PlannedEpoch) -> list[str]:
    """Return the effect on a wanted freshness, else that of budgets, if any."""
    return [str(plan.aim)] if plan.aim else [str(each) for each in plan.outlooks[:1]]


def _steps(plan: PlannedEpoch, n_queued: int) -> str:
    """Return the numbers of a plan."""
    if not plan.is_new:
        chosen = counted(plan.n_chosen, "page")
        return f"{chosen} chosen, as planned before, {n_queued:,} queued"
    pages, hosts = counted(plan.n_pages, "page"), counted(plan.n_hosts, "host")
    return (
        f"{plan.n_due:,} of {pages} on {hosts} are due, {plan.n_chosen:,} chosen,"
        f" {n_queued:,} queued"
    )


def _none(not_due: NotDuePages) -> str:
    """Return why no page is due."""
    return f"no page is due: {not_due or 'the crawl has fetched no page'}"


class _ProgressLine:
    """Progress of a plan, as one line on a terminal."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()
        self._next = 0.0
        self._width = 0

    def show(self, n_hosts: int, n_pages: int) -> None:
        """Show the numbers, twice a second at most."""
        if not self._is_shown or monotonic() < self._next:
            return
        self._next = monotonic() + 0.5
        pages = counted(n_pages, "page is chosen", "pages are chosen")
        line = f"planning: {pages} on {counted(n_hosts, 'host')} so far"
        self._width = len(line)
        raw_file(sys.stderr).write(f"\r{line}")
        sys.stderr.flush()

    def end(self) -> None:
        """Remove the line."""
        if self._width:
            raw_file(sys.stderr).write(f"\r{' ' * self._width}\r")


def _show(refresh: CrawlRefresh, *, is_json: bool) -> int:
    """Print due pages, with reasons."""
    now_ms, has_any = _now_ms(), False
    for each in refresh.preview(now_ms):
        has_any = True
        if is_json:
            write_lines(json.dumps({"url": each.url, **asdict(each.reason)}))
        else:
            write_lines(f"{each.url} {_reason(each)}")
    if not (has_any or is_json):
        write_lines(_none(refresh.not_due(now_ms)))
    return 0


def _reason(fetch: PlannedFetch) -> str:
    reason = fetch.reason
    parts = [f"fetched {_time(reason.last_ms)}"]
    if reason.claimed_ms is not None:
        parts.append(f"lastmod {_time(reason.claimed_ms)}")
    if reason.due_ms is not None:
        parts.append(f"due {_time(reason.due_ms)}")
    fetches = counted(reason.n_fetches, "fetch", "fetches")
    content = counted(reason.n_content_changes, "content change")
    statements = counted(reason.n_statement_changes, "statement change")
    parts.append(f"{content} and {statements} in {fetches}")
    parts.append(f"{reason.changes_per_day:g} a day")
    return ", ".join(parts)


def _now_ms() -> int:
    from rdfcrawl.core.times import now_ms

    return now_ms()


def _time(ms: int) -> str:
    from rdfcrawl.core.times import second_text

    return second_text(ms)
