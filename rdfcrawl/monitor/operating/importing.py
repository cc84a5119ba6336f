"""Import a frontier from a file of `exporting`, or requests queued by scrapy-redis.

Until a frontier is complete, the crawl has a schema that no version reads: an
interrupted import leaves a crawl that no worker joins, and that the next import
replaces. The import is on the list of workers, so that no other process begins, deletes
or imports the crawl meanwhile.
"""

from __future__ import annotations

import asyncio
import io
import pickle
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

from redis.exceptions import RedisError, ResponseError
from scrapy import Request, Spider
from scrapy.settings import BaseSettings
from scrapy.utils.request import request_from_dict

from rdfcrawl.core.errors import ConfigError, one_line
from rdfcrawl.core.options.scrapy_settings import apply_defaults
from rdfcrawl.core.records import Record
from rdfcrawl.core.tasks import RequestTask
from rdfcrawl.frontier.connection import FrontierConnection
from rdfcrawl.frontier.queue.frontier_client import COUNTERS
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.frontier.queue.queued_records import UnqueueableError, record_of
from rdfcrawl.frontier.redis.operations import delete_keys
from rdfcrawl.frontier.redis.server_state import IMPORTING, INCARNATION, SCHEMA
from rdfcrawl.frontier.visiting import urgency_of
from rdfcrawl.monitor.operating.crawl import OperatedCrawl
from rdfcrawl.monitor.operating.exporting import MovedFrontier
from rdfcrawl.monitor.operating.frontier_file import (
    FileHead,
    FileTally,
    FrontierFileError,
    FrontierReader,
    KeyChunk,
)
from rdfcrawl.monitor.operating.key_names import START_URLS, KeyPlaces
from rdfcrawl.monitor.operating.uris import ingests_of

_BATCH_SIZE: Final = 500  # chunks
_CHARS_AT_ONCE: Final = 4 * 2**20
_BEAT_SECS: Final = 0.5
# A key of another type, or a score that is not a number.
_OF_FILE: Final = "WRONGTYPE", "value is not", "ERR value"
_COMMANDS: Final = {"list": "RPUSH", "set": "SADD", "hash": "HSET", "string": "APPEND"}
# Bound to one Redis: the crawl of a partition, and past steps of the clock.
_LEFT: Final = (b"in", b"off")


async def import_frontier(settings: BaseSettings, path: Path) -> MovedFrontier:
    """Create the crawl of a file, under the name in the settings, or its original one.

    `CRAWL_ID` is set to that name.

    Raises:
        ConfigError: the file is not of a frontier, or damaged; there is such a crawl;
            or Redis cannot be used. The crawl does not exist then.
    """
    with FrontierReader(path) as reader:
        head = reader.head
        if head.schema != SCHEMA:
            raise FrontierFileError(
                f"{path}: has schema {head.schema}, this version reads {SCHEMA}"
            )
        settings.set("CRAWL_ID", settings.get("CRAWL_ID") or head.crawl, "cmdline")
        with_defaults = settings.copy()
        apply_defaults(with_defaults)
        options = CrawlOptions.from_settings(with_defaults, head.crawl)
        connection = await FrontierConnection.connect(options, with_defaults)
        try:
            with connection.explaining():
                return await _FrontierImport(connection, reader, path).run()
        finally:
            await connection.close()


