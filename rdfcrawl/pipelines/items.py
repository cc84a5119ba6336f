"""Items of pipelines and feeds: spiders that yield them, fields, chunks, and the calls.

Items are documents, or items of users' spiders.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, Self, TypeVar, cast

from itemadapter import ItemAdapter
from itemadapter.adapter import AdapterInterface
from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.deprecate import argument_is_required
from scrapy.utils.python import global_object_name

from rdfcrawl.core.errors import CrawlGone, StoreFault
from rdfcrawl.core.records import Document, Record
from rdfcrawl.core.visits import flush_stores
from rdfcrawl.frontier.queue.worker_reports import note_failed_part
from rdfcrawl.frontier.visiting import VisitingSpider, visiting_spider
from rdfcrawl.pipelines.provenance import status_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from rdfcrawl.pipelines.spider_options import SpiderOptions
    from rdfcrawl.sources.harvest.registry import HarvesterRegistry

logger = logging.getLogger(__name__)

T = TypeVar("T")


_OUR_MODULES: Final = "rdfcrawl.pipelines."


def pass_through(item: object) -> object:
    """Return an item that is not a document unchanged.

    Raises:
        TypeError: a pipeline returned None; its document would be lost.
    """
    if item is None:
        raise TypeError("an item pipeline returned no item")
    return item


def _time(ms: int) -> str | None:
    if not ms:
        return None
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")


def _faults(document: Document) -> list[dict[str, object]]:
    return [
        {"reason": str(fault.reason), "detail": fault.detail, "count": fault.count}
        for fault in document.faults
    ]


# Column of a feed -> its value; `docs/reference/commands.md` has the list.
FIELDS: Final[dict[str, Callable[[Document], Any]]] = {
    "url": lambda document: document.url,
    "requested": lambda document: document.record.url,
    "parent": lambda document: document.record.parent,
    "depth": lambda document: document.record.depth,
    "status": lambda document: status_of(document).lower(),
    "http_status": lambda document: document.status,
    "media_type": lambda document: document.media_type,
    "format": lambda document: (
        document.reading.format.name if document.reading.format else ""
    ),
    "bytes": lambda document: document.response.n_bytes,
    "quads": lambda document: document.n_quads,
    "links": lambda document: document.n_links,
    "started": lambda document: _time(document.response.started_ms),
    "ended": lambda document: _time(document.response.ended_ms),
    "faults": _faults,
}


class DocumentAdapter(AdapterInterface):
    """A document as fields of feeds and of `ItemAdapter`.

    Body and quads are no fields: the quads are in the store. Item pipelines may add
    fields.
    """

    item: Document

    @classmethod
    def is_item_class(cls, item_class: type) -> bool:
        """Return whether items of a class are documents."""
        return issubclass(item_class, Document)

    @classmethod
    def get_field_names_from_class(cls, item_class: type) -> list[str]:
        """Return the names of the fields."""
        del item_class
        return list(FIELDS)

    def __getitem__(self, name: str) -> Any:
        if name in FIELDS:
            return FIELDS[name](self.item)
        return (self.item.extra or {})[name]

    def __setitem__(self, name: str, value: object) -> None:
        if name in FIELDS:
            raise TypeError(f"field of a document cannot be set: {name}")
        self.item.extra = (self.item.extra or {}) | {name: value}

    def __delitem__(self, name: str) -> None:
        self.item.extra = dict(self.item.extra or {})
        del self.item.extra[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*FIELDS, *(self.item.extra or ())))

    def __len__(self) -> int:
        return len(FIELDS) + len(self.item.extra or ())


def adapt_documents() -> None:
    """Make `ItemAdapter` accept documents, for the crawls of this process."""
    known = ItemAdapter.ADAPTER_CLASSES
    if DocumentAdapter not in known:
        ItemAdapter.ADAPTER_CLASSES = (DocumentAdapter, *known)


class HarvestingSpider(VisitingSpider, Protocol):
    """A spider whose visits include responses of sources.

    `harvesters` has its own arguments.
    """

    harvesters: HarvesterRegistry

    @property
    def options(self) -> SpiderOptions:
        """Its options."""

    def harvesters_of(self, record: Record) -> HarvesterRegistry:
        """Return the harvesters with the arguments of a record."""


def harvesting_spider(crawler: Crawler) -> HarvestingSpider:
    """Return the spider of a crawler that makes visits; see `visiting_spider`."""
    return cast("HarvestingSpider", visiting_spider(crawler))


class DocumentPipelines(ItemPipelineManager):
    """Manager that calls the pipelines one after the other, as Scrapy does.

    Scrapy formats the name of each method for a rare warning, and checks each time
    whether the method takes the spider: a tenth of the cost of all pipelines for a
    small document.
    """

    @cached_property
    def _has_old_style(self) -> bool:
        """Whether a pipeline needs the spider as an argument."""
        methods: Any = self.methods["process_item"]
        return any(argument_is_required(method, "spider") for method in methods)

    @cached_property
    def takes_batches(self) -> bool:
        """Whether all pipelines are ours: users' ones get documents one by one."""
        methods: Any = self.methods["process_item"]
        owners = [type(getattr(method, "__self__", None)) for method in methods]
        return all(owner.__module__.startswith(_OUR_MODULES) for owner in owners)

    async def process_batch(
        self,
        documents: Sequence[Document],
    ) -> list[tuple[Document, Exception]]:
        """Process documents step by step, each step for all of them.

        A seventh cheaper than one document after the other: the code and the data of
        one step fit into the caches of the processor.

        Args:
            documents: for pipelines that take batches.

        Returns:
            The documents that failed, which go no further, and the reasons.
        """
        failed: list[tuple[Document, Exception]] = []
        steps: Any = self.methods["process_item"]
        for step in steps:
            passed = []
            for document in documents:
                try:
                    found = step(document)
                    if isinstance(found, CoroutineType):
                        await found
                except Exception as error:
                    failed.append((document, error))
                else:
                    passed.append(document)
            documents = passed
        return failed

    async def process_item_async(self, item: Any) -> Any:
        """See `ItemProcessorProtocol`."""
        if self._has_old_style:
            return pass_through(await super().process_item_async(item))
        for process in self.methods["process_item"]:
            given, item = item, process(item)  # type: ignore[misc]
            if item is given:  # the usual case
                continue
            if isinstance(item, CoroutineType):
                item = await item
            elif not isinstance(item, Document):  # a Deferred, or a user's object
                item = await ensure_awaitable(item, _warn=global_object_name(process))
        return pass_through(item)

    async def close_spider_async(self) -> None:
        """Close all pipelines; one that raises keeps no other from closing."""
        await asyncio.gather(*map(self._close, self.methods["close_spider"]))

    async def _close(self, close: Any) -> None:
        try:
            await self.get_awaitable(close)
        except Exception as error:
            logger.exception("%s failed", global_object_name(close))
            if self.crawler is not None:
                note_failed_part(self.crawler.stats, error)


