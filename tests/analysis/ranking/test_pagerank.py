"""PageRank over streamed links."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.analysis.ranking.pagerank import OutLinks, compute_pagerank
from tests.support.exact_ranks import exact_ranks, out_links

EDGES = st.integers(1, 9).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30),
    )
)


@given(EDGES)
def test_ranks_solve_the_equations(graph: tuple[int, set[tuple[int, int]]]) -> None:
    """If ranks are iterated, then they solve the equations and sum to 1."""
    n_nodes, edges = graph
    links = out_links(edges)
    found = compute_pagerank(n_nodes, lambda: links, tolerance=1e-12, max_rounds=300)
    weights = {
        source: {target: Fraction(1, len(targets)) for target in targets}
        for source, targets, _ in links
    }
    assert found.ranks == pytest.approx(exact_ranks(weights, n_nodes), abs=1e-10)
    assert sum(found.ranks) == pytest.approx(1)


def test_two_pages_by_hand() -> None:
    """If one of two pages links to the other, then 20/57 and 37/57 are their ranks.

    By hand: a = 0.075 + 0.425 b and b = 0.075 + 0.85 a + 0.425 b, with a + b = 1.
    """
    found = compute_pagerank(2, lambda: [OutLinks(0, [1])], tolerance=1e-12)
    assert found.ranks == pytest.approx([20 / 57, 37 / 57])


def test_weights_part_the_rank() -> None:
    """If links have weights, then targets get their shares."""
    links = [OutLinks(0, [1, 2], [0.75, 0.25])]
    ranks = compute_pagerank(3, lambda: links, tolerance=1e-12).ranks
    weights = {0: {1: Fraction(3, 4), 2: Fraction(1, 4)}}
    assert ranks == pytest.approx(exact_ranks(weights, 3))


def test_no_nodes_have_no_ranks() -> None:
    """If there are no nodes, then nothing is computed."""
    found = compute_pagerank(0, list)
    assert (list(found.ranks), found.n_rounds) == ([], 0)


def test_nodes_without_links_are_equal() -> None:
    """If there are no links, then all ranks are equal after one round."""
    found = compute_pagerank(4, lambda: [OutLinks(1, [])])
    assert list(found.ranks) == pytest.approx([0.25] * 4)
    assert found.n_rounds == 1


def test_rounds_end_at_the_tolerance_or_the_limit() -> None:
    """If a round changes less than the tolerance, or is the last one, then it ends."""
    links = [OutLinks(0, [1]), OutLinks(1, [2]), OutLinks(2, [0, 1])]
    found = compute_pagerank(3, lambda: links)
    assert found.change < 1e-6
    assert 1 < found.n_rounds < 100
    assert compute_pagerank(3, lambda: links, max_rounds=2).n_rounds == 2


def test_links_are_read_anew_each_round() -> None:
    """If links are a stream, then it is begun once for each round."""
    n_begun = 0

    def open_links() -> list[OutLinks]:
        nonlocal n_begun
        n_begun += 1
        return [OutLinks(0, [1])]

    assert compute_pagerank(2, open_links).n_rounds == n_begun


@pytest.mark.parametrize("links", [OutLinks(0, [7]), OutLinks(7, [0])])
def test_link_of_no_node_is_refused(links: OutLinks) -> None:
    """If a link names a node that there is not, then nothing is ranked."""
    with pytest.raises(ValueError, match="a node above 1"):
        compute_pagerank(2, lambda: [links])
