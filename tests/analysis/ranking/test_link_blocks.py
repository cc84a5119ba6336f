"""PageRank by ranges of targets is PageRank, to the last bit."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.analysis.ranking.pagerank import (
    compute_pagerank,
    gain_of_ranges,
    iterate_ranks,
    pack_links,
)
from tests.support.exact_ranks import out_links

if TYPE_CHECKING:
    from collections.abc import Sequence

NODES = st.integers(0, 19)


@given(st.sets(st.tuples(NODES, NODES)), st.integers(1, 25))
def test_ranks_of_ranges_are_equal(edges: set[tuple[int, int]], size: int) -> None:
    """If links are packed by ranges of targets, then ranks are equal in each bit."""
    links = out_links(edges)
    rows = sorted(
        (target // size, source, len(targets), target)
        for source, targets, _ in links
        for target in targets
    )
    blocks = list(pack_links(rows))

    def gain(ranks: Sequence[float]) -> tuple[array[float], float]:
        gained = array("d", [0.0]) * 20
        for number, some in gain_of_ranges(blocks, ranks, size):
            begin = number * size
            gained[begin : begin + size] = some[: 20 - begin]
        linking = 0.0
        for each in links:
            linking += ranks[each.source]
        return gained, linking

    assert iterate_ranks(20, gain) == compute_pagerank(20, lambda: links)
