"""Refresh by sitemaps: fetch pages with a claimed change if lastmod is reliable.

Source: section 6.3.2 of the paper, which leaves open how the accuracy is approximated
"using historical data"; see `lastmod_trust`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from math import floor
from typing import TYPE_CHECKING

from rdfcrawl.analysis.measures.refetches import (
    has_claim,
    iter_intervals,
    stated_lastmod,
)
from rdfcrawl.analysis.refresh.lastmod_trust import LastmodTrust, TrustCount
from rdfcrawl.analysis.refresh.optimal import EXPLORATION, OptimalFreshness
from rdfcrawl.analysis.refresh.policy import (
    RefreshEpoch,
    RefreshPolicy,
    last_fetched_ms,
    most_urgent,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rdfcrawl.analysis.measures.uri_facts import UriFacts


@dataclass(frozen=True, slots=True)
class SitemapLed:
    """Policy that fetches pages whose change sitemaps claim, and a few samples.

    If the lastmods of a site are not trusted, the fallback chooses its pages; if they
    are precise, pages with a claimed change come first.

    Attributes:
        fallback: for sites that are not trusted.
        exploration: share of the fetches for pages without a claimed change (of the
            budget, if no change is claimed); at least one in an epoch, to find
            unclaimed changes.
    """

    fallback: RefreshPolicy = field(default_factory=OptimalFreshness)
    exploration: float = EXPLORATION

    def choose(
        self, open_pages: Callable[[], Iterable[UriFacts]], epoch: RefreshEpoch
    ) -> list[str]:
        """Return the oldest copies with a claimed change, then other pages."""
        trust = judge_site(open_pages(), epoch.now_ms)
        claimed: list[str] = []
        if trust.is_precise:
            n_reserved = max(floor(epoch.n_fetches * self.exploration), 1)
            n_claims = max(epoch.n_fetches - n_reserved, 1)
            claimed = _oldest(filter(is_claimed, open_pages()), n_claims)
        taken = set(claimed)
        rest = epoch.n_fetches - len(claimed)
        if trust.is_trusted:
            others = (x for x in open_pages() if x.url not in taken)
            n_samples = self._n_samples(len(claimed), epoch)
            return claimed + _sample(others, min(n_samples, rest), epoch.now_ms)

        def open_others() -> Iterable[UriFacts]:
            return (x for x in open_pages() if x.url not in taken)

        more = RefreshEpoch(
            now_ms=epoch.now_ms, length_ms=epoch.length_ms, n_fetches=rest
        )
        return claimed + self.fallback.choose(open_others, more)

    def _n_samples(self, n_claimed: int, epoch: RefreshEpoch) -> int:
        """Return the number of samples whose long-term share is `exploration`.

        Fractions are rounded up at random, in proportion to their size.
        """
        n_fetches = n_claimed / (1 - self.exploration) or epoch.n_fetches
        wanted = n_fetches * self.exploration
        return max(floor(wanted + _chance(str(epoch.now_ms))), 1)


def is_claimed(facts: UriFacts) -> bool:
    """Return whether sitemaps claim a change since the last fetch."""
    fetched_ms = last_fetched_ms(facts)
    stated = facts.claims[-1].lastmod_ms if facts.claims else None
    before = stated_lastmod(facts, fetched_ms)
    return has_claim(stated, before=before, since_ms=fetched_ms)


def judge_site(pages: Iterable[UriFacts], now_ms: int) -> LastmodTrust:
    """Return the trust in the lastmods of a site at a time."""
    count, n_pages = TrustCount(), 0
    for each in pages:
        n_pages += 1
        for interval in iter_intervals(each):
            count.add(interval)
    return count.judge(n_pages=n_pages, now_ms=now_ms)


def _sample(pages: Iterable[UriFacts], n: int, now_ms: int) -> list[str]:
    """Return random pages; the oldest would be those that hardly ever change."""
    return most_urgent(((_chance(f"{now_ms} {x.url}"), x.url) for x in pages), n)


def _chance(name: str) -> float:
    """Return a deterministic pseudo-random number from 0 to 1."""
    digest = blake2b(name.encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") / 2**32


def _oldest(pages: Iterable[UriFacts], n: int) -> list[str]:
    """Return the pages that were not fetched for longest."""
    return most_urgent(((-last_fetched_ms(each), each.url) for each in pages), n)
