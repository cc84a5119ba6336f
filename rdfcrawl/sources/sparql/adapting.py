"""Tasks that take another way, since requests of other partitions have failed."""

from __future__ import annotations

from dataclasses import replace

from rdfcrawl.core.source_tasks import UNKNOWN, PageSize, SparqlTask
from rdfcrawl.sources.sparql import discovery
from rdfcrawl.sources.sparql.failures import after_count
from rdfcrawl.sources.sparql.hashes import can_hash, cut_by_hash, uncut
from rdfcrawl.sources.sparql.lessons import ENOUGH, EndpointLessons
from rdfcrawl.sources.sparql.outcome import BEGINNING, SparqlOutcome
from rdfcrawl.sources.sparql.parts import cut, plan_part

_OF_ROWS = frozenset({"graphs", "whole", "page", "hashes", "split"})


def adapted(task: SparqlTask, out: SparqlOutcome) -> SparqlTask:
    """Return a task, or the one to do in its place after the lessons so far.

    `out` is empty, and of use only for this.
    """
    lessons = out.lessons
    if task.step in BEGINNING and lessons.naming is not None:
        # If the tests of the labels are repeated, their first result holds.
        task = replace(task, naming=lessons.naming)
    if task.step == "count" and not lessons.has_counts:
        after_count(task, out)
    elif task.step == "hashes" and task.part.hashing != lessons.hashing:
        _hash_otherwise(task, out)
    elif task.step in _OF_ROWS:
        return _adapted_rows(task, out)
    elif task.step == "offset" and _is_unsortable(task, lessons):
        _without_order(task, out)
    if len(out.tasks) != 1:  # several are left to the response
        return task
    other = out.tasks[0]
    fresh = SparqlOutcome(out.settings, lessons=lessons)
    return adapted(other, fresh) if other.step != task.step else other


def _adapted_rows(task: SparqlTask, out: SparqlOutcome) -> SparqlTask:
    lessons = out.lessons
    if not _is_fresh(task):
        return _with_common_size(task, lessons)
    task = _begun(_hashed(task, lessons), lessons, out.settings.min_rows)
    if task.step == "graphs" and not (task.variant or task.most):
        task = replace(task, variant=lessons.listing)
    if task.step == "whole" and not lessons.has_values:
        task = replace(task, variant=1)
    if task.step == "whole" and lessons.is_too_much(task):
        less = replace(task, limit=min(task.limit, lessons.most), fails=0)
        if len(task.sizes) > 1 and task.sizes[0] <= less.limit:
            return discovery.fitting(less)
        discovery.apart(less, out, is_smaller=True)
    elif task.step == "page" and not task.order and lessons.is_too_much(task):
        cut_by_hash(replace(task, limit=lessons.most, cuts=task.cuts + 1), out)
    elif task.step == "page" and task.order and lessons.n_refused >= ENOUGH:
        cut(task, "", out)
    elif _is_unsortable(task, lessons):
        _without_order(task, out)
    return out.tasks[0] if len(out.tasks) == 1 else task


def _hash_otherwise(task: SparqlTask, out: SparqlOutcome) -> None:
    """Add the task that cuts a partition, if it is not cut yet by a refused hash."""
    rest, hashing = uncut(task), out.lessons.hashing
    if rest.part.hash_low or rest.part.hash_high or rest.part.hashing == "chars":
        return
    if hashing:
        cut_by_hash(replace(rest, part=replace(rest.part, hashing=hashing)), out)
    else:
        cut(replace(rest, can_hash=False), "", out)


def _is_unsortable(task: SparqlTask, lessons: EndpointLessons) -> bool:
    if lessons.can_sort or task.variant or not _is_fresh(task):
        return False
    if task.step == "offset":  # without a number, only an order shows the end
        return task.want != UNKNOWN or can_hash(task)
    is_page = task.step == "page" and task.order == "s" and not task.part.subject
    is_blank = task.step == "split" and task.part.rows == "blank"
    is_blank = is_blank and task.naming == "stable"
    return (is_page or is_blank) and can_hash(task)


def _without_order(task: SparqlTask, out: SparqlOutcome) -> None:
    """Add the tasks that read a partition in parts by hashes, or in any order."""
    if can_hash(task):
        plan_part(replace(task, is_unsorted=True), out, may_be_whole=False)
    else:
        out.follow(task, variant=1)


def _is_fresh(task: SparqlTask) -> bool:
    """Return whether no row of a partition has been read."""
    return not (task.got or task.after or task.offset or task.seen)


def _begun(task: SparqlTask, lessons: EndpointLessons, least: int) -> SparqlTask:
    """Return a task of a partition, or a list, with the size that others have found.

    `least` is the number of rows of the smallest page.
    """
    is_failing = 0 < lessons.worst <= task.limit and task.step == "graphs"
    if (lessons.is_capped or is_failing) and task.limit > lessons.most > 0:
        task = replace(task, limit=max(least, lessons.most))
    if task.step != "page" or not task.order:
        return task
    if lessons.limit and task.limit > lessons.limit:
        return _resized(task, lessons)
    if lessons.n_failed >= ENOUGH and not lessons.limit and task.limit > least:
        top = task.size.top or task.limit
        size = PageSize(top=top, worst=task.limit, wait=4, left=4)
        return replace(task, limit=least, size=size)
    return task


def _with_common_size(task: SparqlTask, lessons: EndpointLessons) -> SparqlTask:
    """Return a later page of a partition that has failed, with the common size."""
    is_known = lessons.limit > 0 and task.size.worst > 0 and task.fails == 0
    if task.step != "page" or not task.order or not is_known:
        return task
    return _resized(task, lessons)


def _resized(task: SparqlTask, lessons: EndpointLessons) -> SparqlTask:
    top = max(lessons.size.top, task.size.top, task.limit)
    return replace(task, limit=lessons.limit, size=replace(lessons.size, top=top))


def _hashed(task: SparqlTask, lessons: EndpointLessons) -> SparqlTask:
    """Return a task that would be cut by a hash that the endpoint does not refuse."""
    part = task.part
    if part.hash_low or part.hash_high or lessons.hashing == "md5":
        return task
    if not lessons.hashing:
        return replace(task, can_hash=False)
    return replace(task, part=replace(part, hashing=lessons.hashing))
