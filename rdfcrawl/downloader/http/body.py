"""The body of one response: what has arrived of it, and the error that ended it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

HIGH_BYTES: Final = 256 * 1024  # arrived and not read: no more is received


class BodyReader(Protocol):
    """The body of a response, for the code that reads it."""

    total_bytes: int

    def is_eof(self) -> bool:
        """Return whether all of the body has arrived."""

    def at_eof(self) -> bool:
        """Return whether all of the body was read."""

    async def readany(self) -> bytes:
        """Return what has arrived; nothing at the end of the body.

        Raises:
            Exception: the error that ended the body, after all that came before it.
        """

    def read_nowait(self) -> bytes:
        """Return what has arrived."""


class ArrivingBody:
    """A body between the connection that receives it and the code that reads it.

    Args:
        set_full: called with whether more has arrived than should be kept.
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
        """Add bytes that have arrived."""
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
        """Note that all has arrived."""
        self._is_eof = True
        self._wake()

    def fail(self, error: Exception) -> None:
        """Note the error behind which nothing more will come."""
        if not self._is_eof and self._error is None:
            self._error = error
            self._wake()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
