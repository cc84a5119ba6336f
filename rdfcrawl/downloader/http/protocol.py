"""The protocol of one connection: reads the response to each request.

A response that arrives in one read, with a head in standard form, takes a short way;
any other passes through the states.

Any ambiguity between parsers closes the connection after the response: no rest of a
response can be taken for the next one (RFC 9112 11.2).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from enum import Enum, auto
from time import monotonic
from typing import Final, cast

from rdfcrawl.core.errors import Reason, SourceFault, one_line
from rdfcrawl.core.messages import counted
from rdfcrawl.downloader.http.bodies import (
    NO_BODY,
    ArrivedBody,
    ArrivingBody,
    BodyReader,
)
from rdfcrawl.downloader.http.parsing import (
    MAX_HEAD_BYTES,
    MAX_INTERIM,
    ChunkDecoder,
    ReceivedHead,
    check_begin,
    head_end,
    looks_chunked,
    parse_head,
    parse_plain_head,
)
from rdfcrawl.downloader.http.request_heads import HttpServer
from rdfcrawl.downloader.network_faults import BodyCut, ConnectionLost, caused
from rdfcrawl.downloader.watch import (
    CALL_EVENTS,
    CostlyResponse,
    EventBudget,
    ResponseCost,
    check_cost,
)


class _State(Enum):
    IDLE = auto()
    """No response is expected, or the last one is complete."""
    HEAD = auto()
    LENGTH = auto()
    """A body of known length."""
    CHUNKS = auto()
    TO_CLOSE = auto()
    """A body delimited by the end of the connection."""
    TRAILERS = auto()
    """The body is complete; its trailers are not."""
    CLOSED = auto()
    """The connection was closed before the response was complete."""


def _ignore(_is_full: bool) -> None:
    """Do nothing: no body is received."""


_NOTHING: Final = ArrivingBody(_ignore)


class ResponseProtocol(asyncio.Protocol):
    """One connection of the pool.

    Attributes:
        transport: None once closed.
        server: set when it is connected.
        address: of the server.
        idle_since: monotonic time.
        body: of the latest response.
    """

    server: HttpServer
    idle_since = 0.0

    def __init__(self, budget: EventBudget) -> None:
        self.transport: asyncio.Transport | None = None
        self.address = ""
        self.body: BodyReader = NO_BODY
        self._budget = budget
        self._loop = asyncio.get_running_loop()
        self._state = _State.IDLE
        self._may_keep = True  # after the latest response
        self._n_sent = 0  # requests
        self._is_begun = False  # a byte of the response has arrived
        self._cost = ResponseCost(budget)
        self._head: ReceivedHead | None = None
        self._waiter: asyncio.Future[ReceivedHead] = self._loop.create_future()
        self._head_bytes = bytearray()  # of an incomplete head
        self._n_head_bytes = self._n_interim = 0
        self._is_strict = True  # every parser reads the response in the same way
        self._arriving = _NOTHING
        self._chunks = ChunkDecoder()
        self._doubted = b""  # start of a body that may be chunked
        self._n_left = 0  # bytes of the body
        self._held: list[bytes] = []  # received while reading is paused
        self._timer: asyncio.TimerHandle | None = None
        self._is_full = self._is_paused = False

    # For the pool of connections.

    @property
    def should_close(self) -> bool:
        """Whether the connection cannot be reused."""
        return self._state is not _State.IDLE or not self._may_keep

    def become_idle(self) -> None:
        """Forget the latest response, and note the time."""
        self.idle_since = monotonic()
        self.forget_body()
        self._head = None
        self._waiter = self._loop.create_future()

    def forget_body(self) -> None:
        """Drop the latest body, which its consumer has left.

        It refers to this object: both would wait for the garbage collector, which
        comes rarely.
        """
        self.body = NO_BODY
        if self._arriving is not _NOTHING:
            self._arriving = ArrivingBody(_ignore)

    def is_connected(self) -> bool:
        """Return whether the connection is open."""
        return self.transport is not None and not self.transport.is_closing()

    def close(self) -> None:
        """Close the connection."""
        transport, self.transport = self.transport, None
        if transport is not None:
            transport.close()
        self._stop()

    def abort(self) -> None:
        """Close the connection without sending buffered data."""
        transport, self.transport = self.transport, None
        if transport is not None:
            transport.abort()
        self._stop()

    # For the sender of requests.

    @property
    def is_stale(self) -> bool:
        """Whether a kept connection ended before any byte of the response.

        Its server closed it while the request was in flight (RFC 9112 9.3.1).
        """
        return self._n_sent > 1 and not self._is_begun

    def send(self, request: bytes) -> asyncio.Future[ReceivedHead]:
        """Send a request; return the future of the head of the final response.

        Its exception is a `SourceFault` (`BAD_HTTP`: not a response), or a
        `ConnectionLost`. The body is in `body`.

        Raises:
            ConnectionLost: the connection is closed.
        """
        transport = self.transport
        self._n_sent += 1
        self._is_begun = False
        if transport is None or transport.is_closing():
            raise ConnectionLost("the connection was closed")
        self._state, self._may_keep, self._head = _State.HEAD, False, None
        if self._is_full:
            self._set_full(False)
        self._waiter = self._loop.create_future()
        transport.write(request)
        return self._waiter

    # For the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        self.transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername") or ("",)
        self.address = str(peer[0])

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        if self._state is _State.IDLE:
            self._may_keep = False  # belongs to no request
            self.abort()
            return
        n_bytes = len(data)
        if not self._is_begun:
            self._is_begun = True
            try:
                head = parse_plain_head(data)
            except SourceFault as fault:
                self._fail(fault)
                self.abort()
                return
            if head is not None and head.length == n_bytes - head.n_bytes:
                self._take(head, data[head.n_bytes :])
                return
            data = self._begin(head, data)
        self._cost.charge(CALL_EVENTS, n_bytes)
        if self._timer is not None:
            self._held.append(data)
            return
        self._feed(data)
        if secs := self._cost.wait_secs():
            self._rest(secs)

    def _take(self, head: ReceivedHead, body: bytes) -> None:
        """Take a response that has arrived at once."""
        self._state, self._may_keep = _State.IDLE, head.may_keep
        self._head, self.body = head, ArrivedBody(body)
        if not self._waiter.done():
            self._waiter.set_result(head)

    def _begin(self, head: ReceivedHead | None, data: bytes) -> bytes:
        """Begin to read a response; return the data after a known head."""
        self._cost = ResponseCost(self._budget)
        self._n_head_bytes = self._n_interim = 0
        self._is_strict = True
        if head is None:
            return data
        self._begin_body(head)
        return data[head.n_bytes :]

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self.transport = None
        self._stop_timer()
        self._feed(b"".join(self._held))
        # buffered data are read without limits
        self._cost = ResponseCost(EventBudget())
        while self._state is _State.CHUNKS and self._chunks.has_rest:
            n_before = self._chunks.n_wire
            self._feed(b"")
            if self._chunks.n_wire == n_before:
                break
        self._end(exc)

    def _end(self, exc: Exception | None) -> None:
        """Apply the end of the connection to the response."""
        if self._state is _State.CHUNKS and self._head and self._head.is_doubtful:
            self._arriving.feed(self._doubted)  # no complete line
            self._end_doubt(is_chunked=False)
        match self._state:
            case _State.IDLE:
                return
            case _State.TO_CLOSE if exc is None:
                self._finish()
            case _State.TRAILERS:
                self._finish()
            case _State.CLOSED:
                self._fail(ConnectionLost("the connection was closed"))
            case _State.HEAD:
                text = one_line(exc) if exc else "the server closed the connection"
                self._fail(caused(ConnectionLost(text), exc))
            case _State.LENGTH:
                text = f"{counted(self._n_left, 'byte')} of the body missing"
                self._fail(caused(BodyCut(text), exc))
            case _:
                text = one_line(exc) if exc else "the last chunk is missing"
                self._fail(caused(BodyCut(text), exc))
        self._may_keep = False

    def _feed(self, data: bytes) -> None:
        self._held.clear()
        try:
            if self._state is _State.HEAD:
                data = self._read_heads(data)
            match self._state:
                case _State.LENGTH:
                    self._read_length(data)
                case _State.CHUNKS | _State.TRAILERS:
                    self._read_chunks(data)
                case _State.TO_CLOSE:
                    self._arriving.feed(data)
        except SourceFault as fault:
            self._fail(fault)
            self.abort()

    def _read_heads(self, data: bytes) -> bytes:
        """Read heads up to the final one; return the rest of the data."""
        while data:
            kept = self._head_bytes
            if not kept and data[0] in b"\r\n":  # RFC 9112 2.2: before a message
                data = self._without_blank(data)
                continue
            if kept:
                start = max(0, len(kept) - 3)
                kept += data
                end = head_end(kept, start)
                data = bytes(kept) if end >= 0 else b""
            else:
                end = head_end(data)
                kept += data if end < 0 else b""
            if self._n_head_bytes + (end if end >= 0 else len(kept)) > MAX_HEAD_BYTES:
                raise CostlyResponse(Reason.BAD_HTTP, "headers without an end")
            if end < 0:
                check_begin(kept)
                break
            kept.clear()
            self._n_head_bytes += end
            head = parse_head(data[:end])
            data = data[end:]
            if not head.is_interim:
                self._begin_body(head)
                return data
            self._is_strict &= head.may_keep
            self._n_interim += 1
            if self._n_interim > MAX_INTERIM:
                text = f"over {MAX_INTERIM} interim responses"
                raise CostlyResponse(Reason.BAD_HTTP, text)
        return b""

    def _without_blank(self, data: bytes) -> bytes:
        stripped = data.lstrip(b"\r\n")
        self._n_head_bytes += len(data) - len(stripped)
        self._is_strict = False
        if self._n_head_bytes > MAX_HEAD_BYTES:
            raise CostlyResponse(Reason.BAD_HTTP, "nothing but empty lines")
        return stripped

    def _begin_body(self, head: ReceivedHead) -> None:
        self._head = head
        self.body = self._arriving = ArrivingBody(self._set_full)
        if head.length is not None:
            self._n_left = head.length
            self._state = _State.LENGTH
        elif head.is_chunked:
            self._chunks = ChunkDecoder()
            self._doubted = b""
            self._state = _State.CHUNKS
        else:
            self._state = _State.TO_CLOSE
        if not self._waiter.done():
            self._waiter.set_result(head)

    def _read_length(self, data: bytes) -> None:
        n_left = self._n_left
        self._arriving.feed(data[:n_left] if len(data) > n_left else data)
        self._n_left -= len(data)
        if self._n_left <= 0:
            self._is_strict &= not self._n_left
            self._finish()

    def _read_chunks(self, data: bytes) -> None:
        chunks, body = self._chunks, self._arriving
        if self._head is not None and self._head.is_doubtful:
            data = self._doubted + data
            is_chunked = looks_chunked(data)
            if is_chunked is None:
                self._doubted = data
                return
            self._end_doubt(is_chunked=is_chunked)
            if not is_chunked:
                body.feed(data)
                return
        n_before, most = chunks.n_chunks, self._cost.max_chunks()
        if most <= 0:
            chunks.add(data)
            self._rest(self._cost.wait_secs())
            return
        try:
            body.feed(chunks.decode(data, most))
        except SourceFault:
            body.feed(chunks.partial)
            if not chunks.is_complete:
                raise
            self._is_strict = False  # only the data after the body are wrong
            self._finish()
            return
        if chunks.is_complete:
            self._end_chunks()
            return
        check_cost(chunks.n_chunks, chunks.n_wire, body.total_bytes)
        self._cost.charge(chunks.n_chunks - n_before)
        if chunks.has_reached_limit:
            self._rest(self._cost.wait_secs())

    def _end_doubt(self, *, is_chunked: bool) -> None:
        """Read a body of HTTP/1.0 in chunks, or unchanged (see `parse_head`)."""
        self._doubted = b""
        if self._head is not None:
            self._head.is_doubtful = False
        if not is_chunked:
            self._state = _State.TO_CLOSE

    def _end_chunks(self) -> None:
        """End the body at its last chunk, even with invalid trailers."""
        chunks = self._chunks
        self._is_strict &= chunks.is_strict
        if chunks.is_done:
            self._is_strict &= not chunks.has_rest
            self._finish()
        elif self._state is _State.CHUNKS:
            self._state = _State.TRAILERS
            self._arriving.end()

    def _finish(self) -> None:
        """Note that the response is complete."""
        self._state = _State.IDLE
        is_strict = self._is_strict and not self._held
        self._may_keep = self._head is not None and self._head.may_keep and is_strict
        self._arriving.end()

    def _fail(self, error: Exception) -> None:
        """Note the error that ends the response."""
        if self._head is not None:
            self._arriving.fail(error)
        elif not self._waiter.done():
            self._waiter.set_exception(error)

    # Pausing and resuming.

    def _rest(self, secs: float) -> None:
        """Pause receiving, and then continue with buffered data."""
        if self._timer is None and self.transport is not None:
            self._timer = self._loop.call_later(secs, self._resume)
            self._set_reading()

    def _resume(self) -> None:
        self._timer = None
        self._feed(b"".join(self._held))
        self._set_reading()

    def _stop(self) -> None:
        """Stop reading a response."""
        if self._state is not _State.IDLE:
            self._state = _State.CLOSED
        self._stop_timer()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set_full(self, is_full: bool) -> None:
        self._is_full = is_full
        self._set_reading()

    def _set_reading(self) -> None:
        is_paused = self._is_full or self._timer is not None
        transport = self.transport
        if is_paused is self._is_paused or transport is None:
            return
        self._is_paused = is_paused
        # TLS keeps receiving up to a limit, and wakes up for each tiny record.
        limit = getattr(transport, "set_read_buffer_limits", None)
        with suppress(RuntimeError):  # already closing
            if limit is not None:
                limit(1 if self._timer is not None else None)
            (transport.pause_reading if is_paused else transport.resume_reading)()
