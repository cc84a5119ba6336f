"""Classes of Scrapy, adapted to visits: crawler, statistics, log lines."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from copy import copy
from textwrap import indent
from typing import Any, Self

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.extensions.corestats import CoreStats
from scrapy.http import Response
from scrapy.logformatter import LogFormatter, LogFormatterResult

from rdfcrawl.core.errors import HeldBack, StoreFault, safe_text
from rdfcrawl.core.json_logs import JsonLines, name_worker
from rdfcrawl.core.records import Document
from rdfcrawl.downloader.local_failures import local_fault
from rdfcrawl.frontier.engine import EngineView
from rdfcrawl.frontier.visiting import makes_visits
from rdfcrawl.pipelines.spider_options import SpiderOptions

_LOOK_SECS = 0.02
# These log multi-line lists of components and settings; none of it is from the web.
_LISTING = frozenset({"scrapy.addons", "scrapy.crawler", "scrapy.middleware"})


class StoppableCrawler(Crawler):
    """A crawler that can be stopped while its spider is being opened.

    Scrapy stops only a running engine: without this, a worker that has just joined its
    crawl would neither return its leases nor report its end.

    Attributes:
        not_due: pages that its run does not request again, in words.
    """

    not_due = ""

    async def stop_async(self) -> None:
        """Stop the crawl; if it is being opened, wait until it is open."""
        engine = EngineView(self)
        # Scrapy has no signal for this: `engine_started` precedes the running engine.
        while self.crawling and not (engine.is_running or engine.is_closing):  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_SECS)
        await super().stop_async()


class CrawlStats(CoreStats):
    """Statistics that count items and responses by signal for ordinary spiders only.

    A signal costs 5 % of a small document. For visits, the pipelines count documents,
    and `SparingSignals` counts responses.
    """

    crawler: Crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the extension of a crawler."""
        stats = super().from_crawler(crawler)
        stats.crawler = crawler
        return stats

    def spider_opened(self, spider: Spider) -> None:
        """Record the start."""
        super().spider_opened(spider)
        if makes_visits(spider):
            disconnect = self.crawler.signals.disconnect
            disconnect(self.item_scraped, signals.item_scraped)
            disconnect(self.response_received, signals.response_received)

    def spider_closed(self, spider: Spider, reason: str) -> None:
        """Record the end, unless a component kept the spider from being opened."""
        if self.start_time is not None:
            super().spider_closed(spider, reason)


_PLAIN = logging.Formatter()


class SafeFormatter(logging.Formatter):
    """Formatter that escapes control characters in the lines of another formatter.

    Any line may contain text from the web, such as in the message of an exception. It
    must not control a terminal, nor look like a separate line.
    """

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self._inner = inner

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record."""
        record = copy(record)
        if record.name not in _LISTING:
            record.args = _safe_args(record.args)
        if record.exc_info:
            text = self._inner.formatException(record.exc_info)
            record.exc_text = indent("".join(text), "    ")
        lines = self._inner.format(record).split("\n")
        return "\n".join("\t".join(map(safe_text, x.split("\t"))) for x in lines)


def make_logs_safe() -> None:
    """Make all log lines of Scrapy's handlers safe."""
    for handler in logging.getLogger().handlers:
        if type(handler) not in (logging.StreamHandler, logging.FileHandler):
            continue  # not a handler of Scrapy
        if not isinstance(handler.formatter, SafeFormatter | JsonLines):
            handler.setFormatter(SafeFormatter(handler.formatter or _PLAIN))


def _safe_args(args: Any) -> Any:
    if isinstance(args, tuple):
        return tuple(map(_safe_arg, args))
    if isinstance(args, Mapping):
        return {name: _safe_arg(arg) for name, arg in args.items()}
    return args


def _safe_arg(arg: object) -> object:
    """Return a safe argument of a log line; numbers keep their type for formatting."""
    return arg if isinstance(arg, int | float) else safe_text(arg)


class QuietLogFormatter(LogFormatter):
    """Formatter that drops documents and visits, and keeps ordinary requests."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the formatter of a crawler, and make log lines safe."""
        # Scrapy replaces its handlers after this; no request is sent before the signal.
        crawler.signals.connect(make_logs_safe, signals.engine_started)
        options = getattr(crawler.spider, "options", None)
        if isinstance(options, SpiderOptions):
            name_worker(options.crawl.crawl_id, options.crawl.worker)
        return super().from_crawler(crawler)

    def crawled(  # type: ignore[override] # Scrapy skips None, but does not say so
        self, request: Request, response: Response, spider: Spider
    ) -> LogFormatterResult | None:
        """Return a line for an ordinary request."""
        if "visit" in request.meta:
            return None
        return super().crawled(request, response, spider)

    def scraped(self, item: Any, response: Any, spider: Spider) -> Any:
        """Return a line for an ordinary item."""
        if isinstance(item, Document):
            return None
        return super().scraped(item, response, spider)

    def item_error(
        self, item: Any, exception: BaseException, response: Any, spider: Spider
    ) -> LogFormatterResult:
        """Return a line that names the document, without its body.

        Documents that a store rejected, or that are held back, are retried; the reason
        of the pause is logged elsewhere.
        """
        line = super().item_error(_named(item), exception, response, spider)
        is_retried = isinstance(exception, StoreFault | HeldBack)
        if isinstance(item, Document) and (is_retried or local_fault(exception)):
            line["level"] = logging.DEBUG
        return line

    def dropped(
        self, item: Any, exception: BaseException, response: Any, spider: Spider
    ) -> LogFormatterResult:
        """Return one line that names the document, without its body."""
        line = super().dropped(item, exception, response, spider)
        if isinstance(item, Document):
            line["msg"] = "Dropped: %(exception)s: %(item)s"
            line["args"] = {"exception": safe_text(exception), "item": _named(item)}
        return line


def _named(item: Any) -> Any:
    return safe_text(item.url) if isinstance(item, Document) else item
