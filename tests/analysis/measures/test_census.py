"""The census of a domain, and the classes of pages missing from its sitemaps."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from rdfcrawl.analysis.measures.coverage import DomainCensus, sample_missed, take_census
from rdfcrawl.analysis.measures.domain_clusters import MissedClass, classify_missed
from rdfcrawl.analysis.measures.uri_facts import UriFacts, UriFetch, UriListing

LISTED = (UriListing(sitemap="map", first_ms=1),)
FETCHED = (UriFetch(started_ms=2),)
FAILED = UriFetch(started_ms=2, status="FAILED")
URL = "https://a.example/x?id=1"


def uri(
    name: str, *, is_listed: bool, is_crawled: bool = True, cluster: str = ""
) -> UriFacts:
    """Return a URL of the domain."""
    return UriFacts(
        domain="a.example",
        url=name,
        listings=LISTED if is_listed else (),
        fetches=FETCHED if is_crawled else (),
        cluster=cluster,
    )


def test_census_by_hand() -> None:
    """If a domain is counted by hand, then the census is the same."""
    facts = [
        uri("a", is_listed=True, cluster="a"),
        uri("b", is_listed=True, cluster="a"),
        uri("c", is_listed=False, cluster="a"),
        uri("d", is_listed=False),
        uri("e", is_listed=False, is_crawled=False),
        uri("f", is_listed=True, is_crawled=False),
    ]
    found = take_census(facts)
    assert found == DomainCensus(
        n_crawled=4,
        n_seen_listed=3,
        n_crawled_listed=2,
        n_listed_duplicates=1,
        n_missed=2,
        n_missed_duplicates=1,
    )
    assert found.n_missed_content == 1
    assert [each.url for each in sample_missed(facts)] == ["d"]


def test_redirects_are_missed_content_and_no_duplicates() -> None:
    """If a missed URL redirects into a cluster, then it is among the missed content."""
    away = replace(uri("b", is_listed=False, cluster="a"), redirects_to="a")
    left = UriFetch(started_ms=2, status="REDIRECTED")
    facts = [
        uri("a", is_listed=True, cluster="a"),
        away,
        replace(uri("c", is_listed=False, cluster="a"), fetches=(left,)),
    ]
    found = take_census(facts)
    assert (found.n_missed, found.n_missed_duplicates) == (2, 0)
    assert [each.url for each in sample_missed(facts)] == ["b", "c"]


def test_sample_does_not_depend_on_order() -> None:
    """If URLs come in another order, then the sample is the same."""
    facts = [uri(f"u{n}", is_listed=False) for n in range(100)]
    sample = sample_missed(facts, 10)
    random.Random(1).shuffle(facts)
    assert sample_missed(facts, 10) == sample
    assert len(sample) == 10


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"fetches": (FAILED,), "redirects_to": "https://b.example/"}, "ERROR"),
        ({"is_error_page": True}, "ERROR"),
        ({"redirects_to": "https://b.example/", "copies": (f"{URL}&q=2",)}, "REDIRECT"),
        ({"copies": ("https://a.example/y", "https://a.example/x")}, "PARAMETER"),
        ({"copies": ("https://a.example/y?id=1",)}, "DUPLICATE"),
        ({"n_words": 100, "n_linked_words": 51}, "CONTENTS"),
        ({"n_words": 100, "n_linked_words": 50}, "CONTENT"),
        ({"n_images": 1}, "IMAGES"),
        ({"containment": 0.9}, "SUBSET"),
        ({"containment": 0.89}, "CONTENT"),
        ({}, "CONTENT"),
    ],
)
def test_first_rule_that_fits_decides(facts: dict[str, Any], expected: str) -> None:
    """If rules of table 2 fit a page, then it is of the first class."""
    given: dict[str, Any] = {"fetches": FETCHED, **facts}
    page = UriFacts(domain="a.example", url=URL, **given)
    assert classify_missed(page) is MissedClass[expected]
