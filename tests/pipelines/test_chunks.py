"""Chunks on their way through the pipelines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfcrawl.pipelines.items import closing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


async def test_chunks_are_closed_by_who_fails() -> None:
    """If the reader of chunks fails, then their source is closed at once."""
    told = []

    async def make() -> AsyncIterator[bytes]:
        try:
            yield b"1"
            yield b"2"
        finally:
            told.append("closed")

    async def pass_on(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async with closing(chunks):
            async for chunk in chunks:
                yield chunk

    async def fail(chunks: AsyncIterator[bytes]) -> None:
        async with closing(chunks):
            async for _ in chunks:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail(pass_on(make()))
    assert told == ["closed"]


async def test_what_cannot_be_closed_is_left() -> None:
    """If a pipeline gives chunks without `aclose`, then nothing is wrong."""

    class Plain:
        def __aiter__(self) -> AsyncIterator[bytes]:
            return self

        async def __anext__(self) -> bytes:
            raise StopAsyncIteration

    async with closing(Plain()) as chunks:
        assert [chunk async for chunk in chunks] == []
