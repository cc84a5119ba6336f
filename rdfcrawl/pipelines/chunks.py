"""The chunks of a document, on their way through the pipelines."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

T = TypeVar("T")


@asynccontextmanager
async def closing(chunks: AsyncIterator[T]) -> AsyncIterator[AsyncIterator[T]]:
    """Give chunks, or documents, up when the block is left, however it is.

    Else the child process that reads them would be taken until a garbage collection,
    and other documents would wait for it.
    """
    try:
        yield chunks
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()
