"""The epochs of refresh: update the URL database, plan, write the plan, queue."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.refresh.aims import FreshnessPlan
from rdfcrawl.analysis.refresh.outlook import (
    FOLDER,
    RefreshGoal,
    RefreshOutlook,
    read_goal,
    read_outlooks,
    write_outlooks,
)
from rdfcrawl.analysis.urldb.building import UrlDatabaseReport, build
from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.analysis.urldb.files import writing_alone
from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.errors import ConfigError, SourceFault
from rdfcrawl.monitor.refreshing.planning import PlannedFetch, RefreshPlanner
from rdfcrawl.stores.files import sync, synced_file
from rdfcrawl.stores.log.crawl_log import CrawlLog

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.settings import BaseSettings

    from rdfcrawl.frontier.queue.options import CrawlOptions
    from rdfcrawl.monitor.refreshing.eligibility import NotDuePages
    from rdfcrawl.monitor.refreshing.options import RefreshOptions


_NAME: Final = "plan.jsonl"
_DRAFT: Final = ".plan.draft"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshPlanHead:
    """Identity of a plan.

    Attributes:
        log: name of the crawl's log.
        generation: of the log.
        begin_ms: start of the epoch, Unix time.
        length_ms: of the epoch.
        policy: that has chosen.
    """

    log: str
    generation: int
    begin_ms: int
    length_ms: int
    policy: str

    def is_of_epoch(self, other: RefreshPlanHead, now_ms: int) -> bool:
        """Return whether this plan is for the log of another, and is not over."""
        is_of_log = (self.log, self.generation) == (other.log, other.generation)
        return is_of_log and self.begin_ms <= now_ms < self.begin_ms + self.length_ms


class RefreshPlanFile:
    """The file with the plan of a crawl's present epoch.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
    """

    def __init__(self, root: Path) -> None:
        self._folder = root / FOLDER
        self._path = self._folder / _NAME

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock out other refreshes; the lock ends with the process.

        Raises:
            ConfigError: one is running.
        """
        self._folder.mkdir(exist_ok=True)
        with writing_alone(self._folder, "another refresh of this crawl is running"):
            yield

    def head(self) -> RefreshPlanHead | None:
        """Return the identity of the plan; None if there is none.

        Raises:
            ConfigError: it cannot be read.
        """
        try:
            with self._path.open("rb") as file:
                return RefreshPlanHead(**json.loads(file.readline()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            raise self._wrong(error) from error

    def fetches(self) -> Iterator[PlannedFetch]:
        """Yield the pages of the plan.

        Raises:
            ConfigError: it cannot be read.
        """
        with self._path.open("rb") as file:
            next(file)
            try:
                for line in file:
                    yield decode(line.decode(), PlannedFetch)
            except (ValueError, SourceFault) as error:
                raise self._wrong(error) from error

    def _wrong(self, error: Exception) -> ConfigError:
        return ConfigError(
            f"{self._path}: is not a plan of refresh; remove it ({error})"
        )

    def write(self, head: RefreshPlanHead, fetches: Iterable[PlannedFetch]) -> int:
        """Replace the plan once the new one is on disk; return the number of pages."""
        draft = self._folder / _DRAFT
        n_fetches = 0
        with synced_file(draft) as file:
            file.write(json.dumps(asdict(head)).encode("ascii") + b"\n")
            for each in fetches:
                file.write(encode(each).encode("ascii") + b"\n")
                n_fetches += 1
        draft.replace(self._path)
        sync(self._folder)
        return n_fetches


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedEpoch:
    """The pages to fetch again in an epoch.

    Attributes:
        head: of the plan.
        n_chosen: pages to fetch again.
        n_hosts: hosts with pages that may be fetched again; 0 if the plan was made
            before.
        n_pages: these pages; likewise.
        n_due: of these, pages that are due, whatever the budgets; likewise.
        outlooks: effects of the budgets; empty if they suffice.
        aim: effect on a wanted freshness; None if none is wanted.
        damages: of the logs, as text.
    """

    head: RefreshPlanHead
    n_chosen: int
    n_hosts: int = 0
    n_pages: int = 0
    n_due: int = 0
    outlooks: Sequence[RefreshOutlook] = ()
    aim: FreshnessPlan | None = None
    is_new: bool = False
    damages: tuple[str, ...] = ()


class CrawlRefresh:
    """Refresh of one crawl.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
        options: policy and budgets.
        crawl: connection to its frontier.
    """

    def __init__(
        self, root: Path, options: RefreshOptions, crawl: CrawlOptions
    ) -> None:
        self._root = root
        delay_ms = 1000 * crawl.frontier.delay_secs
        n_possible = round(options.epoch_ms / delay_ms) if delay_ms else sys.maxsize
        if max(n_possible, 1) < options.host_budget:
            limit = f"a delay of {crawl.frontier.delay_secs:g} s"
            options = replace(options, host_budget=max(n_possible, 1), host_limit=limit)
        self._options = options
        self._crawl = crawl
        self.file = RefreshPlanFile(root)

    def plan(
        self, now_ms: int, report: Callable[[int, int], None] = lambda *_: None
    ) -> PlannedEpoch:
        """Return the plan of the present epoch; make it if there is none.

        Args:
            now_ms: Unix time.
            report: called for each page with the numbers of hosts and pages so far.

        Raises:
            ConfigError: there is no log, or it is damaged.
            OSError: a disk is full, or cannot be read.
        """
        head = self._head(now_ms)
        there = self._there(head, now_ms)
        if there is not None:
            n_chosen = sum(1 for _ in self.file.fetches())
            return PlannedEpoch(
                head=there,
                n_chosen=n_chosen,
                outlooks=read_outlooks(self._root),
                aim=read_goal(self._root).plan,
            )
        built = self._build()
        with UrlDatabase(self._root) as database:
            planner = RefreshPlanner(database, self._options, now_ms)
            n_chosen = self.file.write(head, _reported(planner, report))
        outlooks = planner.outlooks()
        goal = RefreshGoal(
            epoch_ms=self._options.epoch_ms, plan=planner.aimed(n_chosen)
        )
        write_outlooks(self._root, goal, outlooks)
        return PlannedEpoch(
            head=head,
            n_chosen=n_chosen,
            n_hosts=planner.n_hosts,
            n_pages=planner.n_pages,
            n_due=planner.n_due,
            outlooks=outlooks,
            aim=goal.plan,
            is_new=True,
            damages=built.damages,
        )

    def preview(self, now_ms: int) -> Iterator[PlannedFetch]:
        """Yield the pages of the present epoch; raises like `plan`."""
        if self._there(self._head(now_ms), now_ms) is not None:
            yield from self.file.fetches()
            return
        self._build()
        with UrlDatabase(self._root) as database:
            yield from RefreshPlanner(database, self._options, now_ms).plan()

    def not_due(self, now_ms: int) -> NotDuePages:
        """Return the pages of a database in which none is due, by reason."""
        with UrlDatabase(self._root) as database:
            return RefreshPlanner(database, self._options, now_ms).not_due()

    def _head(self, now_ms: int) -> RefreshPlanHead:
        options, log = self._options, CrawlLog(self._root)
        return RefreshPlanHead(
            log=log.identity.log,
            generation=log.identity.generation,
            begin_ms=now_ms - now_ms % options.epoch_ms,
            length_ms=options.epoch_ms,
            policy=options.policy_name,
        )

    def _there(self, head: RefreshPlanHead, now_ms: int) -> RefreshPlanHead | None:
        """Return the stored plan if it is for the present epoch."""
        there = self.file.head()
        return there if there and there.is_of_epoch(head, now_ms) else None

    def _build(self) -> UrlDatabaseReport:
        return build(self._root, self._crawl.normal_form, scratch=self._root)

    async def queue(self, settings: BaseSettings, spider: str = "") -> int:
        """Queue planned pages; return the number of pages that were not queued yet.

        Args:
            settings: of the crawl.
            spider: whose arguments the records have; see `RefreshQueue.add`.

        Raises:
            ConfigError: Redis cannot be used, or the crawl has no such spider.
        """
        from rdfcrawl.monitor.refreshing.queueing import RefreshQueue  # noqa: PLC0415 (slow)

        queue = await RefreshQueue.open(self._crawl, settings)
        try:
            return (await queue.add(self.file.fetches(), spider=spider)).new
        finally:
            await queue.close()


def _reported(
    planner: RefreshPlanner, report: Callable[[int, int], None]
) -> Iterator[PlannedFetch]:
    for number, each in enumerate(planner.plan(), start=1):
        report(planner.n_hosts, number)
        yield each
