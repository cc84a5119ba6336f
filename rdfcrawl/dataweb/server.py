"""The server: one event loop, one listening socket per node.

A node is found by the address of the socket, not by `Host`.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from rdfcrawl.dataweb.accesslog import AccessLog, WebLog, collect_log
from rdfcrawl.dataweb.protocol import NodeProtocol
from rdfcrawl.dataweb.web import DataWeb, build_web, list_addresses
from rdfcrawl.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rdfcrawl.dataweb.config import WebConfig
    from rdfcrawl.dataweb.nodes.base import Node

BACKLOG = 128  # connections of one host that wait to be accepted
PORT_TRIES = 20


class ServedHere:
    """A web that this event loop serves."""

    def __init__(self, web: DataWeb) -> None:
        self.web = web
        self._logs = [AccessLog(node) for node in web.nodes]
        self._servers: list[asyncio.Server] = []
        self._transports: set[asyncio.Transport] = set()
        self._latency_secs = web.config.latency_ms / 1000

    def log(self) -> WebLog:
        """Give the figures as they are now."""
        return collect_log(self._logs)

    async def start(self, sockets: list[socket.socket]) -> None:
        """Accept connections; one socket per node, in their order."""
        loop = asyncio.get_running_loop()
        for node, log, listener in zip(
            self.web.nodes, self._logs, sockets, strict=True
        ):

            def protocol(node: Node = node, log: AccessLog = log) -> NodeProtocol:
                return NodeProtocol(
                    node,
                    log,
                    latency_secs=self._latency_secs,
                    open_transports=self._transports,
                )

            self._servers.append(
                await loop.create_server(protocol, sock=listener, backlog=BACKLOG)
            )

    async def stop(self) -> None:
        """Accept no more and cut the connections."""
        for server in self._servers:
            server.close()
        for transport in list(self._transports):
            transport.abort()
        for server in self._servers:
            await server.wait_closed()


@asynccontextmanager
async def serve(config: WebConfig) -> AsyncIterator[ServedHere]:
    """Serve a web in this event loop while the context is open.

    Raises:
        ConfigError: the port is taken, or the parameters do not fit together.
    """
    sockets, port = bind_sockets(list_addresses(config), config.port)
    try:
        served = ServedHere(build_web(replace(config, port=port)))
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
    raise ConfigError(f"no port is free on all of {len(addresses)} addresses")
