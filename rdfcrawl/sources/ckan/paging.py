"""Pages of datasets, what a response leads to, and the next page."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from typing import Any, Final

from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.core.source_tasks import CkanOrder, CkanStep, CkanTask
from rdfcrawl.sources.ckan.api import PortalAddress
from rdfcrawl.sources.ckan.envelope import (
    CkanResponse,
    DamagedResponse,
    DatasetPage,
    PackageText,
    RequestRefused,
    read_page,
)
from rdfcrawl.sources.ckan.values import solr_time


class DatasetListing(StrEnum):
    """Source of a list of existing datasets."""

    NAMES = "names"  # listed by the portal: look up names
    SWEEP = "sweep"  # found during the walk: look up ids


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLimits:
    """Limits of the walk through one portal."""

    n_pages: int = 100_000  # per walk; beyond, `TOO_MANY_ENTRIES`
    n_backs: int = 20  # steps back after rows moved; beyond, `INCOMPLETE`
    # minimum page size after failures; after a truncated or too large page it is one
    # row
    least_rows: int = 10
    n_names: int = 10_000  # names in a page of a listing
    n_shown: int = 100  # the same, with one request per name
    # share of the expected rows that may be missing (deleted meanwhile) before the
    # order by time is given up; 5 rows always may
    lost_share: float = 0.02


DEFAULT_PLAN_LIMITS: Final = PlanLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class CkanOutcome:
    """Outcome of a response; processing it twice is harmless."""

    # datasets to write, each as one document
    packages: tuple[PackageText, ...] = ()
    # ids of datasets found by a sweep, written or not
    present: tuple[str, ...] = field(default=(), repr=False)
    deleted: tuple[str, ...] = ()  # ids of datasets that become tombstones
    names: tuple[str, ...] = field(default=(), repr=False)  # in a listing
    tasks: tuple[CkanTask, ...] = ()  # next tasks, in order
    newest: str = ""  # greatest `metadata_modified`, as `solr_time`
    count: int | None = None  # of datasets in the scope, if stated
    is_swept: bool = False  # the walk is complete
    # source of a complete listing, to find deletions; otherwise None
    listing: DatasetListing | None = None
    # description of the portal; None if it was not requested
    catalogue: dict[str, Any] | None = None


NOT_THERE: Final = frozenset({401, 403, 404, 410})  # rather than a bad request

_BY_TIME: Final = "metadata_modified asc, id asc"
_NEWEST_FIRST: Final = "metadata_modified desc, id asc"
_BY_ID: Final = "id asc"
_MAX_REPEATS: Final = 3  # consecutive pages without new rows
_FEW: Final = 5  # datasets that may be deleted between two pages


def sort_of(task: CkanTask) -> str:
    """Return the `sort` parameter of a search."""
    if task.order is CkanOrder.KEYSET:
        return _BY_TIME
    if task.order is CkanOrder.PLAIN:
        return ""
    return _NEWEST_FIRST if task.since and not task.is_sweep else _BY_ID


class PageWork:
    """Evaluates one page of a `SEARCH` or `CURRENT` task; see `plan.advance`."""

    def __init__(
        self,
        task: CkanTask,
        portal: PortalAddress,
        log: FaultLog,
        *,
        n_known: int,
        limits: PlanLimits,
    ) -> None:
        self.task, self.portal, self.log = task, portal, log
        self.n_known, self.limits = n_known, limits
        self._is_keyset = (
            task.order is CkanOrder.KEYSET and task.step is CkanStep.SEARCH
        )

    def advance(self, response: CkanResponse) -> CkanOutcome:
        """Return the outcome of the page; raises the errors of `plan.advance`."""
        try:
            page = read_page(response)
        except RequestRefused as refusal:
            return self._refused(refusal)
        except SourceFault as fault:
            return self._smaller(fault)
        if page.damage and self.task.rows > 1:
            return self._damaged(page)
        if n_bad := page.n_rows - len(page.packages):
            detail = counted(n_bad, "row is no dataset", "rows are no datasets")
            self.log.note(Reason.BAD_ANSWER, detail, n_bad)
        return self._read(page)

    def _read(self, page: DatasetPage) -> CkanOutcome:
        self._check_not_empty(page)
        if self._is_only_page(page):
            return self._outcome(page, None)
        if self._is_repeated(page):
            return self._after_repetition(page)
        if doubt := self._doubt(page):
            self.log.note(Reason.INCOMPLETE, f"order by time given up: {doubt}")
            return CkanOutcome(tasks=(self._weaker(),))
        if self.task.start and self._has_moved(page):
            return self._gone_back(page)
        return self._outcome(page, self._next(page))

    # -- content -------------------------------------------------------------------

    def _outcome(self, page: DatasetPage, following: CkanTask | None) -> CkanOutcome:
        task = self.task
        is_end = following is None
        tasks = self._after_sweep() if following is None else (following,)
        if following is not None and following.page > self.limits.n_pages:
            detail = f"more than {counted(self.limits.n_pages, 'page')}"
            self.log.note(Reason.TOO_MANY_ENTRIES, detail)
            tasks = ()
        is_listing = is_end and task.finds_deleted and not self._has_names()
        return CkanOutcome(
            packages=tuple(filter(self._is_selected, page.packages)),
            present=tuple(
                one.id
                for one in page.packages
                if task.is_sweep and one.state != "deleted"
            ),
            deleted=tuple(one.id for one in page.packages if one.state == "deleted"),
            tasks=tasks,
            newest=max((solr_time(one.modified) for one in page.packages), default=""),
            count=page.count if task.is_sweep and not task.cursor else None,
            is_swept=is_end,
            listing=DatasetListing.SWEEP if is_listing else None,
        )

    def _is_selected(self, package: PackageText) -> bool:
        if package.state != "active":
            return False
        modified = solr_time(package.modified)
        return not (self.task.since and modified and modified < self.task.since)

    def _has_names(self) -> bool:
        is_search = self.task.step is CkanStep.SEARCH
        return (
            is_search and self.portal.scope.is_unrestricted and not self.task.is_listing
        )

    def _after_sweep(self) -> tuple[CkanTask, ...]:
        task = self.task
        if not (task.finds_deleted and self._has_names()):
            return ()
        rows = self.limits.n_names
        return (CkanTask(step=CkanStep.LISTING, since=task.since, rows=rows),)

    # -- plausibility --------------------------------------------------------------

    def _check_not_empty(self, page: DatasetPage) -> None:
        task = self.task
        if not page.n_rows and task.is_sweep and not task.page and self.n_known:
            raise DamagedResponse(f"no datasets, but {self.n_known} known")

    def _is_repeated(self, page: DatasetPage) -> bool:
        """Return whether the page ends like the previous one, without new rows.

        Causes are inserted rows, or a portal that ignores offsets.
        """
        last, ids = self.task.last, [one.id for one in page.packages]
        return bool(last and self.task.start and ids[1:]) and ids[-1] == last

    def _after_repetition(self, page: DatasetPage) -> CkanOutcome:
        task = self.task
        if task.n_backs >= _MAX_REPEATS:
            raise SourceFault(
                Reason.PAGING_LOOP, f"the page before {task.last} is repeated"
            )
        following = self._next(page)
        if following is not None:
            following = replace(following, n_backs=task.n_backs + 1)
        return self._outcome(page, following)

    def _is_only_page(self, page: DatasetPage) -> bool:
        """Return whether the page has all rows, in any order."""
        task = self.task
        has_all = page.count is not None and page.n_rows >= page.count
        return has_all and not task.page and not task.start

    def _doubt(self, page: DatasetPage) -> str:
        """Return why the order by time is unreliable; empty if it is reliable."""
        if not self._is_keyset:
            return ""
        if page.count is None:
            return "no count"
        return (
            self._lost(page.count, page)
            or self._disorder([solr_time(one.modified) for one in page.packages])
            or self._too_often_moved(page)
        )

    def _disorder(self, times: list[str]) -> str:
        if "" in times:
            return "datasets without time of modification"
        if any(a > b for a, b in pairwise(times)):
            return "rows are not in the requested order"
        is_before = bool(times) and times[0] < self.task.cursor
        return "rows from before the requested time" if is_before else ""

    def _lost(self, count: int, page: DatasetPage) -> str:
        # If a portal shows other times than it indexes, rows would be lost, the last
        # row of the previous page among them.
        expected = self.task.expected
        slack = max(_FEW, int(expected * self.limits.lost_share))
        slack = 1 if self._lacks_last(page) else slack
        is_lost = expected - count > slack
        return f"{counted(count, 'row')} instead of {expected}" if is_lost else ""

    def _too_often_moved(self, page: DatasetPage) -> str:
        task = self.task
        is_last = task.start > 0 and task.n_backs >= self.limits.n_backs
        return "rows with equal times move" if is_last and self._has_moved(page) else ""

    def _has_moved(self, page: DatasetPage) -> bool:
        """Return whether rows may have moved before the page."""
        if self._is_by_id(page):
            return bool(self.task.last) and page.packages[0].id > self.task.last
        return bool(page.packages) and self._lacks_last(page)

    def _is_by_id(self, page: DatasetPage) -> bool:
        ids = [one.id for one in page.packages]
        is_asked = sort_of(self.task) == _BY_ID and self.task.step is CkanStep.SEARCH
        return is_asked and bool(ids) and all(a < b for a, b in pairwise(ids))

    def _lacks_last(self, page: DatasetPage) -> bool:
        last = self.task.last
        return bool(last) and all(one.id != last for one in page.packages)

    def _gone_back(self, page: DatasetPage) -> CkanOutcome:
        """Keep the page, and step back to rows that cannot have moved."""
        task = self.task
        is_harmless = sort_of(task) == _NEWEST_FIRST  # rows only move to later pages
        if is_harmless or task.n_backs >= self.limits.n_backs:
            if not is_harmless:
                self.log.note(Reason.INCOMPLETE, "rows move during the harvest")
            return self._outcome(page, self._next(page))
        # With the order by id, a step may be short; with a time, restart at the time.
        steps = 2 ** (1 + task.n_backs) if self._is_by_id(page) else 2
        back = 0 if self._is_keyset else max(0, task.start - steps * task.rows)
        repeated = replace(
            task,
            start=back,
            last=task.last if back and self._is_by_id(page) else "",
            page=task.page + 1,
            n_backs=task.n_backs + 1,
        )
        return self._outcome(page, repeated)

    # -- next page ---------------------------------------------------------------

    def _next(self, page: DatasetPage) -> CkanTask | None:
        task = self.task
        done = task.start + page.n_rows
        if not page.n_rows:
            if page.count is not None and task.start < page.count:
                detail = f"an empty page at row {task.start} of {page.count}"
                raise SourceFault(Reason.INCOMPLETE, detail)
            return None
        if page.count is not None and done >= page.count:
            return None
        ids = [one.id for one in page.packages]
        # Without a count, a page with only the repeated row is the end; a page of one
        # row never has more.
        is_end = page.count is None and task.rows > 1 and ids == [task.last]
        if is_end or self._is_before_since(page):
            return None
        if self._is_keyset and ids:
            return self._next_by_time(page, done)
        return self._counted(page, done)

    def _counted(self, page: DatasetPage, done: int) -> CkanTask:
        """Return the next page by number, which repeats the last row."""
        task = self.task
        repeats_last = page.n_rows > 1 and bool(page.packages)
        return replace(
            task,
            start=done - 1 if repeats_last else done,
            last=page.packages[-1].id if repeats_last else "",
            rows=self._rows(),
            expected=page.count or 0,
            page=task.page + 1,
            n_backs=0 if self._is_by_id(page) else task.n_backs,
        )

    def _next_by_time(self, page: DatasetPage, done: int) -> CkanTask:
        task = self.task
        times = [solr_time(one.modified) for one in page.packages]
        latest = times[-1]
        if latest == task.cursor or times[0] == latest:
            # All rows have one time, for example after a bulk import
            n_before = 0 if times[0] == task.cursor or not task.start else task.start
            expected = max((page.count or 0) - n_before, 0)
            counted = self._counted(page, done - n_before)
            return replace(counted, cursor=latest, expected=expected)
        n_passed = done - times.count(latest)
        return replace(
            task,
            cursor=latest,
            start=0,
            last=page.packages[-1].id,
            rows=self._rows(),
            expected=max((page.count or 0) - n_passed, 0),
            page=task.page + 1,
        )

    def _rows(self) -> int:
        """Return the size of the next page, which grows back after a large dataset."""
        return max(self.task.rows, min(self.task.most, self.task.rows * 2))

    def _is_before_since(self, page: DatasetPage) -> bool:
        """Return whether all later pages are older than `since`, newest first."""
        task = self.task
        if sort_of(task) != _NEWEST_FIRST or not page.packages:
            return False
        times = [solr_time(one.modified) for one in page.packages]
        is_ordered = "" not in times and all(a >= b for a, b in pairwise(times))
        return is_ordered and times[-1] < task.since

    # -- failures ------------------------------------------------------------------

    def _refused(self, refusal: RequestRefused) -> CkanOutcome:
        task = self.task
        is_failing = refusal.status >= 500 or not refusal.status
        self.log.note(Reason.BAD_ANSWER, refusal.fault.detail)
        if is_failing and task.rows > self.limits.least_rows:
            rows = max(self.limits.least_rows, task.rows // 4)
            return CkanOutcome(tasks=(replace(task, rows=rows, most=rows),))
        if (is_failing and task.page) or task.step is not CkanStep.SEARCH:
            raise refusal
        if task.order is not CkanOrder.PLAIN and refusal.status not in NOT_THERE:
            return CkanOutcome(tasks=(self._weaker(),))
        if not self.portal.scope.is_unrestricted:  # only a search can restrict
            raise refusal
        return CkanOutcome(tasks=(self._without_search(),))

    def _weaker(self) -> CkanTask:
        """Return the first page in a simpler order."""
        task = self.task
        is_keyset = task.order is CkanOrder.KEYSET
        return CkanTask(
            step=CkanStep.SEARCH,
            order=CkanOrder.SORTED if is_keyset else CkanOrder.PLAIN,
            since=task.since,
            is_sweep=task.is_sweep or not is_keyset,
            is_listing=task.is_listing,
            finds_deleted=task.finds_deleted,
            rows=task.rows,
            most=task.most,
        )

    def _without_search(self) -> CkanTask:
        task = self.task
        return CkanTask(
            step=CkanStep.NAMES,
            since=task.since,
            is_sweep=True,
            finds_deleted=task.finds_deleted,
            rows=self.limits.n_shown,
        )

    def _smaller(self, fault: SourceFault) -> CkanOutcome:
        """Request fewer rows; skip a single row that is too large."""
        task = self.task
        reason, detail = fault.fault.reason, fault.fault.detail
        is_too_large = reason is Reason.TOO_LARGE
        if not is_too_large and not (
            isinstance(fault, DamagedResponse) and fault.is_cut
        ):
            raise fault
        self.log.note(reason, detail)
        if task.rows > 1:
            return CkanOutcome(tasks=(replace(task, rows=max(1, task.rows // 4)),))
        if not is_too_large:
            raise fault
        self.log.note(Reason.INCOMPLETE, f"row {task.start} is skipped")
        skipped = replace(task, start=task.start + 1, last="", page=task.page + 1)
        return CkanOutcome(tasks=(skipped,))

    def _damaged(self, page: DatasetPage) -> CkanOutcome:
        """Keep the rows before the damage, and request smaller pages."""
        task = self.task
        self.log.note(Reason.BAD_ANSWER, page.damage)
        rows = max(1, min(task.rows // 4, page.n_rows))
        packages = tuple(filter(self._is_selected, page.packages))
        return CkanOutcome(packages=packages, tasks=(replace(task, rows=rows),))
