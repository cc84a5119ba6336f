"""Close the chunks of a document.

Our iterators are classes, not generators: the event loop registers each asynchronous
generator, which takes as long as storing a small document.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Generic, TypeVar

T = TypeVar("T")


async def close_chunks(chunks: object) -> None:
    """Close chunks, which may not have been read to their end."""
    close = getattr(chunks, "aclose", None)
    if close is not None:
        await close()


class closing(Generic[T]):  # noqa: N801  # as `contextlib.aclosing`
    """Close chunks, or documents, at the end of a block.

    Chunks of a user's pipeline may lack `aclose`, which `aclosing` requires. Without
    closing, the child process stays busy until the next garbage collection, and other
    documents wait for it.
    """

    __slots__ = ("_chunks",)

    def __init__(self, chunks: AsyncIterator[T]) -> None:
        self._chunks = chunks

    async def __aenter__(self) -> AsyncIterator[T]:
        return self._chunks

    async def __aexit__(self, *exc_info: object) -> None:
        await close_chunks(self._chunks)
