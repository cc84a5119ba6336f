"""Limit the time and the cost of all open requests: deadlines, rates, and events.

A timer per request is expensive for small documents; one sweep per second over all open
requests costs next to nothing. The unit of cost is an event: a chunk of a body is one,
a call of the event loop with received bytes is several. A server that sends one byte
per event costs as much time as one that sends a page per event.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from random import random
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Fault, Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.downloader.parts import UnfitPart
from rdfcrawl.frontier.request_turns import FREE, NotSentError, SoloTurn

if TYPE_CHECKING:
    from rdfcrawl.downloader.client import HttpResponse, RequestOptions
    from rdfcrawl.downloader.options import FetchOptions

    NoteFailure = Callable[[HttpResponse, Exception], bool]

logger = logging.getLogger(__name__)

SWEEP_SECS: Final = 1.0
_FLOW: Final = 16  # times the minimum rate: good progress
CALL_EVENTS: Final = 8
BYTES_PER_EVENT: Final = 64  # an event that brings this much is free
_FREE_EVENTS: Final = 512  # of each response
MAX_CHUNKS_PER_CALL: Final = 512  # in one call of the event loop
# Of one response, before its body is judged; then the least bytes per chunk, and the
# most bytes on the wire per byte of the body.
FREE_CHUNKS: Final = 1024
LEAST_CHUNK_BYTES: Final = 8
FREE_BYTES: Final = 256 * 1024
MOST_BYTES_PER_BYTE: Final = 4
# Between two reads of a response that brings little; doubles after each small read.
# Meanwhile the system joins packets, so that fewer reads suffice.
_LEAST_REST_SECS: Final = 0.008
_MOST_REST_SECS: Final = 1.024
_SMALL_READ_BYTES: Final = 4 * 1024
_LARGE_READ_BYTES: Final = 16 * 1024
_WINDOW_SECS: Final = 0.1
_MOST_EVENTS: Final = 2000  # of all connections that bring little, per window


class WatchedTransfer:
    """One request in progress: its task, its start and its bytes.

    Attributes:
        n_bytes: bytes of the body received so far; updated by the reader.
        has_headers: the headers have arrived; set by the reader.
        verdict: why the watchdog has cancelled the task.
        is_silent: the verdict is that no response has begun.
        rate: recent bytes per second.
    """

    def __init__(
        self,
        task: asyncio.Task[object],
        started_at: float,
        timeout_secs: float,
        first_secs: float,
    ) -> None:
        self.task = task
        self.started_at = self.waits_since = started_at
        self.ends_at = started_at + timeout_secs
        self.first_secs = first_secs
        self.n_bytes = self.n_swept = 0
        self.rate = 0.0
        self.has_headers = False
        self.verdict: Fault | None = None
        self.is_silent = False
        self.mark: tuple[float, int] | None = None  # start of a window of the rate
        self.cancelling = task.cancelling()

    def restart_wait(self, now: float) -> None:
        """Start a new wait, such as for a reply of FTP."""
        self.waits_since, self.mark = now, None

    def is_only_cancel(self) -> bool:
        """Return whether only the watchdog has cancelled the task."""
        return self.verdict is not None and self.task.uncancel() <= self.cancelling


class TimeoutWatchdog:
    """Cancel the tasks of requests that are too slow."""

    def __init__(self, options: FetchOptions) -> None:
        self._loop = asyncio.get_running_loop()
        self._open: set[WatchedTransfer] = set()
        self._min_bytes_per_sec = options.min_bytes_per_sec
        self._min_rate_after_secs = options.min_rate_after_secs
        # A limit may be exceeded by one sweep: short limits need short sweeps.
        shortest = min(
            options.timeout_secs,
            options.first_byte_secs,
            options.min_rate_after_secs or 1.0,
        )
        self._sweep_secs = min(SWEEP_SECS, shortest / 4)
        self._timer: asyncio.TimerHandle | None = None

    def watching(
        self,
        url: str,
        options: RequestOptions,
        response: HttpResponse,
        note_failure: NoteFailure | None = None,
    ) -> WatchedBlock:
        """Watch the request of the current task for a block.

        An early end of the block is noted in `response`, unless the task was cancelled
        from outside. `note_failure` sets the fault of an exception, and returns False
        if the web cannot have caused it; without it, exceptions are raised.
        """
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("an exchange needs a task")
        transfer = WatchedTransfer(
            task, self._loop.time(), options.timeout_secs, options.first_byte_secs
        )
        self._open.add(transfer)
        if self._timer is None:
            self._timer = self._loop.call_later(self._sweep_secs, self._sweep)
        return WatchedBlock(self, transfer, url, options, response, note_failure)

    def end(self, transfer: WatchedTransfer) -> None:
        """Stop watching a request."""
        self._open.discard(transfer)

    def active_transfers(self) -> AbstractSet[object]:
        """Return the tasks whose transfers make good progress."""
        least = _FLOW * self._min_bytes_per_sec
        return {
            each.task
            for each in self._open
            if each.n_bytes and (each.rate >= least or not each.n_swept)
        }

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _sweep(self) -> None:
        now = self._loop.time()
        for transfer in tuple(self._open):
            n_new = transfer.n_bytes - transfer.n_swept
            transfer.n_swept = transfer.n_bytes
            transfer.rate = (transfer.rate + n_new / self._sweep_secs) / 2
            transfer.verdict = self._judge(transfer, now)
            if transfer.verdict is not None:
                self._open.discard(transfer)
                transfer.task.cancel()
        self._timer = None
        if self._open:
            self._timer = self._loop.call_later(self._sweep_secs, self._sweep)

    def _judge(self, transfer: WatchedTransfer, now: float) -> Fault | None:
        if now >= transfer.ends_at:
            secs = now - transfer.started_at
            transfer.is_silent = not _is_active(transfer)
            return Fault(Reason.TIMEOUT, f"not done after {secs:.0f} s")
        if not _is_active(transfer):
            return self._judge_silence(transfer, now)
        return self._judge_rate(transfer, now)

    def _judge_silence(self, transfer: WatchedTransfer, now: float) -> Fault | None:
        secs = now - transfer.waits_since
        if secs < transfer.first_secs:
            return None
        transfer.is_silent = True
        return Fault(Reason.TIMEOUT, f"no response after {secs:.0f} s")

    def _judge_rate(self, transfer: WatchedTransfer, now: float) -> Fault | None:
        """Judge the rate of the last window, or since the response began.

        A server that was quick for a while must not become slow for hours.
        """
        if transfer.mark is None:
            transfer.mark = now, transfer.n_bytes
            return None
        since, n_before = transfer.mark
        secs, n_bytes = now - since, transfer.n_bytes - n_before
        # A query may also take long before its first row.
        window_secs = self._min_rate_after_secs
        if not transfer.n_bytes:
            window_secs = max(window_secs, transfer.first_secs)
        if secs < window_secs:
            return None
        if n_bytes < secs * self._min_bytes_per_sec:
            detail = f"{counted(n_bytes, 'byte')} in {secs:.0f} s are too slow"
            return Fault(Reason.TIMEOUT, detail)
        transfer.mark = now, transfer.n_bytes
        return None


class WatchedBlock:
    """A block that makes a watched request; see `TimeoutWatchdog.watching`."""

    __slots__ = (
        *("_watchdog", "_transfer", "_url", "_options", "_response", "_note_failure"),
    )

    def __init__(
        self,
        watchdog: TimeoutWatchdog,
        transfer: WatchedTransfer,
        url: str,
        options: RequestOptions,
        response: HttpResponse,
        note_failure: NoteFailure | None,
    ) -> None:
        self._watchdog, self._transfer = watchdog, transfer
        self._url, self._options = url, options
        self._response, self._note_failure = response, note_failure

    def __enter__(self) -> WatchedTransfer:
        return self._transfer

    def __exit__(
        self, _: object, error: BaseException | None, _traceback: object
    ) -> bool:
        self._watchdog.end(self._transfer)
        return error is None or self._is_noted(error)

    def _is_noted(self, error: BaseException) -> bool:
        """Note the end of the block; return whether the error ends here."""
        response, transfer = self._response, self._transfer
        if isinstance(error, NotSentError):
            response.is_unsent = True
        elif isinstance(error, UnfitPart):
            response.has_restarted = True
        elif isinstance(error, asyncio.CancelledError):
            if not transfer.is_only_cancel():
                return False
            response.fault = transfer.verdict
            # A silent endpoint receives a smaller query.
            response.is_host_fault = transfer.is_silent and not self._options.is_final
        elif self._note_failure is None or not isinstance(error, Exception):
            return False
        elif not self._note_failure(response, error):
            # the edge: the visit continues after any error
            logger.error(
                "Unexpected error on %(url)s", {"url": self._url}, exc_info=error
            )
        return True


class WatchedExchange:
    """A client whose requests are watched; create it in a running loop."""

    def __init__(self, options: FetchOptions) -> None:
        self._watch = TimeoutWatchdog(options)

    async def get(
        self, url: str, options: RequestOptions, turn: SoloTurn = FREE
    ) -> HttpResponse:
        """See `HttpClient.get`."""
        raise NotImplementedError

    def active_transfers(self) -> AbstractSet[object]:
        """Return the tasks whose transfers make good progress."""
        return self._watch.active_transfers()

    async def close(self) -> None:
        """Stop watching."""
        self._watch.close()


def _is_active(transfer: WatchedTransfer) -> bool:
    """Return whether the response has begun."""
    return transfer.has_headers or transfer.n_bytes > 0


class CostlyResponse(SourceFault):
    """A response costs far more than it brings; a retry would, too."""


class EventBudget:
    """Events shared by the connections of a process that bring little.

    Ordinary connections never wait.
    """

    def __init__(self) -> None:
        self._left = _MOST_EVENTS
        self._ends_at = 0.0

    def spend(self, n_events: int) -> None:
        """Take events, even if none are left."""
        self._left -= n_events

    def left(self) -> int:
        """Return how many events are left now."""
        now = time.monotonic()
        if now >= self._ends_at:
            self._ends_at, self._left = now + _WINDOW_SECS, _MOST_EVENTS
        return self._left

    def wait_secs(self) -> float:
        """Return how long to wait for more; other connections may take them first."""
        return max(0.0, self._ends_at - time.monotonic()) + random() * _WINDOW_SECS


class ResponseCost:
    """Events of one response."""

    __slots__ = ("_budget", "_n_charged", "_n_events", "_n_received", "_rest_secs")

    def __init__(self, budget: EventBudget) -> None:
        self._budget = budget
        self._n_events = self._n_charged = 0
        self._n_received = 0  # bytes
        self._rest_secs = 0.0  # before the next read

    def charge(self, n_events: int, n_bytes: int = 0) -> None:
        """Count events and the bytes that they brought."""
        self._n_received += n_bytes
        self._n_events += n_events
        n_costly = self._n_events - self._n_received // BYTES_PER_EVENT - _FREE_EVENTS
        if n_costly > self._n_charged:
            self._budget.spend(n_costly - self._n_charged)
            self._n_charged = n_costly
        if n_bytes and self._n_charged:
            self._set_rest(n_bytes)

    def _set_rest(self, n_bytes: int) -> None:
        """Set the rest after a read of `n_bytes`."""
        if n_bytes < _SMALL_READ_BYTES:
            longer = max(_LEAST_REST_SECS, self._rest_secs * 2)
            self._rest_secs = min(_MOST_REST_SECS, longer)
        elif n_bytes >= _LARGE_READ_BYTES:
            shorter = self._rest_secs / 2
            self._rest_secs = shorter if shorter >= _LEAST_REST_SECS else 0.0

    def max_chunks(self) -> int:
        """Return how many chunks may be read now."""
        if not self._n_charged:
            return MAX_CHUNKS_PER_CALL
        return min(MAX_CHUNKS_PER_CALL, self._budget.left())

    def wait_secs(self) -> float:
        """Return for how many seconds to stop receiving."""
        if not self._n_charged:
            return 0.0
        if self._budget.left() > 0:
            return self._rest_secs
        return max(self._rest_secs, self._budget.wait_secs())


def check_cost(n_chunks: int, n_wire: int, n_body: int) -> None:
    """Judge a response by its chunks, its bytes on the wire and those of its body.

    Raises:
        CostlyResponse: it brings too little.
    """
    if n_chunks > FREE_CHUNKS and n_body < n_chunks * LEAST_CHUNK_BYTES:
        raise CostlyResponse(Reason.BAD_HTTP, "its chunks are too small")
    if n_wire > FREE_BYTES + n_body * MOST_BYTES_PER_BYTE:
        raise CostlyResponse(Reason.BAD_HTTP, "its chunks are too small")
