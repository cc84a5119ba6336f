"""Deadlines and least rates of all open exchanges, kept by one timer.

A timer per request costs more than the limits are worth on small documents; one
sweep a second over what is open costs next to nothing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from rdfcrawl.errors import Fault, Reason

if TYPE_CHECKING:
    from aiohttp import ClientResponse

    from rdfcrawl.fetch.options import FetchOptions
    from rdfcrawl.fetch.plain_get import Received

SWEEP_SECS: Final = 1.0


class Transfer:
    """One exchange that is under way: whose task, since when and how far.

    Attributes:
        n_bytes: bytes of the body received so far; kept up by the reader.
        response: once the headers are there; set by the reader.
        verdict: why the watch has cancelled the task.
    """

    __slots__ = (
        "cancelling", "ends_at", "n_bytes", "response", "started_at", "task", "verdict",
    )  # fmt: skip

    def __init__(
        self, task: asyncio.Task[object], started_at: float, ends_at: float
    ) -> None:
        self.task = task
        self.started_at = started_at
        self.ends_at = ends_at
        self.n_bytes = 0
        self.response: ClientResponse | Received | None = None
        self.verdict: Fault | None = None
        self.cancelling = task.cancelling()

    def is_own_cancel(self) -> bool:
        """Say whether a `CancelledError` is the watch's own and nobody else's."""
        return self.verdict is not None and self.task.uncancel() <= self.cancelling

    def is_broken(self) -> bool:
        """Say whether the connection broke without its reader being told.

        aiohttp's parser does so at a malformed chunk: it closes the connection and
        notes the error there, and whoever waits for the body waits for ever.
        """
        connection = self.response and self.response.connection
        protocol = connection.protocol if connection else None
        return protocol is not None and protocol.exception() is not None


class Watch:
    """Cancels the tasks of exchanges that take too long or crawl."""

    def __init__(self, options: FetchOptions) -> None:
        self._loop = asyncio.get_running_loop()
        self._open: set[Transfer] = set()
        self._min_bytes_per_sec = options.min_bytes_per_sec
        self._min_rate_after_secs = options.min_rate_after_secs
        # A limit may be overrun by one sweep: short limits get short sweeps.
        shortest = min(options.timeout_secs, options.min_rate_after_secs or 1.0)
        self._sweep_secs = min(SWEEP_SECS, shortest / 4)
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, timeout_secs: float) -> Transfer:
        """Watch over the current task until `end`."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("an exchange needs a task")
        now = self._loop.time()
        transfer = Transfer(task, now, now + timeout_secs)
        self._open.add(transfer)
        if self._timer is None:
            self._timer = self._loop.call_later(self._sweep_secs, self._sweep)
        return transfer

    def end(self, transfer: Transfer) -> None:
        """Stop watching over a transfer."""
        self._open.discard(transfer)

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _sweep(self) -> None:
        now = self._loop.time()
        for transfer in tuple(self._open):
            transfer.verdict = self._judge(transfer, now)
            if transfer.verdict is not None:
                self._open.discard(transfer)
                transfer.task.cancel()
        self._timer = None
        if self._open:
            self._timer = self._loop.call_later(self._sweep_secs, self._sweep)

    def _judge(self, transfer: Transfer, now: float) -> Fault | None:
        if transfer.is_broken():
            return Fault(Reason.BAD_HTTP, "malformed body")
        secs = now - transfer.started_at
        if now >= transfer.ends_at:
            return Fault(Reason.TIMEOUT, f"not done after {secs:.0f} s")
        # The rate counts only what has begun to come: a slow query may think.
        if (
            transfer.n_bytes > 0
            and secs >= self._min_rate_after_secs
            and transfer.n_bytes < secs * self._min_bytes_per_sec
        ):
            detail = f"{transfer.n_bytes} bytes in {secs:.0f} s are too slow"
            return Fault(Reason.TIMEOUT, detail)
        return None
