"""The measures of section 5.1.1, against sets and by hand."""

from __future__ import annotations

from dataclasses import replace
from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.analysis.measures.coverage import (
    CoverageCount,
    DomainCoverage,
    has_statements,
)
from rdfcrawl.analysis.measures.uri_facts import (
    NO_STATEMENTS,
    UriFacts,
    UriFetch,
    UriListing,
)
from tests.support.measuring import iter_coverage

LISTED = (UriListing(sitemap="https://d.example/map.xml", first_ms=1),)
READ = UriFetch(started_ms=2, n_statements=3)
EMPTY = UriFetch(started_ms=2, n_statements=0)
LOST = UriFetch(started_ms=2, status="FAILED", http_status=404)
MOVED = UriFetch(
    started_ms=3, status="UNCHANGED", content_hash="2", statements_hash="2"
)
SAME_304 = UriFetch(started_ms=9, status="UNCHANGED", http_status=304)
BARE = replace(MOVED, statements_hash=NO_STATEMENTS)


def uri(
    name: str,
    ways: str,
    fetch: UriFetch | None = None,
    *,
    cluster: str = "",
    rank: float | None = None,
) -> UriFacts:
    """Return a URL seen by `S`itemaps, by `D`iscovery or by both."""
    return UriFacts(
        domain="d.example",
        url=name,
        first_linked_ms=1 if "D" in ways else None,
        listings=LISTED if "S" in ways else (),
        fetches=(fetch,) if fetch else (),
        cluster=cluster,
        pagerank=rank,
    )


def measure(*facts: UriFacts) -> DomainCoverage:
    """Return the measures of one domain."""
    count = CoverageCount("d.example")
    for each in facts:
        count.add(each)
    return count.result()


# Seen: a to h. Crawled: all but g and h. Clusters: {a, b}, {c, d}, e, f.
SITE = (
    uri("a", "S", READ, cluster="a", rank=0.25),
    uri("b", "D", READ, cluster="a", rank=0.125),
    uri("c", "D", READ, cluster="c", rank=0.125),
    uri("d", "D", EMPTY, cluster="c"),
    uri("e", "SD", READ, rank=0.25),
    uri("f", "D", LOST),
    uri("g", "S", rank=0.125),
    uri("h", "D", rank=0.125),
)


def test_formulas_by_hand() -> None:
    """If a site is counted by hand, then (1) to (5) are the same.

    Crawled 6, of these listed a and e. Unique 4: {a b}, {c d}, e, f; listed two of
    them. Indexed a, c, e: f failed; listed a and e. PageRank 1, listed a, e and g.
    """
    found = measure(*SITE)
    assert (found.coverage.numerator, found.coverage.denominator) == (2, 6)
    assert (found.unique_coverage.numerator, found.unique_coverage.denominator) == (
        2,
        4,
    )
    assert (found.index_coverage.numerator, found.index_coverage.denominator) == (2, 3)
    assert found.pagerank_coverage.value == 0.625
    assert found.both.signal_to_noise.value == 4 / 8
    assert found.listed.signal_to_noise.value == 2 / 3
    assert found.linked.signal_to_noise.value == 4 / 6


def test_efficiency_and_utility_by_hand() -> None:
    """If a site is counted by hand, then efficiency and utility are the same.

    Discovery crawled b to f, and found four clusters. Utility: (2/3) / (2/4).
    """
    found = measure(*SITE)
    assert found.linked.efficiency.value == 4 / 5
    assert found.listed.efficiency.value == 1
    assert found.both.efficiency.value == 4 / 6
    assert found.utility.value == pytest.approx((2 / 3) / (2 / 4))


def test_domain_without_sitemaps_has_zeros() -> None:
    """If no sitemap lists anything, then shares are 0 unless they are undefined."""
    found = measure(uri("a", "D", READ, rank=0.5))
    assert found.coverage.value == 0
    assert found.unique_coverage.value == 0
    assert found.index_coverage.value == 0
    assert found.pagerank_coverage.value == 0
    assert found.both.signal_to_noise.value == 1
    assert found.listed.signal_to_noise.value is None
    assert found.listed.efficiency.value is None
    assert found.utility.value is None


def test_empty_denominators_are_undefined() -> None:
    """If nothing was crawled, then no measure but (5) has a value."""
    found = measure(uri("a", "SD"))
    ratios = (
        found.coverage,
        found.unique_coverage,
        found.index_coverage,
        found.pagerank_coverage,
        found.utility,
        found.both.efficiency,
    )
    assert [ratio.value for ratio in ratios] == [None] * 6
    assert found.both.signal_to_noise.value == 0
    assert measure().both.signal_to_noise.value is None


