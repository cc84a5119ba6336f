"""Policy that fetches the pages whose copies are probably stale.

Source: A. Kolobov et al., "Staying up to date with online content changes using
reinforcement learning for scheduling" (2019).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from heapq import heappush, heapreplace
from math import fsum, log
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.refresh.policy import (
    RefreshEpoch,
    chance,
    last_fetched_ms,
)
from rdfcrawl.analysis.refresh.posterior import (
    SiteModel,
    confirmed_ms,
    fetch_worth,
    learn,
)
from rdfcrawl.analysis.refresh.trust import is_claimed

if TYPE_CHECKING:
    from rdfcrawl.analysis.measures.uri_facts import UriFacts

EXPLORATION: Final = 0.02
"""Share of the fetches for pages that are not worth one by what is known."""
_LEAST: Final = 1e-9  # greater than 0
_PROBABLE: Final = 3  # changes, of which no one is signalled
_MOST_SURPRISED: Final = 10


@dataclass(frozen=True, slots=True)
class StaleProbability:
    """Policy that fetches the pages whose fetch gains most freshness.

    Where the signals of a site are trusted, only pages with a signal are fetched, and a
    few samples, to find changes without one.

    Memory: URLs, as many as are fetched.

    Attributes:
        exploration: share of the fetches for samples, and for the oldest copies of
            other pages.
    """

    exploration: float = EXPLORATION

    def choose(
        self, open_pages: Callable[[], Iterable[UriFacts]], epoch: RefreshEpoch
    ) -> list[str]:
        """Return the pages whose fetch is worth most, samples, then the oldest."""
        now_ms, n = epoch.now_ms, epoch.n_fetches
        model = learn(open_pages, now_ms)
        worthiest, oldest, silent = _Greatest(n), _Greatest(n), _Silent(n)
        n_led = 0
        for each in open_pages():
            is_trusted = model.trust.of(each).is_trusted
            if is_trusted and not is_claimed(each):
                silent.add_page(each, model, epoch)
                continue
            n_led += is_trusted
            worthiest.add(fetch_worth(each, model, now_ms), each.url)
            if not is_trusted:
                oldest.add(-last_fetched_ms(each), each.url)
        n_sampled = epoch.rounded(silent.n_expected(n_led, epoch) * self.exploration)
        n_sampled = min(n_sampled, len(silent))
        left = n - n_sampled
        n_explored = epoch.rounded(min(len(oldest), left) * self.exploration)
        n_explored = min(max(n_explored, epoch.n_explored), len(oldest), left)
        chosen = worthiest.urls()[: left - n_explored]
        taken = set(chosen)
        others = [url for url in oldest.urls() if url not in taken]
        return chosen + silent.urls()[:n_sampled] + others[:n_explored]

    def appraiser(
        self, open_pages: Callable[[], Iterable[UriFacts]], now_ms: int
    ) -> Callable[[UriFacts], float]:
        """Return a function that gives the worth of fetching a page of a site."""
        return partial(fetch_worth, model=learn(open_pages, now_ms), now_ms=now_ms)


@dataclass(slots=True)
class _Greatest:
    """The URLs with the greatest numbers; of equal ones, the first that are added."""

    n: int
    _n_added: int = 0
    _heap: list[tuple[float, int, str]] = field(default_factory=list)

    def add(self, number: float, url: str) -> None:
        self._n_added += 1
        each = (number, -self._n_added, url)
        if len(self._heap) < self.n:
            heappush(self._heap, each)
        elif self.n and each > self._heap[0]:
            heapreplace(self._heap, each)

    def urls(self) -> list[str]:
        return [url for _, _, url in sorted(self._heap, reverse=True)]

    def __len__(self) -> int:
        return len(self._heap)


@dataclass(slots=True)
class _Silent(_Greatest):
    """A sample of pages with trusted signals, but none since they were fetched.

    The weight of a page is the number of changes since, which would be probable without
    the silence (Efraimidis and Spirakis, "Weighted random sampling with a reservoir").
    """

    _changes: float = 0.0
    _read_ms: int = 0

    def add_page(self, facts: UriFacts, model: SiteModel, epoch: RefreshEpoch) -> None:
        rate = fsum(x * weight for x, weight in model.rates(facts, epoch.now_ms))
        self._changes += min(rate * epoch.length_ms, 1.0)
        self._read_ms = max(self._read_ms, facts.claims[-1].read_ms)
        probable = min(rate * (epoch.now_ms - confirmed_ms(facts)), 1.0)
        drawn = max(chance(f"{epoch.now_ms} {facts.url}"), _LEAST)
        self.add(log(drawn) / max(probable, _LEAST), facts.url)

    def n_expected(self, n_signalled: int, epoch: RefreshEpoch) -> float:
        """Return for how many changes there are samples.

        If there are no signals, it is the number of changes since the last ones, and
        more if that is improbable.
        """
        if n_signalled:
            return max(n_signalled, self._changes)
        age_ms = max(epoch.now_ms - self._read_ms, epoch.length_ms)
        missed = self._changes * age_ms / epoch.length_ms
        return missed * min(max(missed / _PROBABLE, 1.0), _MOST_SURPRISED)
