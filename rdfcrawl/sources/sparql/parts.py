"""Steps that count, partition and read triples, page by page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.namespaces import RDF_TYPE
from rdfcrawl.core.source_tasks import UNKNOWN, SparqlPart, SparqlTask
from rdfcrawl.rdf.output import without_labels
from rdfcrawl.rdf.queries import is_safe

if TYPE_CHECKING:
    from rdfcrawl.sources.sparql.outcome import SparqlOutcome
    from rdfcrawl.sources.sparql.settings import HarvestSettings
    from rdfcrawl.sources.sparql.writing import Row


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
    task: SparqlTask, out: SparqlOutcome, *, may_be_whole: bool = True
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


def after_count(task: SparqlTask, rows: Iterable[Row], out: SparqlOutcome) -> None:
    """Plan a part by its size."""
    plan_part(replace(task, want=read_count(iter_logged(rows, out))), out)


def after_split(task: SparqlTask, rows: Iterable[Row], out: SparqlOutcome) -> None:
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


def _end_split(task: SparqlTask, total: int, out: SparqlOutcome) -> None:
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


def after_pivot(task: SparqlTask, rows: Iterable[Row], out: SparqlOutcome) -> None:
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


def iter_logged(rows: Iterable[Row], out: SparqlOutcome) -> Iterator[Row]:
    """Yield rows; log the fault of a truncated response."""
    try:
        yield from rows
    except SourceFault as error:
        out.log.note(error.fault.reason, error.fault.detail)


def looks_cut(n_rows: int) -> bool:
    """Return whether a number of rows is a common limit of endpoints."""
    return n_rows >= 50 and str(n_rows).rstrip("0") in ("1", "2", "5", "25")


SORTED_ROWS = 10_000  # default limit of Virtuoso (`MaxSortedTopRows`)


def after_group(task: SparqlTask, rows: Iterable[Row], out: SparqlOutcome) -> None:
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


def into_offset(task: SparqlTask, after: str, out: SparqlOutcome) -> None:
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
    task: SparqlTask, end: PageEnd, out: SparqlOutcome, *, is_broken: bool
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


def _end_pages(task: SparqlTask, total: int, out: SparqlOutcome) -> None:
    """Check whether a part is complete; if not, read the part in another order."""
    if total < task.want and task.order == "s":
        out.follow(task, order="h", after="", got=0, fails=0)
    else:
        out.check(task, total)


def _go_on(
    task: SparqlTask,
    following: SparqlTask,
    end: PageEnd,
    out: SparqlOutcome,
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


def _sort_by_hash(task: SparqlTask, out: SparqlOutcome) -> None:
    """Sort by a hash from here on: short, and in equal order at all endpoints."""
    if task.order != "s":
        into_offset(task, task.after, out)
        return
    low = task.after or task.part.low
    part = replace(task.part, low=low)
    out.follow(task, part=part, order="h", after="", fails=0)


def after_failed_page(
    task: SparqlTask, out: SparqlOutcome, *, is_order: bool = False
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
    task: SparqlTask, end: PageEnd, out: SparqlOutcome, *, is_broken: bool
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