def test_url_of_both_ways_counts_in_both_and_once() -> None:
    """If sitemaps and links name a URL, then both have it, and the domain once."""
    found = measure(uri("a", "SD", READ))
    assert found.both == found.listed == found.linked
    assert found.both.crawled == 1


def test_representative_elsewhere_is_not_indexed_here() -> None:
    """If a mirror's pages have their representative elsewhere, then it has none."""
    found = measure(uri("a", "S", READ, cluster="https://other.example/a"))
    assert (found.both.unique, found.both.indexed) == (1, 0)


def test_another_index_rule_decides() -> None:
    """If the operator has another rule, then it decides which pages are indexed."""
    facts = [uri("a", "S", READ), uri("b", "S", LOST)]
    (found,) = iter_coverage(facts, lambda each: each.url == "b")
    assert found.both.indexed == 1


@pytest.mark.parametrize(
    ("fetches", "expected"),
    [
        ((), False),
        ((READ,), True),
        ((EMPTY,), False),
        ((READ, LOST), False),
        ((LOST, READ), True),
        ((READ, SAME_304), True),
        ((EMPTY, MOVED, SAME_304), True),
        ((READ, BARE, SAME_304), False),
    ],
    ids=[
        *("never", "read", "empty", "lost since", "found again", "unchanged"),
        *("redirected to statements", "redirected to a page without any"),
    ],
)
def test_indexed_is_present_content_with_statements(
    fetches: tuple[UriFetch, ...], *, expected: bool
) -> None:
    """If the content of the last fetch has statements, then the URL is indexed."""
    facts = UriFacts(domain="d.example", url="u", fetches=fetches)
    assert has_statements(facts) is expected


def test_domains_are_measured_apart() -> None:
    """If facts come domain by domain, then each domain has its own measures."""
    other = UriFacts(domain="e.example", url="x", fetches=(READ,))
    found = list(iter_coverage([*SITE, other]))
    assert [each.domain for each in found] == ["d.example", "e.example"]
    assert found[0] == measure(*SITE)
    assert found[1].both.crawled == 1


URIS = st.lists(
    st.tuples(
        st.sampled_from(["S", "D", "SD"]),
        st.sampled_from([None, READ, EMPTY, LOST]),
        st.integers(0, 6),
        st.one_of(st.none(), st.floats(0, 1)),
    ),
    max_size=25,
)


@given(URIS)
def test_formulas_equal_their_definition_by_sets(
    drawn: list[tuple[str, UriFetch | None, int, float | None]],
) -> None:
    """If sets are formed by the paper's definitions, then their sizes are equal."""
    heads: dict[int, str] = {}
    facts = []
    for place, (ways, fetch, group, rank) in enumerate(drawn):
        cluster = heads.setdefault(group, f"u{place}") if fetch else ""
        facts.append(uri(f"u{place}", ways, fetch, cluster=cluster, rank=rank))
    crawled = {x for x in facts if x.fetches}
    seen_s = {x for x in facts if x.listings}
    clusters = {x.cluster for x in crawled}
    unique_s = {x.cluster for x in crawled & seen_s}
    indexed = {x.url for x in crawled if x.url == x.cluster and x.fetches[0] is READ}
    found = measure(*facts)
    assert found.coverage.numerator == len(crawled & seen_s)
    assert found.coverage.denominator == len(crawled)
    assert found.unique_coverage.numerator == len(unique_s)
    assert found.unique_coverage.denominator == len(clusters)
    assert found.index_coverage.numerator == len(indexed & unique_s)
    assert found.index_coverage.denominator == len(indexed)
    assert found.both.signal_to_noise.denominator == len(facts)
    ranked = [x for x in facts if x.pagerank is not None]
    assert found.pagerank == fsum(x.pagerank or 0 for x in ranked)
    assert found.pagerank_listed == fsum(x.pagerank or 0 for x in ranked if x.listings)


@given(URIS)
def test_states_and_shares_are_nested(
    drawn: list[tuple[str, UriFetch | None, int, float | None]],
) -> None:
    """If URLs are counted, then each state is a part of the one before."""
    facts = [
        uri(f"u{n}", ways, fetch, cluster=f"u{group}" if fetch else "", rank=rank)
        for n, (ways, fetch, group, rank) in enumerate(drawn)
    ]
    found = measure(*facts)
    for sizes in (found.both, found.listed, found.linked):
        assert sizes.seen >= sizes.crawled >= sizes.unique >= sizes.indexed
    for ratio in (found.coverage, found.unique_coverage, found.index_coverage):
        assert ratio.value is None or 0 <= ratio.value <= 1
