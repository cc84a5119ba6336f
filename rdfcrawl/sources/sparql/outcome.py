"""Tasks, checks and lessons after one response."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.core.codec import encode
from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.messages import counted
from rdfcrawl.core.source_tasks import MAX_STEP_CHARS, UNKNOWN, PageSize, SparqlTask
from rdfcrawl.rdf.terms import has_forbidden
from rdfcrawl.sources.sparql.lessons import FILL, EndpointLessons
from rdfcrawl.sources.sparql.sizes import shrunk

if TYPE_CHECKING:
    from rdfcrawl.sources.sparql.settings import HarvestSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionCheck:
    """Completeness of a partition."""

    want: int  # number of rows by the endpoint's own count, or `UNKNOWN`
    got: int  # number of rows that were read
    is_sure: bool = True  # nothing shows that rows are missing

    @property
    def is_complete(self) -> bool:
        """Whether all rows counted by the endpoint were read."""
        return self.is_sure and self.got >= self.want


class SparqlOutcome:
    """Outcome of one request; complete after its statements were read.

    Attributes:
        settings: of the harvest.
        log: receives `INCOMPLETE` for missing rows.
        tasks: next ones.
        checks: of the partitions that ended here.
        retries: repeat the task after a pause.
        failure: a `SparqlFailure` if the request failed.
        lessons: of earlier requests.
        n_rows: number of rows of a response with statements.
        is_broken: it ended early.
        n_graphs: number of graphs in the response to a step `whole` of several.
        has_miscounted: the endpoint's counts are wrong.
        lacks_sums: the endpoint does not count in several columns.
    """

    def __init__(
        self,
        settings: HarvestSettings,
        *,
        failure: str = "",
        retries: bool = False,
        lessons: EndpointLessons | None = None,
    ) -> None:
        self.settings, self.is_broken = settings, False
        self.has_miscounted = self.lacks_sums = False
        self.n_rows = self.n_graphs = 0
        self.lessons = lessons or EndpointLessons()
        self.log = FaultLog()
        self.tasks: list[SparqlTask] = []
        self.checks: list[PartitionCheck] = []
        self.retries, self.failure = retries, failure

    def follow(self, task: SparqlTask, **changes: Any) -> None:
        """Add a task, unless its names cannot be written into a query."""
        if changes:
            task = replace(task, **changes)
        part = task.part
        names = (part.graph, part.predicate, part.cls, part.subject, *task.graphs)
        if any(map(has_forbidden, names)):
            # A truncated row, or an error message among the rows of a CSV table.
            self.log.note(Reason.BAD_TERM, f"not a usable name: {_name(task)}")
            self.check(task, is_sure=False)
        elif len(encode(task)) > MAX_STEP_CHARS:  # real data has no such names
            self.log.note(Reason.TOO_LARGE, f"names of a partition: {_name(task)}")
            self.check(task, is_sure=False)
        else:
            self.tasks.append(task)

    def check(
        self, task: SparqlTask, got: int | None = None, *, is_sure: bool = True
    ) -> None:
        """Add the check of a partition, and a fault if rows are missing."""
        got = task.got if got is None else got
        check = PartitionCheck(want=task.want, got=got, is_sure=is_sure)
        self.checks.append(check)
        if not check.is_complete:
            is_known = task.want != UNKNOWN
            total = counted(task.want, "row") if is_known else "unknown rows"
            detail = f"{got} of {total} of {_name(task)}"
            self.log.note(Reason.INCOMPLETE, detail, apart=True)


def _name(task: SparqlTask) -> str:
    part = task.part
    names = [f"<{part.graph}>" if part.graph else "the default graph"]
    names += [f"<{x}>" for x in (part.predicate, part.cls, part.subject) if x]
    if part.low or part.high:
        names.append(f"from {part.low[:80]!r} to {part.high[:80]!r}")
    return f"{task.step}: {' '.join(names)}"


BEGINNING: Final = frozenset({"graphs", "default"})
"""Steps of the first tasks for which the naming of blank nodes matters."""
_COUNTING: Final = frozenset({"graphs", "hashes", "count"})
_TEACHING: Final = _COUNTING | {"page", "whole"}


def learned(
    lessons: EndpointLessons, task: SparqlTask, out: SparqlOutcome
) -> EndpointLessons:
    """Return the lessons after a response."""
    if out.has_miscounted:
        lessons = replace(lessons, has_counts=False)
    begun = next((x for x in out.tasks if x.step in BEGINNING), None)
    if begun and task.step not in BEGINNING and lessons.naming is None:
        lessons = replace(lessons, naming=begun.naming)
    if out.lacks_sums:
        return replace(lessons, has_sums=False)
    is_read = not (out.retries or out.is_broken)
    if not is_read or task.step not in _TEACHING:
        return lessons
    if out.failure and task.order == "so" and not task.after:
        return replace(lessons, sorts_groups=False)
    if out.failure == "refused":
        return _after_refusal(lessons, task)
    if not out.failure:
        is_of_rows = task.step not in _COUNTING
        return (
            _after_success(lessons, task, out)
            if is_of_rows
            else _after_numbers(lessons, task)
        )
    return lessons if task.step == "count" else _after_failure(lessons, task, out)


def _after_failure(
    lessons: EndpointLessons, task: SparqlTask, out: SparqlOutcome
) -> EndpointLessons:
    if task.step == "page" and task.order:
        is_least = task.limit <= max(out.settings.min_rows, lessons.most)
        n_least = lessons.n_least + is_least
        if lessons.limit and task.limit > lessons.most:
            less = shrunk(task, out.settings.min_rows)
            limit = max(less.limit, min(lessons.most, task.limit - 1))
            lessons = replace(lessons, limit=limit, size=less.size)
        return replace(lessons, n_failed=lessons.n_failed + 1, n_least=n_least)
    is_shorter = task.want < (lessons.worst or task.want + 1)
    is_lesson = task.fails and task.want > lessons.most and is_shorter
    return replace(lessons, worst=task.want if is_lesson else lessons.worst)


def _after_refusal(lessons: EndpointLessons, task: SparqlTask) -> EndpointLessons:
    if task.step == "hashes" and task.can_hash:
        is_first = task.part.hashing == lessons.hashing == "md5"
        return replace(lessons, hashing="chars" if is_first else "")
    if task.step == "whole" and len(task.graphs) > 1:
        return replace(lessons, has_values=False)
    if task.step == "count":
        return replace(lessons, has_counts=False)
    if task.step == "page" and task.order:
        return replace(lessons, n_refused=lessons.n_refused + 1)
    return lessons


def _after_numbers(lessons: EndpointLessons, task: SparqlTask) -> EndpointLessons:
    """Return the lessons after a list of graphs, or a table of counts."""
    if task.step == "graphs":
        return replace(lessons, listing=max(lessons.listing, task.variant))
    if task.step == "hashes" and task.part.hashing == "chars":
        return replace(lessons, hashing="chars")  # as MD5 was refused, or too slow
    return lessons


def _after_success(
    lessons: EndpointLessons, task: SparqlTask, out: SparqlOutcome
) -> EndpointLessons:
    n_rows = out.n_rows
    if task.want == UNKNOWN and len(task.graphs) > 1 and n_rows:
        n_fit = out.n_graphs
        if n_rows < lessons.most:
            n_fit = n_fit * lessons.most // n_rows
        lessons = replace(lessons, n_graphs=max(1, int(FILL * n_fit)))
    if task.step == "page" and task.order:
        page = next((x for x in out.tasks if x.step == "page" and x.size.worst), None)
        lessons = replace(lessons, n_failed=0, n_least=0, n_refused=0)
        if page is not None:
            lessons = replace(lessons, limit=page.limit, size=page.size)
        elif task.limit >= lessons.limit:
            lessons = replace(lessons, limit=0, size=PageSize())
    is_cut = n_rows < min(task.limit, task.want - task.got)
    if n_rows > lessons.most or (n_rows == lessons.most and is_cut):
        is_capped = is_cut and n_rows > out.settings.min_rows
        lessons = replace(lessons, most=n_rows, is_capped=is_capped)
    if n_rows >= lessons.worst:
        lessons = replace(lessons, worst=0)
    return lessons
