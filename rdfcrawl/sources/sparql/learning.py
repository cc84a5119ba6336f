"""Lessons of one response, for the requests after it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rdfcrawl.core.source_tasks import UNKNOWN, PageSize, SparqlTask
from rdfcrawl.sources.sparql.lessons import FILL, EndpointLessons
from rdfcrawl.sources.sparql.sizes import shrunk

if TYPE_CHECKING:
    from rdfcrawl.sources.sparql.outcome import SparqlOutcome


def learned(
    lessons: EndpointLessons, task: SparqlTask, out: SparqlOutcome
) -> EndpointLessons:
    """Return the lessons after a response."""
    is_read = not (out.retries or out.is_broken)
    if not is_read or task.step not in ("graphs", "page", "whole", "hashes"):
        return lessons
    if out.failure == "refused":
        return _after_refusal(lessons, task)
    if not out.failure:
        return _after_success(lessons, task, out)
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
    return lessons


def _after_success(
    lessons: EndpointLessons, task: SparqlTask, out: SparqlOutcome
) -> EndpointLessons:
    n_rows = out.n_rows
    if task.step == "graphs":
        return replace(lessons, listing=max(lessons.listing, task.variant))
    if task.step == "hashes":
        return lessons
    if task.want == UNKNOWN and len(task.graphs) > 1 and n_rows:
        n_fit = out.n_graphs
        if n_rows < lessons.most:
            n_fit = n_fit * lessons.most // n_rows
        lessons = replace(lessons, n_graphs=max(1, int(FILL * n_fit)))
    if task.step == "page" and task.order:
        page = next((x for x in out.tasks if x.step == "page" and x.size.worst), None)
        lessons = replace(lessons, n_failed=0, n_least=0)
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
