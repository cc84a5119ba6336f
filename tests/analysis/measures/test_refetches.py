"""Changes, lastmod accuracy and freshness of copies, from refetches."""

from __future__ import annotations

from email.utils import formatdate
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.analysis.measures.refetches import (
    CopyFreshness,
    FetchInterval,
    iter_intervals,
)
from rdfcrawl.analysis.measures.uri_facts import LastmodClaim, UriFacts, UriFetch
from tests.support.measuring import judge_lastmod, measure_copies

DAY_MS = 86_400_000


def uri(
    fetches: list[tuple[int, str]],
    claims: list[tuple[int, int | None]] | None = None,
) -> UriFacts:
    """Return a URL fetched on days, with these hashes and stated lastmods."""
    return UriFacts(
        domain="a.example",
        url="https://a.example/",
        fetches=tuple(
            UriFetch(started_ms=day * DAY_MS, content_hash=shown)
            for day, shown in fetches
        ),
        claims=tuple(
            LastmodClaim(read_ms=read, lastmod_ms=stated)
            for read, stated in claims or []
        ),
    )


def test_worked_example_of_the_specification() -> None:
    """If lastmod and content change in other intervals, then both measures are 0.

    Days 0 to 3, hashes A, A, B, B, stated L0, L1 > L0, L1, L1: claimed are yes, no,
    no, changed no, yes, no.
    """
    facts = uri(
        [(0, "A"), (1, "A"), (2, "B"), (3, "B")],
        [(0, -9 * DAY_MS), (DAY_MS, -8 * DAY_MS)],
    )
    found = list(iter_intervals(facts))
    assert [each.is_claimed for each in found] == [True, False, False]
    assert [each.content_changed for each in found] == [False, True, False]
    accuracy = judge_lastmod([facts])
    assert (accuracy.precision.numerator, accuracy.precision.denominator) == (0, 1)
    assert (accuracy.recall.numerator, accuracy.recall.denominator) == (0, 1)


@pytest.mark.parametrize(
    ("claims", "is_claimed"),
    [
        ([], False),
        ([(0, DAY_MS // 2)], True),
        ([(0, -5)], False),
        ([(0, -5), (DAY_MS, -4)], True),
        ([(0, -5), (DAY_MS, -6)], False),
        ([(DAY_MS, -5)], False),
        ([(DAY_MS, 5)], True),
        ([(0, -5), (DAY_MS, None)], False),
        ([(2 * DAY_MS, 2 * DAY_MS)], False),
    ],
    ids=[
        "none stated",
        "after the fetch",
        "before the fetch",
        "later than before",
        "earlier than before",
        "first stated, of before",
        "first stated, of after",
        "withdrawn",
        "stated too late",
    ],
)
def test_claims(claims: list[tuple[int, int | None]], *, is_claimed: bool) -> None:
    """If a lastmod rises or lies after the last fetch, then it claims a change."""
    (interval,) = iter_intervals(uri([(0, "A"), (1, "A")], claims))
    assert interval.is_claimed is is_claimed


def test_failures_and_304_lie_within_intervals() -> None:
    """If a fetch fails, then the interval goes on; a 304 ends it without a change."""
    fetches = (
        UriFetch(started_ms=0, content_hash="A"),
        UriFetch(started_ms=1, status="FAILED", http_status=500),
        UriFetch(started_ms=2, status="FAILED", content_hash="X"),
        UriFetch(started_ms=3, status="UNCHANGED", http_status=304),
        UriFetch(started_ms=5, status="PARTIAL", content_hash="B"),
    )
    facts = UriFacts(domain="a.example", url="u", fetches=fetches)
    assert list(iter_intervals(facts)) == [
        FetchInterval(0, 3, False, False, None),
        FetchInterval(3, 5, True, False, 4.0),
    ]


def test_unchanged_before_anything_is_known_says_nothing() -> None:
    """If the first fetch that is kept is a 304, then no interval begins with it."""
    fetches = (
        UriFetch(started_ms=0, status="UNCHANGED"),
        UriFetch(started_ms=1, content_hash="A"),
    )
    facts = UriFacts(domain="a.example", url="u", fetches=fetches)
    assert list(iter_intervals(facts)) == []


def test_latest_intervals_of_a_site_are_judged() -> None:
    """If a site has more intervals than are judged, then its oldest are left out."""
    honest = uri([(10, "A"), (11, "B")], [(0, 0), (11 * DAY_MS, 11 * DAY_MS)])
    liar = uri([(0, "A"), (1, "B"), (2, "C")])
    assert judge_lastmod([liar, honest], 1).recall.value == 1
    assert judge_lastmod([liar, honest]).recall.value == 1 / 3
    assert judge_lastmod([]).recall.value is None
    assert judge_lastmod([]).precision.value is None


def test_freshness_and_age_by_hand() -> None:
    """If copies were refetched, then freshness and age are as counted by hand.

    One of two was equal. The other changed in the middle of two days: its age is one.
    """
    found = measure_copies([uri([(0, "A"), (1, "A"), (3, "B")])])
    assert found.freshness.value == 0.5
    assert found.mean_age_secs.value == 43_200
    assert (found.fresh_ms, found.total_ms) == (2 * DAY_MS, 3 * DAY_MS)
    assert measure_copies([uri([(0, "A")])]).freshness.value is None


@pytest.mark.parametrize(
    ("modified_ms", "changed_ms"),
    [(8000, 8000), (None, 5000), (0, 5000), (11_000, 5000), (10_000, 10_000)],
)
def test_last_modified_tells_when_a_copy_aged(
    modified_ms: int | None, changed_ms: float
) -> None:
    """If `Last-Modified` lies in the interval, then it is the time of the change."""
    modified = (
        "" if modified_ms is None else formatdate(modified_ms / 1000, usegmt=True)
    )
    facts = UriFacts(
        domain="a.example",
        url="u",
        fetches=(
            UriFetch(started_ms=0, content_hash="A"),
            UriFetch(started_ms=10_000, content_hash="B", last_modified=modified),
        ),
    )
    (interval,) = iter_intervals(facts)
    assert interval.changed_ms == changed_ms


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from("ABC")), max_size=12),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=12),
)
def test_intervals_join_and_times_add_up(
    fetches: list[tuple[int, str]], claims: list[tuple[int, int]]
) -> None:
    """If a URL was fetched, then its intervals join and their times add up."""
    facts = uri(sorted(fetches), sorted(claims))
    found = list(iter_intervals(facts))
    assert len(found) == max(len(fetches) - 1, 0)
    for one, other in pairwise(found):
        assert one.end_ms == other.begin_ms
    copies = CopyFreshness()
    for each in found:
        copies.add(each)
    assert copies.fresh_ms + copies.age_ms == copies.total_ms
    accuracy = judge_lastmod([facts])
    assert accuracy.n_both <= min(accuracy.n_claimed, accuracy.n_changed)
