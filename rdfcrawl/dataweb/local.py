"""Nodes in a thread of this process, for tests that inspect and change nodes."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, Self, TypeVar

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.dataweb.config import WebConfig
from rdfcrawl.dataweb.nodes.accesslog import (
    AccessLog,
    HostLog,
    LoggedRequest,
    WebLog,
    collect_log,
)
from rdfcrawl.dataweb.nodes.base import NodePlan, WebNode, origin_of
from rdfcrawl.dataweb.server import HostServer, bind_sockets
from rdfcrawl.dataweb.web import list_addresses

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from rdfcrawl.dataweb.nodes.site import SiteOptions

N = TypeVar("N", bound=WebNode)
ANSWER_SECS = 30.0


class LocalWeb:
    """Serves nodes that are started separately, each with its own address.

    A context manager; at its end the hosts are gone. Nodes may be changed while they
    are served.

    Args:
        first_address: loopback address of the first node; the others follow it.
        n_hosts: maximum number of nodes; their addresses are bound immediately.
        port: the same for all; 0 chooses one that is free on all.
        latency_ms: delay of every response.

    Raises:
        ConfigError: the port is in use.
    """

    def __init__(
        self,
        *,
        first_address: str = "127.90.0.1",
        n_hosts: int = 8,
        port: int = 0,
        latency_ms: float = 0.0,
    ) -> None:
        config = WebConfig(
            n_nodes=max(n_hosts, 5), degree=2, port=port, first_address=first_address
        )
        self._addresses = list_addresses(config)[:n_hosts]
        self._sockets, self.port = bind_sockets(self._addresses, port)
        self._latency_secs = latency_ms / 1000
        self._hosts: list[HostServer] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for host in self._hosts:
            self._run(host.stop())
        self._run(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(ANSWER_SECS)
        self._loop.close()
        for one in self._sockets[len(self._hosts) :]:
            one.close()

    def origins(self, count: int = 1) -> tuple[str, ...]:
        """Return the origins that the next nodes will have, in their order."""
        first = len(self._hosts)
        addresses = self._addresses[first : first + count]
        return tuple(origin_of(one, self.port) for one in addresses)

    def start(self, options: SiteOptions[N], *, links: tuple[str, ...] = ()) -> N:
        """Start a node and return it: it accepts connections.

        Args:
            options: of the node.
            links: IRIs that its data name, as those of other nodes.

        Raises:
            ConfigError: there is no address left, or the options do not fit.
        """
        index = len(self._hosts)
        if index == len(self._addresses):
            raise ConfigError(f"n_hosts is {index}: no address is left")
        address = self._addresses[index]
        plan = NodePlan(
            index=index,
            kind=options.kind,
            address=address,
            port=self.port,
            access_uri=options.access_uri(origin_of(address, self.port)),
            links=links,
        )
        node = options.build(plan)
        log = AccessLog(node, keeps_requests=True)
        host = HostServer(node, log, latency_secs=self._latency_secs)
        self._run(host.start(self._sockets[index]))
        self._hosts.append(host)
        return node

    def requests(self, node: WebNode) -> tuple[LoggedRequest, ...]:
        """Return the requests of a node since its start, or since `forget`."""
        return self._hosts[node.plan.index].log.requests

    def targets(self, node: WebNode) -> list[str]:
        """Return the requested targets, with repeats, in order."""
        return [one.target for one in self.requests(node)]

    def forget(self) -> None:
        """Drop the requests of all nodes so far."""
        for host in self._hosts:
            host.log.forget()

    def log(self) -> WebLog:
        """Return the figures of all nodes since their start."""
        return collect_log(host.log for host in self._hosts)

    def figures(self, node: WebNode) -> HostLog:
        """Return the figures of one node since its start."""
        return self._hosts[node.plan.index].log.figures()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(ANSWER_SECS)
