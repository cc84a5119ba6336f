"""HTTP/1.1 on one connection: responses go out in the order of the requests.

Everything a client sends has a bound; a connection whose client does not read, or
whose answer is held back, is not read from either.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, cast

from rdfcrawl.dataweb.messages import NodeRequest, NodeResponse

if TYPE_CHECKING:
    from rdfcrawl.dataweb.nodes.accesslog import AccessLog
    from rdfcrawl.dataweb.nodes.base import WebNode

MAX_HEAD_BYTES = 16 * 1024
MAX_BODY_BYTES = 256 * 1024

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class _Refusal(Exception):
    """The bytes are no request that this server takes; the connection ends."""

    def __init__(
        self, status: int, *, headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        super().__init__(status)
        self.response = NodeResponse(
            status, headers=(*headers, ("Connection", "close"))
        )


class _Head:
    """Request line and header fields."""

    __slots__ = ("fields", "method", "target", "version")

    def __init__(self, head: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        parts = first.split(" ")
        if len(parts) != 3 or parts[2] not in ("HTTP/1.1", "HTTP/1.0"):
            raise _Refusal(400)
        self.method, self.target, self.version = parts
        if self.target.startswith("http://"):  # absolute form, RFC 9112 3.2.2
            self.target = "/" + self.target[7:].partition("/")[2]
        if not self.target.startswith("/"):
            raise _Refusal(400)
        self.fields: dict[str, str] = {}
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon or not name or name[-1] in " \t":  # RFC 9112 5.1
                raise _Refusal(400)
            name, value = name.lower(), value.strip(" \t")
            known = self.fields.get(name)
            self.fields[name] = value if known is None else f"{known}, {value}"

    @property
    def keeps_alive(self) -> bool:
        """Whether another request may follow on the connection."""
        connection = self.fields.get("connection", "").lower()
        if self.version == "HTTP/1.0":
            return False
        return "close" not in connection

    def content_length(self) -> int:
        """Return the length of the body; raise unless it is one decimal number."""
        if self.method not in ("GET", "HEAD", "POST"):
            raise _Refusal(405, headers=(("Allow", "GET, HEAD, POST"),))
        if "transfer-encoding" in self.fields:
            raise _Refusal(411)
        text = self.fields.get("content-length", "0")
        if not (text.isascii() and text.isdigit()):
            raise _Refusal(400)
        if len(text) > 9 or int(text) > MAX_BODY_BYTES:
            raise _Refusal(413)
        return int(text)


class NodeProtocol(asyncio.Protocol):
    """One connection to one node."""

    def __init__(
        self,
        node: WebNode,
        log: AccessLog,
        *,
        latency_secs: float,
        open_transports: set[asyncio.Transport],
    ) -> None:
        self._node, self._log, self._latency_secs = node, log, latency_secs
        self._open_transports = open_transports
        self._loop = asyncio.get_running_loop()
        self._buffer = b""
        self._head: _Head | None = None  # read, its body is still to come
        self._n_body = 0
        self._timer: asyncio.TimerHandle | None = None  # a response is delayed
        self._held: tuple[NodeResponse, bool] | None = None
        self._is_paused = False  # the client does not read
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)
        self._open_transports.add(self._transport)
        self._log.connection_opened()

    def connection_lost(self, exc: Exception | None) -> None:
        """End; a request that is held back counts as ended."""
        del exc
        if self._transport is not None:
            self._open_transports.discard(self._transport)
            self._transport = None
        self._log.connection_closed()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._held is not None:
            response, is_first = self._held
            self._held = None
            self._log.request_ended(response.status, 0, is_first=is_first)

    def data_received(self, data: bytes) -> None:
        """Receive bytes, and respond to every complete request."""
        self._buffer = self._buffer + data if self._buffer else data
        self._advance()

    def pause_writing(self) -> None:
        """Stop responding: the client does not read."""
        self._is_paused = True
        self._limit_reading()

    def resume_writing(self) -> None:
        """Go on with the requests that wait."""
        self._is_paused = False
        self._advance()

    def _advance(self) -> None:
        try:
            while self._may_answer():
                request_head = self._next_request()
                if request_head is None:
                    break
                self._handle(*request_head)
        except _Refusal as refusal:
            self._log.request_refused()
            self._close_with(refusal.response)
        self._limit_reading()

    def _may_answer(self) -> bool:
        transport = self._transport
        if transport is None or transport.is_closing():
            return False
        return not self._is_paused and self._timer is None

    def _limit_reading(self) -> None:
        """Stop reading while pipelined requests wait for earlier responses."""
        if self._transport is None or self._transport.is_closing():
            return
        is_waiting = self._is_paused or self._timer is not None
        if is_waiting and len(self._buffer) > MAX_BODY_BYTES:
            self._transport.pause_reading()
        elif not self._transport.is_reading():
            self._transport.resume_reading()

    def _next_request(self) -> tuple[NodeRequest, _Head] | None:
        """Cut the next complete request off the buffer."""
        if self._head is None and not self._read_head():
            return None
        head = self._head
        if head is None or len(self._buffer) < self._n_body:
            return None
        body, self._buffer = self._buffer[: self._n_body], self._buffer[self._n_body :]
        self._head = None
        request = NodeRequest(
            head.method,
            head.target,
            head.fields.get("accept", ""),
            head.fields.get("content-type", ""),
            body,
            head.fields,
        )
        return request, head

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end > MAX_HEAD_BYTES or (end < 0 and len(self._buffer) > MAX_HEAD_BYTES):
            raise _Refusal(431)
        if end < 0:
            return False
        self._head = _Head(self._buffer[:end])
        self._n_body = self._head.content_length()
        self._buffer = self._buffer[end + 4 :]
        if self._n_body and self._transport and "expect" in self._head.fields:
            self._transport.write(_CONTINUE)
        return True

    def _handle(self, request: NodeRequest, head: _Head) -> None:
        now = time.monotonic()  # the loop's own clock counts milliseconds
        agent = head.fields.get("user-agent", "")
        is_first = self._log.request_started(request, agent, now)
        response = self._node.respond(request)
        self._held = (response, is_first)
        if not self._latency_secs:
            self._send(request, head)
            return
        self._timer = self._loop.call_later(
            self._latency_secs, self._send_late, request, head
        )

    def _send_late(self, request: NodeRequest, head: _Head) -> None:
        self._timer = None
        self._send(request, head)
        self._advance()

    def _send(self, request: NodeRequest, head: _Head) -> None:
        if self._held is None or self._transport is None:
            return
        response, is_first = self._held
        self._held = None
        lines = response.head
        if not head.keeps_alive:
            lines = lines[:-2] + b"Connection: close\r\n\r\n"
        body = b"" if request.method == "HEAD" else response.body
        n_bytes = len(lines) + len(body)
        # Before it is sent: a client with a response finds the request in the log.
        self._log.request_ended(response.status, n_bytes, is_first=is_first)
        self._log.keep(request, response.status, n_bytes)
        self._transport.write(lines + body)
        if not head.keeps_alive:
            self._transport.close()
            self._buffer = b""

    def _close_with(self, response: NodeResponse) -> None:
        if self._transport is not None:
            self._transport.write(response.head)
            self._transport.close()
        self._buffer = b""
