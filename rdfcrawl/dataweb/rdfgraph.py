"""The RDF graph of one node: numbered resources and one property."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rdfcrawl.dataweb.attachment import DegreeUrn, iter_link_counts

if TYPE_CHECKING:
    import random


def draw_rdf_graph(
    n_resources: int, *, degree: int, rng: random.Random
) -> list[list[int]]:
    """Draw ceil(n_resources * degree / 2) edges, by subject.

    Every resource is reachable from resource 0: each new one gets at least one
    incoming edge. No edge occurs twice and none is a loop.

    Args:
        n_resources: vertices.
        degree: mean number of edges at a resource; at most n_resources - 1.
        rng: source of all choices.
    """
    objects: list[list[int]] = [[] for _ in range(n_resources)]
    urn = DegreeUrn(rng)
    urn.add_vertex(0)
    for resource, count in iter_link_counts(
        n_resources,
        n_edges=math.ceil(n_resources * degree / 2),
        degree=degree,
        first=1,
        rng=rng,
    ):
        n_in = 1 + _draw_more_in(count, rng)
        sources = urn.draw(n_in)
        targets = urn.draw(count - n_in)
        urn.add_vertex(resource)
        objects[resource].extend(targets)
        for target in targets:
            urn.add_in_edge(target)
        for source in sources:
            objects[source].append(resource)
            urn.add_in_edge(resource)
    return objects


def _draw_more_in(count: int, rng: random.Random) -> int:
    """Return how many of the other count-1 links come in: half of all, on the mean."""
    if count < 2:
        return 0
    probability = max((count / 2 - 1) / (count - 1), 0.0)
    return sum(rng.random() < probability for _ in range(count - 1))
