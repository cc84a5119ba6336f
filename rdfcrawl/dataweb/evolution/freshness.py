"""Freshness and age of a store, judged by the truth.

Source: Cho and Garcia-Molina, "Effective Page Refresh Policies for Web Crawlers",
TODS 28(4), 2003, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rdfcrawl.dataweb.evolution.truth import WebTruth


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshnessReport:
    """How well a store equals the web at one time.

    Attributes:
        at: the time, in seconds since the web began.
        n_fresh: copies that equal the documents of now.
        n_stale: copies of documents that have changed since.
        n_gone: copies of documents that have vanished since.
        n_missing: URLs that are there and known, of which the store has no copy.
        n_unknown: copies that are none of the truth's documents.
        total_age: seconds; a copy's age is 0 while it is fresh, and counts from the
            first change after the fetch.
        late: URLs of the copies that are not fresh.
    """

    at: float
    n_fresh: int
    n_stale: int
    n_gone: int
    n_missing: int
    n_unknown: int
    total_age: float
    late: frozenset[str]

    @property
    def n_judged(self) -> int:
        """Copies that the truth knows."""
        return self.n_fresh + self.n_stale + self.n_gone

    @property
    def freshness(self) -> float | None:
        """Share of copies that are fresh; None if there is none."""
        return self.n_fresh / self.n_judged if self.n_judged else None

    @property
    def mean_age(self) -> float | None:
        """Mean age of copies in seconds; None if there is none."""
        return self.total_age / self.n_judged if self.n_judged else None


def judge_freshness(
    truth: WebTruth, fetched: Mapping[str, float], at: float
) -> FreshnessReport:
    """Compare a store with the web at a time.

    Args:
        truth: of the web.
        fetched: by URL, the time of the web at which the copy was the document; as
            `WebClock.web_time` gives it for the begin of the fetch.
        at: time of the web, none of the fetches is later.

    Raises:
        ValueError: the truth does not reach to that time.
    """
    if at > truth.horizon:
        raise ValueError(f"{at:g} s is beyond the horizon, {truth.horizon:g} s")
    n_fresh = n_stale = n_gone = n_unknown = 0
    total_age, late = 0.0, set()
    for url, when in fetched.items():
        known = truth.urls.get(url)
        if known is None or known.revision(when) is None:
            n_unknown += 1
            continue
        change = known.next_change(when)
        if change > at:
            n_fresh += 1
            continue
        late.add(url)
        total_age += at - change
        if known.revision(at) is None:
            n_gone += 1
        else:
            n_stale += 1
    return FreshnessReport(
        at=at,
        n_fresh=n_fresh,
        n_stale=n_stale,
        n_gone=n_gone,
        n_missing=sum(1 for url in known_urls(truth, at) if url not in fetched),
        n_unknown=n_unknown,
        total_age=total_age,
        late=frozenset(late),
    )


def known_urls(truth: WebTruth, at: float) -> set[str]:
    """Return the URLs that are there at a time, and that something has named so far."""
    return {
        url
        for url, known in truth.urls.items()
        if known.revision(at) is not None
        and (
            known.role == "front"
            or truth.first_listed(url) <= at
            or truth.first_linked(url) <= at
        )
    }
