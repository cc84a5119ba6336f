"""`scrapy crawl`, with errors of the operator told in one line."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.commands.crawl import Command as ScrapyCrawlCommand

from rdfcrawl.arguments import CrawlArguments
from rdfcrawl.errors import ConfigError
from rdfcrawl.options import CrawlOptions
from rdfcrawl.spiders.base import RdfSpider

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings


class Command(ScrapyCrawlCommand):
    """Runs a spider; exit code 0: finished, 1: not finished, 2: wrong usage."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check what the operator gave, then crawl."""
        if len(args) != 1 or self.crawler_process is None or self.settings is None:
            super().run(args, opts)
            return
        loader = self.crawler_process.spider_loader
        if args[0] not in loader.list():
            fail(f"spider {args[0]}: unknown; there are {', '.join(loader.list())}")
        spider = loader.load(args[0])
        if not issubclass(spider, RdfSpider):
            super().run(args, opts)
            return
        check_operator(spider, opts.spargs, self.settings)
        self._crawl(args[0], opts)

    def _crawl(self, name: str, opts: argparse.Namespace) -> None:
        if self.crawler_process is None:
            raise RuntimeError("a command without a crawler process")
        reasons: list[str] = []
        crawler = self._create_crawler(name)

        def note_reason(reason: str) -> None:
            reasons.append(reason)

        crawler.signals.connect(note_reason, signals.spider_closed)
        logging.getLogger("scrapy.crawler").addFilter(_config_errors_in_one_line)
        self.crawler_process.crawl(crawler, **opts.spargs)
        self.crawler_process.start()
        self.exitcode = 0 if reasons == ["finished"] else 1


def check_operator(
    spider: type[RdfSpider], arguments: dict[str, str], settings: BaseSettings
) -> None:
    """Exit with 2 and one line if an argument or a setting is wrong."""
    try:
        CrawlArguments.parse(arguments)
        CrawlOptions.read(settings, spider.name)
    except ConfigError as error:
        fail(str(error))


def fail(message: str) -> None:
    """Tell the operator what is wrong, and exit with 2."""
    sys.stderr.write(f"scrapy: {message}\n")
    sys.exit(2)


def _config_errors_in_one_line(record: logging.LogRecord) -> bool:
    """Drop the traceback of an error that is the operator's to mend."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, ConfigError):
        record.msg, record.args, record.exc_info = "%s", (str(error),), None
    return True
