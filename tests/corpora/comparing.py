"""Compare the statements of a document with those that it should have."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyoxigraph as ox

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.corpora.cases import Case

_bare_labels = re.compile(r"_:\w+").sub


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading a document.

    Attributes:
        quads: its statements; those in the graph of the document are in none.
        faults: reasons of its faults.
        format: its name; empty if the document was not read.
    """

    quads: frozenset[ox.Quad]
    faults: frozenset[str]
    format: str = ""


def reading_of(
    n_quads: bytes, faults: Iterable[str], url: str, format_name: str = ""
) -> Reading:
    """Return a result from its statements as N-Quads, and the URL of its document."""
    own, none = ox.NamedNode(url), ox.DefaultGraph()
    return Reading(
        frozenset(
            ox.Quad(q.subject, q.predicate, q.object, none)
            if q.graph_name == own
            else q
            for q in ox.parse(n_quads, format=ox.RdfFormat.N_QUADS)
        ),
        frozenset(faults),
        format_name,
    )


def differences(case: Case, reading: Reading, base: str) -> list[str]:
    """Return what is wrong with a result, as lines of text; none if it is right."""
    return unlike(Reading(wanted(case, base), case.faults), reading, base)


def wanted(case: Case, base: str) -> frozenset[ox.Quad]:
    """Return the right statements of a case whose result is known.

    Raises:
        SyntaxError: they are no N-Quads.
    """
    want = (case.want or "").replace("BASE", base).encode()
    return reading_of(want, (), f"{base}/{case.document.path}").quads


def confined(reading: Reading, base: str) -> Reading:
    """Return a result with graphs of other origins in the graph of the document.

    A crawl does not let a site write into the graphs of another one; `scrapy rdf` and
    `extract` read one document alone, and keep the names of all graphs.
    """
    quads = frozenset(
        quad
        if str(quad.graph_name).startswith((f"<{base}/", "DEFAULT"))
        else ox.Quad(quad.subject, quad.predicate, quad.object)
        for quad in reading.quads
    )
    faults = {"foreign_graph"} if quads != reading.quads else set()
    return Reading(quads, reading.faults | faults, reading.format)


def unlike(right: Reading, found: Reading, base: str) -> list[str]:
    """Return how a result differs from another one, as lines of text."""
    lines = [f"fault missing: {each}" for each in sorted(right.faults - found.faults)]
    lines += [f"fault surplus: {each}" for each in sorted(found.faults - right.faults)]
    lines += statement_differences(right.quads, found.quads)
    return [line.replace(base, "BASE") for line in lines]


def statement_differences(
    right: frozenset[ox.Quad], found: frozenset[ox.Quad]
) -> list[str]:
    """Return missing and surplus statements; none if both sets are isomorphic."""
    if right == found or is_isomorphic(right, found):
        return []
    lines = [f"missing: {line}" for line in surplus(right, found)]
    lines += [f"surplus: {line}" for line in surplus(found, right)]
    return lines or ["blank nodes connect other statements"]


def surplus(of: frozenset[ox.Quad], over: frozenset[ox.Quad]) -> list[str]:
    """Return the lines of one set that another one lacks, without labels of nodes."""
    return sorted((_anonymous(of) - _anonymous(over)).elements())


def is_isomorphic(one: frozenset[ox.Quad], other: frozenset[ox.Quad]) -> bool:
    """Return whether two sets are equal but for the labels of blank nodes."""
    return len(one) == len(other) and _canonical(one) == _canonical(other)


def _canonical(quads: frozenset[ox.Quad]) -> ox.Dataset:
    dataset = ox.Dataset(quads)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return dataset


def _anonymous(quads: frozenset[ox.Quad]) -> Counter[str]:
    return Counter(_bare_labels("_:", f"{quad} .") for quad in quads)
