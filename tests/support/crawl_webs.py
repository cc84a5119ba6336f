"""Scripted servers for crawls, which are processes of their own."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final, Self, cast

from tests.conftest import RawServers

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tests.conftest import RawRequest, RawServer, Reply, Step

_LOOK_SECS: Final = 0.02


class Loopback:
    """Starts scripted servers in a thread: the crawls are other processes."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._servers = RawServers()
        self.response = RawServers.response
        self.redirect = RawServers.redirect

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._servers.stop(), self._loop).result(120)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(120)
        self._loop.close()

    def __call__(
        self,
        pages: Mapping[str, Reply] | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> RawServer:
        """Start a server; see the fixture `raw_server` for `pages`."""
        started = self._servers(pages, host=host, port=port, tls=tls)
        return asyncio.run_coroutine_threadsafe(started, self._loop).result(120)


class TreeWeb:
    """Hosts whose documents link to one another, as a tree, from one root.

    Document n links to 2n + 1 and 2n + 2 of its host; the root of each host links to
    the root of the next.

    Args:
        loopback: starts the servers.
        prefix: of their addresses.
        n_hosts: how many.
        n_docs: of each.
        secs: that each document takes.
        names: that the first of them go by instead of their addresses.

    Attributes:
        seed: the root.
        servers: of the hosts.
    """

    def __init__(
        self,
        loopback: Loopback,
        prefix: str,
        *,
        n_hosts: int,
        n_docs: int,
        secs: float,
        names: Sequence[str] = (),
    ) -> None:
        self._n_docs = n_docs
        self._truth: list[str] = []
        self._servers = [loopback(host=f"{prefix}.{n + 1}") for n in range(n_hosts)]
        for server, name in zip(self._servers, names, strict=False):
            server.host = name
        for server, other in zip(
            self._servers, [*self._servers[1:], self._servers[0]], strict=True
        ):
            for n in range(n_docs):
                children = [2 * n + 1, 2 * n + 2]
                links = [server.url(f"/{c}") for c in children if c < n_docs]
                links += [other.url("/0")] if n == 0 else []
                body = "".join(f"<> <urn:x:child> <{link}> .\n" for link in links)
                body += f'<> <urn:x:number> "{n}" .\n'
                self._truth.append(body.replace("<>", f"<{server.url(f'/{n}')}>"))
                server.pages[f"/{n}"] = [secs, loopback.response(body.encode())]
        self.servers: Sequence[RawServer] = self._servers
        self.seed = self._servers[0].url("/0")

    @property
    def documents(self) -> set[str]:
        """The URLs of all documents."""
        return {s.url(f"/{n}") for s in self._servers for n in range(self._n_docs)}

    def hold_after(self, n_asked: int) -> threading.Event:
        """Serve a number of documents, and others once the event is set."""
        may_go_on = threading.Event()

        def held(steps: Iterable[Step], _: RawRequest) -> Iterator[Step]:
            if self.asked().total() > n_asked:
                while not may_go_on.is_set():
                    yield _LOOK_SECS
            yield from steps

        for server in self._servers:
            for target, reply in server.pages.items():
                steps = cast("list[Step]", reply)
                server.pages[target] = partial(held, steps)
        return may_go_on

    def truth(self) -> list[str]:
        """Return the statements of the documents, as N-Triples."""
        return self._truth

    def asked(self) -> Counter[str]:
        """Return the number of requests for each document."""
        return Counter(
            server.url(target)
            for server in self._servers
            for target in server.targets
            if target != "/robots.txt"
        )

    def times(self) -> list[list[float]]:
        """Return the times of all requests of each host, in order."""
        return [[r.at for r in server.requests] for server in self._servers]
