"""Bodies between their connections and their consumers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

HIGH_BYTES: Final = 256 * 1024  # received and unread: above this, reading pauses


class BodyReader(Protocol):
    """The body of a response, for its consumer."""

    total_bytes: int

    def is_eof(self) -> bool:
        """Return whether all of the body has arrived."""

    def at_eof(self) -> bool:
        """Return whether all of the body was read."""

    async def readany(self) -> bytes:
        """Return the received bytes; empty at the end of the body.

        Raises:
            Exception: the error that ended the body, after all earlier bytes.
        """

    def read_nowait(self) -> bytes:
        """Return the received bytes."""


class ArrivedBody:
    """A body that has arrived with its head."""

    __slots__ = ("_rest", "total_bytes")

    def __init__(self, content: bytes) -> None:
        self.total_bytes, self._rest = len(content), content

    def is_eof(self) -> bool:
        """See `BodyReader`."""
        return True

    def at_eof(self) -> bool:
        """See `BodyReader`."""
        return not self._rest

    async def readany(self) -> bytes:
        """See `BodyReader`."""
        return self.read_nowait()

    def read_nowait(self) -> bytes:
        """See `BodyReader`."""
        taken, self._rest = self._rest, b""
        return taken


NO_BODY: Final = ArrivedBody(b"")


class ArrivingBody:
    """A body between its connection and its consumer.

    Args:
        set_full: called with whether the buffer is full.
    """

    __slots__ = (
        *("total_bytes", "_pieces", "_n_held", "_is_eof", "_error", "_waiter"),
        *("_set_full", "_is_full"),
    )

    def __init__(self, set_full: Callable[[bool], None]) -> None:
        self.total_bytes = 0
        self._pieces: list[bytes] = []
        self._n_held = 0
        self._is_eof = self._is_full = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._set_full = set_full

    def is_eof(self) -> bool:
        """See `BodyReader`."""
        return self._is_eof

    def at_eof(self) -> bool:
        """See `BodyReader`."""
        return self._is_eof and not self._pieces

    async def readany(self) -> bytes:
        """See `BodyReader`."""
        while not self._pieces:
            if self._error is not None:
                raise self._error
            if self._is_eof:
                return b""
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self.read_nowait()

    def read_nowait(self) -> bytes:
        """See `BodyReader`."""
        pieces = self._pieces
        if not pieces:
            return b""
        taken = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        self._n_held = 0
        if self._is_full:
            self._is_full = False
            self._set_full(False)
        return taken

    def feed(self, piece: bytes) -> None:
        """Add received bytes."""
        if not piece:
            return
        self.total_bytes += len(piece)
        self._n_held += len(piece)
        self._pieces.append(piece)
        self._wake()
        if self._n_held > HIGH_BYTES and not self._is_full:
            self._is_full = True
            self._set_full(True)

    def end(self) -> None:
        """Note the end of the body."""
        self._is_eof = True
        self._wake()

    def fail(self, error: Exception) -> None:
        """Note the error that ended the body."""
        if not self._is_eof and self._error is None:
            self._error = error
            self._wake()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
