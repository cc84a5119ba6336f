"""Enforce deadlines and minimum rates of all open requests with one timer.

A timer per request is expensive for small documents; one sweep per second over all open
requests costs next to nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.core.messages import counted
from rdfcrawl.downloader.parts import UnfitPart
from rdfcrawl.frontier.request_turns import FREE, NotSentError, SoloTurn

if TYPE_CHECKING:
    from rdfcrawl.downloader.client import HttpResponse, RequestOptions
    from rdfcrawl.downloader.options import FetchOptions

logger = logging.getLogger(__name__)

SWEEP_SECS: Final = 1.0
_FLOW: Final = 16  # times the minimum rate: good progress


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

    @contextmanager
    def watching(
        self,
        url: str,
        options: RequestOptions,
        response: HttpResponse,
        note_failure: Callable[[HttpResponse, Exception], bool] | None = None,
    ) -> Iterator[WatchedTransfer]:
        """Watch the request of the current task for a block.

        An early end of the block is noted in `response`, unless the task was cancelled
        from outside. `note_failure` sets the fault of an exception, and returns False
        if the web cannot have caused it; without it, exceptions are raised.
        """
        transfer = self._begin(options)
        try:
            yield transfer
        except NotSentError:
            response.is_unsent = True
        except UnfitPart:
            response.has_restarted = True
        except asyncio.CancelledError:
            if not transfer.is_only_cancel():
                raise
            response.fault = transfer.verdict
            # A silent endpoint receives a smaller query.
            response.is_host_fault = transfer.is_silent and not options.is_final
        except Exception as exc:  # the edge: the visit continues after any error
            if note_failure is None:
                raise
            if not note_failure(response, exc):
                logger.exception("Unexpected error on %(url)s", {"url": url})
        finally:
            self._open.discard(transfer)

    def _begin(self, options: RequestOptions) -> WatchedTransfer:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("an exchange needs a task")
        now = self._loop.time()
        transfer = WatchedTransfer(
            task, now, options.timeout_secs, options.first_byte_secs
        )
        self._open.add(transfer)
        if self._timer is None:
            self._timer = self._loop.call_later(self._sweep_secs, self._sweep)
        return transfer

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
