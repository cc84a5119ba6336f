"""Updates the blocked hosts of all workers of a crawl.

Each worker reads its file, if it has one, and stores the entries in Redis; all workers
obey the files of all workers.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from redis.exceptions import RedisError

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.queue.blocked_hosts import BlockedHosts, read_file
from rdfcrawl.uri import BadUri

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from rdfcrawl.frontier.queue.frontier_client import Frontier

logger = logging.getLogger(__name__)

LOOK_SECS: Final = 2.0
_SHOWN: Final = 5
_ENTRIES: Final = "leave"  # hash: path -> JSON list


class LeaveList:
    """Copies the entries of files to `BlockedHosts`."""

    def __init__(
        self, frontier: Frontier, leaving: BlockedHosts, path: Path | None
    ) -> None:
        self._redis = frontier.redis
        self._entries_key = frontier.key(_ENTRIES)
        self._version_key = frontier.key("leave:version")
        self._leaving = leaving
        self._path = path
        self._own: tuple[str, ...] = ()
        self._stamp: tuple[int, ...] = ()
        self._version: bytes | str | None = None
        self._is_shared = True  # the content of the file is in Redis

    async def begin(self) -> None:
        """Read the file and the entries of other workers; raise `ConfigError`."""
        if self._path is not None:
            self._stamp = _stamp_of(self._path)
            self._own = read_file(self._path)
            self._is_shared = False
        await self._share()

    async def run(self) -> None:
        """Check the file and Redis periodically, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECS)
            try:
                self._look_at_file()
                await self._share()
            except RedisError:
                self._use(self._own)  # without those of others while Redis is away
            except Exception:  # a bug here must not stay hidden
                logger.exception("LEAVE_HOSTS: the file could not be checked")

    def _look_at_file(self) -> None:
        """Read a changed file; an invalid one changes nothing."""
        path = self._path
        if path is None:
            return
        stamp = _stamp_of(path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._own = read_file(path)
        except ConfigError as error:
            logger.warning("%s; the last valid list stays in force", error)
            return
        self._is_shared = False

    async def _share(self) -> None:
        redis = self._redis
        version = await redis.get(self._version_key)
        if self._path is not None and (version is None or not self._is_shared):
            entries = json.dumps(self._own)
            pipe = redis.pipeline(transaction=True)
            pipe.hset(self._entries_key, str(self._path), entries)
            pipe.incr(self._version_key)
            await pipe.execute()
            self._is_shared = True
            version = await redis.get(self._version_key)
        if version == self._version:
            return
        shared = await _entries_of(redis, self._entries_key)
        self._version = version
        self._use(shared)

    def _use(self, entries: Iterable[str]) -> None:
        entries = sorted(set(entries))
        try:
            is_new = self._leaving.replace(entries)
        except BadUri as error:
            logger.warning("LEAVE_HOSTS: of another worker: %s", error)
            return
        if is_new:
            more = f" and {len(entries) - _SHOWN} more" if entries[_SHOWN:] else ""
            names = ", ".join(entries[:_SHOWN]) or "none"
            logger.info("blocked hosts: %s%s", names, more)


async def shared_entries(frontier: Frontier) -> list[str]:
    """Return the blocked hosts of all workers of a crawl.

    Raises:
        RedisError: Redis is unreachable.
    """
    return await _entries_of(frontier.redis, frontier.key(_ENTRIES))


async def _entries_of(redis: Redis, name: str) -> list[str]:
    found = await redis.hgetall(name)
    return [entry for text in found.values() for entry in json.loads(text)]


def _stamp_of(path: Path) -> tuple[int, ...]:
    """Return a stamp that changes with a file; empty if there is none."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino
