"""PriorityRank: sitemaps as virtual nodes (section 6.3.1)."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.analysis.ranking.priority_rank import DomainGraph, weights_of
from tests.support.exact_ranks import exact_ranks

ROOT, PAGE, LISTED, MAP = "r", "p", "l", "map.xml"
HALF = Fraction(1, 2)


def small_site(entries: dict[str, float | None]) -> DomainGraph:
    """Return a front page that links to a page, and a sitemap with these entries."""
    graph = DomainGraph(ROOT)
    graph.add_page(ROOT, [PAGE, ROOT])
    graph.add_page(PAGE, [ROOT])
    graph.add_top_sitemap(MAP)
    graph.add_sitemap(MAP, entries)
    return graph


def test_four_nodes_by_the_equations() -> None:
    """If priorities are stated, then four nodes have the ranks of the equations.

    Nodes: 0 front page, 1 page, 2 sitemap, 3 listed page without in-links.
    """
    found = small_site({PAGE: 0.2, LISTED: 0.6}).priority_rank()
    weights = {
        0: {1: HALF, 2: HALF},
        1: {0: Fraction(1)},
        2: {1: Fraction(1, 4), 3: Fraction(3, 4)},
    }
    expected = exact_ranks(weights, 4)
    assert [found[ROOT], found[PAGE], found[MAP], found[LISTED]] == pytest.approx(
        expected, abs=1e-6
    )
    assert sum(found.values()) == pytest.approx(1)


def test_no_priorities_are_equal_ones() -> None:
    """If no priority is stated, then the ranks are those of equal priorities."""
    unstated = small_site({PAGE: None, LISTED: None}).priority_rank()
    equal = small_site({PAGE: 0.3, LISTED: 0.3}).priority_rank()
    assert unstated == pytest.approx(equal)


def test_page_of_nobody_has_the_least_rank() -> None:
    """If a page is neither listed nor linked, then its rank is the base alone."""
    graph = small_site({PAGE: None})
    graph.add_page("alone", [ROOT])
    ranks = graph.priority_rank()
    assert ranks["alone"] == pytest.approx(0.15 / len(ranks))


def test_index_parts_its_rank_equally() -> None:
    """If an index has sitemaps, then they get the same, and only it is linked."""
    graph = DomainGraph(ROOT)
    graph.add_top_sitemap("index.xml")
    graph.add_index("index.xml", ["1.xml", "2.xml"])
    graph.add_sitemap("1.xml", {"a": None, "b": None})
    graph.add_sitemap("2.xml", {"c": None})
    ranks = graph.priority_rank()
    one = Fraction(1)
    nodes = ["r", "index.xml", "1.xml", "2.xml", "a", "b", "c"]
    weights = {
        0: {1: one},
        1: {2: HALF, 3: HALF},
        2: {4: HALF, 5: HALF},
        3: {6: one},
    }
    expected = exact_ranks(weights, 7)
    assert [ranks[node] for node in nodes] == pytest.approx(expected, abs=1e-6)


def test_url_of_two_sitemaps_gets_from_each() -> None:
    """If two sitemaps list a URL, then it is ranked above those that one lists."""
    graph = DomainGraph(ROOT)
    for name, entries in (("1.xml", ["a", "b"]), ("2.xml", ["b", "c"])):
        graph.add_top_sitemap(name)
        graph.add_sitemap(name, dict.fromkeys(entries))
    ranks = graph.priority_rank()
    assert ranks["b"] > ranks["a"]
    assert ranks["a"] == pytest.approx(ranks["c"])


def test_pagerank_of_the_domain_has_no_virtual_links() -> None:
    """If ranks ignore sitemaps, then listed pages without links have no rank."""
    ranks = small_site({PAGE: 1.0, LISTED: 1.0}).pagerank()
    assert ranks == pytest.approx({ROOT: 0.5, PAGE: 0.5})


@pytest.mark.parametrize(
    ("stated", "weights"),
    [
        ([None, None], None),
        ([0.0, 0.0], None),
        ([0.5, None], [0.5, 0.5]),
        ([0.9, 0.1, 0.0], [0.9, 0.1, 0.0]),
        ([], None),
    ],
    ids=["unstated", "zero", "one unstated", "stated", "empty"],
)
def test_weights(stated: list[float | None], weights: list[float] | None) -> None:
    """If any priority is stated and they are not all 0, then they are the weights."""
    assert weights_of(stated) == (None if weights is None else pytest.approx(weights))


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=20))
def test_weights_sum_to_one(stated: list[float | None]) -> None:
    """If links have weights, then the sitemap passes on its full rank."""
    weights = weights_of(stated)
    assert weights is None or sum(weights) == pytest.approx(1)