class _FrontierImport:
    """One import."""

    def __init__(
        self, connection: FrontierConnection, reader: FrontierReader, path: Path
    ) -> None:
        frontier = connection.frontier
        self._connection = connection
        self._frontier, self._redis = frontier, frontier.redis
        self._crawl_id = frontier.crawl_id
        self._reader, self._path = reader, path
        self._places = KeyPlaces(self._crawl_id, reader.head.partitions)
        self._has_seeds = False
        self._name = f"import-{secrets.token_hex(6)}"

    async def run(self) -> MovedFrontier:
        """Import all; delete everything if that fails."""
        head = self._reader.head
        await self._begin()
        beating = asyncio.create_task(self._keep_beating())
        try:
            # A repeated command might append a second time.
            self._connection.opened()
            kept = [self._frontier.key(name) for name in ("conf", "workers")]
            await delete_keys(self._redis, self._crawl_id, but=kept)
            n_keys = await self._write()
            await self._compare(head)
            await self._push_seeds()
            await self._end(head)
        except BaseException:
            await self._undo()
            raise
        finally:
            beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)
        await self._leave()
        return MovedFrontier(crawl=self._crawl_id, counts=head.counts, n_keys=n_keys)

    async def _begin(self) -> None:
        """Replace the crawl.

        If two processes do so together, at least one notices the other.
        """
        name, conf = self._crawl_id, self._frontier.key("conf")
        schema = await self._redis.hget(conf, "schema")
        if schema not in (None, str(IMPORTING).encode()):
            raise ConfigError(self._is_there())
        await self._beat()
        live = [x for x in await self._frontier.live_workers() if x != self._name]
        if live or not await self._run("begin"):
            await self._leave()
            if not live:
                raise ConfigError(self._is_there())
            silence_secs = self._frontier.reports.silence_secs
            raise ConfigError(
                f"crawl {name}: another process begins or imports it, or died within"
                f" the last {silence_secs:g} s: {', '.join(live)}"
            )

    async def _end(self, head: FileHead) -> None:
        """Make the crawl joinable, also if the connection fails meanwhile."""
        mark = secrets.token_hex(16)  # no worker knows this incarnation
        conf = {**head.conf, INCARNATION: mark}
        self._connection.ending()
        # Without a response it is sent again, and then refused because it was done.
        is_ours = await self._run("end", *(x for row in conf.items() for x in row))
        if not is_ours and not await self._has(mark):
            raise ConfigError("another process has begun the crawl meanwhile")

    async def _has(self, mark: str) -> bool:
        found = await self._redis.hget(self._frontier.key("conf"), INCARNATION)
        return bool(found == mark.encode())

    def _is_there(self) -> str:
        return (
            f"CRAWL_ID={self._crawl_id}: this crawl exists already: delete it with"
            " `frontier forget`, or choose another name with -s CRAWL_ID=NAME"
        )

    async def _run(self, what: str, *words: str) -> bool:
        call = f"rc:{{{self._crawl_id}}}", (what, self._name, *words)
        return (await self._frontier.scripts.run("import", [call]))[0] == 1

    async def _write(self) -> int:
        """Write all keys; return their number."""
        tally, seen = FileTally(), set()
        pipe: Any = self._redis.pipeline(transaction=False)
        n = n_chars = 0
        for chunk in self._reader.chunks():
            tally.add(chunk)
            seen.add(hash(chunk.name))
            if chunk.name == START_URLS:
                self._has_seeds = True
                continue
            self._add(pipe, chunk)
            n, n_chars = n + 1, n_chars + sum(map(len, chunk.members))
            if n == _BATCH_SIZE or n_chars >= _CHARS_AT_ONCE:
                await self._send(pipe)
                n = n_chars = 0
        await self._send(pipe)
        if tally.difference:
            raise FrontierFileError(f"{self._path}: has {tally.difference}")
        return len(seen)

    async def _push_seeds(self) -> None:
        """Push seeds that no worker has taken yet; their key is outside the crawl.

        They come last, so that an incomplete crawl has none; an interrupted import may
        push them twice, without effect.
        """
        if not self._has_seeds:
            return
        with FrontierReader(self._path) as reader:
            for chunk in reader.chunks():
                if chunk.name == START_URLS:
                    pipe: Any = self._redis.pipeline(transaction=False)
                    self._add(pipe, chunk)
                    await self._send(pipe)

    def _add(self, pipe: Any, chunk: KeyChunk) -> None:
        try:
            self._places.check(chunk.name, chunk.kind)
        except ValueError:
            raise FrontierFileError(
                f"{self._path}: {chunk.name[:100]!a} is not a key of a frontier"
            ) from None
        name = self._places.name(chunk.name).encode("latin-1")
        members = _members(chunk)
        if chunk.kind == "zset":
            pairs = zip(members[1::2], members[::2], strict=True)
            pipe.execute_command("ZADD", name, *(x for pair in pairs for x in pair))
        elif members:
            pipe.execute_command(_COMMANDS[chunk.kind], name, *members)
        if chunk.rest_ms is not None:
            pipe.execute_command("PEXPIRE", name, max(1, chunk.rest_ms))

    async def _send(self, pipe: Any) -> None:
        try:
            await pipe.execute()
        except ResponseError as error:
            if not str(error).startswith(_OF_FILE):
                raise
            text = f"{self._path}: Redis refuses a key: {error}"
            raise FrontierFileError(text) from error

    async def _keep_beating(self) -> None:
        with suppress(RedisError):
            while True:
                await asyncio.sleep(_BEAT_SECS)
                await self._beat()

    async def _beat(self) -> None:
        seconds = (await self._redis.time())[0]
        await self._redis.zadd(self._frontier.key("workers"), {self._name: seconds})

    async def _compare(self, head: FileHead) -> None:
        """Compare the counters in Redis with the head of the file."""
        pipe = self._redis.pipeline(transaction=False)
        for number in range(head.partitions):
            pipe.hmget(self._places.name(f"{number}:cnt"), *COUNTERS.values())
        columns = zip(*await pipe.execute(), strict=True)
        found = [sum(int(n or 0) for n in column) for column in columns]
        wanted = [head.counts.get(name, 0) for name in COUNTERS]
        if found != wanted:
            raise FrontierFileError(
                f"{self._path}: declares {wanted}, but contains {found}"
                f" ({', '.join(COUNTERS)})"
            )

    async def _leave(self) -> None:
        await self._redis.zrem(self._frontier.key("workers"), self._name)

    async def _undo(self) -> None:
        """Delete the written keys, if Redis is reachable."""
        self._connection.ending()
        with suppress(RedisError):
            conf = self._frontier.key("conf")
            if await self._redis.hget(conf, "import") == self._name.encode():
                await delete_keys(self._redis, self._crawl_id)


