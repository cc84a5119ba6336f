"""One step of the harvest of a SPARQL endpoint: it says all it needs to be taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal

UNKNOWN: Final = -1
MAX_STEP_CHARS: Final = 2048  # of the text of a task, whose names stand in a query

SparqlStep = Literal[
    "describe",  # GET without a query
    "probe",  # how blank nodes are named, and whether they can be told apart
    "stable",  # whether labels are the same in the next answer
    "graphs",  # list the named graphs
    "default",  # whether the default graph is more than the union of the named ones
    "whole",  # all of some graphs in one answer
    "count",  # of one partition
    "group",  # count of one subject that is larger than a page
    "split",  # list the predicates or classes of a partition
    "pivot",  # a subject in the middle of a partition
    "page",  # rows after a key, in order
    "offset",  # rows after a number of rows
    "knots",  # blank nodes with all they hang together with
    "datasets",  # list the datasets after a key
    "about",  # descriptions of some datasets
    "query",  # the user's own
]
BlankNaming = Literal[
    "",  # not known, or no blank node was found
    "key",  # STR of a blank node is its label, the same in every answer (Virtuoso)
    "str",  # STR of a blank node is its label, answers have others (Jena 5)
    "arq",  # the same by a function of Jena's (before STR did it)
    "stable",  # labels are the same in every answer, but cannot be computed with
    "local",  # labels hold in one answer only
]
RowOrder = Literal[
    "s",  # by the subject
    "h",  # by a hash of the subject: for IRIs that do not fit into a query
    "o",  # by a hash of the object, for one subject
]
RowTerms = Literal[
    "",  # all
    "iri",  # IRI subjects
    "blank",  # blank subjects
    "ground",  # no blank node in it
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SparqlPart:
    """Some of the triples of an endpoint.

    Attributes:
        graph: name of the named graph; empty is the default graph.
        predicate: of all triples; empty if any.
        low: subjects' keys are greater than this; empty if any.
        high: subjects' keys are not greater than this; empty if any.
        rows: what kinds of terms.
        cls: object of all triples; empty if any.
        no_iri: objects are no IRIs.
        subject: key of the one subject; empty if any.
        obj: hash of the one object; empty if any.
    """

    graph: str = ""
    predicate: str = ""
    low: str = ""
    high: str = ""
    rows: RowTerms = ""
    cls: str = ""
    no_iri: bool = False
    subject: str = ""
    obj: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparqlTask:
    """One request of a harvest and what is known when it is made.

    Attributes:
        step: what is asked for.
        part: of which triples.
        asked: rows asked for.
        naming: how the endpoint names blank nodes.
        has_union: the default graph is said to be the union of the named ones.
        as_xml: XML is the better table of this endpoint.
        want: rows that there are, or `UNKNOWN`.
        got: rows that were read.
        after: last key that was read.
        order: of a `page`.
        most: most rows that an answer had.
        worst: fewest rows that were asked for in vain; 0 if there were none.
        graphs: of which graphs, for `whole`; the empty name is the default graph.
        offset: of an `offset`, `knots` or `query`.
        cuts: times the partition was cut in two by a pivot.
        fails: times in a row that the endpoint did not bear this.
        variant: which way to ask is tried; 0 is the best.
        seen: labels of the answer before, for `stable`.
        n_tries: times that the endpoint asked to put this off.
    """

    TAG: ClassVar = "sparql"

    step: SparqlStep
    part: SparqlPart = SparqlPart()
    asked: int = 0
    naming: BlankNaming = ""
    has_union: bool = False
    as_xml: bool = False
    want: int = UNKNOWN
    got: int = 0
    after: str = ""
    order: RowOrder = "s"
    most: int = 0
    worst: int = 0
    graphs: tuple[str, ...] = ()
    offset: int = 0
    cuts: int = 0
    fails: int = 0
    variant: int = 0
    seen: tuple[str, ...] = ()
    n_tries: int = 0


@dataclass(frozen=True, slots=True)
class SparqlPing:
    """The question whether an endpoint is there at all.

    Attributes:
        number: times that the same was asked in the run before, and it was there.
    """

    TAG: ClassVar = "ping"

    number: int
