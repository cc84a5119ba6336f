"""Components of blank nodes, for endpoints with labels valid in one response only.

Triples that are connected by blank nodes are requested together. Components of two
responses are the same if they are isomorphic: a label is a hash of all knowledge about
its node, so that the union of the responses has each node once.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from rdfcrawl.core.source_tasks import UNKNOWN, SparqlTask
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.blank_nodes import (
    Triple,
    iter_components,
    neighbours,
    signature,
    unique_names,
)
from rdfcrawl.sources.sparql.parts import looks_cut, read_count
from rdfcrawl.sources.sparql.writing import GraphTerms, Row, term

if TYPE_CHECKING:
    from rdfcrawl.sources.sparql.outcome import SparqlOutcome
    from rdfcrawl.sources.sparql.settings import HarvestSettings

_AIM = 0.8  # part of a response to be filled
# In a triple term; a literal is passed over.
_find_blank = re.compile(r'"(?:[^"\\]|\\.)*+"?|_:[A-Za-z0-9]+').sub


class BlankNodeComponentReader:
    """Reads one response of the step `components`."""

    def __init__(self, endpoint: str, task: SparqlTask, out: SparqlOutcome) -> None:
        self._endpoint, self._task, self._out = endpoint, task, out
        self._n_lost = 0  # components that are not complete

    def iter_lines(self, rows: Iterable[Row]) -> Iterator[str]:
        """Yield the statements of a response, and add the next tasks."""
        task = self._task
        if task.variant == 0:
            self._after_count(read_count(rows))
            return
        some = list(islice(rows, task.limit + 1))
        triples = list(dict.fromkeys(x for row in some if (x := _to_triple(row))))
        if task.variant == 1 and len(triples) < task.want:
            most = max(self._out.settings.min_rows, len(triples))
            self._out.follow(task, variant=2, limit=most, want=UNKNOWN)
            return  # labels of an incomplete response are useless
        n_roots = roots_of(task, self._out.settings)
        if task.variant >= 2 and self._is_cut(len(some)) and n_roots > 1:
            self._out.follow(task, most=n_roots // 2, fails=0)
            return
        if task.variant >= 2:
            triples = self._complete(triples, some)
        graphs = GraphTerms(self._endpoint, self._out.settings, self._out.log)
        graph = graphs.graph(task.part.graph)
        if graph.is_foreign and triples:
            graphs.note(task.part.graph, len(triples))
        yield from _statements(triples, graph.term)
        if task.variant == 1:
            self._out.check(task, len(triples))
        else:
            self._after_components(len(some))

    def _complete(self, triples: list[Triple], rows: list[Row]) -> list[Triple]:
        """Return the triples of complete components.

        Labels come from the content of a component, so a part of one would be
        another component. Long components are requested again, with more steps.
        """
        task, n_steps = self._task, depth_of(self._task, self._out.settings)
        found = list(iter_components(triples))
        if task.variant == 2:
            complete = [x for x in found if _is_short(neighbours(x), n_steps)]
        else:
            roots = {term(row["r"], str) for row in rows if "r" in row}
            complete = [x for x in found if _is_near(neighbours(x), roots, n_steps)]
        self._n_lost = len(found) - len(complete)
        return [triple for component in complete for triple in component]

    def _after_count(self, n_rows: int) -> None:
        task = self._task
        if n_rows == 0:
            return
        variant = 1 if n_rows <= task.limit else 2
        want = n_rows if variant == 1 else UNKNOWN
        self._out.follow(task, variant=variant, want=want)

    def _after_components(self, n_rows: int) -> None:
        if self._n_lost and self._task.variant == 2:
            self._out.follow(self._task, variant=3, fails=0)
            return
        if not n_rows:
            return
        if self._n_lost or self._is_cut(n_rows):
            self._out.check(self._task, n_rows, is_sure=False)
        n_roots = roots_of(self._task, self._out.settings)
        offset = self._task.offset + n_roots
        share = max(1, n_rows) / self._task.limit
        if share < _AIM:  # more at a time, as many as probably fit
            n_roots = max(n_roots, min(4 * n_roots, int(n_roots * _AIM / share)))
        self._out.follow(self._task, offset=offset, most=n_roots, fails=0, cuts=0)

    def _is_cut(self, n_rows: int) -> bool:
        # No response was longer: this may be the limit of the endpoint.
        most = min(self._task.limit, self._out.lessons.most or self._task.limit)
        return n_rows >= most or looks_cut(n_rows)


def component_lines(
    rows: Iterable[Row], name: str, graphs: GraphTerms
) -> Iterator[str]:
    """Yield the statements of complete components, labelled by their content.

    The rows are of the graph `name`, unless they have a graph. So the labels are those
    of other responses with the same components, if a request is repeated otherwise.
    """
    by_graph = defaultdict[str, list[Triple]](list)
    for row in rows:
        if triple := _to_triple(row):
            own = row["g"].text if "g" in row and row["g"].kind == "iri" else name
            by_graph[graphs.graph(own).term].append(triple)
    for graph, triples in by_graph.items():
        yield from _statements(list(dict.fromkeys(triples)), graph)


def _statements(triples: list[Triple], graph: str) -> Iterator[str]:
    for subject, predicate, obj in labelled(triples, graph):
        yield terms.statement(subject, predicate, obj, graph)


def roots_of(task: SparqlTask, settings: HarvestSettings) -> int:
    """Return the number of blank nodes of a request."""
    return task.most or settings.n_roots


def depth_of(task: SparqlTask, settings: HarvestSettings) -> int:
    """Return the number of steps of a request to other blank nodes."""
    return settings.depth * (2 if task.variant == 3 else 1)


def _is_short(near: dict[str, set[str]], n_steps: int) -> bool:
    """Return whether all blank nodes are so few steps from each other."""
    if _is_near(near, set(islice(near, 1)), n_steps // 2):
        return True
    return all(_is_near(near, {node}, n_steps) for node in near)


def _is_near(near: dict[str, set[str]], roots: set[str], n_steps: int) -> bool:
    """Return whether all blank nodes are so few steps from a root, one of them."""
    reached = edge = roots & near.keys()
    for _ in range(n_steps):
        edge = {other for node in edge for other in near[node]} - reached
        reached = reached | edge
    return len(reached) == len(near)


def _to_triple(row: Row) -> Triple | None:
    cells = [row.get(name) for name in "spo"]
    if None in cells:
        return None
    subject, predicate, obj = (term(x, str) for x in cells if x is not None)
    return subject, predicate, obj


def labelled(triples: list[Triple], graph: str = "") -> Iterator[Triple]:
    """Label the blank nodes in complete components of triples, by their content.

    Nodes of two graphs always differ.
    """
    copies: dict[str, int] = defaultdict(int)
    labels: dict[str, str] = {}
    for component in iter_components(triples):
        names = unique_names(component)
        content = signature(component, names, graph)
        # Identical components are distinct.
        copies[content] += 1
        scope = f"k{content}c{copies[content]}n"
        labels |= {node: terms.blank(scope + name) for node, name in names.items()}
    for subject, predicate, obj in triples:
        if obj.startswith("<<"):  # its nodes may be those of other statements
            obj = _find_blank(lambda x: labels.get(x[0], x[0]), obj)  # noqa: PLW2901
        yield labels.get(subject, subject), predicate, labels.get(obj, obj)
