"""One step of the harvest of a SPARQL endpoint, with its complete state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal

UNKNOWN: Final = -1
MAX_STEP_CHARS: Final = 2048  # of the text of a task, whose names are part of a query

SparqlStep = Literal[
    "describe",  # GET without a query
    "probe",  # how blank nodes are named, and whether they are distinguishable
    "stable",  # whether labels are the same in the next response
    "graphs",  # list the named graphs
    "default",  # whether the default graph is more than the union of the named ones
    "whole",  # all of some graphs in one response
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
    "key",  # STR of a blank node is its label, which is stable (Virtuoso)
    "str",  # STR of a blank node is its label; responses differ (Jena 5)
    "arq",  # the same by a function of Jena's (before STR did it)
    "stable",  # labels are the same in every response, but not in expressions
    "local",  # labels are valid in one response
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
    rows: RowTerms = ""  # kinds of terms
    cls: str = ""  # object of all triples; empty if any
    no_iri: bool = False  # objects are not IRIs
    subject: str = ""  # key of the one subject; empty if any
    obj: str = ""  # hash of the one object; empty if any


@dataclass(frozen=True, slots=True, kw_only=True)
class SparqlTask:
    """One request of a harvest, and the state of the harvest before it."""

    TAG: ClassVar = "sparql"

    step: SparqlStep
    part: SparqlPart = SparqlPart()  # requested triples
    limit: int = 0  # LIMIT of the query
    naming: BlankNaming = ""  # how the endpoint names blank nodes
    # the endpoint declares its default graph as the union of the named ones
    has_union: bool = False
    as_xml: bool = False  # XML results work better than CSV or TSV
    want: int = UNKNOWN  # existing rows, or `UNKNOWN`
    got: int = 0  # rows read
    after: str = ""  # last key read
    order: RowOrder = "s"  # of a `page`
    most: int = 0  # most rows of a response
    worst: int = 0  # fewest rows of a failed request; 0: none has failed
    # graphs of the step `whole`; the empty name is the default graph
    graphs: tuple[str, ...] = ()
    offset: int = 0  # of an `offset`, `components` or `query`
    cuts: int = 0  # times the partition was cut in two by a pivot
    fails: int = 0  # consecutive failures of this request
    variant: int = 0  # form of the query; 0 is the best
    seen: tuple[str, ...] = ()  # labels of the previous response, for `stable`
    n_tries: int = 0  # times that the endpoint deferred the request
    has_answered: bool = False  # an earlier request of the harvest had a response


@dataclass(frozen=True, slots=True)
class SparqlPing:
    """The request that tests whether an endpoint exists."""

    TAG: ClassVar = "ping"

    number: int  # positive results of the same test in the previous run
