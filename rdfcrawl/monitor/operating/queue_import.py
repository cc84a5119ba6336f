"""Import the requests that scrapy-redis has queued for a spider."""

from __future__ import annotations

import io
import pickle
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

from rdfcrawl.core.errors import ConfigError, one_line
from rdfcrawl.frontier.queue.queued_records import UnqueueableError, record_of
from rdfcrawl.frontier.visiting import urgency_of
from rdfcrawl.monitor.operating.uris import ingests_of

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from rdfcrawl.core.records import Record
    from rdfcrawl.core.tasks import RequestTask
    from rdfcrawl.monitor.operating.crawl import OperatedCrawl

_BATCH_SIZE: Final = 500
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
