"""The servers behind a client: one, or the primaries of a cluster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from redis.asyncio import Redis

Answer = TypeVar("Answer")


class NodeAddress(NamedTuple):
    """Where a node listens."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return `host:port`."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionHooks:
    """Functions of those who watch the servers."""

    # prepares a new connection to a node, which is empty for a server that goes by one
    # address, before its first command
    on_connect: Callable[[str, Any], Awaitable[None]]
    # called with the names of a cluster's primaries when these have changed
    on_primaries: Callable[[frozenset[str]], None]


class ManyPrimaries(Redis):
    """A client of several servers, each of which has a part of the keys."""

    async def primaries(self) -> dict[str, Redis]:
        """Return a client for each server, by its name, `host:port`."""
        raise NotImplementedError

    async def ask_all(
        self, ask: Callable[[Redis], Awaitable[Answer]]
    ) -> dict[str, Answer]:
        """Return what each server answers, by its name."""
        raise NotImplementedError

    async def reconnect(self) -> None:
        """Close idle connections, and find the servers again."""
        raise NotImplementedError


async def ask_primaries(
    client: Redis, ask: Callable[[Redis], Awaitable[Answer]]
) -> dict[str, Answer]:
    """Return what each primary answers, by its name; a single server has none."""
    if isinstance(client, ManyPrimaries):
        return await client.ask_all(ask)
    return {"": await ask(client)}
