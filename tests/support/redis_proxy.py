"""A proxy between workers and Redis that fails on demand."""

from __future__ import annotations

import asyncio
import random
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path

_LOOK_SECS = 0.05


class RedisProxy:
    """Passes connections on to the socket of a Redis server; runs in a thread.

    Attributes:
        target: socket of the server; may be set for later connections.
        port: where it listens, on 127.0.0.1.
        is_silent: replies of the server are dropped.
        is_stalled: replies of the server are held back, as by a half-open connection.
        delay_secs: delay of the replies of the server.
        cut_share: share of lost replies: they are dropped, and the connection is
            closed.
        cut_after: number of replies after which the next one is lost in the same way;
            None: it is not.
        n_cut: number of lost replies.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self.port = 0
        self.is_silent = False
        self.is_stalled = False
        self.delay_secs = 0.0
        self.cut_share = 0.0
        self.cut_after: int | None = None
        self.n_cut = 0
        self._random = random.Random(4)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._open: set[asyncio.StreamWriter] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    @property
    def url(self) -> str:
        """The URL for redis-py."""
        return f"redis://127.0.0.1:{self.port}"

    def cut_all(self) -> None:
        """Break all connections."""
        asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result(10)

    async def _cut(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()

    async def _close(self) -> None:
        self._server.close()
        await self._cut()
        tasks = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
        if tasks:
            await asyncio.wait(tasks, timeout=5)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with suppress(OSError):
            there, back = await asyncio.open_unix_connection(str(self.target))
            self._open |= {writer, back}
            await asyncio.gather(
                self._forward(reader, back),
                self._answer(there, writer),
                return_exceptions=True,
            )
            self._open -= {writer, back}
            back.transport.abort()
        writer.transport.abort()

    @staticmethod
    async def _forward(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while chunk := await reader.read(1 << 16):
            writer.write(chunk)
            await writer.drain()
        writer.transport.abort()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while chunk := await reader.read(1 << 16):
            if self.is_silent:
                continue
            if self._random.random() < self.cut_share or self._is_next():
                self.n_cut += 1
                break
            await asyncio.sleep(self.delay_secs)
            while self.is_stalled:  # noqa: ASYNC110  (a test sets it, in its thread)
                await asyncio.sleep(_LOOK_SECS)
            writer.write(chunk)
            await writer.drain()
        writer.transport.abort()

    def _is_next(self) -> bool:
        """Count an answer; return whether it is the one to be cut."""
        left, self.cut_after = self.cut_after, None
        if left:
            self.cut_after = left - 1
        return left == 0
