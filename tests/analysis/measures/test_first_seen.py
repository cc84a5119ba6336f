"""The measures of section 5.2: who sees a URL first."""

from __future__ import annotations

import pytest

from rdfcrawl.analysis.measures.first_seen import (
    FirstSeenCount,
    SamplingPeriod,
)
from rdfcrawl.analysis.measures.uri_facts import (
    SitemapOrigin,
    UriFacts,
    UriListing,
)

DAY_MS = 86_400_000


def uri(
    listed_ms: int | None,
    linked_ms: int | None,
    *,
    origin: SitemapOrigin = SitemapOrigin.ROBOTS,
    domain: str = "a.example",
) -> UriFacts:
    """Return a URL that is first seen at these times."""
    listing = [] if listed_ms is None else [(listed_ms, origin)]
    return UriFacts(
        domain=domain,
        url="https://a.example/",
        first_linked_ms=linked_ms,
        listings=tuple(
            UriListing(sitemap="map", first_ms=ms, found_by=found_by)
            for ms, found_by in listing
        ),
    )


def count(*facts: UriFacts, period: SamplingPeriod | None = None) -> FirstSeenCount:
    """Return the measures of some URLs."""
    found = FirstSeenCount(period or SamplingPeriod())
    for each in facts:
        found.add(each)
    return found


@pytest.mark.parametrize(
    ("listed_ms", "linked_ms", "delta_secs", "first"),
    [
        (10_000, 70_000, 60, (1, 0, 0)),
        (70_000, 10_000, -60, (0, 1, 0)),
        (10_000, 10_999, 0, (0, 0, 1)),
        (10_999, 11_000, 1, (1, 0, 0)),
    ],
    ids=["sitemap first", "link first", "same second", "next second"],
)
def test_sign_of_seen_delta(
    listed_ms: int, linked_ms: int, delta_secs: int, first: tuple[int, int, int]
) -> None:
    """If one way sees a URL first, then the sign of (6) says which."""
    found = count(uri(listed_ms, linked_ms))
    assert found.delta_secs == delta_secs
    assert (found.n_listed_first, found.n_linked_first, found.n_ties) == first


def test_seen_delta_is_of_urls_seen_both_ways() -> None:
    """If only one way sees a URL, then it is in no sum, only in its histogram."""
    found = count(uri(0, None), uri(None, DAY_MS), uri(0, 2 * DAY_MS), uri(DAY_MS, 0))
    assert found.n_both == 2
    assert found.delta_secs == 86_400
    assert found.mean_delta_secs.value == 43_200
    assert found.listed_days == {0: 2, 1: 1}
    assert found.linked_days == {0: 1, 1: 1, 2: 1}
    assert found.day_pairs == {(0, 2): 1, (1, 0): 1}


def test_no_url_of_both_ways_has_no_mean() -> None:
    """If D_T is empty, then its sum is 0 and its mean undefined."""
    found = count(uri(5, None))
    assert (found.delta_secs, found.mean_delta_secs.value) == (0, None)
    shown = found.share_by_ping(is_listed_first=True, is_by_ping=True)
    assert shown.value is None


def test_period_has_its_begin_and_not_its_end() -> None:
    """If T is an interval, then both times of a URL lie in it, or it is left out."""
    period = SamplingPeriod(10_000, 20_000)
    inside = uri(10_000, 19_999)
    found = count(inside, uri(9_999, 15_000), uri(15_000, 20_000), period=period)
    assert (found.n_both, found.delta_secs) == (1, 9)


def test_table_of_ping_by_hand() -> None:
    """If sitemaps came by ping or not, then figure 7 has its four shares."""
    ping = SitemapOrigin.PING
    found = count(
        uri(0, 5_000, origin=ping),
        uri(0, 5_000),
        uri(0, 5_000),
        uri(5_000, 0, origin=ping),
        uri(5_000, 0),
    )
    cells = [
        found.share_by_ping(is_listed_first=first, is_by_ping=by_ping).value
        for first in (True, False)
        for by_ping in (True, False)
    ]
    assert cells == [0.2, 0.4, 0.2, 0.2]
    assert found.listed_first_share(is_by_ping=True).value == 1 / 2
    assert found.listed_first_share(is_by_ping=False).value == 2 / 3
