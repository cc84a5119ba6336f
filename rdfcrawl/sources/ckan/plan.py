"""Walk through a portal: from a task to its request, from its response to the next.

A harvest walks `package_search` by the time of modification. Each page begins at the
time of the last row before, so moving rows (a dataset that changes meanwhile moves to
the end) leave no gap; repeated rows replace each other. If a portal refuses this order,
the walk falls back to row numbers in a stable order, to plain row numbers, to
`package_list` with one request for each dataset, and to
`current_package_list_with_resources`. A page that is too large or truncated is
requested with fewer rows.

An incomplete listing deletes nothing, and a dataset missing from a listing is requested
once more before it becomes a tombstone (`CkanStep.CONFIRM`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.core.source_tasks import DEFAULT_ROWS, CkanOrder, CkanStep, CkanTask
from rdfcrawl.sources.ckan.api import CkanRequest, PortalAddress
from rdfcrawl.sources.ckan.envelope import (
    CkanResponse,
    RequestRefused,
    read_names,
    read_package,
    read_page,
    read_result,
)
from rdfcrawl.sources.ckan.paging import (
    DEFAULT_PLAN_LIMITS,
    NOT_THERE,
    CkanOutcome,
    DatasetListing,
    PageWork,
    PlanLimits,
    sort_of,
)
from rdfcrawl.sources.ckan.values import solr_time


def first_task(
    portal: PortalAddress,
    *,
    since: str = "",
    has_known: bool = False,
    rows: int = DEFAULT_ROWS,
) -> CkanTask:
    """Return the first task of a harvest.

    Args:
        portal: the portal to harvest.
        since: `times.since_for_next` of the last success; empty for everything.
        has_known: earlier harvests remembered datasets, so find deleted ones.
        rows: size of a page, at least 2, because pages overlap by a row; portals may
            return fewer.
    """
    # Without a list of names for a part of a portal, the walk itself is the listing.
    is_listing = has_known and not portal.scope.is_unrestricted
    return CkanTask(
        step=CkanStep.SEARCH,
        since=since,
        cursor="" if is_listing else since,
        is_sweep=not since or is_listing,
        is_listing=is_listing,
        finds_deleted=has_known,
        rows=max(2, rows),
        most=max(2, rows),
    )


def request_of(task: CkanTask, portal: PortalAddress) -> CkanRequest:
    """Return the request of a task."""
    page = {"limit": task.rows, "offset": task.start}
    match task.step:
        case CkanStep.SEARCH:
            return portal.search(
                rows=task.rows,
                start=task.start,
                sort=sort_of(task),
                modified_from=task.cursor if task.order is CkanOrder.KEYSET else "",
            )
        case CkanStep.CURRENT:
            return portal.action("current_package_list_with_resources", page)
        case CkanStep.NAMES | CkanStep.LISTING:
            return portal.action("package_list", page)
        case CkanStep.ABOUT:
            return portal.status()
        case CkanStep.CONFIRM if not task.is_alone:
            return portal.search_ids(task.ids, rows=len(task.ids))
    return portal.show(task.ids[0] if task.ids else "")


def advance(
    task: CkanTask,
    response: CkanResponse,
    portal: PortalAddress,
    log: FaultLog,
    *,
    n_known: int = 0,
    limits: PlanLimits = DEFAULT_PLAN_LIMITS,
) -> CkanOutcome:
    """Return the outcome of the response to a task.

    Args:
        task: of the request.
        response: the response; wait after 429 and 503 before this call.
        portal: the same as for the request.
        log: receives `BAD_ANSWER`, `TOO_LARGE`, `PAGING_LOOP`, `TOO_MANY_ENTRIES` and
            `INCOMPLETE`.
        n_known: datasets remembered from earlier harvests of this scope.
        limits: limits of the walk.

    Raises:
        SourceFault: for the same reasons, if no other request is left: the harvest has
            failed, and no dataset counts as deleted.
    """
    match task.step:
        case CkanStep.SEARCH | CkanStep.CURRENT:
            paging = PageWork(task, portal, log, n_known=n_known, limits=limits)
            return paging.advance(response)
        case CkanStep.NAMES:
            return _after_names(task, response, log, limits)
        case CkanStep.LISTING:
            return _after_listing(task, response, log, limits)
        case CkanStep.SHOW:
            outcome = _after_show(response, log)
        case CkanStep.ABOUT:
            outcome = CkanOutcome(catalogue=_catalogue(response, log, n_known))
        case _ if task.is_alone:
            outcome = _after_confirm_alone(task, response)
        case _:
            outcome = _after_confirm(task, response, log)
    return outcome


def _after_names(
    task: CkanTask, response: CkanResponse, log: FaultLog, limits: PlanLimits
) -> CkanOutcome:
    """Continue with one request for each name, and then the next page."""
    names = _read_names(task, response, log)
    if names is None:
        current = replace(task, step=CkanStep.CURRENT, order=CkanOrder.PLAIN)
        return CkanOutcome(tasks=(current,))
    following = _next_names(task, names, log, limits)
    # Of any time: a failed one must not be skipped as unchanged later.
    shows = (CkanTask(step=CkanStep.SHOW, ids=(name,)) for name in names)
    is_end = not following
    return CkanOutcome(
        names=tuple(names),
        tasks=(*shows, *following),
        is_swept=is_end,
        listing=DatasetListing.NAMES if is_end and task.finds_deleted else None,
    )


def _after_listing(
    task: CkanTask, response: CkanResponse, log: FaultLog, limits: PlanLimits
) -> CkanOutcome:
    names = _read_names(task, response, log)
    if names is None:
        # No list: walk over all datasets by search, and write only new ones.
        sweep = CkanTask(
            step=CkanStep.SEARCH,
            since=task.since,
            is_sweep=True,
            is_listing=True,
            finds_deleted=True,
        )
        return CkanOutcome(tasks=(sweep,))
    following = _next_names(task, names, log, limits)
    return CkanOutcome(
        names=tuple(names),
        tasks=following,
        listing=None if following else DatasetListing.NAMES,
    )


def _read_names(
    task: CkanTask, response: CkanResponse, log: FaultLog
) -> list[str] | None:
    """Return the names of a page; None if the portal refuses the first page."""
    try:
        return read_names(response)
    except RequestRefused as refusal:
        if task.page:
            raise
        log.note(Reason.BAD_ANSWER, refusal.fault.detail)
        return None


def _next_names(
    task: CkanTask, names: list[str], log: FaultLog, limits: PlanLimits
) -> tuple[CkanTask, ...]:
    """Return the next page of names, if any; a page may be shorter than requested."""
    if not names or len(names) > task.rows:  # more than requested: all names
        return ()
    if names[0] == task.last:
        log.note(Reason.PAGING_LOOP, "the list of names ignores offsets")
        return ()
    if task.page >= limits.n_pages:
        detail = f"more than {counted(limits.n_pages, 'page')} of names"
        raise SourceFault(Reason.TOO_MANY_ENTRIES, detail)
    start = task.start + len(names)
    return (replace(task, start=start, last=names[0], page=task.page + 1),)


def _after_show(response: CkanResponse, log: FaultLog) -> CkanOutcome:
    try:
        package = read_package(response)
    except RequestRefused as refusal:
        if refusal.status not in NOT_THERE:
            raise
        log.note(Reason.BAD_ANSWER, refusal.fault.detail)  # listed, but not public
        return CkanOutcome()
    if package.state == "deleted":
        return CkanOutcome(deleted=(package.id,))
    return CkanOutcome(
        packages=(package,) if package.state == "active" else (),
        present=(package.id,),
        newest=solr_time(package.modified),
    )


def _catalogue(
    response: CkanResponse, log: FaultLog, n_known: int
) -> dict[str, Any] | None:
    """Return the status of a portal; empty if it refuses that, but has datasets.

    None: there is no portal, or it fails now, and its stored catalogue stays.
    """
    try:
        status = read_result(response)
    except SourceFault as fault:
        log.note(Reason.BAD_ANSWER, fault.fault.detail)
        is_refused = isinstance(fault, RequestRefused)
        return {} if is_refused and n_known else None
    return status if isinstance(status, dict) else {}


def _after_confirm(
    task: CkanTask, response: CkanResponse, log: FaultLog
) -> CkanOutcome:
    """Write the datasets of a response; the other requested ones are deleted."""
    try:
        page = read_page(response)
    except SourceFault as fault:
        log.note(Reason.BAD_ANSWER, fault.fault.detail)
        return CkanOutcome(tasks=_alone(task))
    alive = {one.id: one for one in page.packages if one.state == "active"}
    is_complete = not page.damage and page.count is not None
    if not is_complete or page.count != page.n_rows or alive.keys() - set(task.ids):
        log.note(Reason.BAD_ANSWER, "a search by id returned other datasets")
        return CkanOutcome(tasks=_alone(task))
    return CkanOutcome(
        packages=tuple(alive.values()),
        present=tuple(alive),
        deleted=tuple(one for one in task.ids if one not in alive),
    )


def _after_confirm_alone(task: CkanTask, response: CkanResponse) -> CkanOutcome:
    try:
        package = read_package(response)
    except RequestRefused as refusal:
        # CKAN responds "not found" to requests for a deleted dataset, or "not
        # authorized" to anonymous ones. Without its error type, the response may be
        # from a proxy.
        if refusal.status in NOT_THERE and refusal.kind:
            return CkanOutcome(deleted=task.ids)
        raise
    if package.state == "deleted":
        return CkanOutcome(deleted=task.ids)
    return CkanOutcome(packages=(package,), present=(package.id,))


def _alone(task: CkanTask) -> tuple[CkanTask, ...]:
    return tuple(replace(task, ids=(one,), is_alone=True) for one in task.ids)


_CONFIRM_BATCH_SIZE: Final = 20  # ids in one request
MAX_IDS_CHARS: Final = 1400  # of one task


# Share of the portal's own count; both change during the harvest.
MAX_UNLISTED: Final = 0.1


def check_listing(*, n_listed: int, count: int | None = None) -> None:
    """Raise if a listing cannot be used to find deletions.

    Args:
        n_listed: distinct datasets in the listing.
        count: the portal's own count in the same harvest.

    Raises:
        SourceFault: `INCOMPLETE`: fewer datasets than the portal counts.
    """
    if count and n_listed < count * (1 - MAX_UNLISTED):
        detail = f"{n_listed} listed of {count} that the portal counts"
        raise SourceFault(Reason.INCOMPLETE, detail)


def iter_confirmations(
    missing: Iterable[str], *, by_search: bool
) -> Iterator[CkanTask]:
    """Yield tasks that request missing datasets once more.

    Args:
        missing: ids.
        by_search: several per request, from the search index; otherwise one per
            request, from the database. The listing should be from the other source:
            `package_list` reads the database, a sweep the index.
    """
    ids: list[str] = []
    n_chars = 0
    for one in missing:
        size = 2 + sum(1 if char.isascii() else 6 for char in one)
        is_full = len(ids) == _CONFIRM_BATCH_SIZE or n_chars + size > MAX_IDS_CHARS
        if ids and (is_full or not by_search):
            yield _confirm(ids, is_alone=not by_search)
            ids, n_chars = [], 0
        ids.append(one)
        n_chars += size
    if ids:
        yield _confirm(ids, is_alone=not by_search)


def _confirm(ids: list[str], *, is_alone: bool) -> CkanTask:
    return CkanTask(step=CkanStep.CONFIRM, ids=tuple(ids), is_alone=is_alone, rows=1)
