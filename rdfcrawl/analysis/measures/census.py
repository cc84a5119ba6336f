"""Census of a domain: URLs that its sitemaps list and miss (section 5.1.2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rdfcrawl.analysis.measures.uri_facts import UriFacts

SAMPLE_SIZE: Final = 3000  # as in the paper, of 300,000 missed URLs


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainCensus:
    """Numbers of URLs of a domain by state, as for pubmedcentral.nih.gov in the paper.

    Attributes:
        n_crawled: listed or linked.
        n_seen_listed: |Seen_S|.
        n_crawled_listed: of these.
        n_listed_duplicates: of these, represented by another URL; no redirects.
        n_missed: crawled, and in no sitemap.
        n_missed_duplicates: of these, represented by another URL; no redirects.
    """

    n_crawled: int = 0
    n_seen_listed: int = 0
    n_crawled_listed: int = 0
    n_listed_duplicates: int = 0
    n_missed: int = 0
    n_missed_duplicates: int = 0

    @property
    def n_missed_content(self) -> int:
        """Missed URLs that are no duplicates: candidates for missing content."""
        return self.n_missed - self.n_missed_duplicates


def is_missed_content(facts: UriFacts) -> bool:
    """Return whether a URL was crawled, is in no sitemap, and is no duplicate."""
    return facts.is_crawled and not facts.is_listed and not facts.is_duplicate


def take_census(facts: Iterable[UriFacts]) -> DomainCensus:
    """Return the census of one domain."""
    seen_listed = crawled_listed = listed_twice = missed = missed_twice = 0
    for each in facts:
        seen_listed += each.is_listed
        if not each.is_crawled:
            continue
        if each.is_listed:
            crawled_listed += 1
            listed_twice += each.is_duplicate
        else:
            missed += 1
            missed_twice += each.is_duplicate
    return DomainCensus(
        n_crawled=crawled_listed + missed,
        n_seen_listed=seen_listed,
        n_crawled_listed=crawled_listed,
        n_listed_duplicates=listed_twice,
        n_missed=missed,
        n_missed_duplicates=missed_twice,
    )


def sample_missed(facts: Iterable[UriFacts], size: int = SAMPLE_SIZE) -> list[UriFacts]:
    """Return a sample of the missed content, independent of the order of URLs.

    It consists of the URLs with the smallest hashes; only `size` URLs are in memory.
    """
    found = nsmallest(size, filter(is_missed_content, facts), key=_hash_of)
    return sorted(found, key=lambda each: each.url)


def _hash_of(facts: UriFacts) -> tuple[bytes, str]:
    return blake2b(facts.url.encode(), digest_size=8).digest(), facts.url
