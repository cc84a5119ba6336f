"""Import the requests that scrapy-redis has queued for a spider."""

from __future__ import annotations

import io
import pickle
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from hashlib import blake2b
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.queue.queued_requests import UnqueueableError, record_of
from rdfcrawl.frontier.visiting import urgency_of
from rdfcrawl.monitor.operating.uris import ingests_of
from rdfcrawl.uri import BadUri

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from rdfcrawl.core.records import Record
    from rdfcrawl.core.tasks.pages import RequestTask
    from rdfcrawl.monitor.operating.crawl import OperatedCrawl

_BATCH_SIZE: Final = 500
_NO_SPIDER: Final = Spider("import")


@dataclass(slots=True)
class QueueImport:
    """Numbers of requests.

    Attributes:
        queued: new in the frontier.
        seen: known before.
        refused: neither; the first of them in `example`.
        example: of what was refused.
    """

    queued: int = 0
    seen: int = 0
    refused: int = 0
    example: str = ""

    def __str__(self) -> str:
        """Return one line."""
        line = f"requests: {self.queued} queued, {self.seen} seen before"
        return (
            f"{line}, {self.refused} refused: {self.example}" if self.refused else line
        )


class _PlainUnpickler(pickle.Unpickler):
    """Reads plain values; a pickle that names code is refused."""

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
        async for entry in _entries(crawl, key):
            try:
                record, request = _record(entry, loads(entry))
            except (UnqueueableError, BadUri, pickle.UnpicklingError) as error:
                done.refused += 1
                done.example = done.example or str(error)[:200]
                continue
            if dns is not None:
                await dns.prime([record.url])
            await ingests.widen([record.url])
            candidate = ingests.own.request(record, urgency_of(request))
            added = await crawl.frontier.add([candidate])
            done.queued += added.new
            done.seen += not added.new
    return done


async def _entries(crawl: OperatedCrawl, key: str) -> AsyncIterator[bytes]:
    redis = crawl.redis
    kind = await redis.type(key)
    if kind not in {b"list", b"zset"}:
        raise ConfigError(f"{key}: no file, and no queue of scrapy-redis")
    page = redis.lrange if kind == b"list" else redis.zrange
    start = 0
    while entries := await page(key, start, start + _BATCH_SIZE - 1):
        for entry in cast("list[bytes]", entries):
            yield entry
        start += _BATCH_SIZE


def _loads_of(serializer: Any) -> Callable[[bytes], Any]:
    if not serializer:
        return lambda entry: _PlainUnpickler(io.BytesIO(entry)).load()
    module = import_module(serializer) if isinstance(serializer, str) else serializer
    loads: Callable[[bytes], Any] = module.loads
    return loads


def _record(entry: bytes, found: Any) -> tuple[Record, Request]:
    """Return a record; the same entry gives the same one."""
    if not isinstance(found, dict) or "url" not in found:
        raise UnqueueableError("it is no request")
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
