"""Crawls that a command runs only to read: in a temporary folder, with their Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from rdfcrawl.core.console import QuietCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from pathlib import Path

    from scrapy.crawler import Crawler, CrawlerProcessBase
    from scrapy.settings import BaseSettings

    from rdfcrawl.spiders.base import RdfSpider

_BELOW_CMDLINE: Final = 39  # priority of a setting that `-L` and `-s` replace
_SETTINGS: Final[dict[str, Any]] = {
    **dict.fromkeys(("REDIS_URL", "REDIS_HOST", "REDIS_PORT", "REDIS_DB")),
    "REDIS_PARAMS": None,
    "STORE": "segments",
    "STORES": {},
    "COMPACTION_SECS": 0,
    "DESCRIBE": "off",
    "FACTS": False,
    "FAILED_EXIT_CODE": 0,
    "FEEDS": {},
    "HOST_PATIENCE_SECS": 0,
    "LINKS_LOG": False,
    "OWN_FAULT_EXIT_CODE": 0,
    "DECISIONS_SAMPLE": 0,
    "PROGRESS": "off",
    "RESOURCESYNC_FILES": None,
    "STATS_DUMP": False,
    "WARC": False,
}


class PrivateCrawlCommand(QuietCommand):
    """Base of our commands that run a private crawl in this process."""

    requires_crawler_process = True
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": True}

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Apply the options, and prepare the process; only errors are logged."""
        super().process_options(args, opts)
        if self.settings is not None:
            from rdfcrawl.launch.crawls import prepare_process

            prepare_process(self.settings)
            self.settings.set("LOG_LEVEL", "ERROR", _BELOW_CMDLINE)


def run_private_crawl(  # keyword arguments
    process: CrawlerProcessBase,
    settings: BaseSettings,
    spider: type[RdfSpider],
    arguments: dict[str, str],
    *,
    folder: Path,
    more: Mapping[str, object] | None = None,
) -> tuple[int, Crawler]:
    """Run a crawl named like its spider; return the exit code and the crawler.

    Args:
        process: in which it runs.
        settings: of the operator; those of the crawl are set in them.
        spider: class of its spider.
        arguments: of the spider.
        folder: in which it has its folder.
        more: settings of the crawl.

    Raises:
        ConfigError: a setting is wrong.
        OSError: Ctrl-C has ended the crawl.
    """
    from rdfcrawl.launch.crawls import check_operator, run_crawl
    from rdfcrawl.stores.crawl_folder import crawl_folder

    contacts = crawl_folder(settings)
    own = {"CRAWL_ID": spider.name, "CRAWL_DIR": str(folder)}
    for name, value in {**_SETTINGS, **(more or {}), **own}.items():
        settings.set(name, value, "cmdline")
    checked = check_operator(spider, arguments, settings, process, contacts=contacts)
    code, stats = run_crawl(process, checked), checked.crawler.stats
    if stats is not None and stats.get_value("finish_reason") == "shutdown":
        raise OSError("interrupted")
    return code, checked.crawler
