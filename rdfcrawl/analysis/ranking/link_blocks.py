"""Links grouped by ranges of their targets, so each range can be summed separately.

Gains are added in the order of sources, so they equal those of
`pagerank.compute_pagerank` to the last bit.
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
