"""Send links to the frontier, and again after a loss of data in Redis."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from redis.exceptions import RedisError

from rdfcrawl.frontier.queue.candidate import SEEN_ONLY, AddedCounts, Candidate
from rdfcrawl.frontier.redis.refusals import one_line
from rdfcrawl.frontier.redis.retry import MAX_PAUSE_SECS, is_full

if TYPE_CHECKING:
    from rdfcrawl.frontier.worker.worker_state import WorkerState

logger = logging.getLogger(__name__)

ADD_SECS = 0.2  # longest wait of a link in this process
_ADD_URIS = 500
# Two to three times the lag of a replica, or of a file synced each second; and a limit
# for the memory.
_WINDOW_SECS = 10.0
_MAX_REMEMBERED = 50_000


class RecentLinks:
    """Recent links, so that repeated ones cost no round trip.

    Two generations of `size` hashes: a full young one replaces the old one. A forgotten
    link costs a round trip, never a second visit.
    """

    def __init__(self, size: int = 200_000) -> None:
        self._size = size
        self._young: set[int] = set()
        self._old: set[int] = set()

    def unseen(self, links: Iterable[bytes]) -> list[bytes]:
        """Return the links that are new here, and remember them."""
        young, old = self._young, self._old
        fresh = []
        for link in links:
            mark = hash(link)  # 64 bits, keyed per process
            if mark not in young and mark not in old:
                young.add(mark)
                fresh.append(link)
        if len(young) > self._size:
            self._old, self._young = young, set()
        return fresh

    def note(self, link: bytes) -> None:
        """Treat a link as known from now on."""
        self._young.add(hash(link))

    def forget(self, link: bytes) -> None:
        """Treat a link as new the next time."""
        mark = hash(link)
        self._young.discard(mark)
        self._old.discard(mark)


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
