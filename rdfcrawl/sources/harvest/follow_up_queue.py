"""Queueing of the results of harvesters: batching and back-pressure.

A record is acknowledged when its visit is over and its follow-ups are queued. If a
worker dies earlier, the record is harvested again, with the same follow-ups.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Self

from rdfcrawl.core.content import QuadChunk
from rdfcrawl.core.errors import Fault
from rdfcrawl.core.records import (
    Document,
    FollowUp,
    HarvestedPart,
    LinkedIris,
    RowCounts,
)

if TYPE_CHECKING:
    from rdfcrawl.frontier.session import CrawlSession


class FollowUpQueue:
    """Queues the follow-ups of a response or document in batches of `batch_size`."""

    def __init__(self, session: CrawlSession, batch_size: int) -> None:
        self._session = session
        self._batch_size = batch_size
        self._waiting: list[FollowUp] = []

    async def put(self, follow_up: FollowUp, document: Document) -> None:
        """Add a follow-up of a document; wait while the worker has too many links."""
        self._waiting.append(follow_up)
        if len(self._waiting) >= self._batch_size:
            await self.flush(document)
            await self._session.links.room()

    async def put_links(self, links: LinkedIris, document: Document) -> None:
        """Queue links of a document; wait while the worker has too many links."""
        judged = await self._session.links.add_links(document, links.iris)
        document.n_links += len(judged.candidates)
        document.faults += judged.faults
        await self._session.links.room()

    async def flush(self, document: Document) -> None:
        """Queue the waiting follow-ups."""
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            document.n_follow_ups += len(waiting)
            judged = await self._session.links.add_follow_ups(document, waiting)
            document.n_links += len(judged.candidates)
            document.faults += judged.faults


class HarvestedChunks:
    """The statements of a harvested document.

    Follow-ups among the parts go to the queue, faults and counts to the document.
    """

    def __init__(
        self,
        document: Document,
        parts: AsyncIterator[HarvestedPart],
        queue: FollowUpQueue,
    ) -> None:
        self._document, self._parts, self._queue = document, parts, queue

    def __aiter__(self) -> Self:
        """Return the iterator itself."""
        return self

    async def __anext__(self) -> QuadChunk:
        """Return the next chunk; queue all follow-ups at the end."""
        document, queue = self._document, self._queue
        async for part in self._parts:
            if isinstance(part, bytes):
                return QuadChunk(part)
            if isinstance(part, FollowUp):
                await queue.put(part, document)
            elif isinstance(part, Fault):
                document.faults.append(part)
            elif isinstance(part, RowCounts):
                document.row_counts += (part,)
            else:
                await queue.put_links(part, document)
        await queue.flush(document)
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Close the unread parts."""
        close = getattr(self._parts, "aclose", None)
        if close is not None:
            await close()
