"""Queries for nodes together with their attached blank nodes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.namespaces import DCAT, DCTERMS
from rdfcrawl.rdf.queries import text
from rdfcrawl.sources.sparql.queries import (
    in_graph,
    labels,
    subject_key,
    subject_term,
)

if TYPE_CHECKING:
    from rdfcrawl.core.source_tasks import SparqlPart, SparqlTask

DATASET: Final = f"<{DCAT}Dataset>"
_WITH_BLANK = "?s ?p ?o FILTER(isBlank(?s) || isBlank(?o))"
# Nodes described along with a dataset, not the objects of other properties.
_DESCRIBED_ALONG: Final = (
    f"?r <{DCAT}distribution> {{}} .",
    f"?r <{DCAT}contactPoint> {{}} .",
    f"?r <{DCTERMS}publisher> {{}} .",
    f"?r <{DCTERMS}creator> {{}} .",
    f"?r <{DCAT}distribution> ?d . ?d <{DCAT}accessService> {{}} .",
)
_OF_CATALOG = f"{{}} <{DCAT}dataset> ?r ."
_NOT_OTHER_ENTRIES = f"FILTER(?p != <{DCAT}dataset> && ?p != <{DCAT}record>)"


def count_blank_triples(part: SparqlPart) -> str:
    """Query the number of triples with a blank node."""
    return f"SELECT (COUNT(*) AS ?n) WHERE {{ {in_graph(part.graph, _WITH_BLANK)} }}"


def blank_triples(task: SparqlTask) -> str:
    """Query all triples with a blank node."""
    return f"SELECT ?s ?p ?o WHERE {{ {in_graph(task.part.graph, _WITH_BLANK)} }}"


def components(task: SparqlTask, n_roots: int, depth: int) -> str:
    """Query `n_roots` blank nodes and the triples of their connected components.

    `depth` is the maximum number of steps between blank nodes.
    """
    both = "{ ?b ?rp ?ro } UNION { ?rs ?rq ?b } FILTER(isBlank(?b))"
    where = f"WHERE {{ {in_graph(task.part.graph, both)} }}"
    end = f"LIMIT {n_roots} OFFSET {task.offset}"
    branches = " UNION ".join(
        f"{{ {in_graph(task.part.graph, pattern)} }}"
        for pattern in _iter_component_patterns(where, end, depth)
    )
    return f"SELECT DISTINCT ?s ?p ?o WHERE {{ {branches} }} LIMIT {task.limit}"


def _iter_component_patterns(where: str, end: str, depth: int) -> Iterator[str]:
    for n in range(depth + 1):
        for last in ("s", "o"):
            names = [f"b{i}" for i in range(n)] + [last]
            steps = "".join(
                f" {{ ?{near} ?q{i} ?{far} }} UNION {{ ?{far} ?q{i} ?{near} }}"
                f" FILTER(isBlank(?{far}))"
                for i, (near, far) in enumerate(itertools.pairwise(names))
            )
            root = f"?{names[0]}"
            some = f"SELECT DISTINCT (?b AS {root}) {where} ORDER BY {root} {end}"
            yield f"{{ {some} }}{steps} ?s ?p ?o"


# -- datasets ----------------------------------------------------------------------


def dataset_graphs(task: SparqlTask) -> str:
    """Query the graphs with datasets, and the number of datasets in each."""
    after = f" FILTER(STR(?g) > {text(task.after)})" if task.after else ""
    where = f"WHERE {{ GRAPH ?g {{ ?s a {DATASET} }}{after} }}"
    end = f"GROUP BY ?g ORDER BY STR(?g) LIMIT {task.limit}"
    return f"SELECT ?g (COUNT(DISTINCT ?s) AS ?n) {where} {end}"


def datasets(task: SparqlTask) -> str:
    """Query the keys of the datasets after a key."""
    key = subject_key(task.naming, "s")
    after = f" FILTER({key} > {text(task.after)})" if task.after else ""
    roots = in_graph(task.part.graph, f"?s a {DATASET}{after}")
    columns = f"DISTINCT ({key} AS ?k)"
    return f"SELECT {columns} WHERE {{ {roots} }} ORDER BY ?k LIMIT {task.limit}"


def about(task: SparqlTask, depth: int) -> str:
    """Query the descriptions of the datasets whose keys are in `task.graphs`.

    A `variant` selects one of the patterns, to be read in pages; `depth` is the maximum
    number of steps from a described node to a blank node.
    """
    named = " ".join(subject_term(task.naming, key) for key in task.graphs)
    patterns = [
        in_graph(task.part.graph, f"VALUES ?{root} {{ {named} }} {pattern}")
        for root, pattern in _iter_descriptions(depth)
    ]
    end = f"LIMIT {task.limit}"
    if task.variant:
        patterns = [patterns[task.variant - 1]]
        end = f"ORDER BY ?s ?p ?o {end} OFFSET {task.offset}"
    branches = " UNION ".join(f"{{ {pattern} }}" for pattern in patterns)
    columns = f"DISTINCT ?s ?p ?o{labels(task.naming, 's', 'o')}"
    return f"SELECT {columns} WHERE {{ {branches} }} {end}"


def n_descriptions(depth: int) -> int:
    """Return the number of patterns in `about`."""
    return sum(1 for _ in _iter_descriptions(depth))


def _iter_descriptions(depth: int) -> Iterator[tuple[str, str]]:
    """Yield (variable of the dataset, pattern of triples ?s ?p ?o about it)."""
    yield "s", "?s ?p ?o"
    for n in range(1, depth + 1):
        yield "r", _blank_path("r", n)
    for way in _DESCRIBED_ALONG:
        yield "r", f"{way.format('?s')} ?s ?p ?o"
        for n in range(1, depth + 1):
            yield "r", f"{way.format('?m')} {_blank_path('m', n)}"
    catalog = _OF_CATALOG.format("?s")
    yield "o", f"?s ?p ?o FILTER(?p = <{DCAT}dataset>)"
    yield "r", f"{catalog} ?s ?p ?o {_NOT_OTHER_ENTRIES}"
    for n in range(1, depth + 1):
        path = _blank_path("m", n)
        yield "r", f"{_OF_CATALOG.format('?m')} {path} {_NOT_OTHER_ENTRIES}"


def _blank_path(start: str, n: int) -> str:
    """Return the pattern of the triples of nodes at a distance of `n` blank nodes."""
    names = [start, *(f"n{i}" for i in range(1, n)), "s"]
    steps = (
        f"?{near} ?e{i} ?{far} . FILTER(isBlank(?{far}))"
        for i, (near, far) in enumerate(itertools.pairwise(names))
    )
    return f"{' '.join(steps)} ?s ?p ?o"
