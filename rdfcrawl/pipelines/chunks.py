"""The chunks of a document, on their way through the pipelines."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@asynccontextmanager
async def closing(chunks: AsyncIterator[bytes]) -> AsyncIterator[AsyncIterator[bytes]]:
    """Give chunks up when the block is left, though it failed before their end.

    Else the child process that reads them would be taken until a garbage collection,
    and other documents would wait for it.
    """
    try:
        yield chunks
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()
