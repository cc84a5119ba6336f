"""The same command again: queue its seeds and due pages before its run begins."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, cast

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.pipelines.spider_options import prepared
from rdfcrawl.stores.crawl_folder import read_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.frontier.arguments.crawl import CrawlArguments
    from rdfcrawl.launch.options import CheckedCrawl
    from rdfcrawl.spiders.base import RdfSpider


async def queue_later_run(checked: CheckedCrawl) -> str:
    """Queue the pages of a later run; return the pages that are not due, in words.

    Return nothing if no earlier run has ended on this machine. An error is returned,
    and does not prevent the crawl.
    """
    spider = cast("type[RdfSpider]", checked.crawler.spidercls)
    arguments, options = prepared[checked.crawler].arguments, checked.options
    if arguments.fresh or not spider.makes_documents or options.crawl.run is not None:
        return ""
    if not read_runs(options.crawl.paths.quads).ended:
        return ""
    from rdfcrawl.monitor.refreshing.later_runs import LaterRun  # noqa: PLC0415 (slow)
    from rdfcrawl.monitor.refreshing.options import RefreshOptions  # noqa: PLC0415

    try:
        settings = checked.crawler.settings
        run = LaterRun(
            options=options.crawl,
            interval_ms=options.harvest.revisit_secs * 1000,
            refresh=RefreshOptions.from_settings(settings),
            seeds=_seeds(checked, arguments),
            retries_failed="failed" in arguments.retry,
        )
        return await run.queue(settings)
    except (ConfigError, OSError) as error:
        return f"unknown, as the pages that are due cannot be found: {error}"


def _seeds(checked: CheckedCrawl, arguments: CrawlArguments) -> Iterator[str]:
    """Yield the seeds of the command that are no sources."""
    from rdfcrawl.frontier.arguments.seeds import (  # noqa: PLC0415
        Seed,
        iter_start_urls,
        iter_typed_seeds,
    )

    schemes = checked.options.crawl.schemes.of_seeds
    start_urls = getattr(checked.crawler.spidercls, "start_urls", ())
    given = iter_typed_seeds(arguments.seeds, schemes)
    for each in chain(given, iter_start_urls(start_urls, schemes)):
        if isinstance(each, str):
            yield each
        elif isinstance(each, Seed) and each.kind is None:
            yield each.url
