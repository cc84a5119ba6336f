"""Tasks that take another way, since requests of other partitions have failed."""

from __future__ import annotations

from dataclasses import replace

from rdfcrawl.core.source_tasks import SparqlTask
from rdfcrawl.sources.sparql import discovery
from rdfcrawl.sources.sparql.hashes import can_hash, cut_by_hash
from rdfcrawl.sources.sparql.lessons import (
    EndpointLessons,
    begun,
    hashed,
    is_fresh,
    resized,
)
from rdfcrawl.sources.sparql.outcome import SparqlOutcome
from rdfcrawl.sources.sparql.parts import plan_part

_OF_ROWS = frozenset({"graphs", "whole", "page", "hashes", "split"})


def adapted(task: SparqlTask, out: SparqlOutcome) -> SparqlTask:
    """Return a task, or the one to do in its place after the lessons so far.

    `out` is empty, and of use only for this.
    """
    lessons = out.lessons
    if task.step not in _OF_ROWS:
        return task
    if not is_fresh(task):
        return resized(task, lessons)
    task = begun(hashed(task, lessons), lessons, out.settings.min_rows)
    if task.step == "graphs" and not (task.variant or task.most):
        task = replace(task, variant=lessons.listing)
    if task.step == "whole" and not lessons.has_values:
        task = replace(task, variant=1)
    if task.step == "whole" and lessons.is_too_much(task):
        less = replace(task, limit=min(task.limit, lessons.most), fails=0)
        discovery.apart(less, out, is_listed=True)
    elif task.step == "page" and not task.order and lessons.is_too_much(task):
        cut_by_hash(replace(task, limit=lessons.most, cuts=task.cuts + 1), out)
    elif _is_unsortable(task, lessons):
        plan_part(replace(task, is_unsorted=True), out, may_be_whole=False)
    # Several tasks are left to the response.
    return out.tasks[0] if len(out.tasks) == 1 else task


def _is_unsortable(task: SparqlTask, lessons: EndpointLessons) -> bool:
    if task.step != "page" or task.order != "s" or lessons.can_sort:
        return False
    return can_hash(task) and not task.part.subject
