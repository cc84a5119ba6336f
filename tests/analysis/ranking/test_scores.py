"""The order in which URLs of a domain are crawled."""

from __future__ import annotations

import pytest

from rdfcrawl.analysis.ranking.priority_rank import DomainGraph
from rdfcrawl.analysis.ranking.scores import (
    best_first,
    score_linked,
    score_listed,
)
from rdfcrawl.core.scores import DiscoveryScore, SitemapScore

PRIORITIES = {"new": 0.9, "linked": None, "low": 0.1}
FIRST_MS = {"linked": 30, "late": 50}


@pytest.fixture
def graph() -> DomainGraph:
    """Return a domain whose front page links to two pages, and its sitemap to three."""
    graph = DomainGraph("/")
    graph.add_page("/", ["linked", "late"])
    graph.add_page("late", ["linked"])
    graph.add_top_sitemap("map.xml")
    graph.add_sitemap("map.xml", PRIORITIES)
    return graph


@pytest.mark.parametrize(
    ("score", "order"),
    [
        (SitemapScore.PRIORITY, ["new", "linked", "low"]),
        (SitemapScore.PAGERANK, ["linked", "low", "new"]),
        (SitemapScore.PRIORITYRANK, ["linked", "new", "low"]),
    ],
)
def test_sitemap_score(
    graph: DomainGraph, score: SitemapScore, order: list[str]
) -> None:
    """If a score is chosen, then its definition orders listed URLs."""
    scores = score_listed(score, PRIORITIES, graph)
    assert scores.keys() == PRIORITIES.keys()
    assert best_first(scores) == order


def test_unstated_priority_is_half_and_unlinked_rank_is_nothing(
    graph: DomainGraph,
) -> None:
    """If a site states no priority or has no links, then the score is 0.5 or 0."""
    assert score_listed(SitemapScore.PRIORITY, {"a": None}, graph) == {"a": 0.5}
    assert score_listed(SitemapScore.PAGERANK, {"new": 0.9}, graph) == {"new": 0.0}


@pytest.mark.parametrize(
    ("score", "order"),
    [
        (DiscoveryScore.PAGERANK, ["linked", "late"]),
        (DiscoveryScore.INLINKS, ["late", "linked"]),
        (DiscoveryScore.FIRST_SEEN, ["linked", "late"]),
    ],
)
def test_discovery_score(
    graph: DomainGraph, score: DiscoveryScore, order: list[str]
) -> None:
    """If a score is chosen, then its definition orders linked URLs."""
    inlinks = {"late": 4, "linked": 2}
    scores = score_linked(score, FIRST_MS, graph=graph, n_inlinks=inlinks)
    assert best_first(scores) == order


def test_ties_are_in_order_of_bytes_and_crawled_ones_left_out() -> None:
    """If scores are equal, then bytes decide; crawled URLs are omitted."""
    scores = {"é": 1.0, "z": 1.0, "a": 1.0, "done": 2.0}
    assert best_first(scores, crawled=["done", "other"]) == ["a", "z", "é"]
