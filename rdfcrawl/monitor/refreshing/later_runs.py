"""The pages that a later run of a crawl looks at again: its seeds, and those due."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.refresh.policy import DAY_MS, last_fetched_ms
from rdfcrawl.analysis.urldb.building import build
from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.analysis.urldb.facts import FactReader
from rdfcrawl.core.errors import Reason
from rdfcrawl.core.messages import counted
from rdfcrawl.core.reservations import WITHHELD
from rdfcrawl.core.times import now_ms
from rdfcrawl.frontier.queue.options import CrawlOptions, RevisitsBy
from rdfcrawl.monitor.refreshing.eligibility import (
    EligiblePages,
    NotDue,
    NotDuePages,
    is_forbidden,
    is_scheduled,
    tried,
    with_refusals,
)
from rdfcrawl.monitor.refreshing.epochs import CrawlRefresh
from rdfcrawl.monitor.refreshing.planning import PlannedFetch, planned_fetch
from rdfcrawl.monitor.refreshing.queueing import RefreshQueue
from rdfcrawl.stores.crawl_folder import KeptTime
from rdfcrawl.uri import fingerprint

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.settings import BaseSettings

    from rdfcrawl.analysis.measures.uri_facts import UriFacts
    from rdfcrawl.analysis.urldb.record import UrlRecord
    from rdfcrawl.monitor.refreshing.options import RefreshOptions

logger = logging.getLogger(__name__)

_LEFT: Final = "REDIRECTED"
_MOST_REDIRECTS: Final = 5  # of a seed, in a chain
_SORT_BYTES: Final = 32 * 1024 * 1024  # of memory of the worker
_OTHERS: Final = "fetched pages are left to `scrapy refresh` (REVISITS=refresh)"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterRun:
    """A command that is given again for a crawl whose last run has finished.

    Attributes:
        options: of the crawl.
        interval_ms: time from the fetch of a page until it is due (`REVISIT_SECS`).
        refresh: settings of refresh.
        seeds: of the command.
        retries_failed: the command queues all pages again that were given up.
    """

    options: CrawlOptions
    interval_ms: int
    refresh: RefreshOptions
    seeds: Iterable[str]
    retries_failed: bool = False

    async def queue(self, settings: BaseSettings) -> str:
        """Queue the seeds and the pages that are due, and return the others in words.

        With `REVISITS=refresh`, those are due that a wanted freshness needs. Return
        nothing if the last run has not ended, other workers run, or the crawl follows
        no links.

        Raises:
            ConfigError: Redis cannot be used, the log of the crawl is damaged, or a
                refresh is running.
            OSError: a disk is full, or cannot be read.
        """
        is_left = self.options.work.revisits is RevisitsBy.REFRESH
        if is_left and not self.refresh.freshness:
            return _OTHERS
        queue = await RefreshQueue.open(self.options, settings)
        try:
            if not await queue.is_later_run():
                return ""
            root = self.options.paths.root
            KeptTime(root).resume()
            words = await self._queue_plan(root, queue) if is_left else ""
            form = self.options.normal_form
            build(root, form, memory_bytes=_SORT_BYTES, scratch=root)
            queued = await queue.failed(only_owed=not self.retries_failed)
            with UrlDatabase(root) as database:
                pages = DuePages(self, database, queued, only_seeds=is_left)
                await queue.add(pages.planned())
            if pages.n_forbidden:
                n_pages = counted(pages.n_forbidden, "page")
                logger.info("Due, forbidden by robots.txt so far: %s", n_pages)
            return words or self._in_words(pages.not_due)
        finally:
            await queue.close()

    async def _queue_plan(self, root: Path, queue: RefreshQueue) -> str:
        """Queue the pages that a wanted freshness needs; return the plan in words."""
        refresh = CrawlRefresh(root, self.refresh, self.options)
        with refresh.file.alone():
            plan = refresh.plan(now_ms())
            await queue.add(refresh.file.fetches())
        return str(plan.aim)

    def _in_words(self, not_due: NotDuePages) -> str:
        if not not_due:
            return ""
        days = f"{self.interval_ms / DAY_MS:.3g}"
        n_pages = counted(not_due.counts.total(), "page")
        return f"{n_pages}: {not_due} (REVISIT_SECS: {days} days; see `scrapy refresh`)"


class DuePages:
    """The seeds of a later run, and the pages that are due.

    A seed is due in each run, as is the page to which it is redirected. A page that
    robots.txt has forbidden is due like one that failed. Pages that sitemaps list have
    the dates of these; failed pages that the crawl owes are queued by its next run in
    any case.

    Args:
        run: that begins.
        database: of the crawl.
        queued: fingerprints of failed pages that the run queues, as requested.
        only_seeds: other pages are left out.

    Attributes:
        not_due: other fetched pages, without those of sources.
        n_forbidden: due pages that robots.txt has forbidden so far.
    """

    def __init__(
        self,
        run: LaterRun,
        database: UrlDatabase,
        queued: frozenset[int],
        *,
        only_seeds: bool,
    ) -> None:
        self._run, self._database, self._queued = run, database, queued
        self._failures, self._only_seeds = run.refresh.failures, only_seeds
        self._reader = FactReader(database)
        self._now_ms = now = now_ms()
        self._eligible = EligiblePages(
            begin_ms=now + 1, end_ms=now + 1, now_ms=now, failures=self._failures
        )
        self._seeds = frozenset(map(fingerprint, self._seeds_and_targets()))
        self.not_due, self.n_forbidden = NotDuePages(), 0

    def _seeds_and_targets(self) -> Iterator[str]:
        """Yield the seeds that were fetched before, and the targets of redirects."""
        for seed in self._run.seeds:
            record = self._database.find(seed)
            for _ in range(_MOST_REDIRECTS):
                if record is None:
                    break
                yield record.url
                target = self._reader.redirect_of(record)
                # The log has no redirect of a refreshed page to a known one.
                outcome = record.fetches[-1].status if record.fetches else ""
                if not target and outcome == _LEFT:
                    target = record.latest.get("redirect", "")
                record = self._database.find(target) if target else None

    def planned(self) -> Iterator[PlannedFetch]:
        """Yield the seeds and the pages that are due."""
        for record in self._database.records():
            is_seed = fingerprint(record.url) in self._seeds
            facts = self._reader.facts_of(record)
            was_forbidden = is_forbidden(record, facts)
            facts = (with_refusals if was_forbidden else tried)(record, facts)
            if not facts.fetches or is_scheduled(record) or facts.is_listed:
                continue
            if fingerprint(record.requested_url) in self._queued:
                continue
            due_ms = self._due_ms(
                record, facts, is_seed=is_seed, was_forbidden=was_forbidden
            )
            if due_ms is not None and due_ms <= self._now_ms:
                self.n_forbidden += was_forbidden
                end = self._reader.end_of(facts)
                gone_ms = self._failures.gone_from_ms(end)
                yield planned_fetch(record, facts, gone_ms, due_ms, self._now_ms)

    def _due_ms(
        self,
        record: UrlRecord,
        facts: UriFacts,
        *,
        is_seed: bool,
        was_forbidden: bool,
    ) -> int | None:
        """Return when a page is due, after counting it if it is not yet."""
        due_ms = last_fetched_ms(facts) + self._run.interval_ms
        delay = self._eligible.delay(record, facts)
        if self._is_owed(record, facts, delay):
            due_ms, delay = 0, None
        if is_seed and (delay is None or delay[0] is not NotDue.IMMUTABLE):
            return 0
        if delay is None and due_ms > self._now_ms:
            delay = NotDue.RECENT, due_ms
        if delay is None:
            return None if self._only_seeds else due_ms
        reason, next_ms = delay
        self.not_due.add(NotDue.FORBIDDEN if was_forbidden else reason, next_ms)
        return None

    def _is_owed(
        self,
        record: UrlRecord,
        facts: UriFacts,
        delay: tuple[NotDue, int | None] | None,
    ) -> bool:
        """Return whether a page has failed since it was read, and may work again."""
        fault = record.fetches[-1].fault
        if fault in WITHHELD:
            return False
        if (
            fault == Reason.UNSUPPORTED_FORMAT
            and len(facts.fetches) > 1
            and not any(each.was_read for each in facts.fetches)
        ):
            return False  # no error, but an image, say
        may_work = delay is None or delay[0] is NotDue.FAILED
        tries = with_refusals(record, facts)
        return may_work and (
            self._failures.is_owed(tries)
            or (self._failures.is_missing_once(tries) and self._is_of_seed(record))
        )

    def _is_of_seed(self, record: UrlRecord) -> bool:
        """Return whether a seed led to a page; others are requested more rarely."""
        parent = record.latest.get("parent") or ""
        return fingerprint(parent) in self._seeds
