"""State of a worker, shared by its parts: visits by progress, unsent links."""

from __future__ import annotations

import asyncio
import logging
from array import array
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from redis.exceptions import RedisError

from rdfcrawl.core.errors import CrawlGone
from rdfcrawl.core.records import Record
from rdfcrawl.core.visits import Visit
from rdfcrawl.frontier.queue.candidate import SEEN_ONLY, AddedCounts, Candidate
from rdfcrawl.frontier.queue.frontier_client import Frontier, StateCounts
from rdfcrawl.frontier.queue.options import WorkerOptions
from rdfcrawl.frontier.queue.worker_reports import OWN_FAULT
from rdfcrawl.frontier.redis.errors import MAX_PAUSE_SECS, RedisRetry, is_full, one_line
from rdfcrawl.frontier.request_turns import steady_time

if TYPE_CHECKING:
    from rdfcrawl.frontier.worker.wanted_pages import WantedPages

# Statistics reported to other workers: few names, independent of the crawl's size.
FAULT = "fault/"
STATUS = "document/status/"
FORMAT = "document/format/"
PARSE_ERROR = "document/parse_error/"
GUARD = "guard/"
HTTP_STATUS = "http/status/"
STORE_FLUSHES, STORE_FLUSH_SECS = "store/flushes", "store/flush_secs"
# Buckets of reading times: documents up to so many seconds and above the previous
# bound; `more` above the last. Their sum is reported, too.
PARSE_SECS = "document/parse_secs/"
PARSE_SECS_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                     1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # fmt: skip
PARSE_SECS_SUM = f"{PARSE_SECS}sum"
TOLD = (
    "document/seen",
    "document/stored",
    "document/quads",
    "document/changed",
    "document/same",
    "link/offered",
    "link/hyperlinks_of_seeds",
    "http/bytes",
    "http/useful_bytes",
    "want/documents",
    "want/statements",
    "want/bytes",
    "items/built",
    STORE_FLUSHES,
    STORE_FLUSH_SECS,
)
_LOOK_SECS = 0.2  # for workers that do not keep a delay yet
_TOLD_GROUPS = (FAULT, OWN_FAULT, STATUS, FORMAT, PARSE_ERROR, PARSE_SECS, GUARD)

logger = logging.getLogger(__name__)

ADD_SECS = 0.2  # longest wait of a link in this process
_ADD_URIS = 500
# Two to three times the lag of a replica, or of a file synced each second; and a limit
# for the memory.
_WINDOW_SECS = 10.0
_MAX_REMEMBERED = 50_000
_NO_MARK = -1  # no hash is -1


def figures_of(stats: Mapping[str, object]) -> dict[str, float]:
    """Return the statistics of a worker that are reported to others.

    >>> figures_of({"http/status/200": 2, "http/status/206": 1, "memusage/max": 9})
    {'http/status/2xx': 3}
    """
    figures: dict[str, float] = {}
    for name, value in stats.items():
        if not isinstance(value, int | float):
            continue
        if name.startswith(HTTP_STATUS):
            name = f"{name[: len(HTTP_STATUS) + 1]}xx"  # noqa: PLW2901
            figures[name] = figures.get(name, 0) + value
        elif name in TOLD or name.startswith(_TOLD_GROUPS):
            figures[name] = value
    return figures


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerHooks:
    """Functions of the scheduler that a worker calls."""

    # makes all documents of finished visits durable; raises `StoreFault` on failure
    flush_stores: Callable[[], Awaitable[None]]
    wake: Callable[[], None]  # called when the scheduler has new work
    # returns the statistics for reports
    figures: Callable[[], dict[str, float]]
    # records that URIs were given up
    account_for: Callable[[Sequence[Record]], Awaitable[None]]


def _nothing() -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeHooks:
    """Functions of the intake of links and seeds that a worker calls."""

    # adds seeds that wait outside of the frontier; returns their number
    take_seeds: Callable[[], Awaitable[int]]
    # called with the records of claimed visits, and whether others may have queued them
    prepare: Callable[[Sequence[Record], bool], Awaitable[None]] | None = None
    # called when Redis may have lost its latest writes
    restore: Callable[[], Awaitable[None]] | None = None
    # returns the judge of pages, if any spider wants certain statements
    wanted: Callable[[], WantedPages | None] = _nothing


