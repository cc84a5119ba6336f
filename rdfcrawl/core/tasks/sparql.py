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
    "components",  # connected components of blank nodes
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
    """Some of the triples of an endpoint."""

    graph: str = ""  # name of the named graph; empty is the default graph
    predicate: str = ""  # of all triples; empty if any
    low: str = ""  # subjects' keys are greater than this; empty if any
    high: str = ""  # subjects' keys are not greater than this; empty if any
    rows: RowTerms = ""  # what kinds of terms
    cls: str = ""  # object of all triples; empty if any
    no_iri: bool = False  # objects are no IRIs
    subject: str = ""  # key of the one subject; empty if any
    obj: str = ""  # hash of the one object; empty if any


@dataclass(frozen=True, slots=True, kw_only=True)
class SparqlTask:
    """One request of a harvest and what is known when it is made."""

    TAG: ClassVar = "sparql"

    step: SparqlStep  # what is asked for
    part: SparqlPart = SparqlPart()  # of which triples
    asked: int = 0  # rows asked for
    naming: BlankNaming = ""  # how the endpoint names blank nodes
    # the default graph is said to be the union of the named ones
    has_union: bool = False
    as_xml: bool = False  # XML is the better table of this endpoint
    want: int = UNKNOWN  # rows that there are, or `UNKNOWN`
    got: int = 0  # rows that were read
    after: str = ""  # last key that was read
    order: RowOrder = "s"  # of a `page`
    most: int = 0  # most rows that an answer had
    worst: int = 0  # fewest rows that were asked for in vain; 0 if there were none
    # of which graphs, for `whole`; the empty name is the default graph
    graphs: tuple[str, ...] = ()
    offset: int = 0  # of an `offset`, `components` or `query`
    cuts: int = 0  # times the partition was cut in two by a pivot
    fails: int = 0  # times in a row that the endpoint did not bear this
    variant: int = 0  # which way to ask is tried; 0 is the best
    seen: tuple[str, ...] = ()  # labels of the answer before, for `stable`
    n_tries: int = 0  # times that the endpoint asked to put this off
    has_answered: bool = False  # a response came to an earlier request of the harvest


@dataclass(frozen=True, slots=True)
class SparqlPing:
    """The question whether an endpoint is there at all."""

    TAG: ClassVar = "ping"

    number: int  # times that the same was asked in the run before, and it was there
