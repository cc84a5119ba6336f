"""SitemapScore and DiscoveryScore: the order in which to crawl the URLs of a domain.

Each function returns a score for every URL; greater is better. `best_first` sorts by
score (section 6.3.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.analysis.ranking.priority_rank import UNSTATED_PRIORITY
from rdfcrawl.core.scores import DiscoveryScore, SitemapScore

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rdfcrawl.analysis.ranking.priority_rank import DomainGraph


def score_listed(
    score: SitemapScore, priorities: Mapping[str, float | None], graph: DomainGraph
) -> dict[str, float]:
    """Return the SitemapScore of each URL that sitemaps of a domain list.

    Args:
        score: priority: as stated, or 0.5; PageRank: 0 without in-links; PriorityRank:
            see `analysis.ranking.priority_rank`.
        priorities: of each URL, None if unstated.
        graph: of the domain; used only by PageRank and PriorityRank.
    """
    if score is SitemapScore.PRIORITY:
        return {
            url: UNSTATED_PRIORITY if value is None else value
            for url, value in priorities.items()
        }
    is_plain = score is SitemapScore.PAGERANK
    ranks = graph.pagerank() if is_plain else graph.priority_rank()
    return {url: ranks.get(url, 0.0) for url in priorities}


def score_linked(
    score: DiscoveryScore,
    first_linked_ms: Mapping[str, int],
    *,
    graph: DomainGraph,
    n_inlinks: Mapping[str, int],
) -> dict[str, float]:
    """Return the DiscoveryScore of each URL of a domain that pages link to.

    Args:
        score: PageRank; in-links seen so far; or time of the first link.
        first_linked_ms: for each URL, fetch time of the first page that links to it.
        graph: of the domain; used only by PageRank.
        n_inlinks: of each URL; used only by the score of that name.
    """
    if score is DiscoveryScore.FIRST_SEEN:
        return {url: -float(ms) for url, ms in first_linked_ms.items()}
    if score is DiscoveryScore.INLINKS:
        return {url: float(n_inlinks.get(url, 0)) for url in first_linked_ms}
    ranks = graph.pagerank()
    return {url: ranks.get(url, 0.0) for url in first_linked_ms}


def best_first(scores: Mapping[str, float], crawled: Iterable[str] = ()) -> list[str]:
    """Return the URLs that were not crawled, best score first, ties in byte order.

    >>> best_first({"b": 0.5, "a": 0.5, "c": 1.0, "d": 9.0}, crawled=["d"])
    ['c', 'a', 'b']
    """
    waiting = scores.keys() - set(crawled)
    return sorted(waiting, key=lambda url: (-scores[url], url.encode()))
