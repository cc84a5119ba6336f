"""Rules for hosts that all workers share in Redis: robots.txt, and blocked hosts.

One worker requests the file of an origin, and the others wait for its result.
Simultaneous calls share a round trip; a worker calls once per origin, not per document.

Each worker reads its file of blocked hosts, if it has one, and stores the entries in
Redis; all workers obey the files of all workers.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from asyncio import Future
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Final, cast

from redis.asyncio import Redis
from redis.exceptions import RedisError

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.messages import listed
from rdfcrawl.frontier.queue.frontier_client import Frontier
from rdfcrawl.frontier.queue.host_rules import (
    BlockedHosts,
    KeepingOptions,
    KeptRules,
    n_rules_partitions,
    read_file,
    rules_partition,
)
from rdfcrawl.frontier.redis.errors import RedisRetry
from rdfcrawl.frontier.redis.operations import Argument, millisecs
from rdfcrawl.uri import BadUri

# First and longest pause while another worker requests the file.
_LOOK_SECS: Final = 0.05, 1.0
_SEND_SECS: Final = 0.02  # for which rules that were read wait for the next call
_CLOSE_SECS: Final = 1.0  # most time for the last of them when the worker ends
_BATCH_SIZE: Final = 200  # origins per call: long scripts block all other workers


_UNKNOWN: Final = KeptRules(is_due=True)
_ASK, _WAIT = 2, 0  # results of the script
Entry = tuple[str, str, str, bytes, str]


class KeptRobots:
    """The rules of the origins of a crawl, in a few partitions by hash.

    Most calls are for few origins: in many partitions, each would be a script call of
    its own, which costs more than its content.

    Args:
        frontier: of the crawl.
        retry: of commands.
        options: of the rules.
        is_alone: whether no other worker is known, so that files are requested without
            a note about it.
    """

    def __init__(
        self,
        frontier: Frontier,
        retry: RedisRetry,
        options: KeepingOptions,
        *,
        is_alone: Callable[[], bool] = lambda: False,
    ) -> None:
        self._is_alone = is_alone
        self._frontier = frontier
        self._unless_full = retry.persistent_unless_full
        self._options = options
        self._name = secrets.token_hex(6)
        self._numbers = count(1)
        self._tokens: dict[str, str] = {}  # of origins that are requested from here
        self._pending: list[tuple[Entry, Future[KeptRules | None]]] = []
        self._sending: asyncio.Task[None] | None = None
        self._later: asyncio.TimerHandle | None = None
        self._holding: asyncio.Task[None] | None = None

    async def look(self, origin: str, *, is_hasty: bool = False) -> KeptRules:
        """See `RulesKeeper.look`."""
        # No other worker would request the file meanwhile.
        token = "" if self._is_alone() else f"{self._name}:{next(self._numbers)}"
        pause, longest = _LOOK_SECS
        until = monotonic() + self._options.asking_secs
        what = "ask" if is_hasty else "look"
        while (found := await self._do(origin, token, what)) is None:
            if monotonic() >= until:  # worker after worker has died of it
                return _UNKNOWN
            await asyncio.sleep(pause)
            pause = min(longest, 2 * pause)
        if found.is_due and token:
            self._tokens[origin] = token
            if self._holding is None:
                self._holding = asyncio.create_task(self._hold())
        return found

    async def close(self) -> None:
        """Stop requesting rules; those that were read are stored first."""
        self._begin_sending()
        if self._sending is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._sending, _CLOSE_SECS)
        if self._holding is not None:
            self._holding.cancel()
            await asyncio.gather(self._holding, return_exceptions=True)

    async def _hold(self) -> None:
        """Prolong the claims on origins; most requests end sooner."""
        try:
            while self._tokens:
                await asyncio.sleep(self._frontier.options.lease_secs / 3)
                for origin, token in list(self._tokens.items()):
                    await self._do(origin, token, "hold")
        finally:
            self._holding = None

    async def keep_rules(self, origin: str, rules: bytes, secs: float) -> None:
        """See `RulesKeeper.keep_rules`.

        Rules are sent with the next call, or soon: until then, other workers wait.
        """
        token = self._tokens.pop(origin, "")
        self._add(origin, token, "good", rules, str(millisecs(secs)))
        if self._later is None and self._sending is None:
            loop = asyncio.get_running_loop()
            self._later = loop.call_later(_SEND_SECS, self._begin_sending)

    async def note_failure(self, origin: str, status: int) -> KeptRules:
        """See `RulesKeeper.note_failure`."""
        found = await self._end(origin, "bad", str(status).encode())
        return found or KeptRules(False, self._options.first_secs, status)

    async def end(self, origin: str) -> None:
        """See `RulesKeeper.end`."""
        await self._end(origin, "end")

    async def _end(
        self, origin: str, what: str, value: bytes = b"", secs: str = ""
    ) -> KeptRules | None:
        return await self._do(origin, self._tokens.pop(origin, ""), what, value, secs)

    async def _do(
        self, origin: str, token: str, what: str, value: bytes = b"", secs: str = ""
    ) -> KeptRules | None:
        """Return None while another worker requests the file."""
        future = self._add(origin, token, what, value, secs)
        self._begin_sending()
        return await future

    def _add(self, *entry: *Entry) -> Future[KeptRules | None]:
        future: Future[KeptRules | None] = asyncio.get_running_loop().create_future()
        self._pending.append((entry, future))
        return future

    def _begin_sending(self) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None
        if self._sending is None and self._pending:
            self._sending = asyncio.create_task(self._send_all())

    async def _send_all(self) -> None:
        try:
            while self._pending:
                pending, self._pending = (
                    self._pending[:_BATCH_SIZE],
                    self._pending[_BATCH_SIZE:],
                )
                entries = [entry for entry, _ in pending]
                try:
                    replies = await self._unless_full("know rules", self._send, entries)
                except RedisError:  # each worker requests the file itself
                    replies = [_UNKNOWN if x[2] != "bad" else None for x in entries]
                except Exception as error:  # raised in the callers
                    for _, future in pending:
                        if not future.done():
                            future.set_exception(error)
                    continue
                for (_, future), reply in zip(pending, replies, strict=True):
                    if not future.done():
                        future.set_result(reply)
        finally:
            self._sending = None

    async def _send(self, entries: Sequence[Entry]) -> list[KeptRules | None]:
        """Safe to repeat, except that a failure may count twice."""
        frontier = self._frontier
        places: dict[int, list[int]] = {}
        for place, entry in enumerate(entries):
            partition = rules_partition(entry[0], frontier.partitions)
            places.setdefault(partition, []).append(place)
        head = self._head()
        calls: list[tuple[str, list[Argument]]] = [
            (
                f"rc:{{{frontier.crawl_id}/{partition}}}",
                [*head, *(value for place in found for value in entries[place])],
            )
            for partition, found in places.items()
        ]
        rows = await frontier.scripts.run("robots", calls)
        replies: list[KeptRules | None] = [None] * len(entries)
        for found, row in zip(places.values(), rows, strict=True):
            given = cast("list[tuple[int, int, int, bytes]]", row)
            for place, each in zip(found, given, strict=True):
                replies[place] = _rules_of(*each)
        return replies

    def _head(self) -> list[Argument]:
        options, n = self._options, n_rules_partitions(self._frontier.partitions)
        return [
            # Both halves of a table together have at most its share.
            max(1, options.most // (2 * n)),
            max(1, options.most_bytes // (2 * n)),
            # As for hosts: after so long without a sign of life, the worker counts as
            # dead.
            millisecs(self._frontier.options.lease_secs),
            millisecs(options.stale_secs),
            millisecs(options.first_secs),
            millisecs(options.longest_secs),
        ]


def _rules_of(what: int, ms: int, status: int, rules: bytes) -> KeptRules | None:
    if what == _WAIT:
        return None
    return KeptRules(what == _ASK, ms / 1000, status, rules or None)


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
            logger.info("blocked hosts: %s", listed(entries, _SHOWN) or "none")


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
