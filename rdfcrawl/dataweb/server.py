"""The server: one event loop, one listening socket per node.

A node is found by the address of the socket, not by `HostServer`.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.messages import counted
from rdfcrawl.dataweb.config import ORCA_KINDS
from rdfcrawl.dataweb.nodes.accesslog import (
    AccessLog,
    LoggedRequest,
    WebLog,
    collect_log,
)
from rdfcrawl.dataweb.nodes.own_protocol import OwnProtocol
from rdfcrawl.dataweb.protocol import NodeProtocol
from rdfcrawl.dataweb.web import DataWeb, build_web, list_addresses

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rdfcrawl.dataweb.config import WebConfig
    from rdfcrawl.dataweb.evolution.clock import WebClock
    from rdfcrawl.dataweb.nodes.base import WebNode

BACKLOG = 128  # connections of one host that wait to be accepted
PORT_TRIES = 20


class HostServer:
    """One node at its address, served by this event loop."""

    def __init__(self, node: WebNode, log: AccessLog, *, latency_secs: float) -> None:
        self.node, self.log = node, log
        self._latency_secs = latency_secs
        self._server: asyncio.Server | None = None
        self._transports: set[asyncio.Transport] = set()

    async def start(self, listener: socket.socket) -> None:
        """Accept connections at a socket that is bound."""
        if isinstance(self.node, OwnProtocol):
            self.node.listen(listener, self.log)
            return
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            self._protocol, sock=listener, backlog=BACKLOG
        )

    async def stop(self) -> None:
        """Stop accepting, and close the connections."""
        if isinstance(self.node, OwnProtocol):
            self.node.close()
        if self._server is None:
            return
        self._server.close()
        for transport in list(self._transports):
            transport.abort()
        await self._server.wait_closed()

    def _protocol(self) -> NodeProtocol:
        return NodeProtocol(
            self.node,
            self.log,
            latency_secs=self._latency_secs,
            open_transports=self._transports,
        )


class ServedHere:
    """A web that this event loop serves."""

    def __init__(self, web: DataWeb) -> None:
        self.web = web
        latency_secs = web.config.latency_ms / 1000
        self._hosts = [
            HostServer(
                node,
                AccessLog(node, keeps_requests=node.plan.kind not in ORCA_KINDS),
                latency_secs=latency_secs,
            )
            for node in web.nodes
        ]

    def log(self) -> WebLog:
        """Return the present figures."""
        return collect_log(host.log for host in self._hosts)

    def requests(self, index: int) -> tuple[LoggedRequest, ...]:
        """Return the requests of one node; those of ORCA's kinds are not kept."""
        return self._hosts[index].log.requests

    async def start(self, sockets: list[socket.socket]) -> None:
        """Accept connections; one socket per node, in their order."""
        for host, listener in zip(self._hosts, sockets, strict=True):
            await host.start(listener)

    async def stop(self) -> None:
        """Stop accepting, and close the connections."""
        for host in self._hosts:
            await host.stop()


@asynccontextmanager
async def serve(
    config: WebConfig, clock: WebClock | None = None
) -> AsyncIterator[ServedHere]:
    """Serve a web in this event loop while the context is open.

    Args:
        config: of the web.
        clock: of the evolving nodes; None makes one.

    Raises:
        ConfigError: the port is taken, or the parameters do not fit together.
    """
    sockets, port = bind_sockets(list_addresses(config), config.port)
    try:
        served = ServedHere(build_web(replace(config, port=port), clock))
        await served.start(sockets)
    except BaseException:
        for one in sockets:
            one.close()
        raise
    try:
        yield served
    finally:
        await served.stop()


def bind_sockets(addresses: list[str], port: int) -> tuple[list[socket.socket], int]:
    """Bind the same port on every address; port 0 chooses one that is free on all.

    Raises:
        ConfigError: the port is in use.
    """
    for _ in range(PORT_TRIES):
        sockets: list[socket.socket] = []
        chosen = port
        try:
            for address in addresses:
                one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
                sockets.append(one)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                one.setblocking(False)
                one.bind((address, chosen))
                chosen = one.getsockname()[1]
        except OSError as error:
            for one in sockets:
                one.close()
            if port:
                raise ConfigError(
                    f"cannot listen on {address}:{port}: {error.strerror}"
                ) from error
        else:
            return sockets, chosen
    hosts = counted(len(addresses), "address", "addresses")
    raise ConfigError(f"no port is free on all of {hosts}")
