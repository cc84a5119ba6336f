"""Compare the response at a sample URI with its description in the dump.

Blank nodes have no names, so statements are compared in groups connected by blank nodes
(minimal self-contained graphs), by the statements around the blank nodes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rdfcrawl.rdf.blank_nodes import Triple, iter_components, signature, stable_names
from rdfcrawl.sources.sitemaps.slicing import TRIPLE

MAX_TRIPLES: Final = 100_000  # of each side


@dataclass(frozen=True, slots=True)
class SampleDifference:
    """Triples of only one side, as sorted lines of N-Triples."""

    not_in_dump: tuple[str, ...]
    not_in_sample: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.not_in_dump or self.not_in_sample)


def compare_sample(
    sample: bytes, dump: bytes, *, max_triples: int = MAX_TRIPLES
) -> SampleDifference:
    """Return the difference between a sample and the description in the dump.

    The difference is false if empty; graphs of the N-Quads are ignored. Groups with
    blank nodes count as equal if colour refinement does not distinguish them, which is
    fast for all graphs, and correct except for contrived ones. At most `max_triples` of
    each side are compared.
    """
    ours = _groups(_triples(sample, max_triples))
    theirs = _groups(_triples(dump, max_triples))
    return SampleDifference(_beyond(ours, theirs), _beyond(theirs, ours))


def _triples(lines: bytes, max_triples: int) -> list[Triple]:
    found: dict[Triple, None] = {}
    for match in TRIPLE.finditer(lines):
        if len(found) >= max_triples:
            break
        subject, predicate, node, literal = match.group(1, 2, 3, 4)
        term = node or literal
        found[subject.decode(), predicate.decode(), term.decode()] = None
    return list(found)


def _groups(triples: Iterable[Triple]) -> dict[str, list[Triple]]:
    """Return the groups of triples connected by blank nodes, by signature.

    Equal groups count once: they are equivalent in RDF.
    """
    return {
        signature(group, stable_names(group)): group
        for group in iter_components(triples)
    }


def _beyond(
    ours: dict[str, list[Triple]], theirs: dict[str, list[Triple]]
) -> tuple[str, ...]:
    """Return the triples of the groups missing in the other ones."""
    return tuple(
        sorted(
            f"{' '.join(triple)} .\n"
            for name, group in ours.items()
            if name not in theirs
            for triple in group
        )
    )
