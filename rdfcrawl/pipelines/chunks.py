"""The chunks of a document, on their way through the pipelines.

These are classes and no generators: an event loop keeps a register of asynchronous
generators, whose entry for a document costs as much as storing the document.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from rdfcrawl.rdf.extraction.bulk import BulkOutput, BulkPart

T = TypeVar("T")


class CountedChunks:
    """Chunks that set `Document.n_quads` at their end."""

    __slots__ = ()


class AtHand:
    """Chunks that may be available at once, as those of most small documents are."""

    __slots__ = ()

    def whole(self) -> bytes | None:
        """Return all statements, if one chunk that needs no waiting.

        Else return None; all chunks are then to be iterated over.
        """
        raise NotImplementedError


class InBulk:
    """Chunks that can be read as parts instead; see `rdf.extraction.bulk`."""

    __slots__ = ()

    def parts(self, bulk: BulkOutput) -> AsyncGenerator[BulkPart]:
        """Yield parts instead of chunks, from the beginning of the document."""
        raise NotImplementedError


async def close_chunks(chunks: object) -> None:
    """Close chunks, which may not have been read to their end."""
    close = getattr(chunks, "aclose", None)
    if close is not None:
        await close()


class closing(Generic[T]):  # noqa: N801  # as `contextlib.aclosing`
    """Close chunks, or documents, at the end of a block.

    Chunks of a user's pipeline may lack `aclose`, which `aclosing` would call. Without
    closing, the child process that reads them would be busy until a garbage collection,
    and other documents would wait for the child.
    """

    __slots__ = ("_chunks",)

    def __init__(self, chunks: AsyncIterator[T]) -> None:
        self._chunks = chunks

    async def __aenter__(self) -> AsyncIterator[T]:
        return self._chunks

    async def __aexit__(self, *exc_info: object) -> None:
        await close_chunks(self._chunks)