class WorkerState:
    """The state of one worker."""

    is_over = False  # the crawl is over, as far as known here
    is_drained = False  # an operator drains this worker
    has_other_spiders = False  # then, their requests may be in any partition
    n_slow = 0  # visits that have given up their places to others
    n_closed = 0  # visits of hosts outside of their working hours
    # why the crawl cannot go on, once Redis has lost it
    gone: CrawlGone | None = None
    _has_started = False

    def __init__(
        self,
        frontier: Frontier,
        options: WorkerOptions,
        outage: RedisRetry,
        run_began_ms: int,
    ) -> None:
        self.frontier = frontier
        self.options = options
        self.persistent = outage.persistent
        self.persistent_unless_full = outage.persistent_unless_full
        self.ready: deque[Visit] = deque()  # visits that are leased and not begun
        self.active: set[Visit] = set()  # visits in progress
        self.finished: list[Visit] = []  # visits whose children are not queued yet
        # released visits whose children wait for memory
        self.unfed: list[Visit] = []
        # visits whose children are queued, and whose stores are not flushed
        self.released: list[Visit] = []
        # visits that wait to be acknowledged, and until when
        self.durable: deque[tuple[float, list[Visit]]] = deque()
        # partition -> time before which no claim is needed
        self.due: dict[int, float] = {}
        # partitions with URIs that may have become due since the last claim
        self.stirred: set[int] = set()
        self.added = AddedCounts()  # results for the links sent
        self.counts = StateCounts()  # of the crawl, as last seen
        self.live: list[str] = [options.name]  # names of the workers of the crawl
        self.run_began_ms = run_began_ms  # for all workers
        # partition -> time until which workers of other spiders claim first
        self.left_to_others: dict[int, float] = {}
        # by `request_turns.steady_time`: when the leases of this worker expire, and
        # when it counts as dead, so that others stop keeping its delay
        self.leases_until = steady_time() + frontier.options.lease_secs
        self.heard_until = 0.0
        self.stopping = outage.stopping
        self.claim_now = asyncio.Event()
        self.commit_now = asyncio.Event()
        self.report_now = asyncio.Event()
        self.look_now = asyncio.Event()  # for the epochs of domains

    @property
    def has_started(self) -> bool:
        """Whether the spider has queued all seeds; reported at once."""
        return self._has_started

    @has_started.setter
    def has_started(self, has_started: bool) -> None:
        if has_started != self._has_started:
            self.report_now.set()
        self._has_started = has_started

    @property
    def confirmed_until(self) -> float:
        """Time when this worker must confirm its leases before any other request."""
        return min(self.leases_until, self.heard_until)

    @property
    def is_alone(self) -> bool:
        """Whether no other worker was seen lately."""
        return len(self.live) < 2

    @property
    def n_visits(self) -> int:
        """Number of visits that are ready or in progress."""
        return len(self.ready) + len(self.active)

    def held(self) -> list[Visit]:
        """Return all visits leased by this worker."""
        return [
            *self.ready,
            *self.active,
            *self.finished,
            *self.unfed,
            *self.released,
            *(visit for _, visits in self.durable for visit in visits),
        ]

    def stir(self, partitions: Iterable[int]) -> None:
        """Look again into partitions where URIs may have become due."""
        for partition in partitions:
            self.due.pop(partition, None)
            self.stirred.add(partition)


async def sleep_until(event: asyncio.Event, secs: float) -> None:
    """Sleep until an event, at most for some seconds."""
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), secs)


async def wait_for_delay(state: WorkerState) -> None:
    """Wait until all other workers keep the delay of this one, if it is longer."""
    delays, name = state.frontier.delays, state.options.name
    while delays.shortest_secs < delays.own_secs and not state.stopping.is_set():
        if await state.persistent("look for delays", delays.are_kept, name):
            return
        await sleep_until(state.stopping, _LOOK_SECS)


class RecentLinks:
    """Recent links, so that repeated ones cost no round trip.

    A table of hashes (64 bits, keyed per process) in 2 MiB: each has one slot, where
    the later of two replaces the other. A forgotten link costs a round trip, never a
    second visit.

    Args:
        slots: power of two.
    """

    def __init__(self, slots: int = 2**18) -> None:
        self._mask = slots - 1
        self._marks = array("q", [_NO_MARK]) * slots

    def unseen(self, links: Iterable[bytes]) -> list[bytes]:
        """Return the links that are new here, and remember them."""
        marks, mask = self._marks, self._mask
        fresh = []
        for link in links:
            mark = hash(link)
            slot = mark & mask
            if marks[slot] != mark:
                marks[slot] = mark
                fresh.append(link)
        return fresh

    def note(self, link: bytes) -> None:
        """Treat a link as known from now on."""
        mark = hash(link)
        self._marks[mark & self._mask] = mark

    def forget(self, link: bytes) -> None:
        """Treat a link as new the next time."""
        mark = hash(link)
        if self._marks[mark & self._mask] == mark:
            self._marks[mark & self._mask] = _NO_MARK


