"""`scrapy crawl`, with errors of the operator in one line."""

from __future__ import annotations

import argparse

from scrapy.commands.crawl import Command as ScrapyCrawlCommand

from rdfcrawl.core.console import fail, warn
from rdfcrawl.core.options.scrapy_settings import unknown_settings
from rdfcrawl.launch.crawls import (
    StartFailure,
    check_name,
    check_operator,
    is_ours,
    load_spiders,
    page_if_wanted,
    prepare_process,
    run_crawl,
)
from rdfcrawl.pipelines.feeds import FeedsCommand


class Command(FeedsCommand, ScrapyCrawlCommand):
    """Run a spider.

    The exit code is 0 if the crawl has finished or the worker was drained, 1 if not, 2
    for wrong usage, 3 if it has finished but the guard refused seeds of the operator.
    """

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Apply the options, and prepare the process if the spider is one of ours."""
        super().process_options(args, opts)
        if len(args) != 1:
            fail("crawl: name one spider; `list` shows them")
        if self.settings is None:
            return
        loader = load_spiders(self.settings)
        check_name(args[0], loader)
        if is_ours(loader.load(args[0])):
            prepare_process(self.settings)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check the operator's input, then crawl."""
        if self.crawler_process is None or self.settings is None:
            super().run(args, opts)
            return
        spider = self.crawler_process.spider_loader.load(args[0])
        if not is_ours(spider):
            if opts.page:
                fail(f"--page: spider {args[0]} does not use the frontier")
            failure = StartFailure.watching()
            super().run(args, opts)
            failure.fail_if_any()
            return
        checked = check_operator(
            spider, opts.spargs, self.settings, self.crawler_process
        )
        warn(*unknown_settings(self.settings))
        with page_if_wanted(opts, checked):
            self.exitcode = run_crawl(self.crawler_process, checked)
