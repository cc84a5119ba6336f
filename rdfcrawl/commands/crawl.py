"""`scrapy crawl`, with errors of the operator told in one line."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import TYPE_CHECKING, NoReturn

from scrapy import signals
from scrapy.commands.crawl import Command as ScrapyCrawlCommand
from scrapy.crawler import CrawlerProcess

from rdfcrawl.errors import ConfigError
from rdfcrawl.garbage import look_rarely

if TYPE_CHECKING:
    import argparse

    from scrapy.crawler import Crawler, CrawlerProcessBase
    from scrapy.settings import BaseSettings
    from scrapy.spiderloader import SpiderLoaderProtocol

    from rdfcrawl.arguments import CrawlArguments
    from rdfcrawl.options import SpiderOptions
    from rdfcrawl.spiders.base import RdfSpider

logger = logging.getLogger(__name__)

# They list versions and components at every start. A log file has it all, and so has
# a terminal with `-L DEBUG`.
_TALKATIVE = (
    "scrapy.addons",
    "scrapy.crawler",
    "scrapy.middleware",
    "scrapy.utils.log",
)
_LISTS = ("Enabled ", "Overridden settings", "Scrapy %(version)s", "Versions")
_TELL_OF_FAILURES = ("scrapy.crawler", "scrapy.core.engine", "scrapy.utils.signal")


class Command(ScrapyCrawlCommand):
    """Runs a spider.

    The exit code is 0 if it has finished, 1 if it has not, 2 for wrong usage, 3 if it
    has finished without seeds of the operator that the guard refused.
    """

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Apply the options; spare a terminal Scrapy's account of itself."""
        look_rarely()  # here already: what is imported from now on is no garbage
        super().process_options(args, opts)
        settings = self.settings
        if settings and settings["LOG_LEVEL"] == "INFO" and not settings["LOG_FILE"]:
            for name in _TALKATIVE:  # not by level: Scrapy resets levels
                logging.getLogger(name).addFilter(_is_no_list)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check what the operator gave, then crawl."""
        from rdfcrawl.spiders.base import RdfSpider

        if len(args) != 1 or self.crawler_process is None or self.settings is None:
            super().run(args, opts)
            return
        loader = self.crawler_process.spider_loader
        check_name(args[0], loader)
        spider = loader.load(args[0])
        if not issubclass(spider, RdfSpider):
            super().run(args, opts)
            return
        check_operator(spider, opts.spargs, self.settings)
        self._crawl(self.crawler_process, args[0], opts)

    def _crawl(
        self,
        process: CrawlerProcessBase,
        name: str,
        opts: argparse.Namespace,
    ) -> None:
        from rdfcrawl.progress.stopping import StoppableCrawler

        reasons: list[str] = []
        crawler = StoppableCrawler(
            process.spider_loader.load(name),
            process.settings,
            init_reactor=isinstance(process, CrawlerProcess),
        )

        def note_reason(reason: str) -> None:
            reasons.append(reason)

        crawler.signals.connect(note_reason, signals.spider_closed)
        refusal = _Refusal()
        for told_by in _TELL_OF_FAILURES:
            logging.getLogger(told_by).addFilter(refusal.is_no_consequence)
        task = process.crawl(crawler, **opts.spargs)
        if isinstance(task, asyncio.Task):
            task.add_done_callback(refusal.note_end)
        process.start()
        if refusal.error is not None:
            fail(str(refusal.error))
        self.exitcode = _exit_code(reasons, crawler)


def _exit_code(reasons: list[str], crawler: Crawler) -> int:
    from rdfcrawl.guard.operator import EXIT_CODE
    from rdfcrawl.progress.options import failed_exit_code

    if reasons != ["finished"]:
        return 1
    stats = crawler.stats.get_stats() if crawler.stats else {}
    if stats.get("guard/seeds"):
        return EXIT_CODE
    failed = stats.get("frontier/failed")
    return failed_exit_code(crawler.settings) if failed else 0


def check_name(spider: str, loader: SpiderLoaderProtocol) -> None:
    """Exit with 2 and one line if there is no spider of this name."""
    if spider not in loader.list():
        fail(f"spider {spider}: unknown; there are {', '.join(loader.list())}")


def check_operator(
    spider: type[RdfSpider], arguments: dict[str, str], settings: BaseSettings
) -> BaseSettings:
    """Exit with 2 and one line if an argument or a setting is wrong.

    Returns:
        The settings with those of the spider.
    """
    from rdfcrawl.extract.options import ExtractOptions
    from rdfcrawl.options import SpiderOptions
    from rdfcrawl.progress.options import ProgressOptions, failed_exit_code
    from rdfcrawl.scrapy_settings import check_components, merge_components
    from rdfcrawl.stores.options import segment_limits

    settings = settings.copy()
    spider.update_settings(settings)
    try:
        merge_components(settings)
        parsed = spider.accepts().parse(spider.given(arguments, settings))
        options = SpiderOptions.from_settings(settings, spider.name).introduced(
            settings
        )
        ExtractOptions.from_settings(settings)
        failed_exit_code(settings)
        segment_limits(settings)
        ProgressOptions.from_settings(settings)
        check_components(settings)
        _check_named(parsed, options)
    except ConfigError as error:
        fail(str(error))
    return settings


def _check_named(arguments: CrawlArguments, options: SpiderOptions) -> None:
    """See that what the operator names on the command line may be connected to.

    Raises:
        ConfigError: the guard would refuse it.
    """
    from rdfcrawl.arguments import NAMED
    from rdfcrawl.guard.operator import looked_up_refusal

    for name in ("seeds", *NAMED):
        urls = getattr(arguments, name)
        if isinstance(urls, tuple) and urls:
            # Behind a proxy, it is the proxy that looks names up.
            refusal = looked_up_refusal(
                urls, options.fetch.guard, looks_up=not options.fetch.with_scrapy
            )
            if refusal:
                raise ConfigError(f"argument {name}: {refusal}")


def fail(message: str) -> NoReturn:
    """Tell the operator what is wrong, and exit with 2.

    A log file gets it too: under scrapyd, nobody reads standard error.
    """
    from rdfcrawl.progress.logformatter import has_log_file

    if has_log_file():
        logger.error("%s", message)
    sys.stderr.write(f"scrapy: {message}\n")
    sys.exit(2)


def _is_no_list(record: logging.LogRecord) -> bool:
    return record.levelno > logging.INFO or not str(record.msg).startswith(_LISTS)


class _Refusal:
    """An error of the operator that shows only when the crawl begins (Redis, say).

    Attributes:
        error: it, to be told in one line instead of the tracebacks it causes.
    """

    def __init__(self) -> None:
        self.error: ConfigError | None = None

    def note_end(self, crawl: asyncio.Task[None]) -> None:
        """Keep what ended the crawl, if it is the operator's to mend."""
        error = None if crawl.cancelled() else crawl.exception()
        if isinstance(error, ConfigError):
            self.error = error

    def is_no_consequence(self, record: logging.LogRecord) -> bool:
        """Tell whether a log record is worth showing."""
        error = record.exc_info[1] if record.exc_info else None
        while error is not None and self.error is None:
            if isinstance(error, ConfigError):
                self.error = error
            error = error.__context__
        return self.error is None or record.levelno < logging.ERROR
