"""One process's share of a crawl: visits ahead, links to add, what waits for commit.

Everything that a scheduler calls is local and immediate; tasks talk to Redis. A
visit's way: claimed -> `next_visit` -> `finish` -> its children are queued ->
released (others may visit the host) -> stores flushed -> acknowledged. A `kill -9`
anywhere leaves it leased; when the lease runs out its URIs are claimed again.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter, deque
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Literal

from redis.exceptions import RedisError

from rdfcrawl.errors import CrawlGone, StoreFault
from rdfcrawl.frontier.candidate import SEEN_ONLY, AddedCounts, Candidate
from rdfcrawl.frontier.client import StateCounts
from rdfcrawl.frontier.homes import homes_and_others
from rdfcrawl.frontier.leased import WaitingLinks
from rdfcrawl.frontier.outage import MAX_PAUSE_SECS, is_full, one_line
from rdfcrawl.frontier.patience import HostPatience
from rdfcrawl.turns import steady_time

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence

    from rdfcrawl.frontier.candidate import Candidate
    from rdfcrawl.frontier.client import Frontier
    from rdfcrawl.frontier.options import WorkerOptions
    from rdfcrawl.frontier.outage import RedisRetry
    from rdfcrawl.records import Record, Visit

logger = logging.getLogger(__name__)

_ADD_SECS = 0.2  # a link waits at most so long in this process
_ADD_URIS = 500
_BACK_OFF_SECS = 0.05, 0.5  # between empty claims
_LOOK_AGAIN_SECS = 0.2  # others may queue something where nothing was due
_BEAT_SECS = 5.0
_TELL_SECS = 1.0  # as often as a display looks
# What a replica lags behind, or a server that syncs its file each second loses, twice
# and thrice over; and what that may take in memory.
_WINDOW_SECS = 10.0
_MAX_REMEMBERED = 50_000
STARTED = "started"  # among a worker's figures: 1 once its seeds are handed in


class FrontierWorker:
    """Feeds one scheduler from the frontier, and the frontier from one scheduler.

    Args:
        frontier: of the crawl, opened.
        outage: what bears the times when Redis is unreachable.
        options: of this worker.
        flush_stores: makes durable all documents of finished visits; raises
            `StoreFault` if it cannot.
        take_seeds: adds seeds that wait outside of the frontier; returns how many.
        wake: called when there is something new for the scheduler.
        figures: what this worker tells about its progress.
        account_for: writes down that URIs were given up.

    Attributes:
        prepare: called with records that were claimed, before they are visited.
        restore: called when Redis may have lost what it took last.
        n_failed: URIs that were given up in this run by all workers, also by those
            that have died; known at the end.
        gone: why the crawl cannot go on, once Redis no longer has it.
        leases_until: when the leases of this worker run out, by `turns.steady_time`.
    """

    def __init__(
        self,
        frontier: Frontier,
        options: WorkerOptions,
        *,
        outage: RedisRetry,
        flush_stores: Callable[[], Awaitable[None]],
        take_seeds: Callable[[], Awaitable[int]],
        wake: Callable[[], None],
        figures: Callable[[], dict[str, float]],
        account_for: Callable[[Sequence[Record]], Awaitable[None]] | None = None,
    ) -> None:
        self.frontier = frontier
        self.options = options
        self.added = AddedCounts()
        self.counts = StateCounts()
        self.lost_leases = 0
        self.n_failed = 0
        self._failed_before = 0
        self.is_over = False
        self.n_slow = 0  # visits that have given up their places to others
        self._has_started = False
        self._flush_stores = flush_stores
        self._take_seeds = take_seeds
        self._wake = wake
        self._figures = figures
        self._account_for = account_for
        self.prepare: Callable[[Sequence[Record]], Awaitable[None]] | None = None
        self.restore: Callable[[], Awaitable[None]] | None = None
        self.gone: CrawlGone | None = None
        self._n_restores = frontier.state.n_restores
        # What Redis took in the last seconds, and may lose: when, what.
        self._remembered: deque[tuple[float, Sequence[Candidate]]] = deque()
        self._n_remembered = 0
        self._ready: deque[Visit] = deque()
        self._active: set[Visit] = set()
        self._finished: list[Visit] = []  # children not queued yet
        self._unfed: list[Visit] = []  # released, children wait for memory
        self._released: list[Visit] = []  # children queued, stores not flushed
        self._durable: deque[tuple[float, list[Visit]]] = deque()  # wait for the lag
        self._buffer: list[Candidate] = []
        self._sending: list[Candidate] = []  # on their way to Redis, or tried in vain
        self._sent_at = 0.0  # when links were last sent
        self._full_pause_secs = 0.0  # while Redis is full: between attempts to add
        self._add_at = 0.0
        self.leases_until = steady_time() + frontier.options.lease_secs
        self._confirming = asyncio.Lock()
        self._delays = (frontier.options.delay_secs,) * 2  # shortest, longest
        self._live: list[str] = [options.name]
        self._due: dict[int, float] = {}  # partition -> nothing to claim before
        self._stirred: set[int] = set()  # may have become due since the last claim
        self._persistent = outage.persistent
        self.patience = HostPatience(options, self._look_for_hosts)
        self._stopping = outage.stopping
        self._claim_now = asyncio.Event()
        self._commit_now = asyncio.Event()
        self._tell_now = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    # -- called by the scheduler: local, immediate -----------------------------------

    def next_visit(self) -> Visit | None:
        """Return a leased visit, or None if none is at hand."""
        if self.n_buffered > self.options.max_buffered:
            return None
        if len(self._ready) <= self.options.visits // 2:
            self._claim_now.set()
        if not self._ready:
            return None
        visit = self._ready.popleft()
        self._active.add(visit)
        return visit

    def finish(self, visit: Visit) -> None:
        """Take note that nobody works on a visit any more."""
        self._active.discard(visit)
        self._finished.append(visit)
        is_quiet = monotonic() - self._sent_at > _ADD_SECS
        if is_quiet or not (self._active or self._ready):
            self._commit_now.set()

    def offer(self, candidates: Iterable[Candidate]) -> None:
        """Hand links to the frontier; they are sent with many others."""
        self.is_over = False
        self._buffer.extend(candidates)
        if len(self._buffer) >= _ADD_URIS:
            self._commit_now.set()

    async def confirm(self) -> None:
        """See which leases are this worker's still, if they may have run out.

        Whoever was stopped, or cut off from Redis, asks before anything else.

        Raises:
            RedisError: Redis is unreachable, and the worker stops.
        """
        async with self._confirming:
            if steady_time() >= self.leases_until:
                await self._persistent(self._renew, what="renew leases")

    async def begin(self, visit: Visit, what: Literal["asked", "read"]) -> None:
        """Write down what is about to be done with the record of a suspect."""
        is_ours = await self._persistent(
            lambda: self.frontier.begin(visit, what), what="begin"
        )
        visit.is_lost = visit.is_lost or not is_ours

    async def room(self) -> None:
        """Wait while too many links are unsent."""
        while self.n_buffered > self.options.max_buffered // 2:
            self._commit_now.set()
            await asyncio.sleep(0.05)

    async def mark_seen(self, candidate: Candidate) -> bool:
        """Mark a URI as seen at once; return whether it was, or may have been, new."""
        n_calls = 0

        async def add() -> AddedCounts:
            nonlocal n_calls
            n_calls += 1
            return await self.frontier.add([candidate])

        added = await self._persistent(add, what="add")
        # The answer of an earlier call is lost, and may have been that it was new:
        # better that two fetch it than nobody.
        return added.new == 1 or n_calls > 1

    def added_at_once(self, candidates: Sequence[Candidate]) -> None:
        """Take note of what others have added: it is claimed without a wait."""
        self.is_over = False
        self._remember(candidates)
        self._stir(self.frontier.whereabouts.partitions(candidates))
        self._claim_now.set()

    def _remember(self, candidates: Sequence[Candidate]) -> None:
        """Keep for a while what was added: Redis may come back without it."""
        now = monotonic()
        remembered = self._remembered
        remembered.append((now, candidates))
        self._n_remembered += len(candidates)
        if self._must_restore:
            return
        while remembered and (
            now - remembered[0][0] > _WINDOW_SECS
            or self._n_remembered > _MAX_REMEMBERED
        ):
            self._n_remembered -= len(remembered.popleft()[1])

    @property
    def has_started(self) -> bool:
        """Whether the spider has no seeds to hand in; told at once."""
        return self._has_started

    @has_started.setter
    def has_started(self, has_started: bool) -> None:
        if has_started != self._has_started:
            self._tell_now.set()
        self._has_started = has_started

    @property
    def is_alone(self) -> bool:
        """Whether no other worker was seen lately."""
        return len(self._live) < 2

    @property
    def n_visits(self) -> int:
        """Visits at hand or being made."""
        return len(self._ready) + len(self._active)

    @property
    def n_buffered(self) -> int:
        """Links not yet sent to the frontier."""
        return len(self._buffer) + len(self._sending)

    # -- life ------------------------------------------------------------------------

    async def open(self) -> None:
        """Join the crawl and start the tasks."""
        await self._persistent(self._beat, what="heartbeat")
        self._failed_before = await self._persistent(
            self.frontier.failed_before, what="look for runs"
        )
        jobs = (self._claim, self._commit, self._keep, self._seed, self._tell)
        for job in jobs:
            self._tasks.append(asyncio.create_task(self._forever(job)))

    async def close(self) -> None:
        """Commit what is finished, put back what was not begun, and leave."""
        self._stopping.set()
        self._claim_now.set()
        self._commit_now.set()
        self._tell_now.set()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.gone is not None:
            return
        for visit in (*self._ready, *self._active):
            # An unreadable one is found unreadable again.
            visit.returned = dict(enumerate(visit.records))
            visit.documents.clear()
            self._finished.append(visit)
        self._ready.clear()
        self._active.clear()
        try:
            await self._send_links_and_release()
            if await self._commit_stores():
                await self._ack(float("inf"))
            self.n_failed = await self.frontier.failed_since(self._failed_before)
            await self._persistent(self._say_goodbye, what="leave")
        except RedisError as error:
            if isinstance(error, CrawlGone):
                self.gone = error
                return
            logger.warning(
                "Redis is unreachable: %d visits stay leased and will be repeated: %s",
                len(self._finished)
                + len(self._unfed)
                + len(self._released)
                + len(self._durable),
                one_line(error),
            )

    async def _say_goodbye(self) -> None:
        await self.frontier.beat(self.options.name, self._figures())
        await self.frontier.leave(self.options.name)

    async def _forever(self, job: Callable[[], Coroutine[None, None, None]]) -> None:
        """Run a task until the worker stops; a bug in it must not end the crawl."""
        while not self._stopping.is_set():
            try:
                await job()
            except asyncio.CancelledError:
                raise
            except CrawlGone as gone:
                self.gone = gone
                return
            except Exception:
                if self._stopping.is_set():
                    return
                logger.exception("frontier task %s failed, continuing", job.__name__)
                await asyncio.sleep(1)

    # -- claim -------------------------------------------------------------------------

    async def _claim(self) -> None:
        pause, longest = _BACK_OFF_SECS
        if self.frontier.shortest_delay_secs < self.frontier.options.delay_secs:
            # Until all others know of our delay, and keep it.
            await self._sleep(self._stopping, 1.5 * self._beat_secs)
        while not self._stopping.is_set():
            self._claim_now.clear()
            wanted = self.options.visits - len(self._ready)
            claimed = False
            if wanted > self.options.visits // 2:
                claimed, due = await self._claim_visits(wanted)
                if claimed:
                    pause = _BACK_OFF_SECS[0]
                    self._wake()
                    continue
                pause = min(longest, pause * 2, max(due, _BACK_OFF_SECS[0]))
                await self._see_whether_over()
                await self._see_who_is_waited_for()
            await self._sleep(self._claim_now, pause * random.uniform(0.8, 1.2))

    async def _claim_visits(self, wanted: int) -> tuple[bool, float]:
        """Claim up to about `wanted` visits; return whether, and when to ask again."""
        now = monotonic()
        partitions = [p for p in self._partitions() if self._due.get(p, 0) <= now]
        if not partitions:
            return False, max(0.0, min(self._due.values()) - now)
        most_keys = max(1, -(-wanted // len(partitions)))
        # Crowds have their turns, and beyond these no more than is idle: what is
        # claimed ahead of time would hold up those that are due by then.
        n_idle = max(0, self.options.visits + self.n_slow - self.n_visits)
        claim = partial(
            self.frontier.claim,
            partitions,
            most_keys=most_keys,
            most_spare=-(-n_idle // len(partitions)),
            number=self.frontier.new_claim(),
        )
        leased_until = steady_time() + self.frontier.options.lease_secs
        self._stirred.clear()
        visits, next_due = await self._persistent(claim, what="claim")
        self.leases_until = min(self.leases_until, leased_until)
        self.patience.judge(visits)
        try:
            if visits and self.prepare is not None:
                await self.prepare([x for visit in visits for x in visit.records])
        finally:
            # Those of crowds come last: they were due before others only by number.
            self._ready.extend(visits)
            self._ready = deque(sorted(self._ready, key=_is_of_crowd))
        rest = min(next_due or _LOOK_AGAIN_SECS, _LOOK_AGAIN_SECS)
        if next_due == 0 and n_idle:
            rest = 0.0
        found = Counter(visit.partition for visit in visits)
        for p in partitions:
            if found[p] < most_keys and p not in self._stirred:
                self._due[p] = now + rest
        return bool(visits), _BACK_OFF_SECS[1] if next_due is None else next_due

    def _stir(self, partitions: Iterable[int]) -> None:
        """Look again where something may have become due."""
        for partition in partitions:
            self._due.pop(partition, None)
            self._stirred.add(partition)

    def _partitions(self) -> Sequence[int]:
        n, live = self.frontier.partitions, tuple(self._live)
        home, others = homes_and_others(self.options.name, live, n)
        if not others:
            return home
        # One look in ten goes elsewhere: work is stolen from who has too much.
        share = max(1, len(home) // 10) if self._ready else n
        return (*home, *random.sample(others, min(share, len(others))))

    async def _see_who_is_waited_for(self) -> None:
        """Find out whether only hosts that refuse are left, to wait for them."""
        if self.has_started and not (self._ready or self.n_buffered):
            await self.patience.look()

    async def _look_for_hosts(
        self, patience_secs: float, is_last_wait: bool
    ) -> tuple[int, int, float]:
        return await self._persistent(
            lambda: self.frontier.down(patience_secs, is_last_wait=is_last_wait),
            what="look for hosts that refuse",
        )

    async def _see_whether_over(self) -> None:
        """Find out whether the whole crawl has ended, if this worker has.

        Two looks at least, where there are others: a worker between claim and add
        shows in one of them.
        """
        if self.is_over or not self.has_started:
            return
        since, looks = monotonic(), 0
        while not self._stopping.is_set() and await self._sees_nothing():
            looks += 1
            is_sure = looks > 1 or self.is_alone
            if is_sure and monotonic() - since >= self.options.idle_secs:
                self.is_over = True
                self._wake()
                return
            await asyncio.sleep(0.1)

    async def _sees_nothing(self) -> bool:
        """Return whether nobody has anything to do, here or elsewhere."""
        if not self._has_nothing():
            return False
        # First what writes nothing: with full memory, this task must go on claiming.
        self.counts = await self._persistent(self.frontier.counts, what="counts")
        if not self.counts.is_over:
            return False
        if await self._persistent(self._take_seeds, what="start_urls"):
            return False
        return await self._all_have_started() and self._has_nothing()

    async def _all_have_started(self) -> bool:
        """Return whether no live worker is still handing in its seeds."""
        await self._persistent(self._beat, what="heartbeat")
        figures = await self._persistent(self.frontier.figures, what="figures")
        return all(figures.get(name, {}).get(STARTED, 1) for name in self._live)

    def _has_nothing(self) -> bool:
        return not (
            self._ready
            or self._active
            or self._finished
            or self._unfed
            or self._released
            or self._durable
            or self._buffer
            or self._sending
            or self._must_restore
        )

    # -- restore -----------------------------------------------------------------------

    @property
    def _must_restore(self) -> bool:
        """Whether Redis may have lost what it took last, and was not given it again."""
        return self._n_restores != self.frontier.state.n_restores

    async def _restore(self) -> None:
        """Add again what Redis may have lost, before anything is acknowledged.

        What only marks a URI as seen is no part of it: the visit that has set the mark
        may be made again, and must find its redirect targets unseen.
        """
        while self._must_restore:
            n_restores = self.frontier.state.n_restores
            if self.restore is not None:
                await self._persistent(self.restore, what="restore")
            for _, candidates in list(self._remembered):
                queued = [x for x in candidates if x.item != SEEN_ONLY]
                await self._persistent(partial(self.frontier.add, queued), what="add")
            self._n_restores = n_restores

    # -- commit ------------------------------------------------------------------------

    async def _commit(self) -> None:
        next_flush = monotonic()
        while not self._stopping.is_set():
            self._commit_now.clear()
            await self._send_links_and_release()
            is_waited_for = not self._ready and not self._active
            if self._released and (monotonic() >= next_flush or is_waited_for):
                await self._commit_stores()
                next_flush = monotonic() + self.options.commit_secs
            if await self._ack(monotonic()) and self._has_nothing():
                self._claim_now.set()  # there may be nothing anywhere
            await self._sleep(self._commit_now, _ADD_SECS)

    async def _send_links_and_release(self) -> None:
        """Queue the children of finished visits, then let go of their hosts.

        Invariant: what is in `_finished` now has offered all of its links. While it
        is on its way it stays in sight: leases are renewed, the crawl is not over.
        """
        await self._restore()
        self._sent_at = monotonic()
        self._sending += self._buffer
        self._buffer = []
        finished = self._finished.copy()
        is_known = await self._send_links()
        if finished:
            await self._release(finished)
            self._unfed += finished
            del self._finished[: len(finished)]
        if self._stirred:  # by both: one claim for them
            self._claim_now.set()
        if is_known and self._unfed:
            is_fed = WaitingLinks(self._sending).has_none_of
            self._released += filter(is_fed, self._unfed)
            self._unfed = [visit for visit in self._unfed if not is_fed(visit)]

    async def _send_links(self) -> bool:
        """Queue the links at hand; return whether it is known which of them wait.

        A full server takes none. Then hosts are released all the same, or the crawl
        would stand still with them: only the commit of visits whose own links wait
        does so, too.
        """
        if not self._sending:
            return True
        if monotonic() < self._add_at:
            return False
        try:
            await self._add(self._sending)
        except RedisError as error:
            if not is_full(error):
                raise
            await self._wait_for_memory(error)
            return True
        if self._full_pause_secs:
            logger.info("Redis accepts links again")
            self._full_pause_secs = 0.0
        self._sending = []
        await self._restore()
        return True

    async def _wait_for_memory(self, error: RedisError) -> None:
        sending = self._sending
        self._sending = await self._persistent(
            lambda: self.frontier.unseen(sending), what="look for links"
        )
        if not self._full_pause_secs:
            logger.warning(
                "Redis is full: links wait for memory, all else continues: %s",
                one_line(error),
            )
        longest = MAX_PAUSE_SECS
        self._full_pause_secs = min(longest, max(_ADD_SECS, 2 * self._full_pause_secs))
        self._add_at = monotonic() + self._full_pause_secs

    async def _release(self, visits: list[Visit]) -> None:
        lost = await self._persistent(
            lambda: self.frontier.release(visits), what="release"
        )
        self.lost_leases += lost
        # Hosts that rest for longer are looked at in time.
        is_soon = [visit for visit in visits if visit.rest_secs < _LOOK_AGAIN_SECS]
        self._stir(visit.partition for visit in is_soon)

    async def _add(self, candidates: Sequence[Candidate]) -> None:
        added = await self._persistent(
            lambda: self.frontier.add(candidates), what="add", waits_for_memory=False
        )
        self._remember(candidates)
        self.added += added
        if added.new:
            self._stir(self.frontier.whereabouts.partitions(candidates))

    async def _commit_stores(self) -> bool:
        released = self._released.copy()
        try:
            await self._flush_stores()
        except StoreFault:  # told by whoever flushes
            logger.debug("%d visits stay leased: stores not flushed", len(released))
            return False
        if released:
            del self._released[: len(released)]
            self._durable.append((monotonic() + self.options.ack_lag_secs, released))
        return True

    async def _ack(self, now: float) -> bool:
        """Acknowledge what has waited for long enough; return whether anything had."""
        has_any = False
        while self._durable and self._durable[0][0] <= now:
            await self._restore()
            visits = self._durable[0][1]
            await self._persistent(partial(self.frontier.ack, visits), what="ack")
            self._durable.popleft()
            has_any = True
        return has_any

    # -- leases and heartbeat ----------------------------------------------------------

    @property
    def _beat_secs(self) -> float:
        return min(_BEAT_SECS, self.frontier.options.lease_secs / 3)

    async def _keep(self) -> None:
        while not self._stopping.is_set():
            await self._sleep(
                self._stopping, self._beat_secs * random.uniform(0.8, 1.0)
            )
            if self._stopping.is_set():
                return
            await self._persistent(self._tend, what="renew leases")
            await self._bury()

    async def _tend(self) -> None:
        """Renew leases, take back those of others, tell how far this worker is.

        Tried again as a whole: after an outage, and as long as full memory refuses
        the heartbeat, this worker's leases are renewed before any is taken back.
        """
        await self._renew()
        _, back, dead = await self.frontier.reap()
        if back or dead:
            logger.info("recovered %d URIs of dead workers, gave up %d", back, dead)
            self._due.clear()
        self.counts = await self.frontier.counts()
        await self.frontier.state.look(self.frontier.redis)
        try:
            await self._beat()
        except RedisError as error:
            if not is_full(error):  # that is told when links are added
                raise

    async def _seed(self) -> None:
        while not self._stopping.is_set():
            await self._sleep(self._stopping, _BEAT_SECS * random.uniform(0.8, 1.0))
            await self._persistent(self._take_seeds, what="start_urls")

    async def _bury(self) -> None:
        """Account for the URIs that were given up."""
        buried, self.frontier.buried = self.frontier.buried, []
        if buried and self._account_for:
            await self._account_for(buried)

    async def _renew(self) -> None:
        held = [
            *self._ready,
            *self._active,
            *self._finished,
            *self._unfed,
            *self._released,
            *(visit for _, visits in self._durable for visit in visits),
        ]
        leased_until = steady_time() + self.frontier.options.lease_secs
        lost = set(await self.frontier.renew(held)) if held else set()
        self.leases_until = leased_until
        if lost & {*self._ready, *self._active}:
            # Somebody else has these hosts now: what was not begun must not begin.
            logger.warning("lost %d leases; their URIs are crawled again", len(lost))
            self._ready = deque(visit for visit in self._ready if visit not in lost)
            for visit in lost & self._active:
                visit.is_lost = True
                visit.pending.clear()

    async def _beat(self) -> None:
        frontier = self.frontier
        self._live = await frontier.beat(self.options.name, self._told())
        delays = frontier.shortest_delay_secs, frontier.delay_secs
        if delays != self._delays:
            self._delays = delays
            own = frontier.options.delay_secs
            logger.warning(
                "DOWNLOAD_DELAY is %g s here, and from %g to %g s with the workers of"
                " this crawl: the longest applies to all, %g s",
                own,
                *delays,
                frontier.delay_secs,
            )

    async def _tell(self) -> None:
        """Say how far this worker is, whenever there is something new to say."""
        told: dict[str, float] = {}
        while not self._stopping.is_set():
            await self._sleep(self._tell_now, _TELL_SECS)
            self._tell_now.clear()
            figures = self._told()
            if figures != told:
                with suppress(RedisError):  # the heartbeat says so, and tries again
                    await self.frontier.tell(self.options.name, figures)
                    told = figures

    def _told(self) -> dict[str, float]:
        return self._figures() | {STARTED: float(self.has_started)}

    @staticmethod
    async def _sleep(event: asyncio.Event, secs: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(event.wait(), secs)


def _is_of_crowd(visit: Visit) -> bool:
    return visit.is_of_crowd
