"""Heartbeats, leases and reports of a worker."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING
from zlib import crc32

from redis.exceptions import RedisError

from rdfcrawl.core.messages import counted
from rdfcrawl.frontier.queue.worker_reports import (
    GONE_AFTER_SECS,
    HOSTS,
    STARTED,
    Figures,
    added,
    without,
)
from rdfcrawl.frontier.redis.retry import is_full
from rdfcrawl.frontier.redis.torn_logs import rewrite_torn_logs
from rdfcrawl.frontier.request_turns import steady_time
from rdfcrawl.frontier.worker.worker_state import WorkerHooks, WorkerState, sleep_until

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.frontier_client import Frontier

logger = logging.getLogger(__name__)

BEAT_SECS = 5.0
LOOKERS = 2  # workers that look for the dead in one partition
_LOOK_SECS = 0.2  # for workers that do not keep a delay yet
_REPORT_SECS = 1.0  # as often as a display refreshes


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
        delays = frontier.delays.shortest_secs, frontier.delay_secs
        if delays != self._delays:
            self._delays = delays
            logger.warning(
                "DOWNLOAD_DELAY is %g s here, and from %g to %g s with the workers of"
                " this crawl: the longest applies to all, %g s",
                frontier.options.delay_secs,
                *delays,
                frontier.delay_secs,
            )

    async def _rejoin(self) -> None:
        """Report only the increase of figures if this worker was counted as gone."""
        if await self._state.frontier.reports.rejoin(self._state.options.name):
            self._reported_before = added(self._reported_before, self._last_reported)
            self._last_reported = {}

    def _record_heartbeat(self, began: float) -> None:
        # Redis stores it in whole seconds.
        self._state.heard_until = began + self._state.frontier.silence_secs - 1

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


async def wait_for_delay(state: WorkerState) -> None:
    """Wait until all other workers keep the delay of this one, if it is longer."""
    delays, name = state.frontier.delays, state.options.name
    while delays.shortest_secs < delays.own_secs and not state.stopping.is_set():
        if await state.persistent("look for delays", delays.are_kept, name):
            return
        await sleep_until(state.stopping, _LOOK_SECS)


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
