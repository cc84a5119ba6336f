"""Resolve host names, many at a time."""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Final

from aiohttp.abc import AbstractResolver, ResolveResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Tell = Callable[[str, Sequence[str]], None]

MAX_LOOKUPS: Final = 64  # at once; threads are made as they are needed


class NameResolver(AbstractResolver):
    """The system's resolver in threads of its own.

    The event loop's have room for a handful of lookups (libuv: 4): a few dead name
    servers would make all other names time out.

    Args:
        tell: called with each name that has addresses, and with these.
    """

    def __init__(self, tell: Tell | None = None) -> None:
        self._tell = tell
        self._threads = ThreadPoolExecutor(MAX_LOOKUPS, thread_name_prefix="names")

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,
    ) -> list[ResolveResult]:
        """Return the addresses of `host`, in the system's order.

        Raises:
            OSError: there is no such name.
            UnicodeError: `host` cannot be a name.
        """
        lookup = partial(
            socket.getaddrinfo,
            host,
            port,
            family=family,
            type=socket.SOCK_STREAM,
            flags=socket.AI_ADDRCONFIG,
        )
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, lookup)
        if self._tell is not None and found:
            self._tell(host, [str(row[4][0]) for row in found])
        return [
            resolved(host, str(address[0]), int(address[1]), address_family, proto)
            for address_family, _, proto, _, address in found
        ]

    async def close(self) -> None:
        """Let each thread end after its lookup."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def resolved(
    host: str, address: str, port: int, family: int, proto: int = 0
) -> ResolveResult:
    """Return one address of a host as aiohttp takes it."""
    return ResolveResult(
        hostname=host,
        host=address,
        port=port,
        family=family,
        proto=proto,
        flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
    )
