"""Connections that report their bytes to a listener; for web archives."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any, Final, Protocol

from aiohttp import ClientRequest, ClientTimeout
from aiohttp.connector import Connection
from aiohttp.tracing import Trace

from rdfcrawl.downloader.http.connector import TurnConnector
from rdfcrawl.downloader.http.protocol import ResponseProtocol
from rdfcrawl.downloader.watch import EventBudget


class WireListener(Protocol):
    """Receives the bytes of one request and its response.

    Attributes:
        address: of the server.
        keeps_all: the listener keeps the entire response.
    """

    address: str
    keeps_all: bool

    def send(self, content: bytes) -> None:
        """Receive bytes that were sent."""

    def receive(self, content: bytes) -> None:
        """Receive bytes that were received."""


# The listener of the current task's request.
listening: Final[ContextVar[WireListener | None]] = ContextVar(
    "listening", default=None
)


class RecordingConnector(TurnConnector):
    """A connector whose connections report their bytes."""

    async def connect(
        self,
        req: ClientRequest,
        traces: list[Trace],
        timeout: ClientTimeout,  # noqa: ASYNC109  (aiohttp's)
    ) -> Connection:
        """See `TurnConnector.connect`; the request is written next."""
        connection = await super().connect(req, traces, timeout)
        protocol: Any = connection.protocol
        if isinstance(protocol, RecordingProtocol):
            protocol.listen(listening.get())
        return connection


class RecordingProtocol(ResponseProtocol):
    """The protocol of one connection, which reports sent and received bytes."""

    def __init__(self, budget: EventBudget) -> None:
        super().__init__(budget)
        self._listener: WireListener | None = None

    def listen(self, listener: WireListener | None) -> None:
        """Report to another listener: the next request begins."""
        self._listener = listener
        if listener is not None and self.transport is not None:
            peer = self.transport.get_extra_info("peername") or ("",)
            listener.address = str(peer[0])

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `ResponseProtocol`."""
        wrapped: Any = _ReportingTransport(transport, self)
        super().connection_made(wrapped)

    def data_received(self, data: bytes) -> None:
        """See `ResponseProtocol`."""
        if self._listener is not None and data:
            self._listener.receive(data)
        super().data_received(data)

    def report_sent(self, content: bytes) -> None:
        """Report sent bytes."""
        if self._listener is not None:
            self._listener.send(content)


class _ReportingTransport:
    """A transport that reports written bytes to its protocol."""

    def __init__(self, transport: Any, handler: RecordingProtocol) -> None:
        self._transport, self._handler = transport, handler

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        self._handler.report_sent(data)
        self._transport.write(data)

    def writelines(self, parts: Iterable[bytes]) -> None:
        self.write(b"".join(parts))