class LinkSender:
    """Sends links to the frontier in batches."""

    def __init__(
        self, state: WorkerState, restore: Callable[[], Awaitable[None]] | None
    ) -> None:
        self._state = state
        self._restore_others = restore
        self._buffer: list[Candidate] = []
        # links to be sent to Redis, including failed attempts
        self.unsent: list[Candidate] = []
        self.sent_at = 0.0  # monotonic time when links were last sent
        # keys of links that were sent the last time, and the time before
        self._fed: tuple[AbstractSet[str], AbstractSet[str]] = (
            frozenset(),
            frozenset(),
        )
        self._full_pause_secs = 0.0  # pause between attempts while Redis is full
        self._add_at = 0.0
        self._n_restores = state.frontier.state.n_restores
        # Links sent in the last seconds, with their times, which Redis may lose.
        self._remembered: deque[tuple[float, Sequence[Candidate]]] = deque()
        self._n_remembered = 0
        self._window_secs = _WINDOW_SECS + state.options.ack_lag_secs

    @property
    def n_waiting(self) -> int:
        """Number of links not sent yet."""
        return len(self._buffer) + len(self.unsent)

    @property
    def must_restore(self) -> bool:
        """Whether links lost by Redis may have to be sent again."""
        return self._n_restores != self._state.frontier.state.n_restores

    def has_fed(self, key: str) -> bool:
        """Return whether links to a host were sent lately."""
        return any(key in keys for keys in self._fed)

    def offer(self, candidates: Iterable[Candidate]) -> None:
        """Queue links for sending."""
        self._state.is_over = False
        self._buffer.extend(candidates)
        if len(self._buffer) >= _ADD_URIS:
            self._state.commit_now.set()

    async def room(self) -> None:
        """Wait while there are too many unsent links."""
        while self.n_waiting > self._state.options.max_buffered // 2:
            self._state.commit_now.set()
            await asyncio.sleep(0.05)

    async def mark_seen(self, candidate: Candidate) -> bool:
        """Mark a URI as seen now; return whether it may have been new."""
        n_calls = 0

        async def add() -> AddedCounts:
            nonlocal n_calls
            n_calls += 1
            return await self._state.frontier.add([candidate])

        added = await self._state.persistent("add", add)
        # The lost reply of an earlier call may have been "new": two fetches are better
        # than none.
        return added.new == 1 or n_calls > 1

    async def add_now(self, candidates: Sequence[Candidate]) -> bool:
        """Queue links before this returns; return whether some may be new.

        While Redis is full, they are offered instead, and none counts as new.
        """
        state = self._state
        if not candidates:
            return False
        try:
            added = await state.persistent_unless_full(
                "add", state.frontier.add, candidates
            )
        except RedisError as error:
            if not is_full(error):
                raise
            self.offer(candidates)
            return False
        self.note_added(candidates)
        return added.new > 0

    def note_added(self, candidates: Sequence[Candidate]) -> None:
        """Remember candidates added by others, and claim without a pause."""
        state = self._state
        state.is_over = False
        self._remember(candidates)
        state.stir(state.frontier.locations.partitions(candidates))
        state.claim_now.set()
        state.look_now.set()

    async def send(self) -> bool:
        """Send the waiting links; return whether all are queued.

        A full server accepts none. Hosts are released all the same, so that the crawl
        goes on; only visits with waiting links are not committed.
        """
        state = self._state
        self.sent_at = monotonic()
        self.unsent += self._buffer
        self._buffer = []
        candidates = self.unsent
        self._fed = self._fed[1], {candidate.key for candidate in candidates}
        if not candidates or self.sent_at < self._add_at:
            return not candidates
        try:
            added = await state.persistent_unless_full(
                "add", state.frontier.add, candidates
            )
        except RedisError as error:
            if not is_full(error):
                raise
            await self._wait_for_memory(error)
            return True
        self._remember(candidates)
        state.added += added
        if added.new:
            state.stir(state.frontier.locations.partitions(candidates))
            state.look_now.set()
        if self._full_pause_secs:
            logger.info("Redis accepts links again")
            self._full_pause_secs = 0.0
        self.unsent = []
        if self.must_restore:
            await self.restore()
        return True

    async def _wait_for_memory(self, error: RedisError) -> None:
        self.unsent = await self._state.persistent(
            "look for links", self._state.frontier.unseen, self.unsent
        )
        if not self._full_pause_secs:
            logger.warning(
                "Redis is full: links wait for memory, all else continues: %s",
                one_line(error),
            )
        longest = MAX_PAUSE_SECS
        self._full_pause_secs = min(longest, max(ADD_SECS, 2 * self._full_pause_secs))
        self._add_at = monotonic() + self._full_pause_secs

    def _remember(self, candidates: Sequence[Candidate]) -> None:
        """Keep added links for a while, as Redis may lose some."""
        now = monotonic()
        remembered = self._remembered
        remembered.append((now, candidates))
        self._n_remembered += len(candidates)
        if self._n_restores != self._state.frontier.state.n_restores:
            return
        while remembered and (
            now - remembered[0][0] > self._window_secs
            or self._n_remembered > _MAX_REMEMBERED
        ):
            self._n_remembered -= len(remembered.popleft()[1])

    async def restore(self) -> None:
        """Add links again that Redis may have lost, before the next acknowledgement.

        Marks without URIs are omitted: the visit that made them may be repeated, and
        its redirect targets must be unseen then.
        """
        state = self._state
        while self.must_restore:
            n_restores = state.frontier.state.n_restores
            if self._restore_others is not None:
                await state.persistent("restore", self._restore_others)
            for _, candidates in list(self._remembered):
                queued = [x for x in candidates if x.item != SEEN_ONLY]
                await state.persistent("add", state.frontier.add, queued)
            self._n_restores = n_restores
