"""The web archive of a crawl, if its settings want one."""

from __future__ import annotations

import socket
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from rdfcrawl.core import __version__

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from rdfcrawl.downloader.warc.archive import WebArchive

_FORMAT: Final = (
    "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
)
# A pipeline and the services of the fetch share it; see `services`.
_archives: WeakKeyDictionary[Crawler, WebArchive | None] = WeakKeyDictionary()


def archive_of(crawler: Crawler) -> WebArchive | None:
    """Return the archive of a crawler; None if it keeps none."""
    if crawler not in _archives:
        spider: Any = crawler.spider
        is_wanted = spider.options.archive.is_wanted
        _archives[crawler] = _make(crawler, spider.options) if is_wanted else None
    return _archives[crawler]


def _make(crawler: Crawler, options: Any) -> WebArchive:
    from rdfcrawl.downloader.warc.archive import ArchiveOptions, WebArchive  # noqa: PLC0415

    crawl = options.crawl
    obeys = "obey" if options.robots.is_obeyed else "ignore"
    began = datetime.now(UTC).strftime("%Y%m%d%H%M%S")
    return WebArchive(
        ArchiveOptions(
            folder=crawl.paths.warc,
            name=f"{crawl.crawl_id}-{began}-{crawl.worker}",
            max_bytes=options.archive.max_bytes,
            redacted_headers=options.archive.redacted_headers,
            info=[
                ("software", f"rdfcrawl/{__version__}"),
                ("format", "WARC File Format 1.1"),
                ("conformsTo", _FORMAT),
                ("isPartOf", crawl.crawl_id),
                ("hostname", socket.gethostname()),
                ("http-header-user-agent", options.fetch.user_agent),
                ("robots", obeys),
            ],
        ),
        partial(_count, crawler.stats),
    )


def _count(stats: StatsCollector | None, name: str, count: int) -> None:
    if stats is not None:
        stats.inc_value(name, count)
