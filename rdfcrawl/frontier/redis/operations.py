"""Lua operations and queries, on each server of a crawl."""

from __future__ import annotations

import re
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Sequence,
)
from dataclasses import dataclass
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import Any, Final, Literal, TypeVar, cast, get_args

from redis.asyncio import Redis
from redis.exceptions import NoScriptError

Argument = bytes | str | int


Reply = TypeVar("Reply")
T = TypeVar("T")


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


Operation = Literal[
    "add", "budget", "claim", "turn", "begin", "release", "ack", "renew", "reap",
    "down", "owed", "forgive", "retry", "ping", "pinged", "epochs", "contents",
    "robots", "bury", "extend",
]  # fmt: skip
OPERATIONS: tuple[Operation, ...] = get_args(Operation)
# Operations of operators (`rdfcrawl.monitor.operating`); workers do not load them.
OperatorOperation = Literal[
    "host", "steer", "inspect", "mend", "discard", "locate", "import"
]  # fmt: skip
OPERATOR_OPERATIONS: tuple[OperatorOperation, ...] = get_args(OperatorOperation)
AnyOperation = Operation | OperatorOperation
# Shared files of each operation, besides the prelude.
_SHARED: dict[AnyOperation, tuple[str, ...]] = {
    "add": ("seen", "over", "schedule"),
    "budget": ("seen", "over"),
    "claim": ("links",),
    "extend": ("links",),
    "turn": ("seen",),
    "release": ("schedule",),
    "ack": ("seen", "schedule"),
    "reap": ("schedule",),
    "retry": ("schedule",),
    "epochs": ("schedule",),
    "host": ("seen",),
    "steer": ("schedule",),
    "inspect": ("seen", "schedule", "sound"),
    "mend": ("seen", "schedule", "sound"),
    "locate": ("seen",),
}
# Redis 7 refuses writing scripts at maxmemory unless they declare this; 6.2 does not
# know the line, and there `claim` frees memory before it adds.
_ALLOW_OOM = "#!lua flags=allow-oom\n"
_MAY_RUN_FULL: frozenset[AnyOperation]
_MAY_RUN_FULL = frozenset((*OPERATIONS, *OPERATOR_OPERATIONS)) - {
    *("add", "budget", "retry", "ping", "contents", "robots", "import")
}
# In Lua: start of a definition, a comment, a name.
_DEFINITION = re.compile(r"^(?=local )", re.MULTILINE)
_COMMENT = re.compile(r" *--.*")
_NAME = re.compile(r"\w+")


class LuaScripts:
    """The operations on one Redis server."""

    def __init__(self, redis: Redis, *, version: tuple[int, ...]) -> None:
        self._redis = redis
        self._has_flags = version >= (7,)
        self._sources: dict[AnyOperation, str] = {}
        self._digests: dict[AnyOperation, str] = {}
        for name in OPERATIONS:
            self._read(name)

    def _read(self, name: AnyOperation) -> None:
        flags = _ALLOW_OOM if self._has_flags and name in _MAY_RUN_FULL else ""
        source = self._sources[name] = flags + script_source(name)
        digest = sha1(source.encode(), usedforsecurity=False)
        self._digests[name] = digest.hexdigest()

    async def _load_on(self, server: Redis) -> None:
        """Load all operations, in one round trip; Redis 6.2 logs each on its disk."""
        pipe = server.pipeline(transaction=False)
        for source in self._sources.values():
            pipe.script_load(source)
        await pipe.execute()

    async def run(
        self, name: AnyOperation, calls: Iterable[tuple[str, Sequence[Argument]]]
    ) -> list[object]:
        """Return the raw replies of one operation on several partitions.

        Args:
            name: the operation.
            calls: prefix of the partition, and arguments; each call is one script run.

        Raises:
            RedisError: a call failed; others of the same round trip may have succeeded.
        """
        calls = list(calls)
        if name not in self._sources:
            self._read(name)
        replies = await self._send(name, calls)
        # New and restarted servers have no scripts. Calls that succeeded must not
        # be repeated.
        lacking = [i for i, x in enumerate(replies) if isinstance(x, NoScriptError)]
        if lacking:
            await query_primaries(self._redis, self._load_on)
            again = await self._send(name, [calls[i] for i in lacking])
            for i, reply in zip(lacking, again, strict=True):
                replies[i] = reply
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
        return replies

    async def _send(
        self, name: AnyOperation, calls: Sequence[tuple[str, Sequence[Argument]]]
    ) -> list[object]:
        """Return replies, including errors."""
        pipe = self._redis.pipeline(transaction=False)
        digest = self._digests[name]
        for prefix, arguments in calls:
            pipe.evalsha(digest, 1, prefix, *cast("Sequence[str]", arguments))
        return await pipe.execute(raise_on_error=False)


@cache  # a process may have several frontiers
def script_source(name: AnyOperation) -> str:
    """Return the source of an operation, with the functions it uses of shared files."""
    folder = files("rdfcrawl.frontier") / "lua"
    parts = ("prelude", *_SHARED.get(name, ()), name)
    *shared, own = [(folder / f"{part}.lua").read_text() for part in parts]
    return _needed("".join(shared), own) + own


def _needed(shared: str, own: str) -> str:
    """Return shared source without the functions that an operation does not use.

    Redis creates all functions of a script in each run, 30 to 50 ns each. Shared source
    consists of definitions; each starts at a line with `local`.
    """
    kept: list[str] = []
    names = set(_NAME.findall(_COMMENT.sub("", own)))
    for definition in reversed(_DEFINITION.split(_COMMENT.sub("", shared))):
        defined, _, _ = definition.removeprefix("local function ").partition("(")
        if definition.startswith("local function ") and defined not in names:
            continue
        kept.append(definition)
        names.update(_NAME.findall(definition))
    return "".join(reversed(kept))


def millisecs(secs: float) -> int:
    """Return an integer number of milliseconds, for scripts."""
    return round(secs * 1000)


_AT_ONCE: Final = 1000


async def delete_keys(
    redis: Redis, crawl_id: str, *, but: Collection[str] = ()
) -> None:
    """Delete all keys of a crawl, those of its partitions first.

    Args:
        redis: the client.
        crawl_id: name of the crawl.
        but: names of keys to keep.
    """
    kept = {name.encode() for name in but}
    # Crawl names contain no "/", so this never matches partitions of other crawls.
    for pattern in (f"rc:{{{crawl_id}/*}}:*", f"rc:{{{crawl_id}}}:*"):
        doomed: list[bytes] = []
        async for name in redis.scan_iter(match=pattern, count=_AT_ONCE):
            if name not in kept:
                doomed.append(name)
            if len(doomed) >= _AT_ONCE:
                await redis.unlink(*doomed)
                doomed.clear()
        if doomed:
            await redis.unlink(*doomed)
