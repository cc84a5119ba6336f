"""Check the server and the crawl on each new connection.

Redis may come back empty, outdated or as another server, and its reply to the next
command must not be mistaken for the state of the crawl. So each new connection first
checks which server this is and whether the crawl exists.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast

from redis.asyncio import Connection, Redis
from redis.exceptions import AskError, ReadOnlyError, RedisError, ResponseError

from rdfcrawl.core import __version__
from rdfcrawl.core.errors import ConfigError, CrawlGone
from rdfcrawl.core.messages import counted
from rdfcrawl.frontier.redis.operations import ManyPrimaries, query_primaries

logger = logging.getLogger(__name__)

INCARNATION: Final = "incarnation"  # field of the crawl's `conf`

# Workers of several package versions share a crawl if these have the same `SCHEMA`.
# Raise it with each change of keys or values that other versions would misread.
SCHEMA: Final = 3
IMPORTING: Final = 0
"""Schema of a crawl whose import is incomplete; see `lua/import.lua`."""
VERSION: Final = "version"
"""Field of the crawl's settings: the package version that created it."""
_MAX_SHOWN: Final = 40  # characters of a foreign value in a message
_LEAST_BYTES: Final = 1000  # a new server has less
MARK: Final = "in"  # field of a partition's counters


class CrawlGoneError(CrawlGone, RedisError):
    """Error of a command when the crawl no longer exists; see `CrawlGone`."""


@dataclass(slots=True)
class _SeenServer:
    """The last known state of one server.

    Attributes:
        identity: its `run_id` and `master_replid`; the latter changes when it was a
            replica.
        n_evicted: number of evicted keys.
        cannot_write: its append-only file cannot be written, as a disk is full.
    """

    identity: tuple[str, str] = ("", "")
    n_evicted: int | None = None
    cannot_write: bool = False


