"""What stands behind the connection: looked at each time that one is made.

Redis may come back empty, older or as another server, and the first command after that
must not be taken for an answer of the crawl. So each new connection, before it is used,
asks who is there and whether the crawl is.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from redis.exceptions import ReadOnlyError, RedisError

from rdfcrawl.errors import CrawlGone

if TYPE_CHECKING:
    from redis.asyncio import Connection, Redis

logger = logging.getLogger(__name__)

INCARNATION: Final = "incarnation"  # field of the crawl's `conf`


class CrawlGoneError(CrawlGone, RedisError):
    """What a command raises when the crawl is no longer there; see `CrawlGone`."""


class ServerState:
    """What one worker knows of the Redis behind its crawl."""

    def __init__(self, where: str) -> None:
        # how often the server was restarted or replaced. Each time, it may have lost
        # what it took last.
        self.n_restores = 0
        self._where = where
        self._crawl_id = ""
        self._conf = ""
        self._cleared = ""
        self._incarnation = b""
        self._run_id = ""
        self._n_evicted: int | None = None
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

    async def on_connect(self, connection: Connection) -> None:
        """Prepare a connection; redis-py calls this before the first command.

        Raises:
            CrawlGone, RedisError: the crawl is gone, or that cannot be said now.
        """
        await connection.on_connect()
        mine = self._incarnation
        await connection.send_command("INFO")
        if mine:
            await connection.send_command("HGET", self._conf, INCARNATION)
            await connection.send_command("GET", self._cleared)
        fields = _fields(await connection.read_response())
        self._check_role(fields, is_joined=bool(mine))
        if mine:
            found = await connection.read_response()
            cleared = await connection.read_response()
            self.check(found, cleared)
        self.note(fields)

    async def look(self, redis: Redis) -> None:
        """Look at the server again, whose settings may have changed."""
        found = await redis.info()
        self.note({name: str(value) for name, value in found.items()})

    def note(self, fields: Mapping[str, str]) -> None:
        """Take note of what `INFO` says; tell the operator what endangers the crawl."""
        run_id = fields.get("run_id", "")
        if self._run_id != run_id:
            if self._run_id:
                self.n_restores += 1
                logger.warning(
                    "Redis was restarted, or another one took over: "
                    "what was sent in the last seconds is sent again"
                )
            self._run_id = run_id
            self._n_evicted = None
        self._say(
            "it is a replica now, which takes no writes",
            holds=fields.get("role", "master") != "master",
        )
        self._say(
            "it keeps no append-only file, and loses the crawl when it ends: "
            "set appendonly yes",
            holds=fields.get("aof_enabled", "1") == "0",
        )
        policy = fields.get("maxmemory_policy", "noeviction")
        may_evict = fields.get("maxmemory", "0") != "0" and policy != "noeviction"
        self._say(
            f"maxmemory-policy is {policy}, which loses URIs when memory is full: "
            "set noeviction",
            holds=may_evict,
            name="eviction",
        )
        n_evicted = int(fields.get("evicted_keys", "0"))
        before, self._n_evicted = self._n_evicted, n_evicted
        if before is not None and n_evicted > before:
            logger.error(
                "Redis: %s: evicted %d keys: URIs are lost if they were the crawl's",
                self._where,
                n_evicted - before,
            )

    def _say(self, text: str, *, holds: bool, name: str = "") -> None:
        """Warn of a state of the server, once for each time of its begin."""
        name = name or text
        if not holds:
            self._said.discard(name)
        elif name not in self._said:
            self._said.add(name)
            logger.warning("Redis: %s: %s", self._where, text)

    def _check_role(self, fields: Mapping[str, str], *, is_joined: bool) -> None:
        """Raise `ReadOnlyError` for a replica, which may lack the latest writes."""
        if is_joined and fields.get("role", "master") != "master":
            self.note({**fields, "run_id": self._run_id})
            raise ReadOnlyError(f"{self._where} is a replica")


def _fields(info: bytes) -> dict[str, str]:
    lines = info.decode("utf-8", "replace").split("\r\n")
    return dict(line.split(":", 1) for line in lines if ":" in line)
