"""Clusters of near-duplicates."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.analysis.duplicates.clusters import (
    MAX_COMPARED,
    NEAR_DUPLICATE,
    ContentPrint,
    find_clusters,
    find_related,
)
from rdfcrawl.rdf.fingerprints import read_sketch

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def changed(n: int, *, begin: int = 0) -> str:
    """Return a sketch that differs from `DIGITS` at `n` places."""
    new = {(begin + place) % 64 for place in range(n)}
    return "".join(DIGITS[n - 1] if n in new else x for n, x in enumerate(DIGITS))


def content(url: str, sketch: str) -> ContentPrint:
    """Return the print of a document that has only a sketch."""
    return ContentPrint(url=url, sketch=read_sketch(sketch))


def similarity(one: ContentPrint, other: ContentPrint) -> float:
    """Return the resemblance of two documents."""
    assert one.sketch
    assert other.sketch
    return one.sketch.resemblance(other.sketch)


@pytest.mark.parametrize(("n", "is_near"), [(0, True), (6, True), (7, False)])
def test_threshold_of_resemblance(n: int, *, is_near: bool) -> None:
    """If at most 6 of 64 minima differ, then two documents are near-duplicates."""
    found = list(find_clusters([content("a", DIGITS), content("b", changed(n))]))
    assert found == ([("a", "b")] if is_near else [])


def test_equal_hashes_are_one_cluster_without_sketches() -> None:
    """If hashes are equal, then documents are duplicates; empty ones are not."""
    prints = [
        ContentPrint(url="a", text_hash="1"),
        ContentPrint(url="b"),
        ContentPrint(url="c", text_hash="1"),
        ContentPrint(url="d"),
    ]
    assert list(find_clusters(prints)) == [("a", "c")]


def test_redirects_join_source_and_target() -> None:
    """If a URL redirects, then it is in the cluster of all that it led to."""
    prints = [
        ContentPrint(url="a", redirects_to=("b", "c")),
        ContentPrint(url="c", text_hash="1"),
        ContentPrint(url="d", text_hash="1"),
    ]
    assert list(find_clusters(prints)) == [("a", "b", "c", "d")]


def test_clusters_hang_together_by_pairs() -> None:
    """If a is near b and b near c, then all three are one cluster."""
    chain = [
        content("a", DIGITS),
        content("b", changed(6)),
        content("c", changed(12)),
    ]
    assert similarity(chain[0], chain[2]) < NEAR_DUPLICATE
    assert list(find_clusters(chain)) == [("a", "b", "c")]


def test_clusters_without_members_or_of_one_do_not_come() -> None:
    """If nothing is a duplicate, then there are no clusters."""
    assert list(find_clusters([])) == []
    assert list(find_clusters([content("a", DIGITS)])) == []


@given(st.integers(0, 2**32), st.integers(0, 14))
def test_clusters_equal_those_of_all_pairs(seed: int, n_most: int) -> None:
    """If all pairs are compared, then the clusters are those that bands find."""
    dice = random.Random(seed)
    prints = [
        content(f"u{n}", changed(dice.randrange(n_most + 1), begin=dice.randrange(64)))
        for n in range(12)
    ]
    groups = {each.url: {each.url} for each in prints}
    for one, other in combinations(prints, 2):
        if similarity(one, other) >= NEAR_DUPLICATE:
            both = groups[one.url] | groups[other.url]
            groups |= dict.fromkeys(both, both)
    expected = {tuple(sorted(x)) for x in groups.values() if len(x) > 1}
    dice.shuffle(prints)
    assert list(find_clusters(prints)) == sorted(expected)


def test_crowded_band_is_compared_with_a_bound() -> None:
    """If thousands share a band, then comparisons stay few and exact copies are found.

    The documents are equal in one band and differ elsewhere: a template.
    """
    n_pages = 8 * MAX_COMPARED

    def digits(n: int) -> str:
        return "".join(DIGITS[n >> 6 * k & 63] for k in range(4))

    prints = [
        content(f"u{n:05}", "".join(digits(n * k * 7919 + k) for k in range(16)))
        for n in range(n_pages)
    ]
    copy = ContentPrint(url="v", sketch=prints[-1].sketch)
    assert list(find_clusters([*prints, copy])) == [(prints[-1].url, "v")]


@pytest.mark.parametrize(("n", "is_related"), [(7, True), (18, True), (19, False)])
def test_threshold_of_related_contents(n: int, *, is_related: bool) -> None:
    """If at most 18 of 64 minima differ, then a document is found to resemble one."""
    prints = [
        content("a", DIGITS),
        content("b", changed(n)),
        content("c", changed(n)),
        ContentPrint(url="d", text_hash="1"),
    ]
    found = {url: sorted(some) for url, some in find_related(prints, {"a", "d"})}
    assert found == {"a": ["a", "b", "c"] if is_related else ["a"]}
