"""The commit of finished visits: children queued, stores flushed, acknowledged."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TYPE_CHECKING

from rdfcrawl.core.counting import counted
from rdfcrawl.core.errors import StoreFault
from rdfcrawl.frontier.queue.claimed_visits import WaitingLinks
from rdfcrawl.frontier.worker.link_sender import ADD_SECS, LinkSender
from rdfcrawl.frontier.worker.worker_state import WorkerState, sleep_until

if TYPE_CHECKING:
    from rdfcrawl.core.visits import Visit

logger = logging.getLogger(__name__)

# Hosts that rest for longer are looked at in time; others may queue something where
# nothing was due.
LOOK_AGAIN_SECS = 0.2


class VisitCommitter:
    """Commit finished visits: queue children, flush stores, acknowledge."""

    def __init__(
        self,
        state: WorkerState,
        links: LinkSender,
        flush_stores: Callable[[], Awaitable[None]],
    ) -> None:
        self.lost_leases = 0
        self._state = state
        self._links = links
        self._flush_stores = flush_stores

    @property
    def has_nothing(self) -> bool:
        """Whether no visit and no link is in this process."""
        is_idle = not (self._links.n_waiting or self._links.must_restore)
        return is_idle and not self._state.held()

    async def run(self) -> None:
        """Commit until the worker stops."""
        state = self._state
        next_flush = monotonic()
        while not state.stopping.is_set():
            state.commit_now.clear()
            await self.send_and_release()
            is_waited_for = not state.ready and not state.active
            if state.released and (monotonic() >= next_flush or is_waited_for):
                await self.flush()
                next_flush = monotonic() + state.options.commit_secs
            if await self.ack(monotonic()) and self.has_nothing:
                state.claim_now.set()  # there may be nothing anywhere
            await sleep_until(state.commit_now, ADD_SECS)

    async def send_and_release(self) -> None:
        """Queue the children of finished visits, then let go of their hosts.

        Invariant: what is in `finished` now has offered all of its links. While it
        is on its way it stays in sight: leases are renewed, the crawl is not over.
        """
        state, links = self._state, self._links
        if links.must_restore:
            await links.restore()
        finished = state.finished.copy()
        is_known = await links.send()
        if finished:
            await self._release(finished)
            state.unfed += finished
            del state.finished[: len(finished)]
        if state.stirred:  # by both: one claim for them
            state.claim_now.set()
        if is_known and state.unfed:
            is_fed = WaitingLinks(links.unsent).has_none_of
            state.released += filter(is_fed, state.unfed)
            state.unfed = [visit for visit in state.unfed if not is_fed(visit)]

    async def _release(self, visits: list[Visit]) -> None:
        self.lost_leases += await self._state.persistent(
            "release", self._state.frontier.release, visits
        )
        is_soon = [visit for visit in visits if visit.rest_secs < LOOK_AGAIN_SECS]
        self._state.stir(visit.partition for visit in is_soon)

    async def flush(self) -> bool:
        """Make the stored data of released visits durable; return whether all is."""
        state = self._state
        released = state.released.copy()
        try:
            await self._flush_stores()
        except StoreFault:  # told by whoever flushes
            leased = counted(len(released), "visit stays", "visits stay")
            logger.debug("%s leased: stores not flushed", leased)
            return False
        if released:
            del state.released[: len(released)]
            state.durable.append((monotonic() + state.options.ack_lag_secs, released))
        return True

    async def ack_in_time(self) -> None:
        """Acknowledge all that is stored, none of it before the ack lag is over."""
        durable = self._state.durable
        if durable:
            await asyncio.sleep(max(0.0, durable[-1][0] - monotonic()))
        await self.ack(float("inf"))

    async def ack(self, now: float) -> bool:
        """Acknowledge what has waited for long enough; return whether anything had."""
        state = self._state
        has_any = False
        if state.frontier.is_spread and state.durable and state.durable[0][0] <= now:
            # A server that has lost the links may be another one than is asked now.
            await state.persistent("counts", state.frontier.counts)
        while state.durable and state.durable[0][0] <= now:
            await self._links.restore()
            await state.persistent("ack", state.frontier.ack, state.durable[0][1])
            state.look_now.set()
            state.durable.popleft()
            has_any = True
        return has_any
