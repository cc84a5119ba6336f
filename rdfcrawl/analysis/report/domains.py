"""Aggregate the facts of a crawl's URLs, domain by domain, for the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappush, heappushpop, nlargest
from itertools import chain
from typing import Final, NamedTuple

from rdfcrawl.analysis.measures.coverage import (
    SAMPLE_SIZE,
    CoverageCount,
    CoverageSummary,
    DomainCensus,
    DomainCoverage,
    StateSizes,
    sample_missed,
    take_census,
)
from rdfcrawl.analysis.measures.domain_clusters import MissedClass, classify_missed
from rdfcrawl.analysis.measures.first_seen import (
    ALL_TIMES,
    FirstSeenCount,
    SamplingPeriod,
)
from rdfcrawl.analysis.measures.listed import ListedCount, outcome_of
from rdfcrawl.analysis.measures.ratio import ExactSum, MeasuredRatio, add_fields
from rdfcrawl.analysis.measures.refetches import (
    N_LATEST,
    CopyFreshness,
    FetchInterval,
    LastmodAccuracy,
    group_of,
    iter_intervals,
)
from rdfcrawl.analysis.measures.uri_facts import SitemapFacts, UriFacts
from rdfcrawl.analysis.measures.usage import SitemapHabits, UsageCount, describe_habits
from rdfcrawl.analysis.refresh.histories import SiteHistories
from rdfcrawl.analysis.refresh.policy import DAY_MS
from rdfcrawl.analysis.report.content import MAX_ROWS, AxisScale, PointCloud
from rdfcrawl.analysis.report.url_lists import DomainLists, RowBlock, UrlLists
from rdfcrawl.core.batches import in_batches
from rdfcrawl.core.times import now_ms

_BATCH_SIZE: Final = 4096  # URLs in memory


class DomainFacts(NamedTuple):
    """The URLs and sitemaps of one domain.

    Attributes:
        uris: each URL once; can be iterated once, before the sitemaps.
        sitemaps: its sitemap files.
    """

    domain: str
    uris: Iterable[UriFacts]
    sitemaps: Iterable[SitemapFacts] = ()


class DomainSummary(NamedTuple):
    """The measures of one domain.

    Attributes:
        groups: accuracy by the sitemap that dates a page; None: undated pages.
    """

    coverage: DomainCoverage
    census: DomainCensus
    first_seen: FirstSeenCount
    accuracy: LastmodAccuracy
    groups: tuple[tuple[str | None, LastmodAccuracy], ...]
    copies: CopyFreshness
    habits: SitemapHabits
    listed: ListedCount
    histories: SiteHistories


class DomainMeasures(NamedTuple):
    """The measures of one domain, with the data for totals over all domains.

    Attributes:
        usage: of its sitemaps.
        sample: of the content that its sitemaps miss.
        rows: of its lists of URLs.
    """

    summary: DomainSummary
    usage: UsageCount
    sample: list[UriFacts]
    rows: list[RowBlock]


class DomainReading:
    """Collect the URLs of one domain into its measures.

    Args:
        domain: the registered domain, or another key by which facts are grouped.
        period: T of section 5.2.
    """

    def __init__(self, domain: str, period: SamplingPeriod) -> None:
        self._coverage = CoverageCount(domain)
        self._first_seen = FirstSeenCount(period)
        self._copies = CopyFreshness()
        self._census = DomainCensus()
        self._latest: list[FetchInterval] = []
        self._groups: dict[str | None, list[FetchInterval]] = {}
        self._domain = domain
        self._usage = UsageCount()
        self._listed = ListedCount()
        self._sample: list[UriFacts] = []
        self._histories = SiteHistories(now_ms() / DAY_MS)
        self._lists = DomainLists()

    def add(self, some: list[UriFacts]) -> None:
        """Add some URLs of the domain."""
        intervals = []
        groups: dict[str | None, list[FetchInterval]] = {}
        for facts in some:
            self._coverage.add(facts)
            self._first_seen.add(facts)
            self._usage.add_uri(facts)
            outcome = outcome_of(facts)
            self._listed.add(facts, outcome)
            found = list(iter_intervals(facts))
            self._lists.add(facts, outcome, found)
            self._histories.add(facts, found)
            intervals += found
            for interval in found:
                self._copies.add(interval)
                groups.setdefault(group_of(facts, interval), []).append(interval)
        self._latest = _latest(self._latest, intervals)
        for name, some_of in groups.items():
            if name in self._groups or len(self._groups) < MAX_ROWS:
                self._groups[name] = _latest(self._groups.get(name, []), some_of)
        self._census = add_fields(self._census, take_census(some))
        self._sample = sample_missed(chain(self._sample, some))

    def measures(self, sitemaps: list[SitemapFacts]) -> DomainMeasures:
        """Return the measures of the URLs that were added."""
        self._usage.add_sitemaps(self._domain, sitemaps)
        summary = DomainSummary(
            self._coverage.result(),
            self._census,
            self._first_seen,
            LastmodAccuracy.of(self._latest),
            tuple(
                (name, LastmodAccuracy.of(self._groups[name]))
                for name in sorted(self._groups, key=lambda each: (each is None, each))
            ),
            self._copies,
            describe_habits(sitemaps),
            self._listed,
            self._histories,
        )
        return DomainMeasures(summary, self._usage, self._sample, self._lists.blocks())


def _latest(
    known: list[FetchInterval], found: list[FetchInterval]
) -> list[FetchInterval]:
    """Return the latest intervals of both."""
    return nlargest(N_LATEST, chain(known, found), key=lambda each: each.end_ms)


def measure_domain(facts: DomainFacts, period: SamplingPeriod) -> DomainMeasures:
    """Return the measures of one domain; this consumes its facts."""
    reading = DomainReading(facts.domain, period)
    for some in in_batches(facts.uris, _BATCH_SIZE):
        reading.add(some)
    return reading.measures(list(facts.sitemaps))


@dataclass(slots=True)
class SiteFigures:
    """The measures of all domains, added up.

    Memory: the clusters of one domain; points and rows of all domains up to their
    limits; an entry for each pair of days.

    Attributes:
        missed: table 2, of a sample over all domains.
        rest: histories of the pages of other domains than the largest.
        lists: of URLs; None: they are not kept.
    """

    period: SamplingPeriod = ALL_TIMES
    lists: UrlLists | None = None
    n_domains: int = 0
    both: StateSizes = field(default_factory=StateSizes)
    listed: StateSizes = field(default_factory=StateSizes)
    linked: StateSizes = field(default_factory=StateSizes)
    pagerank: ExactSum = field(default_factory=ExactSum)
    pagerank_listed: ExactSum = field(default_factory=ExactSum)
    census: DomainCensus = field(default_factory=DomainCensus)
    first_seen: FirstSeenCount = field(default_factory=FirstSeenCount)
    copies: CopyFreshness = field(default_factory=CopyFreshness)
    usage: UsageCount = field(default_factory=UsageCount)
    outcomes: ListedCount = field(default_factory=ListedCount)
    summary: CoverageSummary = field(default_factory=CoverageSummary)
    rest: SiteHistories = field(
        default_factory=lambda: SiteHistories(now_ms() / DAY_MS)
    )
    clouds: dict[str, PointCloud] = field(
        default_factory=lambda: {
            "figure-3": PointCloud(AxisScale.LOG, AxisScale.LOG_SHARE),
            "figure-4": PointCloud(AxisScale.SHARE),
            "figure-5a": PointCloud(AxisScale.LOG),
            "figure-5b": PointCloud(AxisScale.SHARE),
        }
    )
    _sample: list[UriFacts] = field(default_factory=list)
    _largest: list[tuple[int, str, DomainSummary]] = field(default_factory=list)

    def read(self, facts: DomainFacts) -> None:
        """Read the URLs and sitemaps of one domain; call it once for each domain."""
        self.add(measure_domain(facts, self.period))

    def add(self, measures: DomainMeasures) -> None:
        """Add the measures of one domain; the order affects which dots are drawn."""
        domain = measures.summary
        self.usage.add(measures.usage)
        if self.lists is not None:
            self.lists.add(measures.rows)
        self.outcomes.add_all(domain.listed)
        self.first_seen.add_all(domain.first_seen)
        self._sample += measures.sample
        if len(self._sample) >= 2 * SAMPLE_SIZE:
            self._sample = sample_missed(self._sample)
        found = domain.coverage
        self.n_domains += 1
        self.both = add_fields(self.both, found.both)
        self.listed = add_fields(self.listed, found.listed)
        self.linked = add_fields(self.linked, found.linked)
        self.pagerank.add(found.pagerank)
        self.pagerank_listed.add(found.pagerank_listed)
        self.census = add_fields(self.census, domain.census)
        self.copies = add_fields(self.copies, domain.copies)
        self.summary.add(found)
        self._draw(found)
        item = (found.both.seen, found.domain, domain)
        if len(self._largest) < MAX_ROWS:
            heappush(self._largest, item)
        else:
            _, _, smallest = heappushpop(self._largest, item)
            self.rest.merge(smallest.histories)

    def _draw(self, found: DomainCoverage) -> None:
        """Add a domain to figures 3 to 5; undefined measures have no dot."""
        size = found.both.seen
        coverage, unique = found.coverage.value, found.unique_coverage.value
        ranked, indexed = found.pagerank_coverage.value, found.index_coverage.value
        for key, x, y in (
            ("figure-3", size, unique),
            ("figure-4", coverage, unique),
            ("figure-5a", size, ranked),
            ("figure-5b", unique, indexed),
        ):
            if x is not None and y is not None:
                self.clouds[key].add(x, y, size, found.domain)

    @property
    def total(self) -> DomainCoverage:
        """The measures of all domains; a cluster counts in each of its domains."""
        return DomainCoverage(
            "all sites",
            both=self.both,
            listed=self.listed,
            linked=self.linked,
            pagerank=self.pagerank.value,
            pagerank_listed=self.pagerank_listed.value,
        )

    @property
    def largest(self) -> list[DomainSummary]:
        """The domains with most URLs, at most `MAX_ROWS`, in descending order."""
        order = sorted(self._largest, key=lambda each: (-each[0], each[1]))
        return [domain for _, _, domain in order]

    @property
    def missed(self) -> Counter[MissedClass]:
        """Table 2: URLs of the sample by class, as far as facts allow."""
        if len(self._sample) > SAMPLE_SIZE:
            self._sample = sample_missed(self._sample)
        return Counter(map(classify_missed, self._sample))

    def missed_share(self, name: MissedClass) -> MeasuredRatio:
        """Return one row of table 2."""
        missed = self.missed
        return MeasuredRatio(missed[name], missed.total())


def gather(
    domains: Iterable[DomainFacts],
    period: SamplingPeriod,
    lists: UrlLists | None = None,
) -> SiteFigures:
    """Return the figures of some domains; each domain must occur once."""
    found = SiteFigures(period, lists, first_seen=FirstSeenCount(period))
    for facts in domains:
        found.read(facts)
    return found
