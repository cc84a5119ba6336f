"""Compares what a sample URI answers with what the dump says.

Blank nodes have no names, so statements are compared in the groups they hold
together (minimal self-contained graphs), each by what it says of its blank nodes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from rdfcrawl.sitemaps.slicing import TRIPLE

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_TRIPLES: Final = 100_000  # of each side
_MAX_ROUNDS = 64


@dataclass(frozen=True, slots=True)
class SampleDifference:
    """What one side says and the other does not.

    Attributes:
        not_in_dump: triples of the sample, as lines of N-Triples, sorted.
        not_in_sample: triples of the dump.
        is_complete: all triples of both sides were compared.
    """

    not_in_dump: tuple[bytes, ...]
    not_in_sample: tuple[bytes, ...]
    is_complete: bool = True

    def __bool__(self) -> bool:
        return bool(self.not_in_dump or self.not_in_sample)


def compare_sample(
    sample: bytes, dump: bytes, *, max_triples: int = MAX_TRIPLES
) -> SampleDifference:
    """Return what differs; it is false if nothing does.

    Args:
        sample: N-Quads of the document at the URI; graphs are passed over.
        dump: N-Quads of its description in the dump (`slicing.slice_dump`).
        max_triples: of each side that are compared.

    Returns:
        Groups with blank nodes count as equal if no look at the statements around
        each node, and around its neighbours and so on, tells them apart. That is
        fast whatever the graphs are, and right for all but artful ones.
    """
    left, left_is_whole = _triples(sample, max_triples)
    right, right_is_whole = _triples(dump, max_triples)
    ours, theirs = _groups(left), _groups(right)
    return SampleDifference(
        _beyond(ours, theirs), _beyond(theirs, ours), left_is_whole and right_is_whole
    )


def _triples(lines: bytes, max_triples: int) -> tuple[list[bytes], bool]:
    found: dict[bytes, None] = {}
    for match in TRIPLE.finditer(lines):
        if len(found) >= max_triples:
            return list(found), False
        subject, predicate, node, literal = match.group(1, 2, 3, 4)
        found[b" ".join((subject, predicate, node or literal))] = None
    return list(found), True


def _groups(triples: Iterable[bytes]) -> dict[bytes, list[list[bytes]]]:
    """Return the groups of triples that blank nodes hold together, by signature."""
    parent: dict[bytes, bytes] = {}

    def root(node: bytes) -> bytes:
        while (above := parent.setdefault(node, node)) != node:
            parent[node] = parent.setdefault(above, above)
            node = above
        return node

    blanks = {triple: _blanks(triple) for triple in triples}
    for nodes in blanks.values():
        if len(nodes) == 2:
            parent[root(nodes[0])] = root(nodes[1])
    held: defaultdict[bytes, list[bytes]] = defaultdict(list)
    groups: defaultdict[bytes, list[list[bytes]]] = defaultdict(list)
    for triple, nodes in blanks.items():
        if nodes:
            held[root(nodes[0])].append(triple)
        else:
            groups[triple].append([triple])
    for group in held.values():
        groups[_signature(group)].append(group)
    return groups


def _beyond(
    ours: dict[bytes, list[list[bytes]]], theirs: dict[bytes, list[list[bytes]]]
) -> tuple[bytes, ...]:
    """Return the triples of the groups that are not among the others.

    Of groups that are equal one is as good as several: RDF says no more by them.
    """
    return tuple(
        sorted(
            triple + b" .\n"
            for signature, groups in ours.items()
            if signature not in theirs
            for triple in groups[0]
        )
    )


def _blanks(triple: bytes) -> list[bytes]:
    subject, _, rest = triple.split(b" ", 2)
    return [node for node in (subject, rest) if node.startswith(b"_:")]


def _signature(group: list[bytes]) -> bytes:
    """Return what is equal for equal groups: colours refined until they are stable."""
    colours = {node: b"" for triple in group for node in _blanks(triple)}
    n_colours = 0
    for _ in range(min(len(colours), _MAX_ROUNDS)):
        around: defaultdict[bytes, list[bytes]] = defaultdict(list)
        for triple in group:
            for node in _blanks(triple):
                around[node].append(_coloured(triple, colours, node))
        colours = {
            node: blake2b(b"\n".join(sorted(seen)), digest_size=16).hexdigest().encode()
            for node, seen in around.items()
        }
        if len(set(colours.values())) == n_colours:
            break
        n_colours = len(set(colours.values()))
    counted = Counter(_coloured(triple, colours, b"") for triple in group)
    return b"\n".join(b"%d %s" % (n, line) for line, n in sorted(counted.items()))


def _coloured(triple: bytes, colours: dict[bytes, bytes], itself: bytes) -> bytes:
    subject, predicate, rest = triple.split(b" ", 2)
    return b" ".join(
        (
            _colour(subject, colours, itself),
            predicate,
            _colour(rest, colours, itself),
        )
    )


def _colour(term: bytes, colours: dict[bytes, bytes], itself: bytes) -> bytes:
    if not term.startswith(b"_:"):
        return term
    return b"_:" if term == itself else b"_:" + colours[term]
