"""The scores of URLs that order a crawl; `analysis.ranking` computes them."""

from __future__ import annotations

from enum import StrEnum


class SitemapScore(StrEnum):
    """Definitions of the score of a URL that a sitemap lists."""

    PRIORITY = "priority"
    PAGERANK = "pagerank"
    PRIORITYRANK = "priorityrank"


class DiscoveryScore(StrEnum):
    """Definitions of the score of a URL that pages link to."""

    PAGERANK = "pagerank"
    INLINKS = "inlinks"
    FIRST_SEEN = "first-seen"


class RankScore(StrEnum):
    """A score of a URI that a ranking computes."""

    PAGERANK = "pagerank"
    PRIORITYRANK = "priorityrank"
    INLINKS = "inlinks"