def _members(chunk: KeyChunk) -> list[bytes]:
    members = [each.encode("latin-1") for each in chunk.members]
    _, _, name = chunk.name.partition(":")
    if name == "lease":  # all workers are dead
        members[1::2] = [b"0"] * len(members[1::2])
    elif name == "cnt":
        rows = zip(members[::2], members[1::2], strict=True)
        members = [x for row in rows if row[0] not in _LEFT for x in row]
    return members


_NO_SPIDER: Final = Spider("import")


@dataclass(slots=True)
class QueueImport:
    """Numbers of requests.

    Attributes:
        queued: new in the frontier.
        seen: known before.
        over_budget: of their host or domain.
        refused: not a request; the reason of the first is in `example`.
        example: see `refused`.
    """

    queued: int = 0
    seen: int = 0
    over_budget: int = 0
    refused: int = 0
    example: str = ""

    def __str__(self) -> str:
        """Return one line."""
        line = f"requests: {self.queued} queued, {self.seen} seen before"
        if self.over_budget:
            line += f", {self.over_budget} over budget"
        return (
            f"{line}, {self.refused} refused: {self.example}" if self.refused else line
        )


class _PlainUnpickler(pickle.Unpickler):
    """Reads plain values; refuses a pickle that names code."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it names {module}.{name}")


async def import_queue(
    crawl: OperatedCrawl, key: str, settings: BaseSettings, *, spider: str = ""
) -> QueueImport:
    """Queue the requests of a queue of scrapy-redis, which stays as it is.

    Args:
        crawl: has begun, in the same Redis.
        key: list or sorted set of requests, as `books:requests`.
        settings: with `SCHEDULER_SERIALIZER`; without, they are pickles.
        spider: whose requests they become; empty for the first.

    Raises:
        ConfigError: there is no such queue, spider or serializer.
    """
    loads = _loads_of(settings.get("SCHEDULER_SERIALIZER"))
    done = QueueImport()
    async with ingests_of(crawl, spider) as (ingests, dns):
        async for entries in _batches(crawl, key):
            read = list(_requests(entries, loads, done))
            urls = [record.url for record, _ in read]
            if dns is not None:
                await dns.prime(urls)
            await ingests.widen(urls)
            added = await crawl.frontier.add(
                [
                    ingests.own.request(record, urgency_of(request))
                    for record, request in read
                ]
            )
            done.queued += added.new
            done.seen += added.seen
            done.over_budget += added.over_host + added.over_domain
    return done


def _requests(
    entries: list[bytes], loads: Callable[[bytes], Any], done: QueueImport
) -> Iterator[tuple[Record, Request]]:
    """Yield the requests in entries; count those that are refused."""
    for entry in entries:
        try:
            yield _record(entry, loads(entry))
        except Exception as error:  # the edge: serializers and values raise anything
            done.refused += 1
            if not done.example:
                done.example = f"{one_line(error)[:200]}, in {entry[:60]!a}"


async def _batches(crawl: OperatedCrawl, key: str) -> AsyncIterator[list[bytes]]:
    redis = crawl.redis
    kind = await redis.type(key)
    if kind not in {b"list", b"zset"}:
        raise ConfigError(f"{key}: no file, and no queue of scrapy-redis")
    page = redis.lrange if kind == b"list" else redis.zrange
    start = 0
    while entries := await page(key, start, start + _BATCH_SIZE - 1):
        yield cast("list[bytes]", entries)
        start += _BATCH_SIZE


def _loads_of(serializer: Any) -> Callable[[bytes], Any]:
    if not serializer:
        return lambda entry: _PlainUnpickler(io.BytesIO(entry)).load()
    try:
        module = (
            import_module(serializer) if isinstance(serializer, str) else serializer
        )
        loads: Callable[[bytes], Any] = module.loads
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"SCHEDULER_SERIALIZER={serializer}: {error}") from error
    return loads


def _record(entry: bytes, found: Any) -> tuple[Record, Request]:
    """Return a record; the same entry gives the same one."""
    if not isinstance(found, dict) or "url" not in found:
        raise UnqueueableError("not a request")
    names = {each: str(found.get(each) or "") for each in ("callback", "errback")}
    plain = {key: x for key, x in found.items() if key not in {"_class", *names}}
    request = request_from_dict(plain)
    record = record_of(request, _NO_SPIDER)
    task = cast("RequestTask", record.task)
    nonce = blake2b(entry, digest_size=8).hexdigest() if request.dont_filter else ""
    return replace(
        record,
        task=replace(
            task, nonce=nonce, callback=names["callback"], errback=names["errback"]
        ),
    ), request
