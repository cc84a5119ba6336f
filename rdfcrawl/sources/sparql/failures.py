"""Tasks after a failed request."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.source_tasks import UNKNOWN, PageSize, SparqlPart, SparqlTask
from rdfcrawl.sources.sparql import discovery
from rdfcrawl.sources.sparql.components import roots_of
from rdfcrawl.sources.sparql.exchange import SparqlFailure
from rdfcrawl.sources.sparql.hashes import can_hash, cut_by_hash, uncut
from rdfcrawl.sources.sparql.parts import (
    after_failed_page,
    can_split,
    cut,
    into_offset,
    plan_part,
    unbounded,
    without_groups,
)
from rdfcrawl.sources.sparql.queries import COLUMNS_FROM
from rdfcrawl.sources.sparql.sizes import is_repeated, restored, shrunk

if TYPE_CHECKING:
    from rdfcrawl.sources.sparql.outcome import SparqlOutcome

# Sent once more, unchanged, before another way is tried.
_REPEATED = dict.fromkeys(
    ("graphs", "default", "whole", "count", "group", "split", "stable"), 1
) | {"hashes": 2}
_LAST_VARIANT = {"probe": 1, "graphs": 3, "split": 1}


def after_failure(task: SparqlTask, failure: SparqlFailure, out: SparqlOutcome) -> None:
    """Add the tasks after a failed request.

    The request to a busy endpoint is repeated later; a closed endpoint is abandoned.
    """
    if failure is SparqlFailure.BUSY:
        out.retries = True
        return
    if failure is SparqlFailure.CLOSED and task.step != "describe":
        out.check(task, is_sure=False)
        return
    if task.order == "so" and not task.after:
        without_groups(task, out)
        return
    is_passing = failure in (SparqlFailure.TIMEOUT, SparqlFailure.BROKEN)
    n_repeated = _REPEATED.get(task.step, 0)
    if is_passing and (task.fails < n_repeated or out.lessons.is_repeated(task)):
        out.follow(_listed_less(task, out), fails=task.fails + 1)
    elif task.step in ("describe", "probe", "stable", "graphs", "default"):
        _after_discovery(task, failure, out)
    elif task.step in ("page", "offset", "group", "components"):
        _after_rows(task, failure, out)
    else:
        _after_part(task, failure, out)


def _listed_less(task: SparqlTask, out: SparqlOutcome) -> SparqlTask:
    """Return a failed list of graphs with a smaller LIMIT; other tasks unchanged."""
    if task.step != "graphs" or task.variant in (1, 3):
        return task
    best, least = task.size.best, out.settings.min_rows
    size = PageSize(best=max(least, best // 2), worst=best)
    return replace(task, size=size)


def _is_part_of_list(task: SparqlTask) -> bool:
    is_part = bool(task.part.high) or task.most > 0
    return task.step == "graphs" and task.variant in (1, 3) and is_part


def _after_discovery(
    task: SparqlTask, failure: SparqlFailure, out: SparqlOutcome
) -> None:
    if task.step == "describe":
        discovery.after_description(task, None, {}, out)
    elif task.step == "probe" and failure is not SparqlFailure.REFUSED:
        # If a blank node is hard to find, there are few.
        discovery.begin(replace(task, naming="", variant=0, fails=0), out)
    elif _is_part_of_list(task) and task.fails == 0:
        out.follow(task, fails=1)
    elif _is_part_of_list(task):  # the FILTER is refused, or too slow
        out.follow(task, part=SparqlPart(), after="", most=UNKNOWN, fails=0)
    elif task.variant < _LAST_VARIANT.get(task.step, 0):
        out.follow(task, variant=task.variant + 1, fails=0)
    elif task.step == "probe":
        out.follow(task, step="stable", variant=0)
    elif task.step == "stable" and failure is SparqlFailure.REFUSED:
        # Without FILTER, blank nodes come unexpectedly.
        discovery.begin(replace(task, naming="", seen=()), out)
    elif task.step == "stable":
        discovery.begin(replace(task, naming="local", seen=()), out)
    elif task.step == "default":  # unknown, so it is read
        out.follow(task, step="count", variant=0, fails=0)
    else:
        out.follow(task, step="describe", variant=1, after="", got=0)


def after_count(task: SparqlTask, out: SparqlOutcome) -> None:
    """Read a part of unknown size, as it cannot be counted."""
    is_unsplittable = task.naming in ("stable", "local") and not task.part.rows
    if can_split(task.part) and not is_unsplittable:
        out.follow(task, step="split", want=UNKNOWN, variant=1, fails=0)
    else:
        plan_part(replace(task, want=UNKNOWN), out)


def _after_part(task: SparqlTask, failure: SparqlFailure, out: SparqlOutcome) -> None:
    """Continue without a count, or with smaller parts."""
    task = discovery.without_rest(task, out)
    if task.step == "whole" and failure is SparqlFailure.REFUSED and not task.variant:
        out.follow(task, variant=1, fails=0)
    elif task.step == "whole":
        less = replace(shrunk(task, out.settings.min_rows), fails=0)
        is_smaller = failure is not SparqlFailure.REFUSED and less.limit < task.limit
        discovery.apart(less, out, is_smaller=is_smaller)
    elif task.step == "count":
        after_count(task, out)
    elif task.step == "split" and task.variant != 1:
        out.follow(task, variant=1, after="", got=0, fails=0)
    elif task.step == "split":
        unsplit = replace(task, want=UNKNOWN, variant=0, got=0, fails=0, after="")
        out.follow(unsplit, step="page", cuts=out.settings.max_cuts)
    elif task.step == "hashes":
        _after_hashes(task, failure, out)
    elif task.step == "datasets":
        _after_datasets(task, out)
    elif task.step == "about":
        discovery.about_less(task, out)
    elif task.step == "query":
        _after_query(task, out)
    else:
        out.check(task, is_sure=False)


def _after_hashes(task: SparqlTask, failure: SparqlFailure, out: SparqlOutcome) -> None:
    rest = uncut(task)
    if task.variant > COLUMNS_FROM:
        out.lacks_sums = True
        cut_by_hash(rest, out, may_have_columns=False)
        return
    part, is_refused = rest.part, failure is SparqlFailure.REFUSED
    if part.hashing == "md5" and not (part.hash_low or part.hash_high):
        cut_by_hash(replace(rest, part=replace(part, hashing="chars")), out)
    else:
        if not (is_refused or part.hash_low or part.hash_high):
            rest = replace(rest, part=replace(part, hashing="md5"))
        is_smaller = not is_refused and can_split(part)
        cut(replace(rest, can_hash=False), "", out, can_hash_parts=is_smaller)


def _after_datasets(task: SparqlTask, out: SparqlOutcome) -> None:
    less = max(out.settings.min_rows, task.limit // 4)
    if less < task.limit:
        out.follow(task, limit=less, fails=task.fails + 1)
    else:
        out.check(task, is_sure=False)


def _after_query(task: SparqlTask, out: SparqlOutcome) -> None:
    less = max(out.settings.min_rows, task.limit // 2)
    is_paged = out.settings.paging != "once"
    if is_paged and less < task.limit and task.fails < out.settings.max_fails:
        out.follow(task, limit=less, fails=task.fails + 1)
    else:
        out.log.note(Reason.BAD_ANSWER, "the endpoint does not accept the query")
        out.check(task, is_sure=False)


def _after_rows(task: SparqlTask, failure: SparqlFailure, out: SparqlOutcome) -> None:
    if task.step == "group":
        into_offset(task, task.seen[0] if task.seen else "", out)
    elif task.step == "page" and failure is SparqlFailure.REFUSED:
        if task.order or not is_repeated(task):
            cut(task, task.after, out)
        else:  # other pages of this form are not refused
            out.follow(task, fails=task.fails + 1)
    elif task.step == "page":
        is_order = failure is SparqlFailure.ORDER
        after_failed_page(task, out, is_order=is_order)
    elif task.step == "components":
        _after_components(task, out)
    else:
        _after_offset(task, failure, out)


def _after_offset(task: SparqlTask, failure: SparqlFailure, out: SparqlOutcome) -> None:
    is_order = failure in (SparqlFailure.ORDER, SparqlFailure.REFUSED)
    less = shrunk(task, out.settings.min_rows)
    if not is_order and is_repeated(task):
        out.follow(task, fails=task.fails + 1)
    elif not is_order and task.fails < 3 and less.limit < task.limit:
        out.follow(less)
    elif task.variant == 0 and can_hash(task):
        cut_by_hash(restored(replace(task, got=0)), out)
    elif task.variant == 0:
        out.follow(restored(task), variant=1, offset=0, got=0, fails=0, after="")
    elif less.limit < task.limit:
        out.follow(less)
    else:
        unbounded(task, out)


def _after_components(task: SparqlTask, out: SparqlOutcome) -> None:
    n_roots = roots_of(task, out.settings)
    if task.fails == 0:
        out.follow(task, fails=1)
    elif task.variant < 2:
        out.follow(task, variant=2, want=UNKNOWN, fails=0)
    elif n_roots > 1:
        out.follow(task, most=max(1, n_roots // 4), fails=0)
    else:  # this one is too large: skip it
        out.check(task, is_sure=False)
        if task.cuts < out.settings.max_fails:
            offset, n_skipped = task.offset + 1, task.cuts + 1
            out.follow(task, offset=offset, cuts=n_skipped, fails=0)
