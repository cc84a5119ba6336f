"""The servers behind a client: one, or the primaries of a cluster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from redis.asyncio import Redis

Reply = TypeVar("Reply")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionHooks:
    """Callbacks for changes of the servers."""

    # prepares a new connection before its first command; the name of the node is empty
    # for a server with a single address
    on_connect: Callable[[str, Any], Awaitable[None]]
    # called with the names of a cluster's primaries when they change
    on_primaries: Callable[[frozenset[str]], None]


class ManyPrimaries(Redis):
    """A client of several servers, each of which holds a part of the keys."""

    async def primaries(self) -> dict[str, Redis]:
        """Return a client for each server, by its name, `host:port`."""
        raise NotImplementedError

    async def query_all(
        self, query: Callable[[Redis], Awaitable[Reply]]
    ) -> dict[str, Reply]:
        """Return the reply of each server, by its name."""
        raise NotImplementedError

    async def reconnect(self) -> None:
        """Close idle connections, and refresh the servers."""
        raise NotImplementedError


async def query_primaries(
    client: Redis, query: Callable[[Redis], Awaitable[Reply]]
) -> dict[str, Reply]:
    """Return the reply of each primary by its name; a single server has none."""
    if isinstance(client, ManyPrimaries):
        return await client.query_all(query)
    return {"": await query(client)}
