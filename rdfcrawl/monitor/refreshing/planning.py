"""Choose the pages to fetch again in one epoch, host by host, with reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.measures.refetches import iter_intervals, stated_lastmod
from rdfcrawl.analysis.refresh.change_rates import rate_of
from rdfcrawl.analysis.refresh.policy import DAY_MS, RefreshEpoch, last_fetched_ms
from rdfcrawl.analysis.refresh.sitemap_led import is_claimed
from rdfcrawl.analysis.urldb.facts import FactReader
from rdfcrawl.core.tasks.pages import RefreshedPage  # noqa: TC001 (`codec` reads it)
from rdfcrawl.monitor.refreshing.candidates import EligiblePages, refreshing_task
from rdfcrawl.monitor.refreshing.shares import FairShare

if TYPE_CHECKING:
    from rdfcrawl.analysis.measures.uri_facts import UriFacts
    from rdfcrawl.analysis.urldb.database import UrlDatabase
    from rdfcrawl.analysis.urldb.record import UrlFetch, UrlRecord
    from rdfcrawl.monitor.refreshing.options import RefreshOptions

_MOST_DEPTH: Final = 255
_MOST_BEFORE: Final = 8  # fetches of a page while it waited to be fetched again


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshReason:
    """Why a page is fetched again.

    Attributes:
        last_ms: its last fetch, Unix time.
        due_ms: when it is due by the policy; None: the policy gives no time.
        n_fetches: known fetches.
        n_changes: changes that these have found.
        changes_per_day: estimated.
        claimed_ms: `lastmod` that claims a change since; None: none does.
    """

    last_ms: int
    due_ms: int | None
    n_fetches: int
    n_changes: int
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
        n_hosts: examined hosts.
        n_pages: pages of these hosts that may be fetched again.
    """

    def __init__(
        self, database: UrlDatabase, options: RefreshOptions, now_ms: int
    ) -> None:
        self._database = database
        self._options = options
        self._reader = FactReader(database)
        self._now_ms = now_ms
        self._eligible = EligiblePages(
            begin_ms=now_ms - now_ms % options.epoch_ms,
            now_ms=now_ms,
            failures=options.failures,
        )
        self.n_hosts = self.n_pages = 0

    def plan(self) -> Iterator[PlannedFetch]:
        """Yield the pages of all hosts, the most urgent of each host first.

        If all hosts together exceed the budget, each gets a fair share of it, and the
        policy
        chooses a second time.
        """
        most = self._options.host_budget
        cut = self._cut_to_budget() if self._options.budget else None
        for domain, host in self._database.hosts():
            self.n_hosts += 1
            chosen = self._choose(domain, host, most)
            if cut is not None and len(chosen) > (n := cut.next_most(len(chosen))):
                chosen = self._choose(domain, host, n) if n else []
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

    def _cut_to_budget(self) -> FairShare:
        options = self._options
        wanted = Counter(
            len(self._choose(domain, host, options.host_budget))
            for domain, host in self._database.hosts()
        )
        epoch = self._now_ms // options.epoch_ms
        self.n_pages = 0
        return FairShare(wanted, options.budget, turn=epoch)

    def _choose(self, domain: str, host: str, n_fetches: int) -> list[str]:
        """Return the URLs that the policy chooses of a host, at most `n_fetches`."""
        if n_fetches <= 0:
            return []
        pages = EligibleFacts(self._database, self._reader, self._eligible)
        epoch = RefreshEpoch(
            now_ms=self._now_ms, length_ms=self._options.epoch_ms, n_fetches=n_fetches
        )
        chosen = self._options.policy.choose(lambda: pages.of(domain, host), epoch)
        self.n_pages += pages.n_found
        return list(dict.fromkeys(chosen))[:n_fetches]

    def _planned(self, record: UrlRecord) -> PlannedFetch:
        facts = self._reader.facts_of(record)
        depth = record.latest.get("depth", "0")
        return PlannedFetch(
            url=record.requested_url,
            depth=min(int(depth), _MOST_DEPTH) if depth.isdecimal() else 0,
            parent=record.latest.get("parent", ""),
            change=_change_since(record.fetches[-1]),
            task=refreshing_task(record, facts, self._options.failures),
            reason=self._reason(facts),
            spider=_spider_of(record),
            before=tuple(map(_change_since, record.fetches[-_MOST_BEFORE - 1 : -1])),
        )

    def _reason(self, facts: UriFacts) -> RefreshReason:
        due_of = getattr(self._options.policy, "due_ms", None)
        intervals = list(iter_intervals(facts))
        last_ms = last_fetched_ms(facts)
        stated = stated_lastmod(facts, self._now_ms) if is_claimed(facts) else None
        return RefreshReason(
            last_ms=last_ms,
            due_ms=None if due_of is None else round(due_of(facts)),
            n_fetches=len(facts.fetches),
            n_changes=sum(each.is_changed for each in intervals),
            changes_per_day=float(f"{rate_of(facts) * DAY_MS:.3g}"),
            claimed_ms=stated,
        )


def _change_since(fetch: UrlFetch) -> str:
    return f"r{fetch.started_ms:x}"


def _spider_of(record: UrlRecord) -> str:
    """Return the spider whose arguments applied to the last fetch of a page."""
    if record.latest_ms.get("spider") != record.fetches[-1].started_ms:
        return ""  # the first one is stored as empty
    return record.latest["spider"]


class EligibleFacts:
    """Reads the facts of pages that may be fetched again.

    Attributes:
        n_found: of the last host, so far.
    """

    def __init__(
        self, database: UrlDatabase, reader: FactReader, eligible: EligiblePages
    ) -> None:
        self._database, self._reader = database, reader
        self._eligible = eligible
        self.n_found = 0

    def of(self, domain: str, host: str) -> Iterator[UriFacts]:
        """Yield the facts of a host's pages, sorted by URL."""
        self.n_found = 0
        for record in self._database.of_host(domain, host):
            facts = self._reader.facts_of(record)
            if self._eligible.has(record, facts):
                self.n_found += 1
                yield facts
