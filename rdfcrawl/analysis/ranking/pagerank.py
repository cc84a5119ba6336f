"""PageRank over links that are streamed once per round.

Memory: two arrays of floats, 16 bytes for each node, for any number of links. Nodes are
integers from 0, such as the positions of URLs in a sorted file.

Source: S. Brin and L. Page, "The anatomy of a large-scale hypertextual Web search
engine" (1998); nodes without out-links share their rank among all nodes.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import fsum
from operator import itemgetter
from typing import Final, NamedTuple

DAMPING: Final = 0.85  # d, Brin and Page's; the paper on sitemaps does not state one
TOLERANCE: Final = 1e-6
MAX_ROUNDS: Final = 100
_MOST_TARGETS: Final = 1 << 17  # of a block


class OutLinks(NamedTuple):
    """The links of one node.

    Attributes:
        targets: without duplicates.
        weights: shares of its rank for each target, with sum 1; None if they are
            equal.
    """

    source: int
    targets: Sequence[int]
    weights: Sequence[float] | None = None


@dataclass(frozen=True, slots=True)
class PageRanks:
    """The rank of each node, with sum 1.

    Attributes:
        n_rounds: number of computed rounds.
        change: sum of the absolute differences of the last round.
    """

    ranks: Sequence[float]
    n_rounds: int
    change: float


def compute_pagerank(
    n_nodes: int,
    open_links: Callable[[], Iterable[OutLinks]],
    *,
    tolerance: float = TOLERANCE,
    max_rounds: int = MAX_ROUNDS,
) -> PageRanks:
    """Return PageRank by power iteration, starting with equal ranks.

    PR(v) = (1 - d)/|V| + d * (sum of w(u,v) PR(u) over links u -> v
                               + sum of PR(u)/|V| over u without out-links)

    Args:
        n_nodes: nodes are 0 to `n_nodes - 1`.
        open_links: returns an iterator over the links, called once per round. Nodes
            may come in any order, at most once; a missing node has no out-links.
        tolerance: stop if the sum of the absolute differences of a round is less.
        max_rounds: stop after this number of rounds.

    Raises:
        ValueError: a link leads to an unknown node.
    """
    return iterate_ranks(
        n_nodes,
        lambda ranks: _round(ranks, open_links()),
        tolerance=tolerance,
        max_rounds=max_rounds,
    )


def iterate_ranks(
    n_nodes: int,
    gain: Callable[[array[float]], tuple[Sequence[float], float]],
    *,
    tolerance: float = TOLERANCE,
    max_rounds: int = MAX_ROUNDS,
) -> PageRanks:
    """Return PageRank like `compute_pagerank`, for links in any place.

    Args:
        n_nodes: nodes are 0 to `n_nodes - 1`.
        gain: for the ranks of all nodes, returns the gain of each node by links (the
            sum of `share_of` its sources, in order), and the sum of the ranks of all
            nodes with links, in order.
        tolerance: see `compute_pagerank`.
        max_rounds: see `compute_pagerank`.
    """
    if not n_nodes:
        return PageRanks(array("d"), 0, 0.0)
    ranks = array("d", [1 / n_nodes]) * n_nodes
    n_rounds, change = 0, 0.0
    while n_rounds < max_rounds:
        incoming, n_linking = gain(ranks)
        total = fsum(ranks)
        n_rounds += 1
        # Rank that no link passes on belongs to dangling nodes.
        base = (1 - DAMPING) / n_nodes + DAMPING * (total - n_linking) / n_nodes
        change = 0.0
        for node, gained in enumerate(incoming):
            rank = base + gained
            change += abs(rank - ranks[node])
            ranks[node] = rank
        if change < tolerance:
            break
    return PageRanks(ranks, n_rounds, change)


def _round(
    ranks: Sequence[float], links: Iterable[OutLinks]
) -> tuple[array[float], float]:
    """Return the gain of each node by links, and the rank of all nodes with links.

    Raises:
        ValueError: a link leads to an unknown node.
    """
    incoming = array("d", [0.0]) * len(ranks)
    linking = 0.0
    try:
        for source, targets, weights in links:
            if not targets:
                continue
            rank = ranks[source]
            linking += rank
            if weights is None:
                share = share_of(rank, len(targets))
                for target in targets:
                    incoming[target] += share
            else:
                share = DAMPING * rank
                for target, weight in zip(targets, weights, strict=True):
                    incoming[target] += share * weight
    except IndexError as error:
        raise ValueError(f"a link leads to a node above {len(ranks) - 1}") from error
    return incoming, linking


def share_of(rank: float, n_targets: int) -> float:
    """Return the share of a node's rank that each target receives."""
    return DAMPING * rank / n_targets


class LinkBlock(NamedTuple):
    """Links into one range of nodes.

    Attributes:
        number: of the range.
        sources: nodes with links into it, in order.
        n_all: number of all links of each source.
        n_here: number of these that are in `targets`.
        targets: those of the first source, then those of the second, and so on.
    """

    number: int
    sources: array[int]
    n_all: array[int]
    n_here: array[int]
    targets: array[int]


def pack_links(edges: Iterable[tuple[int, int, int, int]]) -> Iterator[LinkBlock]:
    """Yield blocks of links, in order.

    Args:
        edges: range number, source, number of all links of the source, target; sorted.
    """
    for number, some in groupby(edges, itemgetter(0)):
        block = _empty(number)
        for (source, n_all), links in groupby(some, itemgetter(1, 2)):
            targets = [each[3] for each in links]
            block.sources.append(source)
            block.n_all.append(n_all)
            block.n_here.append(len(targets))
            block.targets.extend(targets)
            if len(block.targets) >= _MOST_TARGETS:
                yield block
                block = _empty(number)
        if block.targets:
            yield block


def _empty(number: int) -> LinkBlock:
    return LinkBlock(number, array("q"), array("I"), array("I"), array("q"))


def gain_of_ranges(
    blocks: Iterable[LinkBlock], ranks: Sequence[float], range_size: int
) -> Iterator[tuple[int, array[float]]]:
    """Yield number and gains of each range, for given ranks of nodes.

    Args:
        blocks: grouped by range, in the order of sources.
        ranks: of all nodes.
        range_size: nodes of a range; range k starts with node `k * range_size`.
    """
    for number, some in groupby(blocks, itemgetter(0)):
        gained = array("d", [0.0]) * range_size
        begin = number * range_size
        for block in some:
            place = 0
            targets = block.targets
            for source, n_all, n_here in zip(*block[1:4], strict=True):
                share = share_of(ranks[source], n_all)
                for target in targets[place : place + n_here]:
                    gained[target - begin] += share
                place += n_here
        yield number, gained
