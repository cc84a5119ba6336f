"""Policies by which pages are due after an interval."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.analysis.measures.uri_facts import UriFacts, UriFetch
from rdfcrawl.analysis.refresh.policy import (
    DAY_MS,
    HOUR_MS,
    STORMCRAWLER,
    AdaptiveInterval,
    FixedInterval,
    RefreshEpoch,
    last_fetched_ms,
)

PLAIN = AdaptiveInterval(first_ms=100, least_ms=10, most_ms=1000, synchronization=None)


def page(url: str, *fetches: tuple[int, str]) -> UriFacts:
    """Return a page fetched at these times with these hashes."""
    return UriFacts(
        domain="a.example",
        url=url,
        fetches=tuple(UriFetch(started_ms=ms, content_hash=x) for ms, x in fetches),
    )


def test_fixed_interval_takes_the_most_overdue() -> None:
    """If more pages are due than the budget allows, then the oldest are fetched."""
    pages = [page("a", (50, "")), page("b", (10, "")), page("c", (30, ""))]
    pages.append(page("d", (30, "")))
    epoch = RefreshEpoch(now_ms=130, n_fetches=2)
    assert FixedInterval(100).choose(lambda: pages, epoch) == ["b", "c"]
    later = RefreshEpoch(now_ms=130, n_fetches=9)
    assert FixedInterval(100).choose(lambda: pages, later) == ["b", "c", "d"]


def test_page_that_was_never_fetched_is_due_first() -> None:
    """If a page has no fetch, then it counts as one of 1970."""
    assert last_fetched_ms(page("a")) == 0


@pytest.mark.parametrize(
    ("policy", "contents", "interval_ms"),
    [
        (PLAIN, "A", 100),
        (PLAIN, "AA", 140),
        (PLAIN, "AAA", 196),
        (PLAIN, "AB", 80),
        (PLAIN, "ABB", 112),
        (PLAIN, "ABCDEFGHIJKLMNOPQRS", 10),
        (PLAIN, "A" * 30, 1000),
        (STORMCRAWLER, "AB", 12 * HOUR_MS),
        (STORMCRAWLER, "AA", 36 * HOUR_MS),
        (STORMCRAWLER, "ABCDEFGHI", HOUR_MS),
        (STORMCRAWLER, "A" * 30, 14 * DAY_MS),
    ],
)
def test_interval_adapts(
    policy: AdaptiveInterval, contents: str, interval_ms: int
) -> None:
    """If a page changes, then its interval shrinks; if not, then it grows."""
    fetched = page("a", *enumerate(contents))
    due_ms = policy.due_ms(fetched)
    assert due_ms - last_fetched_ms(fetched) == pytest.approx(interval_ms)


def test_synchronization_as_nutch_does_it() -> None:
    """If a page is unchanged for long, then Nutch's rule is followed.

    Fetched at 0, 100 (changed), 300 (not): after 100 the interval is 80. After 300 it
    is 112, but 200 have passed since the change: 200, from 300 - 0.3 * 200 on.
    """
    nutch = AdaptiveInterval(first_ms=100, least_ms=10, most_ms=1000)
    assert nutch.due_ms(page("a", (0, "A"), (100, "B"))) == pytest.approx(180)
    unchanged = page("a", (0, "A"), (100, "B"), (300, "B"))
    assert nutch.due_ms(unchanged) == pytest.approx(300 - 60 + 200)


def test_adaptive_pages_are_chosen_when_due() -> None:
    """If a page changes and another does not, then the first is due sooner."""
    pages = [page("a", (0, "A"), (100, "A")), page("b", (0, "A"), (100, "B"))]
    epoch = RefreshEpoch(now_ms=190, n_fetches=5)
    assert PLAIN.choose(lambda: pages, epoch) == ["b"]


@given(st.text("AB", max_size=20), st.integers(1, 500))
def test_adaptive_intervals_stay_in_their_bounds(contents: str, step_ms: int) -> None:
    """If a page has any history, then its interval is within the bounds."""
    fetched = page("a", *((n * step_ms, x) for n, x in enumerate(contents)))
    interval_ms = PLAIN.due_ms(fetched) - last_fetched_ms(fetched)
    assert 10 - 1e-9 <= interval_ms <= 1000 + 1e-9
