"""Limits on the cost of connections that bring little.

The unit is an event: a chunk of a body is one, a call of the event loop with received
bytes is several. A server that sends one byte per event costs as much time as one that
sends a page per event.
"""

from __future__ import annotations

import time
from random import random
from typing import Final

from rdfcrawl.core.errors import Reason, SourceFault

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
