"""Links packed by ranges of their targets: each range may be summed by itself.

In the order of their sources, what a node gains is the same to the last bit as in
`pagerank.compute_pagerank`, which adds in that order, too.
"""

from __future__ import annotations

from array import array
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.analysis.ranking.pagerank import share_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_MOST_TARGETS: Final = 1 << 17  # of a block


class LinkBlock(NamedTuple):
    """Some links into one range of nodes.

    Attributes:
        number: of the range.
        sources: nodes with links into it, in their order.
        n_all: of each, how many links it has to all nodes.
        n_here: of each, how many of these are in `targets`.
        targets: of each after the other.
    """

    number: int
    sources: array[int]
    n_all: array[int]
    n_here: array[int]
    targets: array[int]


def pack_links(edges: Iterable[tuple[int, int, int, int]]) -> Iterator[LinkBlock]:
    """Yield blocks of links, in their order.

    Args:
        edges: number of the range, source, its number of all links, target; sorted.
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
    """Yield number and gains of each range, by links from nodes of some ranks.

    Args:
        blocks: of each range together, in the order of sources.
        ranks: of all nodes.
        range_size: nodes of a range; range k begins with node `k * range_size`.
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
