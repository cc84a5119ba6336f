"""One process's share of a crawl: claimed visits, unsent links, uncommitted visits.

All methods called by a scheduler are local and immediate; tasks talk to Redis. The
states of a visit: claimed (`visit_tasks.py`) -> `next_visit` -> `finish` -> children
queued (`worker_state.py`) -> released (others may visit the host) -> stores flushed ->
acknowledged (`visit_tasks.py`). After a `kill -9` at any point it stays leased; when
the lease expires (`LeaseKeeper`), its URIs are claimed again.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Literal
from zlib import crc32

from redis.exceptions import RedisError

from rdfcrawl.core.errors import CrawlGone
from rdfcrawl.core.messages import counted
from rdfcrawl.core.times import now_ms
from rdfcrawl.core.visits import Visit
from rdfcrawl.frontier.queue.frontier_client import Frontier
from rdfcrawl.frontier.queue.options import WorkerOptions
from rdfcrawl.frontier.queue.worker_reports import (
    GONE_AFTER_SECS,
    HOSTS,
    STARTED,
    Figures,
    added,
    without,
)
from rdfcrawl.frontier.redis.errors import RedisRetry, is_full, one_line
from rdfcrawl.frontier.redis.server_state import rewrite_torn_logs
from rdfcrawl.frontier.request_turns import steady_time
from rdfcrawl.frontier.worker.visit_tasks import (
    EpochKeeper,
    VisitClaimer,
    VisitCommitter,
)
from rdfcrawl.frontier.worker.worker_state import (
    ADD_SECS,
    IntakeHooks,
    LinkSender,
    WorkerHooks,
    WorkerState,
    sleep_until,
    wait_for_delay,
)

BEAT_SECS = 5.0
LOOKERS = 2  # workers that look for the dead in one partition
_REPORT_SECS = 1.0  # as often as a display refreshes

logger = logging.getLogger(__name__)


class LeaseKeeper:
    """Renews the leases of a worker, and takes over those of dead ones."""

    def __init__(self, state: WorkerState, hooks: WorkerHooks) -> None:
        self._state = state
        self._figures = hooks.figures
        self._account_for = hooks.account_for
        self._confirming = asyncio.Lock()
        self._delays = (state.frontier.options.delay_secs,) * 2  # shortest, longest
        self._last_reported: Figures = {}
        # Figures reported before a silence in which this worker was counted as gone.
        self._reported_before: Figures = {}
        self._has_reported_all = False
        self._knows_live = False  # from the last heartbeat

    async def run(self) -> None:
        """Renew leases until the worker stops."""
        stopping = self._state.stopping
        while not stopping.is_set():
            secs = beat_secs(self._state.frontier) * random.uniform(0.8, 1.0)
            await sleep_until(stopping, secs)
            if stopping.is_set():
                return
            await self._state.persistent("renew leases", self._maintain)
            await self._bury()

    async def confirm(self) -> None:
        """Renew the leases of this worker if any may have expired; join again.

        A worker that was stopped, or cut off from Redis, calls it before any request.

        Raises:
            RedisError: Redis is unreachable, and the worker stops.
        """
        state = self._state
        async with self._confirming:
            if steady_time() >= state.leases_until:
                await state.persistent("renew leases", self._renew)
            if steady_time() >= state.heard_until:
                await state.persistent("heartbeat", self._beat_if_not_full)
                await wait_for_delay(state)

    async def _maintain(self) -> None:
        """Renew leases, take over those of dead workers, report figures.

        Retried from the beginning: after an outage, or while full memory refuses the
        heartbeat, this worker renews its leases before it takes over any.
        """
        state, frontier = self._state, self._state.frontier
        await self._renew()
        _, back, dead = await frontier.reap(self._partitions())
        if back or dead:
            uris = counted(back, "URI")
            logger.info("recovered %s of dead workers, gave up %d", uris, dead)
            state.due.clear()
        state.counts = await frontier.counts()
        await frontier.state.look(frontier.redis)
        if frontier.state.has_torn_log:
            frontier.state.has_torn_log = False
            await rewrite_torn_logs(frontier.redis, again=True)
        await self._beat_if_not_full()

    def _partitions(self) -> list[int] | None:
        """Return the partitions to check for dead workers; None: all.

        None if the live workers are unknown, as Redis accepts no heartbeat.
        """
        state = self._state
        if not self._knows_live or steady_time() >= state.heard_until:
            return None
        name, n = state.options.name, state.frontier.partitions
        return own_partitions(name, state.live, n)

    async def _beat_if_not_full(self) -> None:
        """Report the life of this worker; with full memory, only list the others."""
        began = steady_time()
        try:
            await self.beat()
            self._knows_live = True
        except RedisError as error:
            self._knows_live = False
            if not is_full(error):  # reported when links are added
                raise
            await self._state.frontier.delays.look()
            self._record_heartbeat(began)

    async def _bury(self) -> None:
        frontier = self._state.frontier
        buried, frontier.buried = frontier.buried, []
        if buried:
            await self._account_for(buried)

    async def _renew(self) -> None:
        state = self._state
        held = state.held()
        leased_until = steady_time() + state.frontier.options.lease_secs
        lost = set(await state.frontier.renew(held)) if held else set()
        state.leases_until = leased_until
        if lost & {*state.ready, *state.active}:
            # Other workers have these hosts now, so their visits must not begin.
            leases = counted(len(lost), "lease")
            logger.warning("lost %s: those URIs are crawled again", leases)
            state.ready = deque(visit for visit in state.ready if visit not in lost)
            for visit in lost & state.active:
                visit.is_lost = True
                visit.pending.clear()

    async def beat(self) -> None:
        """Report life and progress of this worker; list the live ones."""
        state, frontier, began = self._state, self._state.frontier, steady_time()
        name = state.options.name
        if state.heard_until and began - state.heard_until > GONE_AFTER_SECS / 2:
            await self._rejoin()
        figures = self._new_figures()
        state.live = await frontier.beat(name, figures)
        self._last_reported = figures
        self._record_heartbeat(began)
        delays = frontier.delays.shortest_secs, frontier.delays.secs
        if delays != self._delays:
            self._delays = delays
            logger.warning(
                "DOWNLOAD_DELAY is %g s here, and from %g to %g s with the workers of"
                " this crawl: the longest applies to all, %g s",
                frontier.options.delay_secs,
                *delays,
                frontier.delays.secs,
            )

    async def _rejoin(self) -> None:
        """Report only the increase of figures if this worker was counted as gone."""
        if await self._state.frontier.reports.rejoin(self._state.options.name):
            self._reported_before = added(self._reported_before, self._last_reported)
            self._last_reported = {}

    def _record_heartbeat(self, began: float) -> None:
        # Redis stores it in whole seconds.
        self._state.heard_until = began + self._state.frontier.reports.silence_secs - 1

    async def report(self) -> None:
        """Report new figures; check whether this worker is drained."""
        state = self._state
        while not state.stopping.is_set():
            await sleep_until(state.report_now, _REPORT_SECS)
            state.report_now.clear()
            figures, frontier = self._new_figures(), state.frontier
            with suppress(RedisError):  # the heartbeat retries
                state.is_drained = await frontier.drains.is_requested(
                    state.options.name
                )
                # After a silence, the heartbeat comes first.
                if figures != self._last_reported and steady_time() < state.heard_until:
                    await frontier.report(state.options.name, figures)
                    self._last_reported = figures

    async def report_end(self) -> None:
        """Report the last figures, and that this worker is gone."""
        frontier, name = self._state.frontier, self._state.options.name
        if (
            not self._has_reported_all
        ):  # only once, before they are added to the gone ones
            await frontier.beat(name, self._new_figures())
            self._has_reported_all = True
        await frontier.leave(name)

    def _new_figures(self) -> dict[str, float]:
        state = self._state
        own = {STARTED: float(state.has_started), HOSTS: len(state.active)}
        figures = self._figures() | own
        return (
            without(figures, self._reported_before)
            if self._reported_before
            else figures
        )


def own_partitions(worker: str, live: Collection[str], n: int) -> list[int] | None:
    """Return the partitions in which a worker looks for expired leases.

    Two live workers check each partition: the first ones in an order of the partition.
    When leases expire, their worker has been silent for long, so at least one of the
    two lives.

    Args:
        worker: name of the worker.
        live: names of all live workers.
        n: partitions of the crawl.
    """
    if len(live) <= LOOKERS or worker not in live:
        return None
    mine, others = crc32(worker.encode()), [crc32(x.encode()) for x in live]
    return [number for number in range(n) if _is_first(mine, others, number)]


def _is_first(mine: int, others: Iterable[int], number: int) -> bool:
    own, n_before = _rank(mine, number), 0
    for other in others:
        if _rank(other, number) < own:
            n_before += 1
            if n_before == LOOKERS:
                return False
    return True


def _rank(mark: int, number: int) -> int:
    """Return a number that looks random for each worker and partition (Knuth, 6.4)."""
    mixed = (mark ^ number * 0x9E37_79B1) * 0x85EB_CA6B & 0xFFFF_FFFF
    return (mixed ^ mixed >> 15) * 0xC2B2_AE35 & 0xFFFF_FFFF


def beat_secs(frontier: Frontier) -> float:
    """Return the time between two heartbeats."""
    return min(BEAT_SECS, frontier.options.lease_secs / 3)


class FrontierWorker(WorkerState):
    """One worker: takes visits from the frontier, and returns links.

    Args:
        frontier: shared by all workers.
        options: of this worker.
        hooks: functions of the scheduler.
        outage: retries commands while Redis is unreachable.
        intake: functions of the intake of links and seeds.
        epoch_log: file with a line of JSON for each finished epoch.
        run_began_ms: when the run began (Unix time in ms).

    Attributes:
        claimer, links, committer, leases, epochs: parts that share the state.
        n_failed: URIs given up in this run by all workers; set at the end.
        n_owed: URIs owed to the next run; likewise.
    """

    def __init__(
        self,
        frontier: Frontier,
        options: WorkerOptions,
        hooks: WorkerHooks,
        *,
        outage: RedisRetry,
        intake: IntakeHooks,
        epoch_log: Path | None = None,
        run_began_ms: int | None = None,
    ) -> None:
        super().__init__(frontier, options, outage, run_began_ms or now_ms())
        self.n_failed = self.n_owed = 0
        self._failed_before = 0
        self._take_seeds = intake.take_seeds
        self._wake = hooks.wake
        self.links = LinkSender(self, intake.restore)
        self.claimer = VisitClaimer(
            self,
            self.links,
            wake=hooks.wake,
            check_whether_over=self._check_whether_over,
            prepare=intake.prepare,
            wanted=intake.wanted,
        )
        self.committer = VisitCommitter(
            self, self.links, hooks.flush_stores, intake.wanted, self.claimer.take
        )
        self.leases = LeaseKeeper(self, hooks)
        self.epochs = EpochKeeper(self, epoch_log)
        self._tasks: list[asyncio.Task[None]] = []

    def next_visit(self) -> Visit | None:
        """Return a leased visit, or None if none is ready."""
        if self.links.n_waiting > self.options.max_buffered:
            return None
        if len(self.ready) <= self.options.visits // 2:
            self.claim_now.set()
        if not self.ready:
            return None
        visit = self.ready.popleft()
        visit.began_at = visit.began_at or monotonic()
        self.active.add(visit)
        return visit

    def finish(self, visit: Visit) -> None:
        """Take back a visit that was processed."""
        self.active.discard(visit)
        self.finished.append(visit)
        is_quiet = monotonic() - self.links.sent_at > ADD_SECS
        if is_quiet or not (self.active or self.ready):
            self.commit_now.set()

    async def begin(self, visit: Visit, what: Literal["asked", "read"]) -> None:
        """Record the next step with the record of a suspect."""
        is_ours = await self.persistent("begin", self.frontier.begin, visit, what)
        visit.is_lost = visit.is_lost or not is_ours

    async def open(self) -> None:
        """Join the crawl and start the tasks."""
        await self.persistent("heartbeat", self.leases.beat)
        await self.persistent("bury", self.frontier.reports.bury)
        self._failed_before = await self.persistent(
            "look for runs", self.frontier.failed_before
        )
        for name, job in {
            "claim": self.claimer.run,
            "commit": self.committer.run,
            "renew": self.leases.run,
            "seed": self._seed,
            "report": self.leases.report,
            **({"epochs": self.epochs.run} if self.frontier.epochs.options else {}),
        }.items():
            self._tasks.append(asyncio.create_task(self._forever(name, job)))

    async def close(self) -> None:
        """Commit finished visits, put back the others, and leave."""
        for event in (self.stopping, self.claim_now, self.commit_now, self.report_now):
            event.set()
        self.look_now.set()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.gone is not None:
            return
        for visit in self.ready:
            visit.unrequested |= set(range(visit.n_done, len(visit.records)))
        for visit in (*self.ready, *self.active):
            # Unreadable records are found unreadable again.
            left = visit.records[visit.n_done :]
            visit.returned = dict(enumerate(left, visit.n_done))
            visit.documents.clear()
            visit.is_postponed = True  # a host that refused still refuses
            self.finished.append(visit)
        self.ready.clear()
        self.active.clear()
        try:
            await self.committer.send_and_release()
            is_stored = await self.committer.flush()
            await self.committer.ack_in_time()
            if not is_stored:  # requested again without waiting for their leases
                await self.frontier.renew(self.released, secs=0)
                await self.frontier.reap()
            self.n_owed = (await self.frontier.owed.list(0)).n_uris
            self.n_failed = await self.frontier.n_failed() - self._failed_before
            await self.persistent("leave", self.leases.report_end)
        except CrawlGone as gone:
            self.gone = gone
        except RedisError as error:
            logger.warning(
                "Redis is unreachable: leased and to be repeated: %s: %s",
                counted(len(self.held()), "visit"),
                one_line(error),
            )

    async def _forever(
        self, name: str, job: Callable[[], Coroutine[None, None, None]]
    ) -> None:
        """Run a task until the worker stops; a bug there must not end the crawl."""
        while not self.stopping.is_set():
            try:
                await job()
            except asyncio.CancelledError:
                raise
            except CrawlGone as gone:
                self.gone = gone
                return
            except Exception:
                if self.stopping.is_set():
                    return
                logger.exception("frontier task %s failed, continuing", name)
                await asyncio.sleep(1)

    async def _seed(self) -> None:
        while not self.stopping.is_set():
            await sleep_until(self.stopping, BEAT_SECS * random.uniform(0.8, 1.0))
            await self.persistent("start_urls", self._take_seeds)

    async def _check_whether_over(self) -> None:
        """Check whether the crawl is over, if this worker has no work.

        With other workers, this takes two looks: one of them shows a worker between
        claim and add.
        """
        if self.is_over or not self.has_started:
            return
        since, looks = monotonic(), 0
        while not self.stopping.is_set() and await self._has_no_work():
            looks += 1
            is_sure = looks > 1 or self.is_alone
            if is_sure and monotonic() - since >= self.options.idle_secs:
                self.is_over = True
                self._wake()
                return
            await asyncio.sleep(0.1)

    async def _has_no_work(self) -> bool:
        if not self.committer.has_nothing:
            return False
        # Reads come first: with full memory, this task must go on claiming.
        self.counts = await self.persistent("counts", self.frontier.counts)
        if not self.counts.is_over:
            patience = self.claimer.patience
            if patience.is_over:  # a host may have become due
                await patience.look(at_once=True)
            if not patience.is_over:
                return False
        if await self.persistent("start_urls", self._take_seeds):
            return False
        return await self._all_have_started() and self.committer.has_nothing

    async def _all_have_started(self) -> bool:
        """Return whether no live worker is still queueing its seeds."""
        await self.persistent("heartbeat", self.leases.beat)
        figures = await self.persistent("figures", self.frontier.figures)
        return all(figures.get(name, {}).get(STARTED, 1) for name in self.live)
