"""Nodes that speak another protocol than HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import socket

    from rdfcrawl.dataweb.nodes.accesslog import AccessLog


@runtime_checkable
class OwnProtocol(Protocol):
    """A node that does not speak HTTP, and serves itself."""

    def listen(self, listener: socket.socket, log: AccessLog) -> None:
        """Serve at a bound socket, in a separate thread."""

    def close(self) -> None:
        """Stop serving."""
