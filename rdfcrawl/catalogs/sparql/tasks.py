"""The steps of a harvest, each a short text that says all it needs to be taken."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Final, Literal

from rdfcrawl.errors import Reason, SourceFault

MAX_TASK_BYTES: Final = 2_048  # what a record of the frontier carries
UNKNOWN: Final = -1

Step = Literal[
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
Naming = Literal[
    "",  # not known, or no blank node was found
    "key",  # STR of a blank node is its label, the same in every answer (Virtuoso)
    "str",  # STR of a blank node is its label, answers have others (Jena 5)
    "arq",  # the same by a function of Jena's (before STR did it)
    "stable",  # labels are the same in every answer, but cannot be computed with
    "local",  # labels hold in one answer only
]
Order = Literal[
    "s",  # by the subject
    "h",  # by a hash of the subject: for IRIs that do not fit into a query
    "o",  # by a hash of the object, for one subject
]
Rows = Literal[
    "",  # all
    "iri",  # IRI subjects
    "blank",  # blank subjects
    "ground",  # no blank node in it
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some of the triples of an endpoint.

    Attributes:
        graph: name of the named graph; empty is the default graph.
        predicate: of all triples; empty if any.
        cls: object of all triples; empty if any.
        no_iri: objects are no IRIs.
        low: subjects' keys are greater than this; empty if any.
        high: subjects' keys are not greater than this; empty if any.
        rows: what kinds of terms.
        subject: key of the one subject; empty if any.
        obj: hash of the one object; empty if any.
    """

    graph: str = ""
    predicate: str = ""
    cls: str = ""
    no_iri: bool = False
    low: str = ""
    high: str = ""
    rows: Rows = ""
    subject: str = ""
    obj: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One request of a harvest and what is known when it is made.

    Attributes:
        step: what is asked for.
        part: of which triples.
        graphs: of which graphs, for `whole`; the empty name is the default graph.
        naming: how the endpoint names blank nodes.
        has_union: the default graph is said to be the union of the named ones.
        as_xml: XML is the better table of this endpoint.
        order: of a `page`.
        after: last key that was read.
        asked: rows asked for.
        most: most rows that an answer had.
        worst: fewest rows that were asked for in vain; 0 if there were none.
        want: rows that there are, or `UNKNOWN`.
        got: rows that were read.
        offset: of an `offset`, `knots` or `query`.
        cuts: times the partition was cut in two by a pivot.
        fails: times in a row that the endpoint did not bear this.
        variant: which way to ask is tried; 0 is the best.
        seen: labels of the answer before, for `stable`.
    """

    step: Step
    part: Part = Part()
    graphs: tuple[str, ...] = ()
    naming: Naming = ""
    has_union: bool = False
    as_xml: bool = False
    order: Order = "s"
    after: str = ""
    asked: int = 0
    most: int = 0
    worst: int = 0
    want: int = UNKNOWN
    got: int = 0
    offset: int = 0
    cuts: int = 0
    fails: int = 0
    variant: int = 0
    seen: tuple[str, ...] = ()

    def encode(self) -> str:
        """Return the text of the task; equal tasks have equal texts.

        Raises:
            SourceFault: it is longer than `MAX_TASK_BYTES`: of IRIs that long there
                are none in real data.
        """
        short = {
            _TASK_NAMES[name]: value
            for name, value in _changed(self, _TASK_DEFAULTS).items()
        }
        short |= {
            _PART_NAMES[name]: value
            for name, value in _changed(self.part, _PART_DEFAULTS).items()
        }
        text = json.dumps(short, separators=(",", ":"), sort_keys=True)
        if len(text) > MAX_TASK_BYTES:
            raise SourceFault(Reason.TOO_LARGE, f"names of a partition: {text[:100]}")
        return text

    @classmethod
    def decode(cls, text: str) -> Task:
        """Return the task of a text.

        Raises:
            ValueError: it is no task.
        """
        try:
            short = json.loads(text)
            part = {n: short.pop(s) for n, s in _PART_NAMES.items() if s in short}
            task = {n: short.pop(s) for n, s in _TASK_NAMES.items() if s in short}
            for name in ("graphs", "seen"):
                if name in task:
                    task[name] = tuple(task[name])
            if short:
                raise ValueError(f"unknown names {sorted(short)}")
            return cls(part=Part(**part), **task)
        except (TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"no task: {text[:100]}") from error


_PART_NAMES: Final = {
    "graph": "g",
    "predicate": "p",
    "cls": "c",
    "no_iri": "ni",
    "low": "lo",
    "high": "hi",
    "rows": "r",
    "subject": "s",
    "obj": "ob",
}
_TASK_NAMES: Final = {
    "step": "do",
    "graphs": "gs",
    "naming": "bn",
    "has_union": "u",
    "as_xml": "x",
    "order": "by",
    "after": "a",
    "asked": "n",
    "most": "m",
    "worst": "b",
    "want": "w",
    "got": "k",
    "offset": "at",
    "cuts": "cu",
    "fails": "f",
    "variant": "v",
    "seen": "se",
}


def _changed(of: object, defaults: dict[str, object]) -> dict[str, object]:
    values = {name: getattr(of, name) for name in defaults}
    return {name: x for name, x in values.items() if x != defaults[name]}


_PART_DEFAULTS: Final = {x.name: x.default for x in fields(Part)}
_TASK_DEFAULTS: Final = {
    x.name: ("" if x.name == "step" else x.default)
    for x in fields(Task)
    if x.name != "part"
}
