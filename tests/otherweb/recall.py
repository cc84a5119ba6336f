"""Recall by statement; blank nodes are compared by their surroundings."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pyoxigraph as ox

from tests.otherweb.statements import to_quad

if TYPE_CHECKING:
    from collections.abc import Iterable


def missing(truth: Iterable[ox.Triple], found: Iterable[ox.Triple]) -> list[ox.Triple]:
    """Return the statements of the truth that were not found.

    All statements connected by blank nodes are one, found completely (an isomorphic
    copy of them) or not at all.
    """
    ground, _ = _split(truth)
    there, _ = _split(found)
    lost = [triple for triple in ground if triple not in there]
    copies = _by_shape(found)
    for shape, groups in _by_shape(truth).items():
        if len(copies.get(shape, ())) == 0:
            lost += [triple for group in groups for triple in group]
    return lost


def _split(
    triples: Iterable[ox.Triple],
) -> tuple[set[ox.Triple], list[ox.Triple]]:
    ground, others = set(), []
    for triple in triples:
        if _blank_nodes(triple):
            others.append(triple)
        else:
            ground.add(triple)
    return ground, others


def _blank_nodes(triple: ox.Triple) -> list[str]:
    terms = (triple.subject, triple.object)
    return [term.value for term in terms if isinstance(term, ox.BlankNode)]


def _by_shape(triples: Iterable[ox.Triple]) -> dict[str, list[list[ox.Triple]]]:
    """Group statements that share blank nodes, by their canonical N-Quads."""
    parents: dict[str, str] = {}

    def find(label: str) -> str:
        parents.setdefault(label, label)
        while parents[label] != label:
            parents[label] = parents[parents[label]]
            label = parents[label]
        return label

    _, others = _split(triples)
    for triple in others:
        first, *rest = _blank_nodes(triple)
        for label in rest:
            parents[find(label)] = find(first)
    groups: dict[str, list[ox.Triple]] = defaultdict(list)
    for triple in others:
        groups[find(_blank_nodes(triple)[0])].append(triple)
    shapes: dict[str, list[list[ox.Triple]]] = defaultdict(list)
    for group in groups.values():
        dataset = ox.Dataset(to_quad(triple) for triple in group)
        dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
        shapes["\n".join(sorted(str(quad) for quad in dataset))].append(group)
    return shapes
