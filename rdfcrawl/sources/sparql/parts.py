"""Steps that count and partition triples into readable parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.namespaces import RDF_TYPE
from rdfcrawl.core.source_tasks import UNKNOWN, SparqlPart, SparqlTask
from rdfcrawl.rdf.queries import is_safe

if TYPE_CHECKING:
    from rdfcrawl.sources.sparql.cells import Row
    from rdfcrawl.sources.sparql.outcome import OutcomeBuilder
    from rdfcrawl.sources.sparql.settings import HarvestSettings

LISTED_ROWS = 1_000  # names per request


def can_split(part: SparqlPart) -> bool:
    """Return whether predicates or classes can partition a part."""
    if part.subject or part.low or part.high:
        return False
    return not part.predicate or (
        part.predicate == RDF_TYPE and not part.cls and not part.no_iri
    )


def can_cut(task: SparqlTask, settings: HarvestSettings) -> bool:
    """Return whether a subject can cut a part in two."""
    is_keyed = not (task.part.rows == "blank" and task.naming == "stable")
    return is_keyed and not task.part.subject and task.cuts < settings.max_cuts


def plan_part(
    task: SparqlTask, out: OutcomeBuilder, *, may_be_whole: bool = True
) -> None:
    """Add the tasks that read a part of the size `want`.

    With `may_be_whole`, a small graph is requested completely.
    """
    part, want = task.part, task.want
    task = replace(task, after="", got=0, offset=0, worst=0, fails=0)
    task = replace(task, variant=0, graphs=())
    if want == 0:
        out.check(task, 0)
    elif (
        may_be_whole
        and part == SparqlPart(graph=part.graph)
        and UNKNOWN < want <= task.limit
    ):
        out.follow(task, step="whole", graphs=(part.graph,))
    elif task.naming == "stable" and not part.rows:
        for rows in ("iri", "blank"):
            out.follow(task, step="count", part=replace(part, rows=rows), want=UNKNOWN)
    elif task.naming == "local" and not part.rows:
        out.follow(task, step="components", want=UNKNOWN)
        ground = replace(part, rows="ground")
        out.follow(task, step="count", part=ground, want=UNKNOWN)
    elif part.rows == "blank" and task.naming == "stable":
        step = "split" if can_split(part) and want > task.limit else "offset"
        out.follow(task, step=step)
    elif want > out.settings.pages_per_part * task.limit and can_split(part):
        out.follow(task, step="split")
    elif want > out.settings.sort_rows and can_cut(task, out.settings):
        out.follow(task, step="pivot")
    else:
        out.follow(task, step="page", order="s")


def read_count(rows: Iterable[Row]) -> int:
    """Return the number in the only row of a table; `UNKNOWN` if there is none."""
    for row in rows:
        cell = row.get("n")
        if cell is not None and cell.text.isascii() and cell.text.isdigit():
            return int(cell.text)
        # Some stores count in decimals.
        if cell is not None and cell.text.replace(".", "", 1).isdigit():
            return int(float(cell.text))
    return UNKNOWN


def after_count(task: SparqlTask, rows: Iterable[Row], out: OutcomeBuilder) -> None:
    """Plan a part by its size."""
    plan_part(replace(task, want=read_count(iter_logged(rows, out))), out)


def after_split(task: SparqlTask, rows: Iterable[Row], out: OutcomeBuilder) -> None:
    """Plan each predicate (or class), and continue the list."""
    name = "o" if task.part.predicate else "p"
    total, last, n_rows = task.got, task.after, 0
    for row in islice(iter_logged(rows, out), LISTED_ROWS):
        cell = row.get(name)
        if cell is None or cell.kind != "iri":
            continue
        n_rows += 1
        last = cell.text
        n_found = read_count([row]) if task.variant == 0 else UNKNOWN
        total += max(n_found, 0)
        if name == "o":
            part = replace(task.part, cls=last)
        else:
            part = replace(task.part, predicate=last)
        one = replace(task, part=part, want=n_found)
        if n_found == UNKNOWN:
            out.follow(one, step="count", after="", got=0, variant=0, fails=0)
        else:
            plan_part(one, out)
    if n_rows and total != task.want:
        if is_safe(last) and last > task.after:
            out.follow(task, after=last, got=total, fails=0)
            return
        out.log.note(Reason.PAGING_LOOP, f"names after {task.after[:100]!r}")
    _end_split(task, total, out)


def _end_split(task: SparqlTask, total: int, out: OutcomeBuilder) -> None:
    if task.part.predicate:  # classes that are not IRIs
        rest = replace(task.part, no_iri=True)
        is_unknown = UNKNOWN in (task.want, -task.variant)
        left = UNKNOWN if is_unknown else task.want - total
        if left == UNKNOWN:
            out.follow(task, step="count", part=rest, want=UNKNOWN, after="", got=0)
        elif left > 0:
            plan_part(replace(task, part=rest, want=left), out)
    elif task.variant == 0:
        out.check(task, total)


def after_pivot(task: SparqlTask, rows: Iterable[Row], out: OutcomeBuilder) -> None:
    """Cut the part in two at a subject."""
    part = task.part
    key = next((row["k"].text for row in iter_logged(rows, out) if "k" in row), "")
    fresh = replace(task, step="count", want=UNKNOWN, cuts=task.cuts + 1, fails=0)
    if not is_safe(key) or not part.low < key or key == part.high:
        out.follow(
            task, step="page", cuts=out.settings.max_cuts, fails=0, got=0, after=""
        )
        return
    out.follow(fresh, part=replace(part, high=key))
    out.follow(fresh, part=replace(part, low=key))


def iter_logged(rows: Iterable[Row], out: OutcomeBuilder) -> Iterator[Row]:
    """Yield rows; log the fault of a truncated response."""
    try:
        yield from rows
    except SourceFault as error:
        out.log.note(error.fault.reason, error.fault.detail)


def looks_cut(n_rows: int) -> bool:
    """Return whether a number of rows is a common limit of endpoints."""
    return n_rows >= 50 and str(n_rows).rstrip("0") in ("1", "2", "5", "25")
