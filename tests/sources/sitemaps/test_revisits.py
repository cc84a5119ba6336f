"""Which listed pages are fetched again in a later run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.sources.harvest.listed_pages import (
    ListedPageClaim,
    RevisitPolicy,
    merge_claims,
)
from rdfcrawl.sources.harvest.page_fetches import PageFetch
from rdfcrawl.sources.sitemaps.entry import ChangeFrequency

DAY = 86_400
NOW = 20_000 * DAY + DAY // 2  # at noon of 2024-10-04
POLICY = RevisitPolicy(run=5, now_secs=NOW, after_secs=7 * DAY, read_secs=NOW - DAY)


def claim(lastmod: str = "", **others: Any) -> ListedPageClaim:
    """Return the claim of a sitemap in this run."""
    return ListedPageClaim(5, 5000, lastmod, **{"since": 5, **others})


def fetch(age_days: float = 1, **others: Any) -> PageFetch:
    """Return a fetch of an earlier run."""
    return PageFetch(4, round(NOW - age_days * DAY), **others)


@pytest.mark.parametrize(
    ("listed", "last", "change"),
    [
        (claim("2024-03-01"), fetch(lastmod="2024-01-01"), "run 5"),
        (claim("2024-01-01"), fetch(lastmod="2024-03-01"), None),
        (claim("2024-03-01", since=4), fetch(lastmod="2024-01-01"), None),
        (claim("2024-03-01", since=4), fetch(), None),
        (claim("2024-03-01"), fetch(lastmod="2024-03-01"), None),
        (claim("2024-10-04"), fetch(0.1, lastmod="2024-10-04"), "run 5"),
        (claim("2024-10-03"), fetch(0.1, lastmod="2024-10-03"), None),
        (claim("2099"), fetch(lastmod="2099"), "run 5"),
        (claim("2024-03-01"), fetch(lastmod="2024-03-01", n_failures=3), "run 5"),
        (claim("2024-03-01"), fetch(lastmod="2024-03-01", n_failures=4), None),
        (claim("2024-03-01"), fetch(8, lastmod="2024-03-01", n_failures=4), "run 5"),
        (claim(), fetch(n_failures=1), "run 5"),
        (claim(), fetch(6.9), None),
        (claim(), fetch(7), "run 5"),
        (claim(changefreq=ChangeFrequency.ALWAYS), fetch(0), "run 5"),
        (claim(changefreq=ChangeFrequency.HOURLY), fetch(0.04), None),
        (claim(changefreq=ChangeFrequency.HOURLY), fetch(0.05), "run 5"),
        (claim(changefreq=ChangeFrequency.YEARLY), fetch(364), None),
        (claim(changefreq=ChangeFrequency.NEVER), fetch(9999), None),
        (claim(changefreq=ChangeFrequency.NEVER), fetch(n_failures=1), "run 5"),
        (claim(), None, ""),
        (claim("2024-01-01"), None, ""),
        (claim("2024-10-04"), None, "run 5"),
        (claim("2024-03-01", former="2024-01-01"), None, "run 5"),
        (claim("2024-03-01", former="2024-03-01"), None, ""),
    ],
)
def test_page_is_fetched_again(
    listed: ListedPageClaim, last: PageFetch | None, change: str | None
) -> None:
    """If date, frequency and last fetch are known, then they say whether it is due."""
    assert POLICY.change_of(listed, last) == change


@given(st.sampled_from(["", "2024-01-01", "2099"]), st.integers(0, 9))
def test_page_of_this_run_is_not_fetched_twice(lastmod: str, n_failures: int) -> None:
    """If a page was fetched in this run, then it is not due, with any claim."""
    last = PageFetch(5, NOW, "2023", n_failures)
    assert POLICY.change_of(claim(lastmod), last) is None


@given(*[st.sampled_from(["", "2023", "2024-01-01"])] * 2)
def test_claim_that_is_read_twice_is_the_same(before: str, now: str) -> None:
    """If a sitemap is read once more in a run, then its claims have the same past."""
    first = merge_claims(claim(now), ListedPageClaim(3, 5000, before), NOW)
    assert first.former == before
    assert merge_claims(claim(now), first, NOW) == first


def test_latest_date_of_a_sitemap_counts() -> None:
    """If a sitemap lists a page again and again, then its latest date counts."""
    first = merge_claims(claim("2024-01-01"), None, NOW)
    second = merge_claims(claim("2024-03-01"), first, NOW)
    assert merge_claims(claim("2024-02-01"), second, NOW) == second
    later = ListedPageClaim(6, 5000, "2024-01-01")
    assert merge_claims(later, second, NOW).lastmod == "2024-03-01"
    assert merge_claims(later, second, NOW).since == 5
    future = merge_claims(claim("2099"), second, NOW)
    assert merge_claims(later, future, NOW).lastmod == "2024-01-01"
