"""Steps that read the rows of a part, page by page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.source_tasks import UNKNOWN, SparqlPart, SparqlTask
from rdfcrawl.rdf.output import without_labels
from rdfcrawl.rdf.queries import is_safe
from rdfcrawl.sources.sparql.parts import (
    can_cut,
    can_split,
    iter_logged,
    plan_part,
    read_count,
)

if TYPE_CHECKING:
    from rdfcrawl.sources.sparql.cells import Row
    from rdfcrawl.sources.sparql.outcome import OutcomeBuilder
    from rdfcrawl.sources.sparql.settings import HarvestSettings

SORTED_ROWS = 10_000  # default limit of Virtuoso (`MaxSortedTopRows`)


def after_group(task: SparqlTask, rows: Iterable[Row], out: OutcomeBuilder) -> None:
    """Read one subject (or object) that is larger than a page, and continue after it.

    `task` is of the page, `after` the key of the group, `seen` the previous key.
    """
    n_rows, part = read_count(iter_logged(rows, out)), task.part
    if n_rows <= 0:
        into_offset(task, task.seen[0] if task.seen else "", out)
        return
    page = replace(task, step="page", seen=(), fails=0)
    out.follow(page, got=task.got + n_rows)
    inner = replace(page, after="", got=0, want=n_rows)
    if task.order == "s":
        inside = replace(part, subject=task.after, low="", high="")
        out.follow(inner, part=inside, order="o")
    else:
        out.follow(inner, step="offset", part=replace(part, obj=task.after))


def group_part(task: SparqlTask) -> SparqlPart:
    """Return the part of one group of a page."""
    if task.order == "s":
        return replace(task.part, subject=task.after, low="", high="")
    return replace(task.part, obj=task.after)


def into_offset(task: SparqlTask, after: str, out: OutcomeBuilder) -> None:
    """Read the rows after a key by OFFSET, the last resort."""
    part = task.part
    if after and task.order == "s":
        part = replace(part, low=after)
    elif after:  # sorted by a hash: restart the part
        task = replace(task, got=0)
    want = task.want - task.got if task.want != UNKNOWN else UNKNOWN
    fresh = replace(task, part=part, want=want, got=0, offset=0, after="", order="s")
    out.follow(fresh, step="offset", fails=0, variant=0, seen=())


class PageEnd:
    """Keys and counts of the rows of a page, collected during reading."""

    def __init__(self) -> None:
        self.n_rows = self.n_last = 0
        self.key = self.before_last = self.first = ""
        self.is_sorted = True
        self._first_line = self._last_line = ""

    def add(self, key: str, line: str) -> None:
        """Count a row: its key and its statement."""
        self._first_line = self._first_line or line
        self._last_line = line
        if self.n_rows and key == self.key:
            self.n_last += 1
        else:
            if self.n_rows:
                self.is_sorted &= _comes_before(self.key, key)
                self.before_last = self.key
            else:
                self.first = key
            self.key, self.n_last = key, 1
        self.n_rows += 1

    @property
    def mark(self) -> str:
        """Fingerprint, to recognize a repeated page."""
        # Labels may depend on the task.
        seen = without_labels((self._first_line + self._last_line).encode())
        return blake2b(b"%d %s" % (self.n_rows, seen), digest_size=6).hexdigest()


def _comes_before(first: str, second: str) -> bool:
    if first < second:
        return True
    # Java sorts by UTF-16 units.
    utf16 = ("utf-16-be", "surrogatepass")
    return first.encode(*utf16) < second.encode(*utf16)


def after_page(
    task: SparqlTask, end: PageEnd, out: OutcomeBuilder, *, is_broken: bool
) -> None:
    """Add the tasks after a page; `is_broken` if the response ended early."""
    total = task.got + end.n_rows
    if not is_broken and (total == task.want or not end.n_rows):
        _end_pages(task, total, out)
        return
    if task.want != UNKNOWN and total > task.want:  # the part has grown
        task = replace(task, want=UNKNOWN)
    if is_broken and not end.n_rows:
        after_failed_page(task, out)
        return
    worst = task.limit if is_broken else task.worst
    limit = _next_size(task, end, out.settings, is_broken=is_broken)
    most = max(task.most, end.n_rows)
    following = replace(task, limit=limit, worst=worst, most=most, fails=0, got=total)
    if not task.after and task.order == "s" and _is_too_slow(following, out.settings):
        plan_part(replace(following, got=0), out)
    elif not end.is_sorted or not _comes_before(task.after, end.first):
        _sort_by_hash(task, out)
    else:
        _go_on(task, following, end, out, is_broken=is_broken)


def _end_pages(task: SparqlTask, total: int, out: OutcomeBuilder) -> None:
    """Check whether a part is complete; if not, read the part in another order."""
    if total < task.want and task.order == "s":
        out.follow(task, order="h", after="", got=0, fails=0)
    else:
        out.check(task, total)


def _go_on(
    task: SparqlTask,
    following: SparqlTask,
    end: PageEnd,
    out: OutcomeBuilder,
    *,
    is_broken: bool,
) -> None:
    # A response with fewer rows than an earlier one was not truncated.
    is_complete = end.n_rows < min(task.most, task.limit) and not is_broken
    if not is_complete and end.n_last == end.n_rows:  # all have the same key
        # Its count shows whether the group is complete.
        group = replace(following, step="group", after=end.key, got=task.got)
        following = replace(group, seen=(task.after,))
    elif is_complete:
        following = replace(following, after=end.key)
    else:
        n_rows = following.got - end.n_last
        following = replace(following, after=end.before_last, got=n_rows)
    if is_safe(following.after):
        out.follow(following)
    else:
        _sort_by_hash(task, out)


def _next_size(
    task: SparqlTask, end: PageEnd, settings: HarvestSettings, *, is_broken: bool
) -> int:
    if is_broken:
        return max(settings.min_rows, min(task.limit // 2, end.n_rows))
    if end.n_rows < task.limit and task.want != UNKNOWN and end.n_rows >= task.most:
        return max(settings.min_rows, end.n_rows)  # limit of the endpoint
    if end.n_rows < task.limit or task.worst == 0:
        return task.limit
    # Success: request more, but less than the last failure.
    more = min(task.limit + task.limit // 4, task.worst - task.worst // 4)
    return max(task.limit, more)


def _is_too_slow(task: SparqlTask, settings: HarvestSettings) -> bool:
    """Return whether smaller partitions are better than the remaining pages."""
    if task.want == UNKNOWN or not can_split(task.part):
        return False
    return task.want - task.got > settings.pages_per_part * task.limit


def _sort_by_hash(task: SparqlTask, out: OutcomeBuilder) -> None:
    """Sort by a hash from here on: short, and in equal order at all endpoints."""
    if task.order != "s":
        into_offset(task, task.after, out)
        return
    low = task.after or task.part.low
    part = replace(task.part, low=low)
    out.follow(task, part=part, order="h", after="", fails=0)


def after_failed_page(
    task: SparqlTask, out: OutcomeBuilder, *, is_order: bool = False
) -> None:
    """Add the tasks after a page that was too much for the endpoint."""
    less = max(out.settings.min_rows, task.limit // 2)
    if is_order and task.limit > SORTED_ROWS:
        out.follow(task, limit=SORTED_ROWS, fails=task.fails + 1)
    elif not is_order and less < task.limit and task.fails < out.settings.max_fails:
        out.follow(task, limit=less, worst=task.limit, fails=task.fails + 1)
    elif can_split(task.part) and not task.after and task.cuts < out.settings.max_cuts:
        out.follow(task, step="split", got=0, fails=0, variant=0)
    elif task.order == "s" and not task.after and can_cut(task, out.settings):
        out.follow(task, step="pivot", fails=0)
    else:
        into_offset(task, task.after, out)


def after_offset(
    task: SparqlTask, end: PageEnd, out: OutcomeBuilder, *, is_broken: bool
) -> None:
    """Add the tasks after a page by OFFSET; `after` is the mark of the last page."""
    n_rows, mark = end.n_rows, end.mark
    total = task.got + n_rows
    if n_rows and mark == task.after:
        out.log.note(Reason.PAGING_LOOP, f"rows after {task.offset}")
        out.check(task, is_sure=False)
        return
    is_first = not task.offset
    # Pages of rows without an order may overlap.
    is_sure = task.variant == 0 or (is_first and total == task.want)
    if not is_broken and (total == task.want or not n_rows):
        out.check(task, total, is_sure=is_sure or (is_first and not n_rows))
        return
    limit = task.limit
    if is_broken:
        limit = max(out.settings.min_rows, limit // 2)
    elif n_rows < limit and total < task.want:
        limit = max(out.settings.min_rows, n_rows)
    fails = task.fails + 1 if is_broken else 0
    if fails > out.settings.max_fails:
        out.check(task, total, is_sure=False)
        return
    task = replace(task, after=mark, limit=limit, fails=fails)
    out.follow(task, offset=task.offset + n_rows, got=total)
