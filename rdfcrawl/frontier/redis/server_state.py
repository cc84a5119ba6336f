"""What stands behind the connection: looked at each time that one is made.

Redis may come back empty, older or as another server, and the first command after that
must not be taken for an answer of the crawl. So each new connection, before it is used,
asks who is there and whether the crawl is.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from redis.exceptions import AskError, ReadOnlyError, RedisError

from rdfcrawl.core.counting import counted
from rdfcrawl.core.errors import CrawlGone
from rdfcrawl.frontier.redis.primaries import ask_primaries

if TYPE_CHECKING:
    from redis.asyncio import Connection, Redis

logger = logging.getLogger(__name__)

INCARNATION: Final = "incarnation"  # field of the crawl's `conf`


class CrawlGoneError(CrawlGone, RedisError):
    """What a command raises when the crawl is no longer there; see `CrawlGone`."""


@dataclass(slots=True)
class _SeenServer:
    """What was last seen of one server.

    Attributes:
        identity: its `run_id`, and the `master_replid` of its history, which is another
            one once it was a replica for a while.
        n_evicted: keys that it has evicted.
        cannot_write: its append-only file, as a disk is full.
    """

    identity: tuple[str, str] = ("", "")
    n_evicted: int | None = None
    cannot_write: bool = False


class ServerState:
    """What one worker knows of the Redis behind its crawl."""

    def __init__(self, where: str) -> None:
        # how often a server was restarted or replaced. Each time, it may have lost
        # what it took last.
        self.n_restores = 0
        # an append-only file may be torn within, as writing to it has failed
        self.has_torn_log = False
        self._where = where
        self._crawl_id = ""
        self._conf = ""
        self._cleared = ""
        self._incarnation = b""
        # by name; one without a name, unless it is a cluster
        self._servers: dict[str, _SeenServer] = {}
        self._primaries: frozenset[str] = frozenset()
        self._said: set[str] = set()

    def join(self, crawl_id: str, *, conf: str, cleared: str, mark: bytes) -> None:
        """Look for this crawl on each new connection from now on."""
        self._crawl_id, self._conf, self._cleared = crawl_id, conf, cleared
        self._incarnation = mark

    def leave(self) -> None:
        """Look for no crawl any more."""
        self._incarnation = b""

    def check(self, found: bytes | None, cleared: bytes | None) -> None:
        """Check the incarnation found in the crawl's place, and the last one cleared.

        Raises:
            CrawlGone: the crawl is not there any more.
        """
        mine = self._incarnation
        if not mine or found == mine or (found is None and cleared == mine):
            return
        name = f"crawl {self._crawl_id}"
        if found is not None:
            text = f"{name} was begun anew in {self._where} by somebody else"
        else:
            text = (
                f"{name} is not in {self._where} any more: Redis was restarted without "
                "its data, or flushed"
            )
        raise CrawlGoneError(
            f"{text}; the worker stops. The same command, with its seeds, begins anew"
        )

    def check_partition(self, number: int, found: bytes | None) -> None:
        """Check the incarnation found in a partition of a crawl that is there.

        Raises:
            CrawlGone: the node that has the partition has lost all of it.
        """
        if self._incarnation and found != self._incarnation:
            raise CrawlGoneError(
                f"partition {number} of crawl {self._crawl_id} is not in {self._where} "
                "any more: its node was restarted without its data, or flushed; the "
                "worker stops. Bring the data back, or begin anew by -a fresh=1"
            )

    async def on_connect(self, name: str, connection: Connection) -> None:
        """Prepare a connection; redis-py calls this before the first command.

        Args:
            name: of the server, if it is one of several; else empty.
            connection: to be prepared.

        Raises:
            CrawlGone, RedisError: the crawl is gone, or that cannot be said now.
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
        """Look at the servers again, whose settings may have changed."""
        infos = await ask_primaries(redis, lambda server: server.info())
        for name, found in infos.items():
            self.note({field: str(value) for field, value in found.items()}, name)

    def note_primaries(self, names: frozenset[str]) -> None:
        """Take note of who has the slots of a cluster now."""
        if self._primaries:
            self._restore("the primaries of the cluster have changed")
        self._primaries = names
        for name in self._servers.keys() - names:
            del self._servers[name]

    def note(self, fields: Mapping[str, str], name: str = "") -> None:
        """Take note of what `INFO` says; tell the operator what endangers the crawl."""
        where = f"{self._where}, node {name}" if name else self._where
        is_primary = fields.get("role", "master") == "master"
        seen = self._servers.setdefault(name, _SeenServer())
        identity = fields.get("run_id", ""), fields.get("master_replid", "")
        if is_primary and identity != seen.identity:
            if seen.identity[0]:
                self._restore("Redis was restarted, or another one took over")
            seen.identity = identity
            seen.n_evicted = None
        self._say(
            where, "it is a replica now, which takes no writes", holds=not is_primary
        )
        self._say(
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
        self._say(
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
        logger.warning("%s: what was sent in the last seconds is sent again", why)

    def _say(self, where: str, text: str, *, holds: bool, name: str = "") -> None:
        """Warn of a state of a server, once for each time of its begin."""
        name = f"{where} {name or text}"
        if not holds:
            self._said.discard(name)
        elif name not in self._said:
            self._said.add(name)
            logger.warning("Redis: %s: %s", where, text)

    def _check_role(self, fields: Mapping[str, str], name: str) -> None:
        """Raise `ReadOnlyError` for a replica, which may lack the latest writes."""
        if fields.get("role", "master") != "master":
            self.note(fields, name)
            raise ReadOnlyError(f"{self._where} is a replica")


async def _read(connection: Connection) -> Any:
    """Return an answer, or the error that a node of a cluster has not its slot."""
    try:
        return await connection.read_response()
    except AskError as error:  # MovedError too
        return error


def _fields(info: bytes) -> dict[str, str]:
    lines = info.decode("utf-8", "replace").split("\r\n")
    return dict(line.split(":", 1) for line in lines if ":" in line)
