"""Choose the pages to fetch again in one epoch, host by host, with reasons."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.measures.refetches import iter_intervals, stated_lastmod
from rdfcrawl.analysis.refresh.aims import FreshnessAim, FreshnessPlan
from rdfcrawl.analysis.refresh.freshness import LOST, page_outlooks
from rdfcrawl.analysis.refresh.histories import SiteHistories, is_lost
from rdfcrawl.analysis.refresh.optimal import rate_of
from rdfcrawl.analysis.refresh.outlook import (
    OutlookCount,
    RefreshOutlook,
    days_text,
    grouped_rates,
)
from rdfcrawl.analysis.refresh.policy import (
    DAY_MS,
    RefreshEpoch,
    RefreshPolicy,
    last_fetched_ms,
)
from rdfcrawl.analysis.refresh.shares import BudgetShares, SettledShares, appraiser
from rdfcrawl.analysis.refresh.trust import is_claimed
from rdfcrawl.analysis.urldb.facts import FactReader
from rdfcrawl.analysis.urldb.record import MAX_FETCHES, UrlRecord
from rdfcrawl.core.tasks import RefreshedPage
from rdfcrawl.monitor.refreshing.eligibility import (
    EligiblePages,
    NotDue,
    NotDuePages,
    is_scheduled,
    tried,
)

if TYPE_CHECKING:
    from rdfcrawl.analysis.measures.uri_facts import UriFacts, UriFetch
    from rdfcrawl.analysis.urldb.database import UrlDatabase
    from rdfcrawl.monitor.refreshing.options import RefreshOptions

_HAS_COPY: Final = frozenset({"SUCCESSFUL", "UNCHANGED"})
_NOT_MODIFIED: Final = 304
_MOST_VALIDATOR: Final = 1000  # characters
_MOST_DEPTH: Final = 255
_MOST_BEFORE: Final = 8  # fetches of a page while it waited to be fetched again


def refreshing_task(record: UrlRecord, gone_from_ms: int | None) -> RefreshedPage:
    """Return the task to fetch a page again."""
    reads = _last_reads(record)
    etag = record.latest["etag"] if record.latest_ms.get("etag") in reads else ""
    return RefreshedPage(
        etag=_sendable(etag),
        last_modified=_sendable(next(filter(None, reads.values()), "")),
        is_stored=_is_stored(record),
        read_at=_read_at(record),
        gone_from_ms=-1 if gone_from_ms is None else gone_from_ms,
    )


def _is_stored(record: UrlRecord) -> bool:
    """Return whether statements of a page are stored."""
    for fetch in reversed(record.fetches):
        if _is_lost(record, fetch):
            return False
        if fetch.n_statements:
            return True
    # Earlier fetches are not known, or were of another page.
    return len(record.fetches) >= MAX_FETCHES or "isLeft" in record.latest


def _is_lost(record: UrlRecord, fetch: UriFetch) -> bool:
    """Return whether the statements of a page were deleted after a fetch.

    Those of a page that is redirected to another host are, once the target was read.
    """
    is_left = fetch.started_ms <= record.latest_ms.get("withdrawn", -1)
    return fetch.status == "DELETED" or is_left


def _last_reads(record: UrlRecord) -> dict[int, str]:
    """Return times and `Last-Modified` of the responses about the stored copy.

    These are the last complete response and later responses with status 304, latest
    first. Validators of other responses, such as errors, do not belong to the copy.
    """
    found: dict[int, str] = {}
    for fetch in reversed(record.fetches):
        if fetch.status == "PARTIAL" or _is_lost(record, fetch):
            break  # an unread response may be readable now
        if fetch.status in _HAS_COPY:
            found[fetch.started_ms] = fetch.last_modified
            if fetch.http_status != _NOT_MODIFIED:
                break
    return found


def _read_at(record: UrlRecord) -> str:
    """Return the redirect target where the stored copy was read; empty if none."""
    for fetch in reversed(record.fetches):
        if _is_lost(record, fetch):
            break
        if fetch.status in _HAS_COPY or fetch.status == "PARTIAL":
            if record.latest_ms.get("readAt") == fetch.started_ms:
                return record.latest["readAt"]
            if fetch.http_status != _NOT_MODIFIED:
                break
    return ""


def _sendable(text: str) -> str:
    is_sendable = text.isascii() and text.isprintable()
    return text if is_sendable and len(text) <= _MOST_VALIDATOR else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshReason:
    """Why a page is fetched again.

    Attributes:
        last_ms: its last fetch, Unix time.
        due_ms: when it is due by the policy; None: the policy gives no time.
        n_fetches: known fetches.
        n_content_changes: of these, those that found other content.
        n_statement_changes: of these, those that found other statements.
        changes_per_day: estimated.
        claimed_ms: `lastmod` that claims a change since; None: none does.
    """

    last_ms: int
    due_ms: int | None
    n_fetches: int
    n_content_changes: int
    n_statement_changes: int
    changes_per_day: float
    claimed_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFetch:
    """One page to fetch again.

    Attributes:
        url: to request.
        depth: of its record.
        parent: of its record.
        change: distinguishes this fetch from all others of the page.
        task: of its record.
        reason: why it is fetched.
        spider: whose arguments its record has; empty: the first one of the crawl.
        before: `change` of earlier fetches, which the frontier may forget.
    """

    url: str
    depth: int
    parent: str
    change: str
    task: RefreshedPage
    reason: RefreshReason
    spider: str = ""
    before: tuple[str, ...] = ()


class RefreshPlanner:
    """Chooses the pages to fetch again in one epoch.

    Args:
        database: of the crawl's URIs, open.
        options: policy and budgets.
        now_ms: Unix time.

    Attributes:
        n_hosts: hosts with pages that may be fetched again.
        n_pages: these pages.
        n_due: of these, pages that are due by the policy, whatever the budgets.
    """

    def __init__(
        self, database: UrlDatabase, options: RefreshOptions, now_ms: int
    ) -> None:
        self._database = database
        self._options = options
        self._reader = FactReader(database)
        self._now_ms = now_ms
        begin_ms = now_ms - now_ms % options.epoch_ms
        self._eligible = EligiblePages(
            begin_ms=begin_ms,
            end_ms=begin_ms + options.epoch_ms,
            now_ms=now_ms,
            failures=options.failures,
        )
        self._limited = OutlookCount(options.epoch_ms)
        self._aim = FreshnessAim(options.freshness)
        self._aimed = (0.0, True)
        self.n_hosts = self.n_pages = self.n_due = 0

    def plan(self) -> Iterator[PlannedFetch]:
        """Yield the pages of all hosts, the most urgent of each host first.

        If all hosts together exceed the budget, each gets its share of it, and the
        policy chooses a second time.
        """
        options = self._options
        shares = self._shares() if options.budget or options.freshness else None
        for domain, host in self._database.hosts():
            pages = self._pages_of(domain, host)
            chosen = wanted = pages.choose(self._options.host_budget)
            self.n_pages += pages.n_found
            self.n_hosts += bool(pages.n_found)
            if shares is not None and wanted:
                share = shares.next_share(pages.worths(wanted))
                if share.n_fetches < len(wanted):
                    chosen = pages.choose(*share)
            self._count_due(host, pages, wanted, len(chosen))
            if chosen:
                yield from self._planned_of(domain, host, chosen)

    def _planned_of(
        self, domain: str, host: str, chosen: list[str]
    ) -> Iterator[PlannedFetch]:
        wanted = frozenset(chosen)
        pages = self._database.of_host(domain, host)
        found = {each.url: each for each in pages if each.url in wanted}
        for url in chosen:
            if url in found:
                yield self._planned(found[url])

    def _pages_of(self, domain: str, host: str) -> HostPages:
        def eligible() -> Iterator[UriFacts]:
            for record in self._database.of_host(domain, host):
                facts = tried(record, self._reader.facts_of(record))
                if self._eligible.has(record, facts):
                    yield facts

        options = self._options
        epoch = RefreshEpoch(
            now_ms=self._now_ms, length_ms=options.epoch_ms, n_fetches=0
        )
        return HostPages(eligible, options.policy, epoch)

    def _shares(self) -> SettledShares:
        options = self._options
        turn = self._now_ms // options.epoch_ms
        shares = BudgetShares(options.budget or sys.maxsize, turn)
        for domain, host in self._database.hosts():
            pages = self._pages_of(domain, host)
            chosen = pages.choose(options.host_budget)
            gains = self._gains(domain, host, chosen) if options.freshness else ()
            shares.offer(pages.worths(chosen), gains)
            if len(chosen) == options.host_budget:
                self._aim.cap(host, pages.n_found - len(chosen))
        if options.freshness:
            n_offers = shares.n_offers
            gain = shares.limit(self._aim.missing, self._aim.n_pages)
            is_all = not options.budget or n_offers < options.budget
            self._aimed = gain, is_all
        return shares.settled()

    def _gains(self, domain: str, host: str, chosen: list[str]) -> list[float]:
        """Count the copies of a host; return the freshness that each fetch adds."""
        histories = SiteHistories(self._now_ms / DAY_MS)
        for facts in self._copies(domain, host):
            histories.add(facts, iter_intervals(facts))
        outlooks = page_outlooks(histories, self._options.epoch_ms / DAY_MS)
        for key, outlook in outlooks.items():
            self._aim.add(outlook, histories.groups[key].n_pages)
        self._aim.add(LOST, histories.n_lost)
        wanted, found = frozenset(chosen), []
        for facts in self._copies(domain, host):
            if facts.url in wanted:
                kept, fetched = LOST
                if not is_lost(facts):
                    key = histories.key_of(facts, iter_intervals(facts))
                    kept, fetched = outlooks.get(key, (0.0, 0.0))
                found.append(fetched - kept)
        return found

    def _copies(self, domain: str, host: str) -> Iterator[UriFacts]:
        """Yield the facts of the pages of a host that refresh may fetch some time."""
        for record in self._database.of_host(domain, host):
            if not is_scheduled(record):
                yield self._reader.facts_of(record)

    def _count_due(
        self, host: str, pages: HostPages, wanted: list[str], n_chosen: int
    ) -> None:
        """Count the due pages of a host; if some are left, they make an outlook."""
        may_be_more = len(wanted) == self._options.host_budget < pages.n_found
        if not may_be_more and n_chosen == len(wanted):
            self.n_due += n_chosen
            return
        due = frozenset(wanted)
        rates = grouped_rates(
            rate_of(each)
            for each in pages.open()
            if each.url in due or (may_be_more and self._is_due(each))
        )
        self.n_due += rates.total()
        if rates.total() > n_chosen and not self._options.freshness:
            self._limited.add(host, rates, n_chosen)

    def _is_due(self, facts: UriFacts) -> bool:
        due_ms = self._due_ms(facts)
        return due_ms is None or due_ms <= self._now_ms

    def outlooks(self) -> list[RefreshOutlook]:
        """Return what the budgets lead to, after a plan; empty if they suffice."""
        return self._limited.outlooks()

    def aimed(self, n_fetches: int) -> FreshnessPlan | None:
        """Return the effect of a plan on a wanted freshness; None if none is wanted."""
        if not (options := self._options).freshness:
            return None
        gain, is_all = self._aimed
        epoch = days_text(options.epoch_ms / DAY_MS)
        return self._aim.plan(
            n_fetches, gain, is_all=is_all, host_limit=options.host_limit, epoch=epoch
        )

    def _planned(self, record: UrlRecord) -> PlannedFetch:
        facts = self._reader.facts_of(record)
        due_ms, now_ms = self._due_ms(facts), self._now_ms
        end, rules = self._reader.end_of(facts), self._options.failures
        return planned_fetch(record, facts, rules.gone_from_ms(end), due_ms, now_ms)

    def _due_ms(self, facts: UriFacts) -> int | None:
        """Return when a page is due by the policy; None if that gives no time."""
        due_of = getattr(self._options.policy, "due_ms", None)
        return None if due_of is None else round(due_of(facts))

    def not_due(self) -> NotDuePages:
        """Return the pages of a plan without any, by reason.

        The next one is due in a later epoch.
        """
        found, end_ms = NotDuePages(), self._eligible.end_ms
        for record in self._database.records():
            facts = tried(record, self._reader.facts_of(record))
            if not facts.fetches:
                continue
            if delay := self._eligible.delay(record, facts):
                found.add(*delay)
            else:
                due_ms = self._due_ms(facts)
                found.add(NotDue.WAITING, end_ms if due_ms is None else due_ms)
        if found.next_ms is not None:
            found.next_ms = max(found.next_ms, end_ms)
        return found


def planned_fetch(
    record: UrlRecord,
    facts: UriFacts,
    gone_from_ms: int | None,
    due_ms: int | None,
    now_ms: int,
) -> PlannedFetch:
    """Return the fetch of a page that is fetched again.

    Args:
        record: of the page.
        facts: about it.
        gone_from_ms: time from which one more 404 means that it is gone; None: never.
        due_ms: since when it is due; None if the policy gives no time.
        now_ms: Unix time.
    """
    depth = record.latest.get("depth", "0")
    intervals = list(iter_intervals(facts))
    reason = RefreshReason(
        last_ms=last_fetched_ms(facts),
        due_ms=due_ms,
        n_fetches=len(facts.fetches),
        n_content_changes=sum(each.content_changed for each in intervals),
        n_statement_changes=sum(each.statements_changed for each in intervals),
        changes_per_day=float(f"{rate_of(facts) * DAY_MS:.3g}"),
        claimed_ms=stated_lastmod(facts, now_ms) if is_claimed(facts) else None,
    )
    return PlannedFetch(
        url=record.requested_url,
        depth=min(int(depth), _MOST_DEPTH) if depth.isdecimal() else 0,
        parent=record.latest.get("parent", ""),
        change=_change_since(record.fetches[-1]),
        task=refreshing_task(record, gone_from_ms),
        reason=reason,
        spider=_spider_of(record),
        before=tuple(map(_change_since, record.fetches[-_MOST_BEFORE - 1 : -1])),
    )


def _change_since(fetch: UriFetch) -> str:
    return f"r{fetch.started_ms:x}"


def _spider_of(record: UrlRecord) -> str:
    """Return the spider whose arguments applied to the last fetch of a page."""
    if record.latest_ms.get("spider") != record.fetches[-1].started_ms:
        return ""  # the first one is stored as empty
    return record.latest["spider"]


class HostPages:
    """The pages of a host that may be fetched again.

    Args:
        open_pages: yields the facts of the pages.
        policy: chooses among them.
        epoch: of refresh.

    Attributes:
        n_found: their number, once they were read.
    """

    def __init__(
        self,
        open_pages: Callable[[], Iterable[UriFacts]],
        policy: RefreshPolicy,
        epoch: RefreshEpoch,
    ) -> None:
        self._open, self._policy, self._epoch = open_pages, policy, epoch
        self.n_found = 0

    def open(self) -> Iterator[UriFacts]:
        """Yield the facts of the pages, sorted by URL."""
        self.n_found = 0
        for facts in self._open():
            self.n_found += 1
            yield facts

    def choose(self, n_fetches: int, n_explored: int = 0) -> list[str]:
        """Return the URLs that the policy chooses, at most `n_fetches`."""
        if n_fetches <= 0:
            self.n_found = sum(1 for _ in self.open())
            return []
        epoch = replace(self._epoch, n_fetches=n_fetches, n_explored=n_explored)
        chosen = self._policy.choose(self.open, epoch)
        return list(dict.fromkeys(chosen))[:n_fetches]

    def worths(self, urls: Iterable[str]) -> list[float]:
        """Return the worth of fetching each of some pages."""
        if not (wanted := frozenset(urls)):
            return []
        worth = appraiser(self._policy, self.open, self._epoch.now_ms)
        return [worth(each) for each in self.open() if each.url in wanted]
