"""Deadlines and least rates of all open requests, kept by one timer.

A timer per request costs more than the limits are worth on small documents; one
sweep a second over what is open costs next to nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.counting import counted
from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.downloader.parts import UnfitPart
from rdfcrawl.frontier.request_turns import FREE, NotSentError, SoloTurn

if TYPE_CHECKING:
    from rdfcrawl.downloader.answer import HttpResponse, RequestOptions
    from rdfcrawl.downloader.options import FetchOptions

logger = logging.getLogger(__name__)

SWEEP_SECS: Final = 1.0
_FLOW: Final = 16  # times the least rate: so much comes forward


class WatchedTransfer:
    """One request under way: its task, its begin and its bytes.

    Attributes:
        n_bytes: bytes of the body received so far; kept up by the reader.
        has_headers: the headers are there; set by the reader.
        verdict: why the watch has cancelled the task.
        is_silent: the verdict is that no answer has begun.
        rate: bytes a second, of late.
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
        self.mark: tuple[float, int] | None = None  # begin of a window of the rate
        self.cancelling = task.cancelling()

    def waits(self, now: float) -> None:
        """Note that something new is waited for, such as a reply of FTP."""
        self.waits_since, self.mark = now, None

    def is_own_cancel(self) -> bool:
        """Return whether a `CancelledError` is the watch's own and nobody else's."""
        return self.verdict is not None and self.task.uncancel() <= self.cancelling


class TimeoutWatchdog:
    """Cancel the tasks of requests that take too long or crawl."""

    def __init__(self, options: FetchOptions) -> None:
        self._loop = asyncio.get_running_loop()
        self._open: set[WatchedTransfer] = set()
        self._min_bytes_per_sec = options.min_bytes_per_sec
        self._min_rate_after_secs = options.min_rate_after_secs
        # A limit may be overrun by one sweep: short limits get short sweeps.
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
        ask: RequestOptions,
        answer: HttpResponse,
        note_failure: Callable[[HttpResponse, Exception], bool] | None = None,
    ) -> Iterator[WatchedTransfer]:
        """Watch over the request of the current task for a block.

        Whatever ends the block early is noted in `answer`, unless somebody else has
        cancelled the task. `note_failure` sets the fault of an exception, and returns
        False if the web cannot have caused it; without that, exceptions are raised.
        """
        transfer = self._begin(ask)
        try:
            yield transfer
        except NotSentError:
            answer.is_unasked = True
        except UnfitPart:
            answer.is_anew = True
        except asyncio.CancelledError:
            if not transfer.is_own_cancel():
                raise
            answer.fault = transfer.verdict
            # An endpoint that is silent is asked for less.
            answer.is_host_fault = transfer.is_silent and not ask.is_final
        except Exception as exc:  # the edge: whatever it was, the visit goes on
            if note_failure is None:
                raise
            if not note_failure(answer, exc):
                logger.exception("Unexpected error on %(url)s", {"url": url})
        finally:
            self._open.discard(transfer)

    def _begin(self, ask: RequestOptions) -> WatchedTransfer:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("an exchange needs a task")
        now = self._loop.time()
        transfer = WatchedTransfer(task, now, ask.timeout_secs, ask.first_byte_secs)
        self._open.add(transfer)
        if self._timer is None:
            self._timer = self._loop.call_later(self._sweep_secs, self._sweep)
        return transfer

    def flowing(self) -> AbstractSet[object]:
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
            transfer.is_silent = not _flows(transfer)
            return Fault(Reason.TIMEOUT, f"not done after {secs:.0f} s")
        if not _flows(transfer):
            return self._judge_silence(transfer, now)
        return self._judge_rate(transfer, now)

    def _judge_silence(self, transfer: WatchedTransfer, now: float) -> Fault | None:
        secs = now - transfer.waits_since
        if secs < transfer.first_secs:
            return None
        transfer.is_silent = True
        return Fault(Reason.TIMEOUT, f"no answer after {secs:.0f} s")

    def _judge_rate(self, transfer: WatchedTransfer, now: float) -> Fault | None:
        """Judge what came in the last window: all of it, since the answer began.

        A server that was quick for a while may not rest on it for hours.
        """
        if transfer.mark is None:
            transfer.mark = now, transfer.n_bytes
            return None
        since, n_before = transfer.mark
        secs, n_bytes = now - since, transfer.n_bytes - n_before
        # A query may think before it gives its first row, too.
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
    """A client whose requests are watched; it is made in a running loop."""

    def __init__(self, options: FetchOptions) -> None:
        self._watch = TimeoutWatchdog(options)

    async def get(
        self, url: str, ask: RequestOptions, turn: SoloTurn = FREE
    ) -> HttpResponse:
        """See `HttpClient.get`."""
        raise NotImplementedError

    def flowing(self) -> AbstractSet[object]:
        """Return the tasks whose transfers make good progress."""
        return self._watch.flowing()

    async def close(self) -> None:
        """Stop watching."""
        self._watch.close()


def _flows(transfer: WatchedTransfer) -> bool:
    """Return whether the answer has begun."""
    return transfer.has_headers or transfer.n_bytes > 0
