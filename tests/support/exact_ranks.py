"""PageRank as the exact solution of its equations, to compare power iteration with."""

from __future__ import annotations

from fractions import Fraction
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from rdfcrawl.analysis.ranking.pagerank import OutLinks

if TYPE_CHECKING:
    from collections.abc import Mapping

DAMPING = Fraction(85, 100)


def exact_ranks(weights: Mapping[int, Mapping[int, Fraction]], n: int) -> list[float]:
    """Return the ranks of `n` nodes: `weights[u][v]` is the weight of a link u -> v.

    Solves PR = (1-d)/n + d (W^T PR + dangling/n) by elimination, in fractions.
    """
    rows = []
    for target in range(n):
        row = [Fraction(0)] * n + [(1 - DAMPING) / n]
        for source in range(n):
            out = weights.get(source, {})
            share = out.get(target, Fraction(0)) if out else Fraction(1, n)
            row[source] = -DAMPING * share
        row[target] += 1
        rows.append(row)
    for column in range(n):
        pivot = next(r for r in range(column, n) if rows[r][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [x / rows[column][column] for x in rows[column]]
        for other in range(n):
            factor = rows[other][column]
            if other != column and factor:
                rows[other] = [
                    x - factor * y
                    for x, y in zip(rows[other], rows[column], strict=True)
                ]
    return [float(row[n]) for row in rows]


def out_links(edges: set[tuple[int, int]]) -> list[OutLinks]:
    """Return the links of each node to others."""
    others = sorted((source, target) for source, target in edges if source != target)
    return [
        OutLinks(source, [target for _, target in pairs])
        for source, pairs in groupby(others, key=itemgetter(0))
    ]
