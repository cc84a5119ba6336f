"""Tables in Redis: state of sources, deferred links, contents, addresses of hosts.

Pages are read at least once, by any worker, so every write must be idempotent: entries
are set, never incremented.

URLs covered by a dataset wait in Redis under the prefix of the dataset until the end of
the run: a document of the dataset may be requested again after a failure, and must find
the same state.
"""

from __future__ import annotations

import asyncio
from bisect import insort
from collections import defaultdict
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

from redis.exceptions import RedisError

from rdfcrawl.core.batches import in_batches
from rdfcrawl.frontier.queue.candidate import away_partition
from rdfcrawl.frontier.redis.errors import is_full
from rdfcrawl.frontier.redis.operations import Argument, LuaScripts
from rdfcrawl.uri.hosts import origin_of

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from rdfcrawl.core.records import Record
    from rdfcrawl.frontier.redis.errors import RedisRetry


_AT_ONCE = 1000
_CALLS_AT_ONCE: Final = 100  # in `gather`; between two groups the worker may stop
_COMMANDS_AT_ONCE: Final = 200  # per pipeline
_USE: Final = "use the state store"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Command:
    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    reply: asyncio.Future[Any]


class StateStore:
    """Tables of texts, each of one source and crawl."""

    def __init__(
        self, redis: Redis, key: Callable[[str], str], outage: RedisRetry
    ) -> None:
        self._redis = redis
        self._key = key
        self._persistent = outage.persistent
        self._n_gathering = 0
        self._waiting: list[_Command] = []  # until the next iteration of the event loop
        self._sending: set[asyncio.Task[None]] = set()

    async def gather(self, calls: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
        """Return the results of calls that use the store, in order.

        Groups of calls run concurrently and share round trips, so no call may depend on
        an earlier one.
        """
        results: list[T] = []
        self._n_gathering += 1
        try:
            for group in in_batches(calls, _CALLS_AT_ONCE):
                for each in await asyncio.gather(*group, return_exceptions=True):
                    if isinstance(each, BaseException):
                        raise each
                    results.append(each)
        finally:
            self._n_gathering -= 1
        return results

    async def put(self, source: str, table: str, entries: Mapping[str, str]) -> None:
        """Set entries of a table of a source, which is named by a URL."""
        name = self._name(source, table)
        for group in in_batches(entries.items(), _AT_ONCE):
            await self._do("hset", name, mapping=dict(group))

    async def put_unless_full(
        self, source: str, table: str, entries: Mapping[str, str]
    ) -> None:
        """Set entries, unless Redis has no memory for them."""
        name = self._name(source, table)

        async def put() -> None:
            try:
                await self._redis.hset(name, mapping=cast("Any", dict(entries)))
            except RedisError as error:
                if not is_full(error):
                    raise

        await self._persistent(_USE, put)

    async def put_up_to(
        self, source: str, table: str, entries: Mapping[str, str], most: int
    ) -> list[str]:
        """Set entries until a table has `most`; return the keys of the others.

        Entries with existing keys are replaced.
        """
        over: list[str] = []
        room = max(0, most - await self.size(source, table))
        if len(entries) > room:
            known = await self.get_many(source, table, entries)
            over = [key for key in entries if key not in known][room:]
            gone = set(over)
            entries = {key: x for key, x in entries.items() if key not in gone}
        if entries:
            await self.put(source, table, entries)
        return over

    async def get(self, source: str, table: str, key: str) -> str | None:
        """Return an entry, or None."""
        return (await self.get_many(source, table, [key])).get(key)

    async def get_many(
        self, source: str, table: str, keys: Iterable[str]
    ) -> dict[str, str]:
        """Return the entries of a table that exist, in the order of their keys."""
        name = self._name(source, table)
        found: dict[str, str] = {}
        for group in in_batches(keys, _AT_ONCE):
            values = await self._do("hmget", name, group)
            pairs = zip(group, values, strict=True)
            found |= {key: value.decode() for key, value in pairs if value is not None}
        return found

    async def claim(self, source: str, table: str, key: str, value: str) -> str:
        """Set an entry if it is missing; return the stored one."""
        name = self._name(source, table)
        await self._do("hsetnx", name, key, value)
        found: bytes = await self._do("hget", name, key)
        return found.decode()

    async def drop(self, source: str, table: str, keys: Iterable[str]) -> None:
        """Delete entries of a table."""
        name = self._name(source, table)
        for group in in_batches(keys, _AT_ONCE):
            await self._do("hdel", name, *group)

    async def clear(self, source: str, table: str) -> None:
        """Delete a table."""
        await self._do("unlink", self._name(source, table))

    async def size(self, source: str, table: str) -> int:
        """Return the number of entries of a table."""
        n = await self._do("hlen", self._name(source, table))
        return int(n)

    async def entries(self, source: str, table: str) -> AsyncIterator[tuple[str, str]]:
        """Yield the entries of a table, unordered; some may be repeated."""
        async for batch in self.batches(source, table):
            for entry in batch.items():
                yield entry

    async def batches(self, source: str, table: str) -> AsyncIterator[dict[str, str]]:
        """Yield the entries of a table in batches of about a thousand."""
        name = self._name(source, table)
        cursor = 0
        while True:
            cursor, rows = await self._do("hscan", name, cursor, count=_AT_ONCE)
            if rows:
                yield {key.decode(): value.decode() for key, value in rows.items()}
            if not cursor:
                return

    async def _do(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if not self._n_gathering:
            call = getattr(self._redis, name)
            return await self._persistent(_USE, call, *args, **kwargs)
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._send_waiting)
        command = _Command(name, args, kwargs, loop.create_future())
        self._waiting.append(command)
        return await command.reply

    def _send_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for commands in in_batches(waiting, _COMMANDS_AT_ONCE):
            task = asyncio.create_task(self._send(commands))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _send(self, commands: Sequence[_Command]) -> None:
        """Send commands together, and set the result of each."""
        waiting = [each for each in commands if not each.reply.done()]  # not cancelled
        try:
            replies = await self._persistent(_USE, self._run, waiting)
        except Exception as error:
            for command in waiting:
                if not command.reply.done():
                    command.reply.set_exception(error)
            return
        for command, reply in zip(waiting, replies, strict=True):
            if not command.reply.done():
                command.reply.set_result(reply)

    async def _run(self, commands: Sequence[_Command]) -> list[Any]:
        pipe = self._redis.pipeline(transaction=False)
        for each in commands:
            getattr(pipe, each.name)(*each.args, **each.kwargs)
        return await pipe.execute()

    def _name(self, source: str, table: str) -> str:
        digest = blake2b(source.encode(), digest_size=8).hexdigest()
        return self._key(f"source:{digest}:{table}")


MAX_DEFERRED: Final = 100_000  # per prefix
_TABLE: Final = "deferred"  # of a prefix: URL and change -> the rest of the record


class DeferredRecord(NamedTuple):
    """A record that is deferred."""

    record: Record  # requestable, checked against scope and filters
    band: bytes  # of its host's queue


class ExcludedPrefixes:
    """Prefixes of URLs; finding the one of a URL takes a look-up per length."""

    def __init__(self) -> None:
        self.prefixes: set[str] = set()  # requestable, with their scheme
        self._lengths: dict[str, list[int]] = {}  # origin -> lengths of its prefixes

    def replace(self, prefixes: Collection[str]) -> None:
        """Replace all prefixes."""
        self.prefixes = set()
        self._lengths = {}
        self.add(prefixes)

    def add(self, prefixes: Iterable[str]) -> None:
        """Add prefixes."""
        for prefix in prefixes:
            if prefix not in self.prefixes:
                self.prefixes.add(prefix)
                lengths = self._lengths.setdefault(origin_of(prefix), [])
                if len(prefix) not in lengths:
                    insort(lengths, len(prefix))

    def has_some_of(self, origin: str) -> bool:
        """Return whether some prefixes are of an origin."""
        return origin in self._lengths

    def prefix_of(self, url: str) -> str:
        """Return the prefix with which a requestable URL begins; empty if none."""
        for length in self._lengths.get(origin_of(url), ()):
            if url[:length] in self.prefixes:
                return url[:length]
        return ""


class DeferredLinks:
    """The deferred records of each prefix, shared by all workers of a crawl."""

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._full: dict[int, set[str]] = {}  # limit -> prefixes

    async def put(
        self,
        prefix: str,
        waiting: Iterable[DeferredRecord],
        *,
        limit: int = MAX_DEFERRED,
    ) -> None:
        """Store deferred records, about `limit` per prefix at most."""
        entries = dict(map(_entry, waiting))
        room = limit - await self._store.size(prefix, _TABLE)
        if room < len(entries):
            self.full(limit).add(prefix)
            entries = dict(list(entries.items())[: max(0, room)])
        await self._store.put(prefix, _TABLE, entries)

    def full(self, limit: int = MAX_DEFERRED) -> set[str]:
        """Return the prefixes that are known to have reached the limit."""
        return self._full.setdefault(limit, set())

    async def is_full(self, prefix: str) -> bool:
        """Return whether a prefix may cover more URLs than were deferred."""
        return await self._store.size(prefix, _TABLE) >= MAX_DEFERRED

    async def groups(self, prefix: str) -> AsyncIterator[list[DeferredRecord]]:
        """Yield the deferred records of a prefix; some may be repeated."""
        async for batch in self._store.batches(prefix, _TABLE):
            yield [_deferred(key, text) for key, text in batch.items()]


def _entry(waiting: DeferredRecord) -> tuple[str, str]:
    from rdfcrawl.core.visits import encode_record  # noqa: PLC0415

    record, band = waiting
    text = f"{band.decode()} {encode_record(record)}"
    return f"{record.url} {record.change}", text


def _deferred(key: str, text: str) -> DeferredRecord:
    from rdfcrawl.core.visits import decode_record  # noqa: PLC0415

    band, _, rest = text.partition(" ")
    return DeferredRecord(decode_record(key.partition(" ")[0], rest), band.encode())


_BATCH_SIZE = 500  # contents per call: long scripts block all other workers
# Partitions that share the table. Each flush has few new contents, so calls would cost
# more than the look-up.
_MAX_PARTS = 4


# 128-bit hash of a document in hexadecimal, and its URL.
FetchedContent = tuple[str, str]


class FirstContents:
    """The first URLs of contents, by `lua/contents.lua`, in a few partitions by hash.

    The table is bounded: it knows at least the last `most / 2` contents. A repeated
    call returns the same result, as the first URL of a content stays.
    """

    def __init__(self, scripts: LuaScripts) -> None:
        self._scripts = scripts
        self._prefixes: Sequence[str] = ()

    def open(self, prefixes: Sequence[str]) -> None:
        """Set the prefixes of the partitions."""
        self._prefixes = prefixes[:_MAX_PARTS]

    async def look_up(self, contents: Sequence[FetchedContent], most: int) -> list[str]:
        """Return the first URL of each content; empty for new ones.

        This adds them to the table, in order. One round trip covers all parts.

        Args:
            contents: of the fetched documents.
            most: approximate size of the table; at least two per part.

        Raises:
            RedisError: the call may be repeated.
        """
        n_partitions = len(self._prefixes)
        rows = [
            bytes.fromhex(content) + url.encode("utf-8", "replace")
            for content, url in contents
        ]
        parts: defaultdict[int, list[int]] = defaultdict(list)
        for place, row in enumerate(rows):
            parts[row[0] % n_partitions].append(place)
        of_half = max(1, most // (2 * n_partitions))
        groups = [
            (self._prefixes[part], group)
            for part, places in parts.items()
            for group in in_batches(places, _BATCH_SIZE)
        ]
        calls: list[tuple[str, list[Argument]]] = [
            (prefix, [of_half, *[rows[place] for place in group]])
            for prefix, group in groups
        ]
        replies = await self._scripts.run("contents", calls)
        found = [""] * len(contents)
        for (_, group), reply in zip(groups, replies, strict=True):
            known = cast("list[Any]", reply)
            for n, url in zip(known[::2], known[1::2], strict=True):
                found[group[n]] = url.decode()
        return found


class AddressTable:
    """The addresses of hosts, as the first worker has found them.

    Attributes:
        prefixes: of the partitions of the crawl.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self.prefixes: Sequence[str] = ()

    async def of(self, hosts: Iterable[str]) -> dict[str, str]:
        """Return the addresses of hosts found by any worker; empty if none."""
        names = list(hosts)
        pipe = self._redis.pipeline(transaction=False)
        for name in names:
            pipe.hget(self._key_of(name), name)
        found = await pipe.execute()
        pairs = zip(names, found, strict=True)
        return {name: each.decode() for name, each in pairs if each is not None}

    async def agree(self, found: Mapping[str, str]) -> dict[str, str]:
        """Store addresses of hosts without one, and return the stored ones."""
        pipe = self._redis.pipeline(transaction=False)
        for name, address in found.items():
            pipe.hsetnx(self._key_of(name), name, address)
        await pipe.execute()
        return dict(found) | await self.of(found)

    def _key_of(self, host: str) -> str:
        return f"{self.prefixes[away_partition(host, len(self.prefixes))]}:ip"
