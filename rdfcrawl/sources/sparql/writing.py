"""Cells of result tables, and the statements of their rows in N-Quads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import quote

from rdfcrawl.core.codec import encode
from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.graphs import GraphRule
from rdfcrawl.sources.sparql import queries

if TYPE_CHECKING:
    from rdfcrawl.core.source_tasks import SparqlTask
    from rdfcrawl.sources.sparql.settings import HarvestSettings


CellKind = Literal["iri", "blank", "literal", "triple"]


class ResultTerm(NamedTuple):
    """One RDF term of a row; `text` is an IRI, a label without `_:`, or a lexical form.

    `datatype` and `language` are empty unless a literal states them; a base direction
    follows the language: `ar--rtl`. A triple term has no text, and three `parts`.
    """

    kind: CellKind
    text: str
    datatype: str = ""
    language: str = ""
    parts: tuple[ResultTerm, ...] = ()


Row = dict[str, ResultTerm]
"""One row: variable, without question mark, -> term."""


def triple_of(parts: Sequence[ResultTerm | None]) -> ResultTerm | None:
    """Return a triple term; None if a part is missing."""
    known = tuple(part for part in parts if part is not None)
    return ResultTerm("triple", "", parts=known) if len(known) == 3 else None


def with_direction(language: str, direction: str) -> str:
    """Return a language tag with a base direction (RDF 1.2, `its:dir`)."""
    direction = direction.lower()
    if not language or direction not in ("ltr", "rtl"):
        return language
    return f"{language}--{direction}"


def term(cell: ResultTerm, name_blank: Callable[[str], str]) -> str:
    """Return the N-Quads term of a cell; `name_blank` maps labels of blank nodes.

    >>> term(ResultTerm("literal", "x", language="en"), str)
    '"x"@en'
    """
    if cell.kind == "iri":
        return terms.iri(cell.text)
    if cell.kind == "blank":
        return terms.blank(name_blank(cell.text))
    if cell.kind == "triple":
        return f"<<( {' '.join(term(part, name_blank) for part in cell.parts)} )>>"
    return terms.literal(cell.text, datatype=cell.datatype, language=cell.language)


_MAX_KNOWN = 4096  # names in memory


class EndpointGraph(NamedTuple):
    """The N-Quads term of a graph, empty for a default graph without a name.

    `is_foreign`: the endpoint may not write this graph, so the term differs.
    """

    term: str
    is_foreign: bool = False


class GraphTerms:
    """The names of an endpoint's graphs in one response.

    A foreign graph (`FOREIGN_GRAPH`) has a name with both URLs:

        <http://example.org/sparql#graph=http%3A%2F%2Fother.example%2Fdocument>
    """

    def __init__(self, endpoint: str, settings: HarvestSettings, log: FaultLog) -> None:
        self._endpoint, self._log = endpoint, log
        self._rule = GraphRule(endpoint, settings.trust)
        name = settings.default_graph
        self._default = EndpointGraph(terms.iri(name) if name else "")
        self._known: dict[str, EndpointGraph] = {}

    def graph(self, name: str) -> EndpointGraph:
        """Return a graph by its name at the endpoint; empty is the default graph."""
        if not name:
            return self._default
        graph = self._known.get(name)
        if graph is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            graph = self._known[name] = self._judge(name)
        return graph

    def _judge(self, name: str) -> EndpointGraph:
        if self._rule.admits(name):
            return EndpointGraph(terms.iri(name))
        own = f"{self._endpoint}#graph={quote(name, safe='')}"
        return EndpointGraph(terms.iri(own), is_foreign=True)

    def note(self, name: str, n_statements: int = 1) -> None:
        """Note statements of a foreign graph."""
        detail = f"statements in graph <{name[:200]}>"
        self._log.note(Reason.FOREIGN_GRAPH, detail, n_statements)


class RowWriter:
    """Writes the rows of one response.

    If an endpoint's labels are stable, equal labels become equal nodes in all
    responses; otherwise in this response only (`n_local` of them).
    """

    def __init__(self, endpoint: str, task: SparqlTask, graphs: GraphTerms) -> None:
        self._endpoint_scope = _scope(endpoint)
        self.has_names = task.naming in ("key", "str", "arq", "stable")
        own = self._endpoint_scope if self.has_names else ""
        self._scope = own or _scope(endpoint, encode(task))
        self.n_local = 0
        part = task.part
        self._graphs, self._name = graphs, part.graph
        self._subject = self._fixed_subject(task) if part.subject else ""
        self._predicate = terms.iri(part.predicate) if part.predicate else ""
        self._object = terms.iri(part.cls) if part.cls else ""

    def line(self, row: Row) -> str:
        """Return the statement of a row; empty if a term is missing."""
        subject = self._node(row, "s") or self._subject
        predicate = self._node(row, "p") or self._predicate
        obj = self._node(row, "o") or self._object
        if not (subject and predicate and obj):
            return ""
        name = self._name
        if "g" in row and row["g"].kind == "iri":
            name = row["g"].text
        graph = self._graphs.graph(name)
        if graph.is_foreign:
            self._graphs.note(name)
        return terms.statement(subject, predicate, obj, graph.term)

    def name_blank(self, label: str) -> str:
        """Return the label of a blank node in the output."""
        if label.startswith("nodeID://"):  # of Virtuoso; stable
            return f"{self._endpoint_scope}n{label[9:]}"
        self.n_local += not self.has_names
        return f"{self._scope}n{label.removeprefix('_:')}"

    def _node(self, row: Row, name: str) -> str:
        cell = row.get(name)
        if cell is None:
            return ""
        label = row.get(f"{name}_label")
        if cell.kind == "blank" and label is not None and label.text:
            cell = ResultTerm("blank", label.text)
        elif cell.kind == "iri" and cell.text.startswith("nodeID://"):
            cell = ResultTerm("blank", cell.text)  # of older releases of Virtuoso
        return term(cell, self.name_blank)

    def _fixed_subject(self, task: SparqlTask) -> str:
        key = task.part.subject
        if queries.is_blank_key(task.naming, key):
            return terms.blank(self.name_blank(key))
        return terms.iri(key)


def _scope(*names: str) -> str:
    return "q" + blake2b("\n".join(names).encode(), digest_size=8).hexdigest()
