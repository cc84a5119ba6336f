"""The web archive of a crawl, if its settings want one."""

from __future__ import annotations

import re
import socket
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.values import integer, is_on, value_of
from rdfcrawl.core.version import __version__

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector

    from rdfcrawl.downloader.warc.archive import WebArchive
    from rdfcrawl.frontier.queue.options import CrawlOptions

_FORMAT: Final = (
    "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
)
_is_header = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch  # RFC 9110 5.6.2

# A pipeline and the services of the fetch share it; see `services`.
_archives: WeakKeyDictionary[Crawler, WebArchive | None] = WeakKeyDictionary()


def archive_of(crawler: Crawler) -> WebArchive | None:
    """Return the archive of a crawler; None if it keeps none.

    Raises:
        ConfigError: a setting is wrong.
    """
    if crawler not in _archives:
        wants_one = is_on(crawler.settings, "WARC")
        _archives[crawler] = _make(crawler) if wants_one else None
    return _archives[crawler]


def _make(crawler: Crawler) -> WebArchive:
    from rdfcrawl.downloader.warc.archive import ArchiveOptions, WebArchive  # noqa: PLC0415

    settings = crawler.settings
    spider: Any = crawler.spider
    crawl: CrawlOptions = spider.options.crawl
    obeys = "obey" if settings.getbool("ROBOTSTXT_OBEY") else "ignore"
    began = datetime.now(UTC).strftime("%Y%m%d%H%M%S")
    return WebArchive(
        ArchiveOptions(
            folder=crawl.paths.warc,
            name=f"{crawl.crawl_id}-{began}-{crawl.worker}",
            max_bytes=_max_bytes(settings),
            redacted_headers=_redacted_headers(settings),
            info=[
                ("software", f"rdfcrawl/{__version__}"),
                ("format", "WARC File Format 1.1"),
                ("conformsTo", _FORMAT),
                ("isPartOf", crawl.crawl_id),
                ("hostname", socket.gethostname()),
                ("http-header-user-agent", spider.options.fetch.user_agent),
                ("robots", obeys),
            ],
        ),
        partial(_count, crawler.stats),
    )


def check_archive(settings: BaseSettings) -> None:
    """Check the settings of an archive before workers are started.

    Raises:
        ConfigError: one of them is wrong.
    """
    is_on(settings, "WARC")
    _max_bytes(settings)
    _redacted_headers(settings)


def _max_bytes(settings: BaseSettings) -> int:
    return integer(settings, "WARC_MAX_BYTES", 1024)


def _redacted_headers(settings: BaseSettings) -> tuple[str, ...]:
    value = value_of(settings, "WARC_REDACTED_HEADERS")
    names = value.split(",") if isinstance(value, str) else value or []
    headers = tuple(str(each).strip() for each in names)
    for header in headers:
        if not _is_header(header):
            raise ConfigError(
                f"WARC_REDACTED_HEADERS: {header!r}: must be the name of a header"
            )
    return headers


def _count(stats: StatsCollector | None, name: str, count: int) -> None:
    if stats is not None:
        stats.inc_value(name, count)
