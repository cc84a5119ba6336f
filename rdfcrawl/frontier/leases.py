"""What a worker says again and again: that it lives, and holds its leases."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from redis.exceptions import RedisError

from rdfcrawl.frontier.redis_retry import is_full
from rdfcrawl.frontier.worker_state import sleep_until
from rdfcrawl.request_turns import steady_time

if TYPE_CHECKING:
    from rdfcrawl.frontier.client import Frontier
    from rdfcrawl.frontier.worker_state import WorkerHooks, WorkerState

logger = logging.getLogger(__name__)

BEAT_SECS = 5.0
_TELL_SECS = 1.0  # as often as a display looks
STARTED = "started"  # among a worker's figures: 1 once its seeds are handed in


class LeaseKeeper:
    """Renews the leases of a worker, and takes back those of dead ones."""

    def __init__(self, state: WorkerState, hooks: WorkerHooks) -> None:
        self._state = state
        self._figures = hooks.figures
        self._account_for = hooks.account_for
        self._confirming = asyncio.Lock()
        self._delays = (state.frontier.options.delay_secs,) * 2  # shortest, longest

    async def run(self) -> None:
        """Renew leases until the worker stops."""
        stopping = self._state.stopping
        while not stopping.is_set():
            secs = beat_secs(self._state.frontier) * random.uniform(0.8, 1.0)
            await sleep_until(stopping, secs)
            if stopping.is_set():
                return
            await self._state.persistent("renew leases", self._tend)
            await self._bury()

    async def confirm(self) -> None:
        """Renew the leases of this worker if they may have run out.

        A worker that was stopped, or cut off from Redis, does so before any request.

        Raises:
            RedisError: Redis is unreachable, and the worker stops.
        """
        async with self._confirming:
            if steady_time() >= self._state.leases_until:
                await self._state.persistent("renew leases", self._renew)

    async def _tend(self) -> None:
        """Renew leases, take back those of others, tell how far this worker is.

        Tried again as a whole: after an outage, and as long as full memory refuses
        the heartbeat, this worker's leases are renewed before any is taken back.
        """
        state, frontier = self._state, self._state.frontier
        await self._renew()
        _, back, dead = await frontier.reap()
        if back or dead:
            logger.info("recovered %d URIs of dead workers, gave up %d", back, dead)
            state.due.clear()
        state.counts = await frontier.counts()
        await frontier.state.look(frontier.redis)
        try:
            await self.beat()
        except RedisError as error:
            if not is_full(error):  # that is told when links are added
                raise

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
            # Somebody else has these hosts now: what was not begun must not begin.
            logger.warning("lost %d leases; their URIs are crawled again", len(lost))
            state.ready = deque(visit for visit in state.ready if visit not in lost)
            for visit in lost & state.active:
                visit.is_lost = True
                visit.pending.clear()

    async def beat(self) -> None:
        """Say that this worker lives, and how far it is; see who else does."""
        frontier = self._state.frontier
        self._state.live = await frontier.beat(self._state.options.name, self._told())
        delays = frontier.shortest_delay_secs, frontier.delay_secs
        if delays != self._delays:
            self._delays = delays
            logger.warning(
                "DOWNLOAD_DELAY is %g s here, and from %g to %g s with the workers of"
                " this crawl: the longest applies to all, %g s",
                frontier.options.delay_secs,
                *delays,
                frontier.delay_secs,
            )

    async def tell(self) -> None:
        """Say how far this worker is, whenever there is something new to say."""
        state = self._state
        told: dict[str, float] = {}
        while not state.stopping.is_set():
            await sleep_until(state.tell_now, _TELL_SECS)
            state.tell_now.clear()
            figures = self._told()
            if figures != told:
                with suppress(RedisError):  # the heartbeat says so, and tries again
                    await state.frontier.tell(state.options.name, figures)
                    told = figures

    async def say_goodbye(self) -> None:
        """Tell the last figures, and that this worker is gone."""
        frontier, name = self._state.frontier, self._state.options.name
        await frontier.beat(name, self._figures())
        await frontier.leave(name)

    def _told(self) -> dict[str, float]:
        return self._figures() | {STARTED: float(self._state.has_started)}


def beat_secs(frontier: Frontier) -> float:
    """Return the time between two heartbeats."""
    return min(BEAT_SECS, frontier.options.lease_secs / 3)
