"""The tasks of a worker for visits: claim, commit, and epochs of domains.

They share the `WorkerState`. Due hosts are leased, in the partitions of this worker;
hosts that refuse are retried for a time (`HostPatience`). Children of finished visits
are queued, stores flushed, visits acknowledged.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import StoreFault
from rdfcrawl.core.messages import counted
from rdfcrawl.core.records import Record
from rdfcrawl.core.times import now_ms
from rdfcrawl.core.visits import Visit
from rdfcrawl.frontier.queue.bands import EndedEpoch
from rdfcrawl.frontier.queue.candidate import PollPlan, poll_plan
from rdfcrawl.frontier.queue.queued_records import WaitingLinks
from rdfcrawl.frontier.request_turns import steady_time
from rdfcrawl.frontier.worker.worker_state import (
    ADD_SECS,
    LinkSender,
    WorkerState,
    sleep_until,
    wait_for_delay,
)

if TYPE_CHECKING:
    from rdfcrawl.frontier.worker.wanted_pages import WantedPages

logger = logging.getLogger(__name__)

# Hosts that rest for longer are looked at in time; other workers may queue URIs where
# none was due.
_LOOK_AGAIN_SECS = 0.2

_BACK_OFF_SECS = 0.05, 0.5  # between empty claims
_KEYS_PER_CALL: Final = 16  # a call costs Redis as much as three hosts
_FEW_WORKERS = 4
_WAIT_SHARE: Final = 0.5  # of the duration of the run
_LEAST_WAIT_SECS: Final = 30.0  # three tries, as the wait between them doubles
_LOOK_SECS: Final = 1.0
_SAY_SECS: Final = 60.0
_EPOCH_LOOK_SECS: Final = 1.0  # other workers may change the epochs, too


class VisitCommitter:
    """Commits finished visits: queues children, flushes stores, acknowledges."""

    def __init__(
        self,
        state: WorkerState,
        links: LinkSender,
        flush_stores: Callable[[], Awaitable[None]],
        wanted: Callable[[], WantedPages | None],
        take: Callable[[list[Visit]], Awaitable[None]],
    ) -> None:
        self.lost_leases = 0
        self._take = take
        self._wanted = wanted
        self._state = state
        self._links = links
        self._flush_stores = flush_stores

    @property
    def has_nothing(self) -> bool:
        """Whether this process has neither visits nor links."""
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
                state.claim_now.set()  # the crawl may be over
            await sleep_until(state.commit_now, ADD_SECS)

    async def send_and_release(self) -> None:
        """Queue the children of finished visits, then release their hosts.

        Invariant: visits in `finished` have offered all of their links. Meanwhile they
        count as held: leases are renewed, the crawl is not over.
        """
        state, links = self._state, self._links
        if links.must_restore:
            await links.restore()
        finished = state.finished.copy()
        is_known = await links.send()
        if is_known and finished and not state.stopping.is_set():
            await self._go_on()
            finished = state.finished.copy()
        if finished:
            wanted = self._wanted()
            if wanted is not None:
                await wanted.store()
            await self._release(finished)
            if wanted is not None:
                state.stir(await wanted.reopen())
            state.unfed += finished
            del state.finished[: len(finished)]
        if state.stirred:  # one claim for both
            state.claim_now.set()
        if is_known and state.unfed:
            is_fed = WaitingLinks(links.unsent).has_none_of
            state.released += filter(is_fed, state.unfed)
            state.unfed = [visit for visit in state.unfed if not is_fed(visit)]

    async def _go_on(self) -> None:
        """Go on with finished visits whose hosts have new links to themselves.

        Such a visit costs less than the release of its host and another claim. None of
        it is committed before its end, so it ends soon.
        """
        state, most = self._state, self._state.frontier.options.batch
        if state.is_drained or self._wanted() is not None:
            return
        since = monotonic() - state.options.commit_secs
        asked = [
            visit
            for visit in state.finished
            if len(visit.records) < most
            and visit.began_at > since
            and self._links.has_fed(visit.key)
            and visit.may_go_on
        ]
        if asked:
            frontier = state.frontier
            extended = await state.persistent("extend", frontier.extend, asked)
            gone = set(extended)
            state.finished = [visit for visit in state.finished if visit not in gone]
            await self._take(extended)

    async def _release(self, visits: list[Visit]) -> None:
        self.lost_leases += await self._state.persistent(
            "release", self._state.frontier.release, visits
        )
        is_soon = [visit for visit in visits if visit.rest_secs < _LOOK_AGAIN_SECS]
        self._state.stir(visit.partition for visit in is_soon)

    async def flush(self) -> bool:
        """Make the data of released visits durable; return whether all is."""
        state = self._state
        released = state.released.copy()
        try:
            await self._flush_stores()
        except StoreFault:  # reported by the stores
            leased = counted(len(released), "visit stays", "visits stay")
            logger.debug("%s leased: stores not flushed", leased)
            return False
        if released:
            del state.released[: len(released)]
            state.durable.append((monotonic() + state.options.ack_lag_secs, released))
        return True

    async def ack_in_time(self) -> None:
        """Acknowledge all stored visits, after the ack lag."""
        durable = self._state.durable
        if durable:
            await asyncio.sleep(max(0.0, durable[-1][0] - monotonic()))
        await self.ack(float("inf"))

    async def ack(self, now: float) -> bool:
        """Acknowledge visits after the ack lag; return whether there were any."""
        state, durable = self._state, self._state.durable
        if not durable or durable[0][0] > now:
            return False
        if state.frontier.marks.are_needed:
            # Queries all servers: one that has lost the links may not be the one that
            # gets the ack.
            await state.persistent("counts", state.frontier.counts)
        while durable and durable[0][0] <= now:
            await self._links.restore()
            await state.persistent("ack", state.frontier.ack, durable[0][1])
            state.look_now.set()
            durable.popleft()
        return True


def _place_of(visit: Visit) -> tuple[bool, bool]:
    """Return the place of a visit: first if it goes on, last if it is of a crowd.

    Hosts of crowds were due first only by their number.
    """
    return visit.is_of_crowd, not visit.n_done


class VisitClaimer:
    """Claims visits in advance, and calls `prepare` with their records."""

    def __init__(
        self,
        state: WorkerState,
        links: LinkSender,
        *,
        wake: Callable[[], None],
        check_whether_over: Callable[[], Awaitable[None]],
        prepare: Callable[[Sequence[Record], bool], Awaitable[None]] | None,
        wanted: Callable[[], WantedPages | None],
    ) -> None:
        self._prepare = prepare
        self._wanted = wanted
        self._state = state
        self._links = links
        self._wake = wake
        self._check_whether_over = check_whether_over
        self._asked_at: dict[int, float] = {}  # partition -> time of the last claim
        self.patience = HostPatience(state)

    async def run(self) -> None:
        """Claim until the worker stops."""
        state = self._state
        pause, longest = _BACK_OFF_SECS
        await wait_for_delay(state)
        while not state.stopping.is_set():
            state.claim_now.clear()
            wanted = state.options.visits - len(state.ready)
            if wanted > state.options.visits // 2 and not state.is_drained:
                claimed, due = await self._claim(wanted)
                if claimed:
                    pause = _BACK_OFF_SECS[0]
                    continue
                pause = min(longest, pause * 2, max(due, _BACK_OFF_SECS[0]))
                if state.has_started and not (state.ready or self._links.n_waiting):
                    await self.patience.look()
                await self._check_whether_over()
            await sleep_until(state.claim_now, pause * random.uniform(0.8, 1.2))

    async def _claim(self, wanted: int) -> tuple[bool, float]:
        """Claim up to about `wanted` visits; return whether any, and when to retry."""
        state = self._state
        now = monotonic()
        partitions = [p for p in self._partitions(now) if state.due.get(p, 0) <= now]
        if not partitions:
            return False, max(0.0, min(state.due.values()) - now)
        partitions.sort(key=lambda p: self._asked_at.get(p, 0.0))
        few = max(1, wanted // _KEYS_PER_CALL)
        visits, next_due = await self._claim_from(partitions[:few], wanted)
        if not visits and partitions[few:]:
            visits, due = await self._claim_from(partitions[few:], wanted)
            next_due = min((x for x in (next_due, due) if x is not None), default=None)
        return bool(visits), _BACK_OFF_SECS[1] if next_due is None else next_due

    async def _claim_from(
        self, partitions: Sequence[int], wanted: int
    ) -> tuple[list[Visit], float | None]:
        """Claim visits; return them, and the seconds until the next host is due."""
        state, now = self._state, monotonic()
        self._asked_at.update(dict.fromkeys(partitions, now))
        most_keys = max(1, -(-wanted // len(partitions)))
        # Beyond their turns, crowds only get idle places: visits claimed in advance
        # would delay others that become due.
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
        await self.take(visits)
        rest = min(next_due or _LOOK_AGAIN_SECS, _LOOK_AGAIN_SECS)
        if next_due == 0 and n_idle:
            rest = 0.0
        found = Counter(visit.partition for visit in visits)
        for p in partitions:
            if found[p] < most_keys and p not in state.stirred:
                state.due[p] = now + rest
        return visits, next_due

    async def take(self, visits: list[Visit]) -> None:
        """Make visits ready."""
        state = self._state
        self.patience.judge(visits)
        if (hours := state.options.hours) is not None:
            state.n_closed += sum(hours.judge(visit) for visit in visits)
        try:
            if visits and self._prepare is not None:
                records = [record for visit in visits for record in visit.records]
                await self._prepare(records, not state.is_alone)
            if visits and (wanted := self._wanted()) is not None:
                await wanted.judge(visits)
        finally:
            ready = [*state.ready, *visits]
            state.ready = deque(sorted(ready, key=_place_of))
            if visits:
                self._wake()

    def _partitions(self, now: float) -> Sequence[int]:
        """Return the partitions to claim from: others only if home has nothing due."""
        state = self._state
        home, near, away = self._plan()
        is_due = [p for p in home if state.due.get(p, 0) <= now]
        if state.ready or is_due:
            # One look in ten goes elsewhere, to help busy workers.
            others, share = near + away, max(1, len(home) // 10)
            return (*is_due, *random.sample(others, min(share, len(others))))
        n, n_live = state.frontier.partitions, len(state.live)
        # Together, many idle workers look into no more partitions than a few.
        share = n if n_live <= _FEW_WORKERS else -(-2 * n // n_live)
        some = random.sample(near, min(share, len(near)))
        return (*some, *random.sample(away, min(share, len(away))))

    def _left_to_others(self, now: float) -> Iterator[int]:
        """Yield partitions in which workers of other spiders claim first."""
        left = self._state.left_to_others
        return (p for p, until in left.items() if until > now)

    def _plan(self) -> PollPlan:
        state = self._state
        # Otherwise the home worker would put it back, and always find it first again.
        live = () if state.has_other_spiders else tuple(state.live)
        return poll_plan(state.options.name, live, state.frontier.partitions)


class HostPatience:
    """Decides how long refusing hosts are retried, also when no others are left.

    A crawl without other work waits in proportion to its duration. URIs due after that
    are owed, and the next run requests them.
    """

    def __init__(self, state: WorkerState) -> None:
        self.is_over = False  # all remaining URIs are owed
        self._state = state
        self._options = state.options
        self._look_at = 0.0
        self._say_at = 0.0
        # end of the wait, once no other work is left
        self._ends_at: float | None = None

    def judge(self, visits: Iterable[Visit]) -> None:
        """Set for claimed visits whether their hosts are retried.

        Also whether the next run requests failed pages again.
        """
        for visit in visits:
            visit.has_refresher = self._options.has_refresher
            visit.ignores_failures = visit.down_secs < self._options.patience_secs

    async def look(self, *, at_once: bool = False) -> None:
        """Check, periodically or now, whether there is other work."""
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
                    "host that does not respond",
                    "hosts that do not respond",
                ),
                f"{until:%Y-%m-%d %H:%M:%S}",
            )

    def _longest_wait_secs(self) -> float:
        share_secs = _WAIT_SHARE * (now_ms() - self._state.run_began_ms) / 1000
        return min(self._options.last_wait_secs, max(_LEAST_WAIT_SECS, share_secs))


class EpochKeeper:
    """Grants URLs and begins epochs, for all workers.

    Attributes:
        n_granted: number of URLs granted here.
        n_begun: number of epochs begun here.
    """

    def __init__(self, state: WorkerState, log: Path | None) -> None:
        self._state = state
        self._log = log
        self.n_granted = 0
        self.n_begun = 0

    async def run(self) -> None:
        """Look after each event, and periodically, until the end."""
        state = self._state
        while not state.stopping.is_set():
            state.look_now.clear()
            look = await state.persistent("epochs", state.frontier.epochs.look)
            self.n_granted += look.n_granted
            self.n_begun += look.n_begun
            if look.ended and self._log_ended(look.ended):
                await state.persistent(
                    "epochs", state.frontier.epochs.logged, look.ended
                )
            if look.granted:
                state.stir(look.granted)
                state.claim_now.set()
            due = _EPOCH_LOOK_SECS if look.due_secs is None else look.due_secs
            await sleep_until(state.look_now, min(_EPOCH_LOOK_SECS, max(0.01, due)))

    def _log_ended(self, ended: Sequence[EndedEpoch]) -> bool:
        """Log epochs; return whether it succeeded, else retry.

        If the worker is killed after this, another one writes the lines again.
        """
        if self._log is None:
            return True
        lines = "".join(f"{each.entry}\n" for each in ended)
        try:
            self._log.parent.mkdir(parents=True, exist_ok=True)
            with self._log.open("a+b") as file:
                if file.tell():
                    file.seek(-1, os.SEEK_END)
                    # torn by an earlier worker of the same name
                    if file.read(1) != b"\n":
                        lines = f"\n{lines}"
                file.write(lines.encode())
        except OSError as error:
            logger.warning("not logged: %s: %s", counted(len(ended), "epoch"), error)
            return False
        return True
