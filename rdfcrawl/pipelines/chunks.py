"""The chunks of a document, on their way through the pipelines.

These are classes and no generators: an event loop keeps a register of asynchronous
generators, and what a document would enter there costs as much as storing it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from rdfcrawl.extraction.bulk import BulkOutput, BulkPart

T = TypeVar("T")


class CountedChunks:
    """Chunks that tell their document, at their end, how many statements they were."""

    __slots__ = ()


class AtHand:
    """Chunks that may be at hand as a whole, as those of most small documents are."""

    __slots__ = ()

    def whole(self) -> bytes | None:
        """Return all statements, if they are one chunk that needs no waiting.

        Else None, and they are to be iterated over: none is lost.
        """
        raise NotImplementedError


class InBulk:
    """Chunks of which parts can be had instead; see `extraction.bulk`."""

    __slots__ = ()

    def parts(self, bulk: BulkOutput) -> AsyncGenerator[BulkPart]:
        """Yield them, instead of chunks, from the begin of the document."""
        raise NotImplementedError


async def give_up(chunks: object) -> None:
    """Give up what was not read to its end; after that, there is nothing to do."""
    close = getattr(chunks, "aclose", None)
    if close is not None:
        await close()


class closing(Generic[T]):  # noqa: N801  # as `contextlib.aclosing`
    """Give chunks, or documents, up when the block is left, however it is.

    Chunks of a pipeline of the user's may lack `aclose`, which `aclosing` would call.
    Else the child process that reads them would be taken until a garbage collection,
    and other documents would wait for it.
    """

    __slots__ = ("_chunks",)

    def __init__(self, chunks: AsyncIterator[T]) -> None:
        self._chunks = chunks

    async def __aenter__(self) -> AsyncIterator[T]:
        return self._chunks

    async def __aexit__(self, *exc_info: object) -> None:
        await give_up(self._chunks)
