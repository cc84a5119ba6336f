"""Steps that only read descriptions of datasets."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.source_tasks import UNKNOWN, SparqlTask
from rdfcrawl.rdf.queries import is_safe
from rdfcrawl.sources.sparql.closures import n_descriptions
from rdfcrawl.sources.sparql.parts import LISTED_ROWS, iter_logged, looks_cut

if TYPE_CHECKING:
    from rdfcrawl.sources.sparql.cells import Row
    from rdfcrawl.sources.sparql.outcome import OutcomeBuilder
    from rdfcrawl.sources.sparql.pages import PageEnd

_BATCH_CHARS = 1_400  # of keys in one task
_MAX_BATCH = 40


def after_datasets(task: SparqlTask, rows: Iterable[Row], out: OutcomeBuilder) -> None:
    """Request the datasets of a list in batches, and continue the list."""
    batch: list[str] = []
    n_chars, n_rows, last = 0, 0, task.after
    about = replace(task, step="about", after="", want=UNKNOWN, got=0, fails=0)
    for row in islice(iter_logged(rows, out), LISTED_ROWS):
        if "k" not in row:
            continue
        last, n_rows = row["k"].text, n_rows + 1
        size = len(json.dumps(last)) + 1
        if batch and (n_chars + size > _BATCH_CHARS or len(batch) >= _MAX_BATCH):
            out.follow(about, graphs=tuple(batch))
            batch, n_chars = [], 0
        batch.append(last)
        n_chars += size
    if batch:
        out.follow(about, graphs=tuple(batch))
    _list_on(task, n_rows, last, out)


def _list_on(task: SparqlTask, n_rows: int, last: str, out: OutcomeBuilder) -> None:
    total = task.got + n_rows
    if not n_rows or total == task.want:
        out.check(task, total)
    elif last > task.after and is_safe(last):
        out.follow(task, after=last, got=total, fails=0)
    else:
        out.log.note(Reason.PAGING_LOOP, f"datasets after {task.after[:100]!r}")
        out.check(task, total, is_sure=False)


def after_about(
    task: SparqlTask, end: PageEnd, out: OutcomeBuilder, *, is_broken: bool
) -> None:
    """Request less at a time if a response may be truncated."""
    n_rows = end.n_rows
    if task.variant and n_rows and end.mark == task.after:
        out.log.note(Reason.PAGING_LOOP, f"rows after {task.offset}")
        out.check(task, task.offset, is_sure=False)
        return
    if task.variant:
        if n_rows:
            offset = task.offset + n_rows
            out.follow(task, offset=offset, after=end.mark, fails=0)
        return
    if not is_broken and not (n_rows >= task.limit or looks_cut(n_rows)):
        return
    most = max(task.most, n_rows)
    about_less(replace(task, most=most), out)


def about_less(task: SparqlTask, out: OutcomeBuilder) -> None:
    """Request half as many datasets, or one pattern at a time of a single dataset."""
    keys = task.graphs
    if len(keys) > 1:
        middle = len(keys) // 2
        for some in (keys[:middle], keys[middle:]):
            out.follow(task, graphs=some, fails=0)
    elif not task.variant:
        if task.naming == "local":
            out.check(task, task.most, is_sure=False)
        for variant in range(1, n_descriptions(out.settings.depth) + 1):
            out.follow(task, variant=variant, offset=0, fails=0)
    elif task.fails < out.settings.max_fails and task.limit > out.settings.min_rows:
        less = max(out.settings.min_rows, task.limit // 2)
        out.follow(task, limit=less, fails=task.fails + 1)
    else:
        out.check(task, task.offset, is_sure=False)