class ServerState:
    """One worker's view of the Redis servers of its crawl."""

    def __init__(self, where: str) -> None:
        # number of restarts and replacements of servers, each of which may have lost
        # the latest writes
        self.n_restores = 0
        # an append-only file may be torn in the middle, as writing it has failed
        self.has_torn_log = False
        self._where = where
        self._crawl_id = ""
        self._conf = ""
        self._cleared = ""
        self._incarnation = b""
        # by name; a single server has the empty name
        self._servers: dict[str, _SeenServer] = {}
        self._primaries: frozenset[str] = frozenset()
        self._warned: set[str] = set()

    def join(self, crawl_id: str, *, conf: str, cleared: str, mark: bytes) -> None:
        """Check for this crawl on each new connection from now on."""
        self._crawl_id, self._conf, self._cleared = crawl_id, conf, cleared
        self._incarnation = mark

    def leave(self) -> None:
        """Stop checking for a crawl."""
        self._incarnation = b""

    def check(self, found: bytes | None, cleared: bytes | None) -> None:
        """Check the found incarnation, and the last cleared one.

        Raises:
            CrawlGone: the crawl no longer exists.
        """
        mine = self._incarnation
        if not mine or found == mine or (found is None and cleared == mine):
            return
        name = f"crawl {self._crawl_id}"
        if found is not None:
            text = f"{name} was restarted in {self._where} by another operator"
        else:
            text = (
                f"{name} is no longer in {self._where}: Redis was restarted without "
                "its data, or flushed"
            )
        raise CrawlGoneError(
            f"{text}; the worker stops. The same command, with its seeds, restarts it"
        )

    def check_partition(self, number: int, found: bytes | None) -> None:
        """Check the incarnation found in a partition of an existing crawl.

        Raises:
            CrawlGone: the node of the partition has lost it.
        """
        if self._incarnation and found != self._incarnation:
            raise CrawlGoneError(
                f"partition {number} of crawl {self._crawl_id} is no longer in "
                f"{self._where}: its node was restarted without its data, or flushed; "
                "the worker stops. Restore the data, or restart the crawl: -a fresh=1"
            )

    async def on_connect(self, name: str, connection: Connection) -> None:
        """Check a new connection; redis-py calls this before the first command.

        Args:
            name: of the server if there are several, else empty.
            connection: the connection.

        Raises:
            CrawlGone, RedisError: the crawl no longer exists, or this cannot be
                checked.
        """
        await connection.on_connect()
        mine = self._incarnation
        send = partial(connection.send_command, check_health=False)
        await send("INFO")
        if mine:
            await send("HGET", self._conf, INCARNATION)
            await send("GET", self._cleared)
        fields = _fields(await connection.read_response())
        if mine:
            found = await _read(connection)
            cleared = await _read(connection)
            self._check_role(fields, name)
            if not isinstance(found, AskError):
                self.check(found, None if isinstance(cleared, AskError) else cleared)
        self.note(fields, name)

    async def look(self, redis: Redis) -> None:
        """Check the servers again, whose settings may have changed."""
        infos = await query_primaries(redis, lambda server: server.info())
        for name, found in infos.items():
            self.note({field: str(value) for field, value in found.items()}, name)

    def note_primaries(self, names: frozenset[str]) -> None:
        """Record the current primaries of a cluster."""
        if self._primaries:
            self._restore("the primaries of the cluster have changed")
        self._primaries = names
        for name in self._servers.keys() - names:
            del self._servers[name]

    def note(self, fields: Mapping[str, str], name: str = "") -> None:
        """Record the fields of `INFO`; warn about risks for the crawl."""
        where = f"{self._where}, node {name}" if name else self._where
        is_primary = fields.get("role", "master") == "master"
        seen = self._servers.setdefault(name, _SeenServer())
        identity = fields.get("run_id", ""), fields.get("master_replid", "")
        if is_primary and identity != seen.identity:
            if seen.identity[0]:
                self._restore("Redis was restarted, or another one took over")
            seen.identity = identity
            seen.n_evicted = None
        self._warn(
            where, "it is a replica now, which takes no writes", holds=not is_primary
        )
        self._warn(
            where,
            "it keeps no append-only file, and loses the crawl when it ends: "
            "set appendonly yes",
            holds=fields.get("aof_enabled", "1") == "0",
        )
        cannot_write = fields.get("aof_last_write_status", "ok") != "ok"
        self.has_torn_log |= seen.cannot_write and not cannot_write
        seen.cannot_write = cannot_write
        policy = fields.get("maxmemory_policy", "noeviction")
        may_evict = fields.get("maxmemory", "0") != "0" and policy != "noeviction"
        self._warn(
            where,
            f"maxmemory-policy is {policy}, which loses URIs when memory is full: "
            "set noeviction",
            holds=may_evict,
            name="eviction",
        )
        n_evicted = int(fields.get("evicted_keys", "0"))
        before, seen.n_evicted = seen.n_evicted, n_evicted
        if before is not None and n_evicted > before:
            logger.error(
                "Redis: %s: evicted %s: URIs are lost if they were the crawl's",
                where,
                counted(n_evicted - before, "key"),
            )

    def _restore(self, why: str) -> None:
        self.n_restores += 1
        logger.warning("%s: the links of the last seconds are sent again", why)

    def _warn(self, where: str, text: str, *, holds: bool, name: str = "") -> None:
        """Warn about a server, once per occurrence."""
        name = f"{where} {name or text}"
        if not holds:
            self._warned.discard(name)
        elif name not in self._warned:
            self._warned.add(name)
            logger.warning("Redis: %s: %s", where, text)

    def _check_role(self, fields: Mapping[str, str], name: str) -> None:
        """Raise `ReadOnlyError` for a replica, which may lack the latest writes."""
        if fields.get("role", "master") != "master":
            self.note(fields, name)
            raise ReadOnlyError(f"{self._where} is a replica")


async def _read(connection: Connection) -> Any:
    """Return a reply, or the error of a cluster node without this slot."""
    try:
        return await connection.read_response()
    except AskError as error:  # includes MovedError
        return error


def _fields(info: bytes) -> dict[str, str]:
    lines = info.decode("utf-8", "replace").split("\r\n")
    return dict(line.split(":", 1) for line in lines if ":" in line)


