"""The Lua operations, loaded from the package and run by their digest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import TYPE_CHECKING, Literal, cast, get_args

from redis.exceptions import NoScriptError

from rdfcrawl.frontier.redis.primaries import query_primaries

if TYPE_CHECKING:
    from redis.asyncio import Redis

    Argument = bytes | str | int

Operation = Literal[
    "add", "budget", "claim", "turn", "begin", "release", "ack", "renew", "reap",
    "down", "owed", "forgive", "retry", "ping", "pinged", "epochs", "contents",
    "robots", "bury",
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
    *("add", "budget", "retry", "ping", "contents", "robots", "import"),
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

    async def load(self) -> None:
        """Load all operations into the server, in one round trip."""
        await query_primaries(self._redis, self._load_on)

    async def _load_on(self, server: Redis) -> None:
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
        # Restarted servers have no scripts. Calls that succeeded must not be repeated.
        lacking = [i for i, x in enumerate(replies) if isinstance(x, NoScriptError)]
        if lacking:
            await self.load()
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