async def close_chunks(chunks: object) -> None:
    """Close chunks, which may not have been read to their end."""
    close = getattr(chunks, "aclose", None)
    if close is not None:
        await close()


class closing(Generic[T]):  # noqa: N801  # as `contextlib.aclosing`
    """Close chunks, or documents, at the end of a block.

    Chunks of a user's pipeline may lack `aclose`, which `aclosing` requires. Without
    closing, the child process stays busy until the next garbage collection, and other
    documents wait for it.
    """

    __slots__ = ("_chunks",)

    def __init__(self, chunks: AsyncIterator[T]) -> None:
        self._chunks = chunks

    async def __aenter__(self) -> AsyncIterator[T]:
        return self._chunks

    async def __aexit__(self, *exc_info: object) -> None:
        await close_chunks(self._chunks)


class DurablePipeline:
    """Pipeline whose output is durable before visits are acknowledged."""

    _is_open = False
    _fault: StoreFault | CrawlGone | None = None  # of the last flush

    def connected(self, crawler: Crawler) -> Self:
        """Flush the pipeline when stores are flushed; return it."""
        crawler.signals.connect(self.flush, flush_stores)
        return self

    async def flush(self) -> StoreFault | CrawlGone | None:
        """Make all output durable.

        Returns:
            The reason of a failure. Scrapy would log an exception with a traceback.
            `CrawlGone`: Redis, which the pipeline uses too, refuses the worker.
        """
        self._fault = await self._attempt(self._sync) if self._is_open else None
        return self._fault

    async def close_spider(self) -> None:
        """Flush and close the output, if it was opened; report a failure only once."""
        fault = await self._attempt(self._end) if self._is_open else None
        # A crawl that is gone says so itself; after other faults, the crawl stops.
        if isinstance(fault, StoreFault) and not self._fault:
            logging.getLogger(type(self).__module__).critical("%s", fault)
        self._is_open = False

    async def _attempt(
        self, step: Callable[[], Awaitable[None]]
    ) -> StoreFault | CrawlGone | None:
        try:
            await step()
        except CrawlGone as gone:
            return gone
        except Exception as error:
            return self._as_fault(error)
        return None

    async def _sync(self) -> None:
        """Make all output durable; may raise exceptions that `_as_fault` accepts."""
        raise NotImplementedError

    async def _end(self) -> None:
        """Flush and close the output; see `_sync`."""
        raise NotImplementedError

    def _as_fault(self, error: Exception) -> StoreFault:
        """Return the fault for an exception, or raise it."""
        if isinstance(error, StoreFault):
            return error
        raise error