def check_schema(crawl_id: str, stored: Mapping[bytes, bytes]) -> None:
    """Check, by the settings of a crawl, that this version can read it.

    Raises:
        ConfigError: another version created it, or its import is incomplete.
    """
    if not stored:
        return
    schema = _text(stored, b"schema")
    if schema == str(IMPORTING):
        raise ConfigError(
            f"CRAWL_ID={crawl_id}: its frontier is being imported from a file, or its"
            " import was interrupted; `scrapy frontier import FILE` restarts it"
        )
    if schema != str(SCHEMA):
        raise ConfigError(f"CRAWL_ID={crawl_id}: its frontier has {_advice(stored)}")


def _advice(stored: Mapping[bytes, bytes]) -> str:
    schema = _text(stored, b"schema")
    by = _text(stored, VERSION.encode())
    by = f", rdfcrawl {by}," if by else ""
    if schema.isdecimal() and int(schema) > SCHEMA:
        whose, advice = "a later", "upgrade rdfcrawl on this machine"
    else:
        whose, advice = "an earlier", "finish the crawl with that version"
    return (
        f"schema {schema or 'none'} of {whose} version{by} and rdfcrawl {__version__}"
        f" reads schema {SCHEMA}: {advice}, or begin another crawl (another CRAWL_ID,"
        " or -a fresh=1)"
    )


def _text(stored: Mapping[bytes, bytes], name: bytes) -> str:
    text = stored.get(name, b"").decode(errors="replace")[:_MAX_SHOWN]
    return "".join(c if c.isprintable() else "?" for c in text)


async def rewrite_torn_logs(client: Redis, *, again: bool = False) -> None:
    """Rewrite append-only files that may be torn.

    The effects of a script are between MULTI and EXEC in the file. After a crash in
    between, Redis does not run that half, but most versions keep its complete commands
    in the file and append to it. On the next start, these run with the following
    commands: half a script, which damages the frontier. So a server that started with
    such a file rewrites it from memory once, at the request of the first worker.

    On a full disk, Redis truncates a partly written command. If the file was rewritten
    before, Redis misses the offset and leaves zeros, and then does not start. So the
    file is also rewritten after a failure to write it has passed.

    Servers that refuse (missing rights, no memory) are left as they are, and those that
    have rewritten their file since they started, unless `again`.

    Raises:
        RedisError: a server is unreachable.
    """
    await query_primaries(client, lambda server: _rewrite(server, again=again))


async def _rewrite(server: Redis, *, again: bool) -> None:
    facts = await server.info("persistence")
    is_new = again or facts.get("aof_last_rewrite_time_sec") == -1
    is_busy = facts.get("aof_rewrite_in_progress") or facts.get("loading")
    n_bytes = int(facts.get("aof_current_size", 0))
    if facts.get("aof_enabled") != 1 or not is_new or is_busy or n_bytes < _LEAST_BYTES:
        return
    try:
        await server.bgrewriteaof()
    except ResponseError as error:
        logger.info("Redis: the append-only file is not rewritten: %s", error)


class PartitionMarks:
    """The incarnation of a crawl in each partition, to detect the loss of one server.

    A single server loses a crawl completely or not at all. A primary of a cluster that
    restarts without its data loses only its partitions.

    Attributes:
        are_needed: whether the partitions are on several servers.
    """

    def __init__(self, redis: Redis, state: ServerState) -> None:
        self.are_needed = isinstance(redis, ManyPrimaries)
        self._redis = redis
        self._state = state

    async def write(self, prefixes: Sequence[str], mark: bytes) -> None:
        """Mark new partitions, if marks are needed."""
        if not self.are_needed:
            return
        pipe = self._redis.pipeline(transaction=False)
        for prefix in prefixes:
            pipe.hget(f"{prefix}:cnt", MARK)
        found = await pipe.execute()
        pipe = self._redis.pipeline(transaction=False)
        for prefix, known in zip(prefixes, found, strict=True):
            if known is None:
                pipe.hsetnx(f"{prefix}:cnt", MARK, cast("str", mark))
        await pipe.execute()

    def check(self, found: Iterable[bytes | None]) -> None:
        """Check the marks found in all partitions of an existing crawl.

        Raises:
            CrawlGone: a partition is missing.
        """
        for number, mark in enumerate(found if self.are_needed else ()):
            self._state.check_partition(number, mark)
