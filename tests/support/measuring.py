"""Measures of the facts of domains, by the classes that the report uses."""

from __future__ import annotations

from heapq import nlargest
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from rdfcrawl.analysis.measures.coverage import (
    CoverageCount,
    DomainCoverage,
    IndexRule,
    has_statements,
)
from rdfcrawl.analysis.measures.first_seen import FirstSeenCount
from rdfcrawl.analysis.measures.refetches import (
    N_LATEST,
    CopyFreshness,
    LastmodAccuracy,
    iter_intervals,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfcrawl.analysis.measures.uri_facts import UriFacts


def iter_coverage(
    facts: Iterable[UriFacts], is_indexed: IndexRule = has_statements
) -> Iterator[DomainCoverage]:
    """Yield the measures of each domain; facts must be grouped by domain."""
    for domain, uris in groupby(facts, key=attrgetter("domain")):
        count = CoverageCount(domain, is_indexed)
        for each in uris:
            count.add(each)
        yield count.result()


def count_first_seen(facts: Iterable[UriFacts]) -> FirstSeenCount:
    """Return the first sightings of some URLs."""
    count = FirstSeenCount()
    for each in facts:
        count.add(each)
    return count


def judge_lastmod(
    facts: Iterable[UriFacts], n_latest: int = N_LATEST
) -> LastmodAccuracy:
    """Return the accuracy of a site's lastmod values over its latest intervals."""
    intervals = (each for uri in facts for each in iter_intervals(uri))
    latest = nlargest(n_latest, intervals, key=lambda each: each.end_ms)
    return LastmodAccuracy.of(latest)


def measure_copies(facts: Iterable[UriFacts]) -> CopyFreshness:
    """Return the freshness of the copies of a site, or of all sites."""
    found = CopyFreshness()
    for uri in facts:
        for interval in iter_intervals(uri):
            found.add(interval)
    return found
