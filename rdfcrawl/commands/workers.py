"""`scrapy workers`: several processes on one frontier, one progress display."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.utils.log import configure_logging

from rdfcrawl.core.console import fail, number, warn
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.json_logs import install_json_logs
from rdfcrawl.core.options.scrapy_settings import unknown_settings
from rdfcrawl.launch.crawls import (
    check_name,
    check_operator,
    is_ours,
    load_spiders,
    page_if_wanted,
)
from rdfcrawl.pipelines.feeds import FeedsCommand, check_feeds_of_workers

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

    from rdfcrawl.launch.forks import WorkerForks
    from rdfcrawl.spiders.base import RdfSpider

MAX_WORKERS = 256


class Command(FeedsCommand):
    """Run one spider in several processes; exit codes as those of `crawl`."""

    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": True}

    def syntax(self) -> str:
        """Return the synopsis after the command's name."""
        return "[options] <spider>"

    def short_desc(self) -> str:
        """Return one line for `scrapy -h`."""
        return "Run a spider in several processes on one frontier"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add `-n` to the options of `crawl`."""
        super().add_options(parser)
        number(
            "-n",
            "N",
            "processes (default: one per core)",
            least=1,
            most=MAX_WORKERS,
            default=os.cpu_count() or 1,
            dest="n_workers",
        )(parser)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check the operator's input, run the workers, wait for their end."""
        from rdfcrawl.launch.forks import begin

        if self.settings is None or len(args) != 1:
            fail("workers: name one spider")
        check_feeds_of_workers(self.settings, opts.n_workers)
        name = args[0]
        loader = load_spiders(self.settings)
        check_name(name, loader)
        spider = loader.load(name)
        if not is_ours(spider):
            fail(
                f"workers: spider {name}: does not use the frontier; name one that does"
            )
        # First of all: checks may start threads, which do not survive a fork.
        forks = begin() if _may_fork(self.settings) else None
        try:
            self._run_pool(spider, opts, forks)
        finally:
            if forks is not None:
                forks.close()

    def _run_pool(
        self,
        spider: type[RdfSpider],
        opts: argparse.Namespace,
        forks: WorkerForks | None,
    ) -> None:
        from rdfcrawl.launch.worker_pool import WorkerPool

        if self.settings is None:
            return
        checked = check_operator(spider, opts.spargs, self.settings)
        warn(*unknown_settings(self.settings))
        install_json_logs(self.settings)
        configure_logging(self.settings)
        pool = WorkerPool(
            checked,
            member=spider.member_of(checked.given),
            words=_options_of(opts),
            n_workers=opts.n_workers,
            forks=forks,
        )
        try:
            with page_if_wanted(opts, checked):
                self.exitcode = asyncio.run(pool.run())
            pool.describe()
        except ConfigError as error:
            fail(str(error))


def _options_of(opts: argparse.Namespace) -> list[str]:
    """Return the options of all workers.

    Stores follow the crawl, not a worker; their logins stay out of lists of processes.
    """
    return [
        *(f"-s{each}" for each in opts.set if not each.startswith("STORES=")),
        *(f"-o{uri}" for uri in opts.output or ()),
        *(f"-O{uri}" for uri in opts.overwrite_output or ()),
    ]


def _may_fork(settings: BaseSettings) -> bool:
    from rdfcrawl.launch.options import LaunchOptions

    try:
        return bool(LaunchOptions.one(settings, "may_fork"))
    except ConfigError as error:
        fail(str(error))
