"""What came of one request beside its statements."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rdfcrawl.catalogs.sparql.queries import can_be_named
from rdfcrawl.codec import encode
from rdfcrawl.errors import Reason
from rdfcrawl.tasks.sparql import MAX_STEP_CHARS, UNKNOWN, SparqlPart, SparqlTask

if TYPE_CHECKING:
    from rdfcrawl.catalogs.sparql.description import ServiceDescription
    from rdfcrawl.faultlog import FaultLog


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionCheck:
    """Whether a partition came whole.

    Attributes:
        part: which triples, or a list of graphs or predicates.
        want: how many there are by the endpoint's own count, or `UNKNOWN`.
        got: how many were read.
        is_sure: nothing tells that some are missing.
    """

    part: SparqlPart
    want: int
    got: int
    is_sure: bool = True

    @property
    def is_complete(self) -> bool:
        """Whether all is there that the endpoint says there is."""
        return self.is_sure and self.got >= self.want


@dataclass(slots=True, kw_only=True, eq=False)
class SparqlOutcome:
    """What follows from one request; complete once its statements are read.

    Attributes:
        tasks: that follow.
        checks: of the partitions that ended here.
        again: the same task once more, after a pause.
        failure: the request gave nothing (a member of `exchange.Failure`).
        n_rows: rows that the answer had.
        description: of the endpoint, if it was asked for.
    """

    tasks: list[SparqlTask] = field(default_factory=list)
    checks: list[PartitionCheck] = field(default_factory=list)
    again: bool = False
    failure: str = ""
    n_rows: int = 0
    description: ServiceDescription | None = None


class OutcomeBuilder:
    """Gathers an outcome.

    Args:
        outcome: where it is gathered.
        log: takes `INCOMPLETE` for what does not come.
    """

    def __init__(self, outcome: SparqlOutcome, log: FaultLog) -> None:
        self.outcome, self.log = outcome, log

    def follow(self, task: SparqlTask, **changes: Any) -> None:
        """Add a task; one that cannot be written is given up."""
        if changes:
            task = replace(task, **changes)
        part = task.part
        names = (part.graph, part.predicate, part.cls, part.subject, *task.graphs)
        if not all(map(can_be_named, names)):
            # A row that was cut off, or an error among the rows of a CSV table.
            self.log.note(Reason.BAD_TERM, f"no name to ask for: {_name(task)}")
            self.check(task, is_sure=False)
            return
        if len(encode(task)) > MAX_STEP_CHARS:  # there are no such names in real data
            self.log.note(Reason.TOO_LARGE, f"names of a partition: {_name(task)}")
            self.check(task, is_sure=False)
            return
        self.outcome.tasks.append(task)

    def check(
        self, task: SparqlTask, got: int | None = None, *, is_sure: bool = True
    ) -> None:
        """Add the check of a partition; tell if some of it is missing."""
        got = task.got if got is None else got
        check = PartitionCheck(part=task.part, want=task.want, got=got, is_sure=is_sure)
        self.outcome.checks.append(check)
        if not check.is_complete:
            total = "unknown" if task.want == UNKNOWN else task.want
            detail = f"{got} of {total} rows of {_name(task)}"
            self.log.note(Reason.INCOMPLETE, detail, apart=True)


def _name(task: SparqlTask) -> str:
    part = task.part
    names = [f"<{part.graph}>" if part.graph else "the default graph"]
    names += [f"<{x}>" for x in (part.predicate, part.cls, part.subject) if x]
    if part.low or part.high:
        names.append(f"from {part.low[:80]!r} to {part.high[:80]!r}")
    return f"{task.step}: {' '.join(names)}"
