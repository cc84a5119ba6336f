"""The claim of visits: hosts that are due are leased, in this worker's partitions.

Hosts that refuse are borne with for a time.
"""

from __future__ import annotations

import logging
import random
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.clock import now_ms
from rdfcrawl.core.counting import counted
from rdfcrawl.frontier.queue.partitions import PollPlan, poll_plan
from rdfcrawl.frontier.request_turns import steady_time
from rdfcrawl.frontier.worker.committer import LOOK_AGAIN_SECS
from rdfcrawl.frontier.worker.leases import until_delay_is_kept
from rdfcrawl.frontier.worker.worker_state import WorkerState, sleep_until

if TYPE_CHECKING:
    from rdfcrawl.core.records import Record
    from rdfcrawl.core.visits import Visit
    from rdfcrawl.frontier.worker.link_sender import LinkSender

_BACK_OFF_SECS = 0.05, 0.5  # between empty claims
_FEW_WORKERS = 4


class VisitClaimer:
    """Claim visits ahead of need, and call `prepare` with their records."""

    def __init__(
        self,
        state: WorkerState,
        links: LinkSender,
        *,
        wake: Callable[[], None],
        see_whether_over: Callable[[], Awaitable[None]],
    ) -> None:
        self.prepare: Callable[[Sequence[Record]], Awaitable[None]] | None = None
        self._state = state
        self._links = links
        self._wake = wake
        self._see_whether_over = see_whether_over
        self.patience = HostPatience(state)

    async def run(self) -> None:
        """Claim until the worker stops."""
        state = self._state
        pause, longest = _BACK_OFF_SECS
        await until_delay_is_kept(state)
        while not state.stopping.is_set():
            state.claim_now.clear()
            wanted = state.options.visits - len(state.ready)
            if wanted > state.options.visits // 2 and not state.is_drained:
                claimed, due = await self._claim(wanted)
                if claimed:
                    pause = _BACK_OFF_SECS[0]
                    self._wake()
                    continue
                pause = min(longest, pause * 2, max(due, _BACK_OFF_SECS[0]))
                if state.has_started and not (state.ready or self._links.n_waiting):
                    await self.patience.look()
                await self._see_whether_over()
            await sleep_until(state.claim_now, pause * random.uniform(0.8, 1.2))

    async def _claim(self, wanted: int) -> tuple[bool, float]:
        """Claim up to about `wanted` visits; return whether, and when to ask again."""
        state = self._state
        now = monotonic()
        wanted_here = self._partitions(now)
        partitions = [p for p in wanted_here if state.due.get(p, 0) <= now]
        if not partitions:
            return False, max(0.0, min(state.due.values()) - now)
        most_keys = max(1, -(-wanted // len(partitions)))
        # Crowds have their turns, and beyond these no more than is idle: what is
        # claimed ahead of time would hold up those that are due by then.
        n_idle = max(0, state.options.visits + state.n_slow - state.n_visits)
        leased_until = steady_time() + state.frontier.options.lease_secs
        state.stirred.clear()
        visits, next_due = await state.persistent(
            "claim",
            state.frontier.claim,
            partitions,
            most_keys=most_keys,
            most_spare=-(-n_idle // len(partitions)),
            number=state.frontier.new_claim(),
            not_at_home=(*self._plan().away, *self._left_to_others(now)),
        )
        state.leases_until = min(state.leases_until, leased_until)
        await self._take(visits)
        rest = min(next_due or LOOK_AGAIN_SECS, LOOK_AGAIN_SECS)
        if next_due == 0 and n_idle:
            rest = 0.0
        found = Counter(visit.partition for visit in visits)
        for p in partitions:
            if found[p] < most_keys and p not in state.stirred:
                state.due[p] = now + rest
        return bool(visits), _BACK_OFF_SECS[1] if next_due is None else next_due

    async def _take(self, visits: list[Visit]) -> None:
        state = self._state
        self.patience.judge(visits)
        if (hours := state.options.hours) is not None:
            state.n_closed += sum(hours.judge(visit) for visit in visits)
        try:
            if visits and self.prepare is not None:
                await self.prepare([x for visit in visits for x in visit.records])
        finally:
            # Those of crowds come last: they were due before others only by number.
            ready = [*state.ready, *visits]
            state.ready = deque(sorted(ready, key=lambda visit: visit.is_of_crowd))

    def _partitions(self, now: float) -> Sequence[int]:
        """Return where to look: elsewhere only if nothing may be due at home."""
        state = self._state
        home, near, away = self._plan()
        is_due = [p for p in home if state.due.get(p, 0) <= now]
        if state.ready or is_due:
            # One look in ten goes elsewhere: work is stolen from who has too much.
            others, share = near + away, max(1, len(home) // 10)
            return (*is_due, *random.sample(others, min(share, len(others))))
        n, n_live = state.frontier.partitions, len(state.live)
        # All that many idle workers ask for together is no more than what a few do.
        share = n if n_live <= _FEW_WORKERS else -(-2 * n // n_live)
        some = random.sample(near, min(share, len(near)))
        return (*some, *random.sample(away, min(share, len(away))))

    def _left_to_others(self, now: float) -> Iterator[int]:
        """Yield where workers of other spiders claim first, as they have to."""
        left = self._state.left_to_others
        return (p for p, until in left.items() if until > now)

    def _plan(self) -> PollPlan:
        state = self._state
        # Else who is at home gives it back, and is always the first to find it again.
        live = () if state.has_other_spiders else tuple(state.live)
        return poll_plan(state.options.name, live, state.frontier.partitions)


logger = logging.getLogger(__name__)

_WAIT_SHARE: Final = 0.5  # of the time that the run has taken
_LEAST_WAIT_SECS: Final = (
    30.0  # three tries of a host, as the wait between them doubles
)
_LOOK_SECS: Final = 1.0
_SAY_SECS: Final = 60.0


class HostPatience:
    """Decide how long hosts that refuse are tried, also when no others are left.

    A crawl that has nothing else to do waits in proportion to its own duration, and
    for nothing that is due after that: this is owed, and the next run pays it.
    """

    def __init__(self, state: WorkerState) -> None:
        self.is_over = False  # all that is left is owed
        self._state = state
        self._options = state.options
        self._look_at = 0.0
        self._say_at = 0.0
        self._ends_at: float | None = None  # of the wait, once nothing else is left

    def judge(self, visits: Iterable[Visit]) -> None:
        """Decide of claimed visits whether their hosts are still tried.

        And whether the next run asks again for pages that fail.
        """
        for visit in visits:
            visit.has_refresher = self._options.has_refresher
            visit.ignores_failures = visit.down_secs < self._options.patience_secs

    async def look(self, *, at_once: bool = False) -> None:
        """Find out, now and then or at once, whether there is anything else to do."""
        if monotonic() < self._look_at and not at_once:
            return
        self._look_at = monotonic() + _LOOK_SECS
        now = monotonic()
        wait_secs = self._ends_at - now if self._ends_at else self._longest_wait_secs()
        found = await self._state.persistent(
            "look for hosts that refuse", self._state.frontier.owed.look, wait_secs
        )
        self.is_over = not (found.n_others or found.n_due) and found.n_down > 0
        if found.n_others or not found.n_down:
            self._ends_at, self._say_at = None, 0.0
            return
        if self._ends_at is None:
            self._ends_at = monotonic() + wait_secs
        if found.n_due and monotonic() >= self._say_at:
            self._say_at = monotonic() + _SAY_SECS
            until = datetime.now(UTC) + timedelta(seconds=self._ends_at - monotonic())
            logger.info(
                "all else is done: waiting for %s, until %s"
                " UTC at the latest (HOST_LAST_WAIT_SECS)",
                counted(
                    found.n_down,
                    "host that does not answer",
                    "hosts that do not answer",
                ),
                f"{until:%Y-%m-%d %H:%M:%S}",
            )

    def _longest_wait_secs(self) -> float:
        share_secs = _WAIT_SHARE * (now_ms() - self._state.run_began_ms) / 1000
        return min(self._options.last_wait_secs, max(_LEAST_WAIT_SECS, share_secs))
