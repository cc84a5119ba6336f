"""How sites use sitemaps: formats, optional values, growth of lists (section 3.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from rdfcrawl.analysis.measures.ratio import MeasuredRatio, add_to
from rdfcrawl.analysis.measures.uri_facts import SitemapFacts, UriFacts

UNKNOWN_FORMAT: Final = "unknown"
TOP_TLDS: Final = 10
AT_ADDRESSES: Final = ""
"""Replaces the top-level domain of a site whose name is an IP address."""


@dataclass(slots=True)
class UsageCount:
    """Statistics of usage; each listing of a URL in a sitemap counts once.

    Memory: one entry for each format and top-level domain.

    Attributes:
        by_format: table 1: listings by format. An unreadable file counts as one, under
            `UNKNOWN_FORMAT`.
        n_listings: of URLs in sitemaps.
        n_lastmod: of these, with `lastmod`; the next two correspond.
        n_sites: domains with sitemaps, by top-level domain or `AT_ADDRESSES`.
    """

    by_format: Counter[str] = field(default_factory=Counter)
    n_listings: int = 0
    n_lastmod: int = 0
    n_changefreq: int = 0
    n_priority: int = 0
    n_sites: Counter[str] = field(default_factory=Counter)

    def add_uri(self, facts: UriFacts) -> None:
        """Count the listings of one URL."""
        for listing in facts.listings:
            self.by_format[listing.format or UNKNOWN_FORMAT] += 1
            self.n_listings += 1
            self.n_lastmod += listing.has_lastmod
            self.n_changefreq += bool(listing.changefreq)
            self.n_priority += listing.priority is not None

    def add_sitemaps(self, domain: str, sitemaps: Iterable[SitemapFacts]) -> None:
        """Count the sitemaps of one domain."""
        formats = [each.format or UNKNOWN_FORMAT for each in sitemaps]
        if formats:
            self.n_sites[_top_level(domain)] += 1
        self.by_format[UNKNOWN_FORMAT] += formats.count(UNKNOWN_FORMAT)

    def add(self, others: UsageCount) -> None:
        """Add the statistics of other domains."""
        add_to(self, others)

    def format_share(self, name: str) -> MeasuredRatio:
        """Return one row of table 1."""
        return MeasuredRatio(self.by_format[name], self.by_format.total())

    @property
    def lastmod_share(self) -> MeasuredRatio:
        """The share of listings with `lastmod`; the paper found 58 %."""
        return MeasuredRatio(self.n_lastmod, self.n_listings)

    @property
    def changefreq_share(self) -> MeasuredRatio:
        """The share of listings with `changefreq`; the paper found 7 %."""
        return MeasuredRatio(self.n_changefreq, self.n_listings)

    @property
    def priority_share(self) -> MeasuredRatio:
        """The share of listings with `priority`; the paper found 61 %."""
        return MeasuredRatio(self.n_priority, self.n_listings)

    def top_tlds(self, n: int = TOP_TLDS) -> tuple[list[tuple[str, int]], int]:
        """Return the top-level domains with most sites, and the sites of all others."""
        order = sorted(self.n_sites.items(), key=lambda each: (-each[1], each[0]))
        return order[:n], sum(number for _, number in order[n:])


def _top_level(domain: str) -> str:
    last = domain.rpartition(".")[2]
    return AT_ADDRESSES if last.isdecimal() or domain.startswith("[") else last


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapHabits:
    """How one domain maintains its sitemaps (section 4).

    Attributes:
        n_sitemaps: without indexes.
        n_reread: sitemaps that were read more than once.
        n_log_structured: of these, with a list that never changed, because new URLs
            are listed in new files (section 4.1).
    """

    n_sitemaps: int
    n_reread: int
    n_log_structured: int

    @property
    def log_structured_share(self) -> MeasuredRatio:
        """The share of reread sitemaps whose list never changed."""
        return MeasuredRatio(self.n_log_structured, self.n_reread)


def describe_habits(sitemaps: Iterable[SitemapFacts]) -> SitemapHabits:
    """Return how one domain maintains its sitemaps."""
    n_sitemaps = n_reread = n_log = 0
    for sitemap in sitemaps:
        if sitemap.is_index:
            continue
        n_sitemaps += 1
        if len(sitemap.readings) > 1:
            n_reread += 1
            n_log += len({each.list_hash for each in sitemap.readings}) == 1
    return SitemapHabits(
        n_sitemaps=n_sitemaps, n_reread=n_reread, n_log_structured=n_log
    )
