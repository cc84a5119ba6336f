"""Connections that report their bytes to a listener; for web archives."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Final, Protocol

from rdfcrawl.downloader.http.parsing import ReceivedHead
from rdfcrawl.downloader.http.protocol import ResponseProtocol


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


class RecordingProtocol(ResponseProtocol):
    """The protocol of one connection, which reports sent and received bytes."""

    _listener: WireListener | None = None

    def send(self, request: bytes) -> asyncio.Future[ReceivedHead]:
        """See `ResponseProtocol`; the listener is that of the current task."""
        sent = super().send(request)
        self._listener = listening.get()
        if self._listener is not None:
            self._listener.address = self.address
            self._listener.send(request)
        return sent

    def data_received(self, data: bytes) -> None:
        """See `ResponseProtocol`."""
        if self._listener is not None and data:
            self._listener.receive(data)
        super().data_received(data)
