"""Run the crawl of a look in a temporary folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from rdfcrawl.launch.looking.findings import SiteLook, read_look
from rdfcrawl.launch.looking.spider import LookSpider
from rdfcrawl.launch.private_crawls import run_private_crawl

if TYPE_CHECKING:
    from scrapy.crawler import CrawlerProcessBase
    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector

_MOST_SECS: Final = 30
_MOST_BYTES: Final = 1024 * 1024  # of a dump
_SETTINGS: Final = {
    "CLOSESPIDER_TIMEOUT": _MOST_SECS,
    "DUMP_MAXSIZE": _MOST_BYTES,
    "HOST_LAST_WAIT_SECS": 0,
    "RETRY_TIMES": 0,
    "VISIT_MAX_DOCUMENTS": 1,  # each choice knows the results of those before
}
_REFUSED: Final = 2  # exit code of a crawl
# Prefixes of statistics.
_FORMATS: Final = ("document/format/", "document/extractor/")
_RESERVATIONS: Final = ("robots_tag/", "tdm/", "content_signal/")
_ARGUMENTS: Final = {
    "scope": "host",
    "harvest": "all",
    "follow": "abox,hyperlink",
    "max_per_host": "300",  # candidates, of which a few are requested
}


def look(
    process: CrawlerProcessBase, settings: BaseSettings, url: str, *, folder: Path
) -> SiteLook:
    """Look at a site; return the findings.

    Args:
        process: in which the site is read.
        settings: those of the look are set in them.
        url: of the site.
        folder: of temporary files.

    Raises:
        ConfigError: a setting is wrong.
        OSError: a disk cannot be read, or is full; or the crawl could not begin.
    """
    code, crawler = run_private_crawl(
        process,
        settings,
        LookSpider,
        {"seeds": url, **_ARGUMENTS},
        folder=folder,
        more=_SETTINGS,
    )
    spider, stats = cast("LookSpider", crawler.spider), crawler.stats
    if code == _REFUSED or stats is None:
        raise OSError("the site was not read")
    return read_look(
        folder / LookSpider.name,
        url,
        n_requests=int(stats.get_value("http/requests", 0)),
        delay_secs=spider.delay_secs,
        formats=_counts(stats, _FORMATS),
        reservations=_counts(stats, _RESERVATIONS),
        guesses=spider.guesses,
    )


def _counts(stats: StatsCollector, prefixes: Iterable[str]) -> dict[str, int]:
    """Return the statistics with some prefixes, without these."""
    return {
        name.removeprefix(prefix): int(number)
        for prefix in prefixes
        for name, number in stats.get_stats().items()
        if name.startswith(prefix)
    }
