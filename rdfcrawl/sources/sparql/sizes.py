"""Sizes of the pages of one partition: smaller after failures, larger after successes.

A failure says little: the endpoint may be busy, the page too large, or the partition
too large to be sorted, whatever the page. Therefore a size that failed is tried again,
at once, and later after ever longer times.
"""

from __future__ import annotations

from dataclasses import replace
from math import isqrt
from typing import Final

from rdfcrawl.core.source_tasks import PageSize, SparqlTask

_FIRST_WAIT: Final = 4  # pages before a size that failed twice is tried again
_LEAST_SHARE: Final = 16  # of the first smaller page


def is_repeated(task: SparqlTask) -> bool:
    """Return whether a failed request is sent once more, unchanged."""
    size = task.size
    is_risky = size.wait > 0 and task.limit > size.best
    return task.fails == 0 and not is_risky


def shrunk(task: SparqlTask, least: int) -> SparqlTask:
    """Return a failed task with a smaller page, or with the same if it is the least."""
    size, limit = task.size, task.limit
    best = size.best if size.best < limit else 0
    factor = 2 if limit >= size.worst else 1
    wait = max(_FIRST_WAIT, factor * size.wait)
    size = PageSize(top=size.top or limit, best=best, worst=limit, wait=wait, left=wait)
    less = best or max(least, limit // _LEAST_SHARE)
    return replace(task, limit=min(limit, less), size=size, fails=task.fails + 1)


def grown(task: SparqlTask) -> SparqlTask:
    """Return a task that succeeded, with the next size of its pages."""
    size, limit = task.size, task.limit
    if not size.worst:
        return task
    if limit >= max(size.worst, size.top):  # the failure had another cause
        return replace(task, size=PageSize())
    worst = size.worst if limit < size.worst else size.top
    size = replace(size, best=max(size.best, limit), worst=worst)
    more = (
        isqrt(limit * size.worst)
        if size.worst > 2 * limit
        else limit + max(1, limit // 16)
    )
    if more < size.worst - size.worst // 16:
        return replace(task, limit=max(more, limit + 1), size=size)
    left = size.left - 1
    if left > 0:
        return replace(task, size=replace(size, left=left))
    return replace(task, limit=size.worst, size=size)


def restored(task: SparqlTask) -> SparqlTask:
    """Return a task for another partition, whose sizes are still unknown."""
    return replace(task, limit=task.size.top or task.limit, size=PageSize())
