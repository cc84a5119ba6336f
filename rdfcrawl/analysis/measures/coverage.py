"""Coverage: the part of a domain that its sitemaps list (section 5.1.1).

Sets of URLs by state, each a subset of the previous one: Seen, Crawled, Unique,
Indexed. The suffix `_S` means URLs in sitemaps, `_D` URLs found by links. A URL known
both ways is in both sets, whichever of them queued it first.

Unique counts clusters of duplicates. A cluster is in Unique_S if any of its crawled
members is in Seen_S, and is indexed if its representative is.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from heapq import nsmallest
from math import log
from statistics import StatisticsError, correlation
from typing import Final

from rdfcrawl.analysis.measures.ratio import ExactSum, MeasuredRatio
from rdfcrawl.analysis.measures.uri_facts import UriFacts, last_read, stored_statements
from rdfcrawl.uri.parse import fingerprint

IndexRule = Callable[[UriFacts], bool]
"""Whether a crawled URL counts as indexed; a crawler has no index."""

_LISTED: Final = 1
_LINKED: Final = 2
_INDEXED: Final = 4
SAMPLE_SIZE: Final = 3000  # as in the paper, of 300,000 missed URLs


def has_statements(facts: UriFacts) -> bool:
    """Return whether the present content has statements.

    Without any fetch that stored them, the URL is redirected to a page that has them.
    """
    last, n_stored = last_read(facts.fetches), stored_statements(facts.fetches)
    return bool(last and (last.has_statements if n_stored is None else n_stored))


@dataclass(frozen=True, slots=True)
class StateSizes:
    """Sizes of the sets of URLs of one domain, of `_S`, of `_D`, or of both."""

    seen: int = 0
    crawled: int = 0
    unique: int = 0
    indexed: int = 0

    @property
    def signal_to_noise(self) -> MeasuredRatio:
        """Formula (5): |Unique(D)| / |Seen(D)|."""
        return MeasuredRatio(self.unique, self.seen)

    @property
    def efficiency(self) -> MeasuredRatio:
        """Unique pages for each URL crawled (section 4.1): |Unique| / |Crawled|."""
        return MeasuredRatio(self.unique, self.crawled)


@dataclass(frozen=True, slots=True)
class DomainCoverage:
    """The measures of section 5.1.1 for one domain.

    Attributes:
        both: union of the two, each URL once.
        listed: by sitemaps.
        linked: by Discovery.
        pagerank: of all URLs that are nodes of the graph, crawled or not.
        pagerank_listed: of those that sitemaps list.
    """

    domain: str
    both: StateSizes = StateSizes()
    listed: StateSizes = StateSizes()
    linked: StateSizes = StateSizes()
    pagerank: float = 0.0
    pagerank_listed: float = 0.0

    @property
    def coverage(self) -> MeasuredRatio:
        """Formula (1): |Crawled_S(D)| / |Crawled(D)|."""
        return MeasuredRatio(self.listed.crawled, self.both.crawled)

    @property
    def unique_coverage(self) -> MeasuredRatio:
        """Formula (2): |Unique_S(D)| / |Unique(D)|."""
        return MeasuredRatio(self.listed.unique, self.both.unique)

    @property
    def index_coverage(self) -> MeasuredRatio:
        """Formula (3): |Indexed_S(D)| / |Indexed(D)|."""
        return MeasuredRatio(self.listed.indexed, self.both.indexed)

    @property
    def pagerank_coverage(self) -> MeasuredRatio:
        """Formula (4): the PageRank of URLs in sitemaps / that of all URLs."""
        return MeasuredRatio(self.pagerank_listed, self.pagerank)

    @property
    def utility(self) -> MeasuredRatio:
        """IndexCoverage / UniqueCoverage (section 6.3.1): above 1 favours sitemaps.

        As one quotient: |Indexed_S| * |Unique| / (|Unique_S| * |Indexed|).
        """
        return MeasuredRatio(
            self.listed.indexed * self.both.unique,
            self.listed.unique * self.both.indexed,
        )


@dataclass(slots=True)
class CoverageCount:
    """Counts of the URLs of one domain; add each URL once, in any order.

    Memory: some 100 bytes for each cluster of duplicates; other URLs are only counted.
    """

    domain: str
    is_indexed: IndexRule = has_statements
    _seen: list[int] = field(default_factory=lambda: [0, 0, 0])
    _crawled: list[int] = field(default_factory=lambda: [0, 0, 0])
    _unique: list[int] = field(default_factory=lambda: [0, 0, 0])
    _indexed: list[int] = field(default_factory=lambda: [0, 0, 0])
    _clusters: dict[int, int] = field(default_factory=dict)
    _pagerank: ExactSum = field(default_factory=ExactSum)
    _pagerank_listed: ExactSum = field(default_factory=ExactSum)

    def add(self, facts: UriFacts) -> None:
        """Count one URL of the domain."""
        ways = _LISTED * facts.is_listed | _LINKED * facts.is_linked
        _count(self._seen, ways)
        if facts.pagerank is not None:
            self._pagerank.add(facts.pagerank)
            if facts.is_listed:
                self._pagerank_listed.add(facts.pagerank)
        if not facts.is_crawled:
            return
        _count(self._crawled, ways)
        if facts.is_representative and self.is_indexed(facts):
            ways |= _INDEXED
        if facts.cluster:
            key = fingerprint(facts.cluster)
            self._clusters[key] = self._clusters.get(key, 0) | ways
        else:
            self._count_cluster(self._unique, self._indexed, ways)

    @staticmethod
    def _count_cluster(unique: list[int], indexed: list[int], ways: int) -> None:
        _count(unique, ways)
        if ways & _INDEXED:
            _count(indexed, ways)

    def result(self) -> DomainCoverage:
        """Return the measures of the URLs added so far."""
        unique, indexed = self._unique.copy(), self._indexed.copy()
        for ways in self._clusters.values():
            self._count_cluster(unique, indexed, ways)
        both, listed, linked = (
            StateSizes(*counts)
            for counts in zip(self._seen, self._crawled, unique, indexed, strict=True)
        )
        return DomainCoverage(
            self.domain,
            both=both,
            listed=listed,
            linked=linked,
            pagerank=self._pagerank.value,
            pagerank_listed=self._pagerank_listed.value,
        )


def _count(counts: list[int], ways: int) -> None:
    """Count a URL in both, in sitemaps and in Discovery."""
    counts[0] += 1
    counts[1] += bool(ways & _LISTED)
    counts[2] += bool(ways & _LINKED)


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


@dataclass(slots=True)
class CoverageSummary:
    """Summary of figures 3 to 5; each added domain takes 16 bytes.

    Attributes:
        n_half: domains whose UniqueCoverage is above 0.5; the paper found 46 %.
        n_most: above 0.9; the paper found 12 %.
        n_above: above the diagonal of figure 5(b): IndexCoverage is above
            UniqueCoverage.
        n_compared: domains that have both.
    """

    n_half: int = 0
    n_most: int = 0
    n_above: int = 0
    n_compared: int = 0
    _log_sizes: array[float] = field(default_factory=lambda: array("d"))
    _coverages: array[float] = field(default_factory=lambda: array("d"))

    def add(self, domain: DomainCoverage) -> None:
        """Count one domain; domains without UniqueCoverage are ignored."""
        unique = domain.unique_coverage.value
        if unique is None:
            return
        self._log_sizes.append(log(domain.both.seen))
        self._coverages.append(unique)
        self.n_half += unique > 0.5
        self.n_most += unique > 0.9
        indexed = domain.index_coverage.value
        if indexed is not None:
            self.n_compared += 1
            self.n_above += indexed > unique

    @property
    def half_share(self) -> MeasuredRatio:
        """The share of domains with UniqueCoverage above 0.5."""
        return MeasuredRatio(self.n_half, len(self._coverages))

    @property
    def most_share(self) -> MeasuredRatio:
        """The share of domains with UniqueCoverage above 0.9."""
        return MeasuredRatio(self.n_most, len(self._coverages))

    @property
    def above_share(self) -> MeasuredRatio:
        """The share of domains above the diagonal of figure 5(b)."""
        return MeasuredRatio(self.n_above, self.n_compared)

    @property
    def size_correlation(self) -> float | None:
        """Pearson's r of log DomainSize and UniqueCoverage; None if undefined."""
        try:
            return correlation(self._log_sizes, self._coverages)
        except StatisticsError:  # fewer than two domains, or all equal
            return None
