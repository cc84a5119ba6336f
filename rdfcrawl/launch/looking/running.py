"""Run the crawl of a look in a temporary folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from rdfcrawl.launch.crawls import check_operator, run_crawl
from rdfcrawl.launch.looking.findings import SiteLook, read_look
from rdfcrawl.launch.looking.spider import LookSpider
from rdfcrawl.launch.verifying.running import PRIVATE_SETTINGS

if TYPE_CHECKING:
    from scrapy.crawler import CrawlerProcessBase
    from scrapy.settings import BaseSettings

_NAME: Final = "look"
_MOST_SECS: Final = 30
_SETTINGS: Final[dict[str, Any]] = {
    "CRAWL_ID": _NAME,
    "CLOSESPIDER_TIMEOUT": _MOST_SECS,
    "HOST_LAST_WAIT_SECS": 0,
    "RETRY_TIMES": 0,
}
_FORMATS: Final = ("document/format/", "document/extractor/")  # statistics
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
        OSError: a disk cannot be read, or is full.
    """
    private = PRIVATE_SETTINGS | _SETTINGS | {"CRAWL_DIR": str(folder)}
    for name, value in private.items():
        settings.set(name, value, "cmdline")
    arguments = {"seeds": url, **_ARGUMENTS}
    checked = check_operator(LookSpider, arguments, settings, process)
    run_crawl(process, checked)
    spider = cast("LookSpider", checked.crawler.spider)
    stats = checked.crawler.stats
    formats = {
        name.removeprefix(prefix): int(number)
        for prefix in _FORMATS
        for name, number in stats.get_stats().items()
        if name.startswith(prefix)
    }
    return read_look(
        folder / _NAME,
        url,
        n_requests=int(stats.get_value("http/requests", 0)),
        delay_secs=spider.delay_secs,
        formats=formats,
    )
