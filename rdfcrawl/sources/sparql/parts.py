"""Steps that count, partition and read triples, page by page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.namespaces import RDF_TYPE
from rdfcrawl.core.source_tasks import UNKNOWN, PageSize, SparqlPart, SparqlTask
from rdfcrawl.rdf.queries import is_safe
from rdfcrawl.sources.sparql.hashes import (
    after_hashes,
    can_hash,
    cut_by_hash,
    uncut,
)
from rdfcrawl.sources.sparql.page_ends import PageEnd, comes_before
from rdfcrawl.sources.sparql.queries import COLUMNS_FROM, free_variables, sum_names
from rdfcrawl.sources.sparql.sizes import grown, is_repeated, restored, shrunk

if TYPE_CHECKING:
    from rdfcrawl.sources.sparql.outcome import SparqlOutcome
    from rdfcrawl.sources.sparql.settings import HarvestSettings
    from rdfcrawl.sources.sparql.writing import Row


LISTED_ROWS = 1_000  # names per request


def can_split(part: SparqlPart) -> bool:
    """Return whether predicates or classes can partition a part."""
    # A hash is of the free terms, which a split would change.
    if part.subject or part.low or part.high or part.hash_low or part.hash_high:
        return False
    return not part.predicate or (
        part.predicate == RDF_TYPE and not part.cls and not part.no_iri
    )


def plan_part(
    task: SparqlTask, out: SparqlOutcome, *, may_be_whole: bool = True
) -> None:
    """Add the tasks that read a part of the size `want`.

    With `may_be_whole`, a small graph is requested completely.
    """
    part, want = task.part, task.want
    task = replace(restored(task), after="", got=0, offset=0, fails=0)
    task = replace(task, variant=0, graphs=(), most=0)
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
        if not out.lessons.can_sort and can_hash(task):
            cut_by_hash(task, out)
            return
        step = "split" if can_split(part) and want > task.limit else "offset"
        out.follow(task, step=step)
    else:
        _plan_rows(task, out)


def _plan_rows(task: SparqlTask, out: SparqlOutcome) -> None:
    """Add the tasks that read a part, with rows that their terms distinguish."""
    want, most = task.want, out.settings.sort_rows
    if want > out.settings.pages_per_part * task.limit and can_split(task.part):
        out.follow(task, step="split")
    elif task.is_unsorted and UNKNOWN < want <= task.limit:
        out.follow(task, step="page", order="")
    elif (task.is_unsorted or want > most) and can_hash(task):
        cut_by_hash(task, out)
    else:
        out.follow(task, step="page", order="s")


def read_blank_nodes(task: SparqlTask, out: SparqlOutcome) -> None:
    """Read blank nodes, which were not expected, apart from the other statements."""
    task = replace(_rest(restored(task), task.after), naming="local")
    if task.part.rows:
        out.check(task, is_sure=False)
        return
    fresh = SparqlTask(
        step="components",  # equal, whichever page comes first
        part=SparqlPart(graph=task.part.graph),
        naming="local",
        has_union=task.has_union,
        has_answered=task.has_answered,
        as_xml=task.as_xml,
        limit=out.settings.page_rows,
    )
    out.follow(fresh)
    ground = replace(task.part, rows="ground")
    out.follow(task, step="count", part=ground, want=UNKNOWN)


def read_count(rows: Iterable[Row], name: str = "n") -> int:
    """Return the number in the only row of a table; `UNKNOWN` if there is none."""
    for row in rows:
        cell = row.get(name)
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
        n_found = read_count([row]) if task.variant != 1 else UNKNOWN
        if n_found == 0:  # no group is empty
            out.has_miscounted, n_found = True, UNKNOWN
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
    if task.variant == 2 and total < task.want:  # the list is cut
        out.follow(task, variant=0, fails=0)
        return
    if task.variant != 2 and n_rows and total != task.want:
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
    elif task.variant != 1:
        out.check(task, total)


def after_hash_table(task: SparqlTask, rows: Iterable[Row], out: SparqlOutcome) -> None:
    """Read the parts that hashes make; split one that they cannot cut."""
    names, has_sums = sum_names(task), task.variant > COLUMNS_FROM
    counts: list[tuple[str, list[int]]] = []
    for row in iter_logged(rows, out):
        if "k" not in row:
            continue
        n_rows, numbers = read_count([row]), [read_count([row], x) for x in names]
        if has_sums and sum(numbers) != n_rows:
            out.lacks_sums = True
            cut_by_hash(uncut(task), out, may_have_columns=False)
            return
        if n_rows <= 0:  # no group is empty
            out.has_miscounted = True
            cut(replace(uncut(task), can_hash=False), "", out)
            return
        counts.append((row["k"].text, numbers))
    for rest in after_hashes(task, counts, out):
        cut(replace(rest, can_hash=False), "", out)


def iter_logged(rows: Iterable[Row], out: SparqlOutcome) -> Iterator[Row]:
    """Yield rows; log the fault of a truncated response."""
    with out.log.noting():
        yield from rows


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
    want = UNKNOWN if looks_cut(n_rows) else n_rows
    inner = replace(page, after="", got=0, want=want, variant=0)
    if task.order == "s":
        inside = replace(part, subject=task.after, low="", high="")
        if free_variables(inside):  # otherwise the page had its only statement
            out.follow(inner, part=inside, order="o")
    else:
        out.follow(inner, step="offset", part=replace(part, obj=task.after))


def group_part(task: SparqlTask) -> SparqlPart:
    """Return the part of one group of a page."""
    if task.order == "s":
        return replace(task.part, subject=task.after, low="", high="")
    return replace(task.part, obj=task.after)


# More are split by predicates first, which are cheaper to find.
_HASHED_PAGES, _HASHED_ROWS = 30, 100_000


def cut(
    task: SparqlTask, after: str, out: SparqlOutcome, *, can_hash_parts: bool = False
) -> None:
    """Read the rows after a key in other partitions, since no smaller page helps."""
    if not task.order:  # a hash would make the same page, which is not requested again
        into_offset(replace(task, can_hash=False), "", out)
        return
    rest = replace(_rest(restored(task), after), is_unsorted=True, most=0)
    is_splittable = can_split(rest.part) and rest.cuts < out.settings.max_cuts
    is_small = 0 <= rest.want <= max(_HASHED_PAGES * rest.limit, _HASHED_ROWS)
    if can_hash(rest) and (is_small or not is_splittable):
        cut_by_hash(rest, out)
    elif is_splittable:
        can = rest.can_hash or can_hash_parts
        out.follow(rest, step="split", variant=2, can_hash=can)
    else:
        into_offset(rest, "", out)


def into_offset(task: SparqlTask, after: str, out: SparqlOutcome) -> None:
    """Read the rows after a key by OFFSET, the last resort."""
    out.follow(_rest(task, after), step="offset")


def unbounded(task: SparqlTask, out: SparqlOutcome) -> None:
    """Read a part by OFFSET without the conditions of a FILTER, which need a scan."""
    part, free = task.part, {"low": "", "high": "", "hash_low": "", "hash_high": ""}
    bare = replace(part, **free)  # type: ignore[arg-type]
    if bare == part:
        out.check(task, is_sure=False)
    else:
        fresh = replace(_rest(restored(task), ""), part=bare, want=UNKNOWN)
        out.follow(fresh, step="offset", cuts=0, can_hash=False)


def _rest(task: SparqlTask, after: str) -> SparqlTask:
    """Return a task for the rows after a key, with its step to be chosen."""
    part = task.part
    if after and task.order == "s":
        part = replace(part, low=after)
    elif after:  # sorted by a hash: restart the part
        task = replace(task, got=0)
    want = task.want - task.got if task.want != UNKNOWN else UNKNOWN
    fresh = replace(task, part=part, want=want, got=0, offset=0, after="", order="s")
    return replace(fresh, fails=0, variant=0, seen=())


def after_page(
    task: SparqlTask, end: PageEnd, out: SparqlOutcome, *, is_broken: bool
) -> None:
    """Add the tasks after a page; `is_broken` if the response ended early."""
    if not task.order:
        _after_all_rows(task, end.n_rows, out, is_broken=is_broken)
        return
    total = task.got + end.n_rows
    if not is_broken and (total == task.want or not end.n_rows):
        _end_pages(task, total, out)
        return
    if task.want != UNKNOWN and total > task.want:  # the part has grown
        task = replace(task, want=UNKNOWN)
    if is_broken and not end.n_rows:
        after_failed_page(task, out)
        return
    following = _next_size(task, end, out.settings, is_broken=is_broken)
    following = replace(following, most=max(task.most, end.n_rows), fails=0, got=total)
    if not task.after and task.order == "s" and _is_too_slow(following, out.settings):
        plan_part(replace(following, got=0), out, may_be_whole=False)
    elif not end.is_sorted or not comes_before(task.after, end.first):
        _sort_by_hash(task, out)
    else:
        _go_on(task, following, end, out, is_broken=is_broken)


def _after_all_rows(
    task: SparqlTask, n_rows: int, out: SparqlOutcome, *, is_broken: bool
) -> None:
    """Check a part that was read without an order; if not complete, cut it again."""
    is_cut = task.cuts or task.part.hash_low or task.part.hash_high
    is_sure = is_cut or not looks_cut(n_rows)  # otherwise the count may be of a limit
    if not is_broken and n_rows == task.want and is_sure:
        out.check(task, n_rows)
    elif is_broken and not n_rows:
        after_failed_page(task, out)
    elif task.cuts >= out.settings.max_cuts:
        into_offset(replace(task, can_hash=False), "", out)
    else:  # the limit of the endpoint, or the data have changed
        limit = max(out.settings.min_rows, min(task.limit, n_rows))
        want = task.want if n_rows < task.want else UNKNOWN
        again = replace(task, limit=limit, want=want, cuts=task.cuts + 1)
        cut_by_hash(again, out)


def _end_pages(task: SparqlTask, total: int, out: SparqlOutcome) -> None:
    """Check whether a part is complete; if not, read the part in another order."""
    if total < task.want and task.order in ("s", "so"):
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
    if not is_complete and out.lessons.sorts_groups and _has_large_group(task, end):
        _sort_groups(replace(following, got=following.got - end.n_last), end, out)
        return
    if not is_complete and end.n_last == end.n_rows:  # all have the same key
        if task.order == "so":
            cut(following, "", out)
            return
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


def _has_large_group(task: SparqlTask, end: PageEnd) -> bool:
    """Return whether the last subject, which may go on, has half of the rows."""
    is_large = 2 * end.n_last >= end.n_rows > 1
    return is_large and task.order == "s" and task.can_hash and not task.variant


def _sort_groups(task: SparqlTask, end: PageEnd, out: SparqlOutcome) -> None:
    """Read the rows from the last subject of a page on in an order of all rows."""
    after = end.before_last or task.after
    if is_safe(after):
        out.follow(replace(_rest(task, after), size=task.size), order="so")
    else:
        _sort_by_hash(task, out)


def without_groups(task: SparqlTask, out: SparqlOutcome) -> None:
    """Read rows by subject, as the endpoint cannot sort them by both keys."""
    out.follow(task, order="s", variant=1, after="", got=0, fails=0)


def _next_size(
    task: SparqlTask, end: PageEnd, settings: HarvestSettings, *, is_broken: bool
) -> SparqlTask:
    """Return the task with the size of the next page."""
    if is_broken:
        less = max(settings.min_rows, min(task.limit // 2, end.n_rows))
        return replace(shrunk(task, settings.min_rows), limit=less)
    if end.n_rows >= task.limit:
        return grown(task)
    if task.want != UNKNOWN and end.n_rows >= task.most:  # limit of the endpoint
        limit = max(settings.min_rows, end.n_rows)
        return replace(task, limit=limit, size=PageSize())
    return task


def _is_too_slow(task: SparqlTask, settings: HarvestSettings) -> bool:
    """Return whether smaller partitions are better than the remaining pages."""
    if task.want == UNKNOWN or task.size.worst or not can_split(task.part):
        return False
    return task.want - task.got > settings.pages_per_part * task.limit


def _sort_by_hash(task: SparqlTask, out: SparqlOutcome) -> None:
    """Sort by a hash from here on: short, and in equal order at all endpoints."""
    if task.order == "so":
        out.follow(task, order="h", after="", got=0, fails=0)
        return
    if task.order != "s":
        into_offset(task, task.after, out)
        return
    low = task.after or task.part.low
    part = replace(task.part, low=low)
    out.follow(task, part=part, order="h", after="", fails=0)


_SIZES_TRIED = 4  # times that a smaller page failed, too, if size is not the cause


def after_failed_page(
    task: SparqlTask, out: SparqlOutcome, *, is_order: bool = False
) -> None:
    """Add the tasks after a page that was too much for the endpoint."""
    less = shrunk(task, out.settings.min_rows)
    has_more = task.want == UNKNOWN or task.want - task.got > less.limit
    if is_order and task.limit > SORTED_ROWS:
        out.follow(task, limit=SORTED_ROWS, fails=task.fails + 1)
    elif is_order:
        cut(task, task.after, out)
    elif is_repeated(task):
        out.follow(task, fails=task.fails + 1)
    elif not task.order and task.limit > out.settings.min_rows:
        fewer = max(out.settings.min_rows, task.limit // 4)
        cut_by_hash(replace(task, limit=fewer, cuts=task.cuts + 1), out)
    elif less.limit == task.limit or (task.fails >= _SIZES_TRIED and has_more):
        cut(task, task.after, out)
    elif task.fails < out.settings.max_fails:
        out.follow(less)
    else:
        into_offset(task, task.after, out)


def after_offset(
    task: SparqlTask, end: PageEnd, out: SparqlOutcome, *, is_broken: bool
) -> None:
    """Add the tasks after a page by OFFSET; `after` is the mark of the last page.

    Without an order, each page begins with the last row of the one before: as long as
    it does, rows have the same places in all responses. `seen` has this row.
    """
    n_rows, mark = end.n_rows, end.mark
    is_joined = bool(task.seen and task.seen[0])
    n_new = max(0, n_rows - is_joined)
    total = task.got + n_new
    if n_rows and mark == task.after:
        out.log.note(Reason.PAGING_LOOP, f"rows after {task.offset}")
        out.check(task, is_sure=False)
        return
    is_first = not task.offset
    has_order = is_first or (is_joined and task.seen[0] == end.first_row)
    is_all = total == task.want
    if is_joined and n_rows >= task.limit:  # only the next page shows the end
        is_all = False
    if not is_broken and (is_all or not n_new):
        is_empty = is_first and not n_rows
        is_sure = is_empty or (has_order and 0 <= task.want <= total)
        out.check(task, total, is_sure=task.variant == 0 or is_sure)
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
    task = replace(task, after=mark, limit=limit, fails=fails, got=total)
    may_join = task.variant == 1 and has_order and n_rows > 1
    last = end.last_row if may_join else ""
    offset = task.offset + n_rows - bool(last)
    out.follow(task, offset=offset, seen=(last,) if task.variant == 1 else ())
