"""Pages that change at known rates, and a crawler that refreshes them by a policy."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from math import exp, expm1
from typing import TYPE_CHECKING, Literal

from rdfcrawl.analysis.measures.uri_facts import (
    LastmodClaim,
    UriFacts,
    UriFetch,
    UriListing,
)
from rdfcrawl.analysis.refresh.optimal import OptimalFreshness, allocate
from rdfcrawl.analysis.refresh.policy import DAY_MS, RefreshEpoch
from rdfcrawl.analysis.refresh.shares import BudgetShares
from rdfcrawl.monitor.refreshing.planning import HostPages

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rdfcrawl.analysis.refresh.policy import RefreshPolicy

Honesty = Literal[
    "none", "truthful", "incomplete", "imprecise", "silent", "rewritten", "random"
]
LISTING = (UriListing(sitemap="https://a.example/map.xml", first_ms=0),)


@dataclass
class ChangingPage:
    """One page: its changes, and the copy that the crawler has.

    Attributes:
        rate: changes for each day, by a Poisson process.
        changed_day: of the last change; `next_day` of the next one.
        copy: version that was fetched last.
        dated_by: sitemap that states its lastmod.
        honesty: of that sitemap; None: as that of the site.
        hazard: expected number of changes since it was fetched last.
    """

    url: str
    rate: float
    next_day: float
    changed_day: float = -1.0
    version: int = 0
    copy: int = 0
    fetches: deque[UriFetch] = field(default_factory=lambda: deque(maxlen=48))
    claims: list[LastmodClaim] = field(default_factory=list)
    dated_by: str = ""
    honesty: Honesty | None = None
    hazard: float = 0.0

    def facts(self) -> UriFacts:
        """Return the knowledge of the crawl: claims reach back as far as fetches do."""
        first_ms = self.fetches[0].started_ms
        while len(self.claims) > 1 and self.claims[1].read_ms <= first_ms:
            del self.claims[0]
        return UriFacts(
            domain="a.example",
            url=self.url,
            listings=LISTING,
            fetches=tuple(self.fetches),
            claims=tuple(self.claims),
            dated_by=self.dated_by,
        )


@dataclass(frozen=True)
class RefreshResult:
    """Result of a policy.

    Attributes:
        freshness: share of time for which copies were fresh, over all pages.
        n_fetches: in all epochs.
        n_changed: pages that had changed, summed over the epochs.
        n_missed: pages that were stale right after an epoch's fetches, summed.
        fetches: number in each epoch.
    """

    freshness: float
    n_fetches: int
    n_changed: int
    n_missed: int
    fetches: tuple[int, ...]


class ChangingSite:
    """A site of changing pages with a sitemap, refreshed once a day.

    The sitemap has no lastmod, the true ones, those of 70 % of changes (`incomplete`),
    as many false ones (`imprecise`), none that is ever new (`silent`), the time of its
    last rewriting for all (`rewritten`), or new ones of random pages.

    Without a sitemap, fetches do not depend on changes that are not known, so freshness
    is the expected one: that has less variance.

    Args:
        rates: changes of each page in a day.
        honesty: of the sitemap.
        seed: of the dice.
        drift: share of the pages that get the rate of another page, each day.
        host: of the pages.
    """

    def __init__(
        self,
        rates: Sequence[float],
        honesty: Honesty = "none",
        seed: int = 0,
        drift: float = 0.0,
        host: str = "a.example",
    ) -> None:
        self._dice = random.Random(seed)
        self.honesty = honesty
        self._rates, self._drift = rates, drift
        self.pages = [
            ChangingPage(f"https://{host}/{n}", rate, self._wait(rate))
            for n, rate in enumerate(rates)
        ]
        self._by_url = {page.url: page for page in self.pages}
        self.day = 0
        self.fresh_days = 0.0
        for page in self.pages:
            self._claim(page, is_new=False)
            self._fetch(page)

    def _wait(self, rate: float) -> float:
        return self._dice.expovariate(rate) if rate else float("inf")

    def run(
        self, policy: RefreshPolicy, *, n_epochs: int, budget: int, warm_up: int = 0
    ) -> RefreshResult:
        """Refresh for some days by a policy; the first ones are not counted."""
        return run_together([self], policy, n_epochs, budget, warm_up)

    def known(self) -> list[UriFacts]:
        """Return the knowledge of the crawl about all pages."""
        return [page.facts() for page in self.pages]

    def fetch(self, urls: Iterable[str]) -> int:
        """Fetch pages at the end of a day; return their number."""
        chosen = list(urls)
        assert len(chosen) == len(set(chosen))
        for url in chosen:
            self._fetch(self._by_url[url])
        return len(chosen)

    def _fetch(self, page: ChangingPage) -> None:
        page.copy, page.hazard = page.version, 0.0
        fetch = UriFetch(started_ms=self.day * DAY_MS, content_hash=f"v{page.version}")
        page.fetches.append(fetch)

    def pass_day(self) -> int:
        """Let a day pass; return how many pages changed in it."""
        self.day += 1
        n_changed = 0
        for page in self.pages:
            if self._drift and self._dice.random() < self._drift:
                page.rate = self._dice.choice(self._rates)
                page.next_day = self.day - 1 + self._wait(page.rate)
            self.fresh_days += self._fresh(page)
            page.hazard += page.rate
            has_changed = page.next_day < self.day
            while page.next_day < self.day:
                page.version += 1
                page.changed_day = page.next_day
                page.next_day += self._wait(page.rate)
            n_changed += has_changed
            self._claim(page, is_new=has_changed)
        return n_changed

    def _fresh(self, page: ChangingPage) -> float:
        """Return for which part of the day that begins the copy of a page is fresh."""
        if self.honesty == "none":
            return exp(-page.hazard) * mean_freshness(page.rate, 1.0)
        return min(page.next_day - self.day + 1, 1.0) * (page.copy == page.version)

    def _claim(self, page: ChangingPage, *, is_new: bool) -> None:
        """State a lastmod of a page in the sitemap of today."""
        now_ms = self.day * DAY_MS
        match page.honesty or self.honesty:
            case "none":
                return
            case "truthful":
                says_new, stated = is_new, int(page.changed_day * DAY_MS)
            case "incomplete":
                says_new = is_new and self._dice.random() < 0.7
                stated = int(page.changed_day * DAY_MS)
            case "imprecise":
                is_false = self._dice.random() < -expm1(-page.rate)
                says_new = is_new or is_false
                stated = now_ms if is_false else int(page.changed_day * DAY_MS)
            case "silent":
                says_new, stated = False, -DAY_MS
            case "rewritten":
                says_new, stated = True, now_ms
            case "random":
                says_new, stated = self._dice.random() < 0.1, now_ms
        if says_new or not page.claims:
            stated = stated if page.claims else min(stated, -1)
            page.claims.append(LastmodClaim(read_ms=now_ms, lastmod_ms=stated))


def run_together(
    sites: Sequence[ChangingSite],
    policy: RefreshPolicy,
    n_epochs: int,
    budget: int,
    warm_up: int = 0,
) -> RefreshResult:
    """Refresh sites that share a budget for some days; the first ones do not count."""
    numbers: list[int] = []
    n_changed, n_missed, fresh_days = 0, 0, 0.0
    for _ in range(n_epochs):
        if len(numbers) == warm_up:
            fresh_days = sum(site.fresh_days for site in sites)
        n_changed += sum(site.pass_day() for site in sites)
        numbers.append(_refresh(sites, policy, budget))
        assert numbers[-1] <= budget
        n_missed += sum(x.copy != x.version for site in sites for x in site.pages)
    fresh_days = sum(site.fresh_days for site in sites) - fresh_days
    n_pages = sum(len(site.pages) for site in sites)
    freshness = fresh_days / max((n_epochs - warm_up) * n_pages, 1)
    return RefreshResult(freshness, sum(numbers), n_changed, n_missed, tuple(numbers))


def _refresh(sites: Sequence[ChangingSite], policy: RefreshPolicy, budget: int) -> int:
    """Fetch what a policy chooses, for each site within its share; return how many."""
    day = sites[0].day
    epoch = RefreshEpoch(now_ms=day * DAY_MS, n_fetches=0)
    hosts = [HostPages(site.known, policy, epoch) for site in sites]
    if len(hosts) == 1:
        return sites[0].fetch(hosts[0].choose(budget))
    worths = [
        host.worths(host.choose(len(site.pages)))
        for host, site in zip(hosts, sites, strict=True)
    ]
    shares = BudgetShares(budget, day)
    for some in worths:
        shares.offer(some)
    settled = shares.settled()
    return sum(
        site.fetch(host.choose(*settled.next_share(some)))
        for site, host, some in zip(sites, hosts, worths, strict=True)
    )


def optimal_freshness(rates: Sequence[float], budget: int) -> float:
    """Return the mean freshness that the best frequencies give, with known rates."""
    counts: Mapping[float, int] = {rate: rates.count(rate) for rate in rates}
    frequencies = allocate(counts, budget, most=1.0)
    total = sum(
        mean_freshness(rate, frequencies[rate]) * n for rate, n in counts.items()
    )
    return total / len(rates)


def uneven_rates(n_pages: int, *, mean: float, seed: int = 1) -> list[float]:
    """Return rates of change as the web has them: most pages hardly ever change.

    They are drawn from a gamma distribution of shape 0.5, to two digits.
    """
    dice = random.Random(seed)
    drawn = [dice.gammavariate(0.5, mean / 0.5) for _ in range(n_pages)]
    return [float(f"{rate:.2g}") for rate in drawn]


def mean_freshness(rate: float, frequency: float) -> float:
    """Return F, the share of time for which a copy is fresh."""
    if not rate:
        return 1.0
    return -expm1(-rate / frequency) * frequency / rate if frequency else 0.0


def facts_of(url: str, day: int) -> UriFacts:
    """Return the facts of a page that was fetched on a day."""
    return UriFacts(domain="d", url=url, fetches=(UriFetch(started_ms=day * DAY_MS),))


def kept_fresh(hosts: list[list[float]], budget: int, n_days: int) -> float:
    """Return the freshness of pages with known rates that share a budget for a time.

    Of the first half, nothing counts.
    """
    sites = [
        ChangingSite(some, seed=n, host=f"{n}.example") for n, some in enumerate(hosts)
    ]
    rates = {page.url: page.rate for site in sites for page in site.pages}
    policy = OptimalFreshness(lambda facts: rates[facts.url] / DAY_MS)
    return run_together(sites, policy, n_days, budget, n_days // 2).freshness
