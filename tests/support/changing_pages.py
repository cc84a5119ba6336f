"""Pages that change at known rates, and a crawler that refreshes them by a policy."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from functools import partial
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

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    """

    def __init__(
        self, rates: Sequence[float], honesty: Honesty = "none", seed: int = 0
    ) -> None:
        self._dice = random.Random(seed)
        self.honesty = honesty
        self.pages = [
            ChangingPage(f"https://a.example/{n}", rate, self._wait(rate))
            for n, rate in enumerate(rates)
        ]
        self._by_url = {page.url: page for page in self.pages}
        self.day = 0
        self._fresh_days = 0.0
        self._n_days = 0
        for page in self.pages:
            self._claim(page, is_new=False)
            self._fetch(page)

    def _wait(self, rate: float) -> float:
        return self._dice.expovariate(rate) if rate else float("inf")

    def run(
        self, policy: RefreshPolicy, *, n_epochs: int, budget: int, warm_up: int = 0
    ) -> RefreshResult:
        """Refresh for some days by a policy; the first ones are not counted."""
        numbers, n_changed, n_missed = [], 0, 0
        for epoch in range(n_epochs):
            if epoch == warm_up:
                self._fresh_days, self._n_days = 0.0, 0
            changed = self.pass_day()
            n_changed += changed
            numbers.append(self.refresh(policy, budget))
            n_missed += sum(page.copy != page.version for page in self.pages)
        freshness = self._fresh_days / max(self._n_days, 1)
        return RefreshResult(
            freshness, sum(numbers), n_changed, n_missed, tuple(numbers)
        )

    def refresh(self, policy: RefreshPolicy, budget: int) -> int:
        """Fetch the pages a policy chooses at the end of a day; return their number."""
        known = [page.facts() for page in self.pages]
        epoch = RefreshEpoch(now_ms=self.day * DAY_MS, n_fetches=budget)
        chosen = policy.choose(lambda: known, epoch)
        assert len(chosen) == len(set(chosen)) <= budget
        for url in chosen:
            self._fetch(self._by_url[url])
        return len(chosen)

    def _fetch(self, page: ChangingPage) -> None:
        page.copy = page.version
        fetch = UriFetch(started_ms=self.day * DAY_MS, content_hash=f"v{page.version}")
        page.fetches.append(fetch)

    def pass_day(self) -> int:
        """Let a day pass; return how many pages changed in it."""
        begin, self.day = self.day, self.day + 1
        n_changed = 0
        for page in self.pages:
            is_fresh = page.copy == page.version
            if is_fresh:
                self._fresh_days += min(page.next_day, self.day) - begin
            has_changed = page.next_day < self.day
            while page.next_day < self.day:
                page.version += 1
                page.changed_day = page.next_day
                page.next_day += self._wait(page.rate)
            n_changed += has_changed
            self._claim(page, is_new=has_changed)
        self._n_days += len(self.pages)
        return n_changed

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

    Each day, all hosts offer all pages, and fetch as many as their shares are. Of the
    first half, nothing counts.
    """
    rates = {
        f"http://{host}.example/{n}": rate
        for host, some in enumerate(hosts)
        for n, rate in enumerate(some)
    }
    policy = OptimalFreshness(lambda facts: rates[facts.url] / DAY_MS)
    last = dict.fromkeys(rates, -1)
    of_host = [
        [x for x in rates if x.startswith(f"http://{n}.")] for n in range(len(hosts))
    ]
    total = 0.0
    for day in range(n_days):
        pages = [
            [
                UriFacts(
                    domain="d", url=x, fetches=(UriFetch(started_ms=last[x] * DAY_MS),)
                )
                for x in some
            ]
            for some in of_host
        ]
        worths = [[policy.worth(x, day * DAY_MS) for x in some] for some in pages]
        shares = BudgetShares(budget, day)
        for some in worths:
            shares.offer(some)
        settled = shares.settled()
        for facts, some in zip(pages, worths, strict=True):
            n_fetches, n_explored = settled.next_share(some)
            epoch = RefreshEpoch(
                now_ms=day * DAY_MS, n_fetches=n_fetches, n_explored=n_explored
            )
            chosen = policy.choose(partial(list, facts), epoch) if n_fetches else ()
            last |= dict.fromkeys(chosen, day)
        if day >= n_days // 2:  # until the next day, a copy is fresh with this share
            total += sum(
                exp(-rate * (day - last[url])) * mean_freshness(rate, 1.0)
                for url, rate in rates.items()
            )
    return total / (n_days - n_days // 2) / len(rates)
