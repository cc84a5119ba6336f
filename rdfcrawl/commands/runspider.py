"""`scrapy runspider`, with errors of the operator in one line."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.commands.runspider import Command as ScrapyRunspiderCommand
from scrapy.utils.spider import iter_spider_classes

from rdfcrawl.core.console import fail, warn
from rdfcrawl.core.options.scrapy_settings import unknown_settings
from rdfcrawl.launch.crawls import (
    StartFailure,
    check_operator,
    is_ours,
    load_addons,
    page_if_wanted,
    prepare_process,
    run_crawl,
)
from rdfcrawl.pipelines.feeds import FeedsCommand

if TYPE_CHECKING:
    import argparse

    from rdfcrawl.spiders.base import RdfSpider


class Command(FeedsCommand, ScrapyRunspiderCommand):
    """Run the spider in a file; the exit codes are those of `crawl`."""

    _spider: type[RdfSpider] | None = None

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Apply the options, and prepare the process if the spider is one of ours."""
        super().process_options(args, opts)
        if self.settings is not None and len(args) == 1:
            load_addons(self.settings.copy())
            self._spider = _spider_of(Path(args[0]))
            if self._spider is not None:
                prepare_process(self.settings)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check the operator's input, then crawl."""
        process, spider = self.crawler_process, self._spider
        if spider is None or process is None or self.settings is None:
            if opts.page:
                fail("--page: the spider does not use the frontier")
            failure = StartFailure.watching()
            super().run(args, opts)
            failure.fail_if_any()
            return
        checked = check_operator(spider, opts.spargs, self.settings, process)
        warn(*unknown_settings(self.settings))
        with page_if_wanted(opts, checked):
            self.exitcode = run_crawl(process, checked)


def _spider_of(path: Path) -> type[RdfSpider] | None:
    """Return the spider of a file, if one of ours.

    Scrapy reports errors in the file.
    """
    if path.suffix not in {".py", ".pyw"} or not path.is_file():
        return None
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        with suppress(ImportError):
            found = list(iter_spider_classes(import_module(path.stem)))
            if len(found) == 1 and is_ours(found[0]):
                return found[0]
    finally:
        sys.path.remove(folder)
    return None
