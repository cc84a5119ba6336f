"""Run the crawl of a verification, and judge its result."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from redis.exceptions import RedisError

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.arguments.crawl import ARGUMENTS, NAMED, of_one
from rdfcrawl.frontier.queue.profiles import BUDGETS, SpiderProfiles
from rdfcrawl.launch.crawls import check_operator, run_crawl
from rdfcrawl.launch.verifying.comparison import HeldSite, SiteComparison
from rdfcrawl.launch.verifying.spider import VerifyingSpider
from rdfcrawl.monitor.operating.crawl import OperatedCrawl

if TYPE_CHECKING:
    from scrapy.crawler import CrawlerProcessBase
    from scrapy.settings import BaseSettings

    from rdfcrawl.launch.verifying.values import SourceName, SourceReport

_NAME: Final = "verify"
_SETTINGS: Final[dict[str, Any]] = {
    "CRAWL_ID": _NAME,
    "REDIS_URL": None,
    "REDIS_HOST": None,
    "STORE": "segments",
    "STORES": {},
    "COMPACTION_SECS": 0,
    "DESCRIBE": "off",
    "FACTS": False,
    "FEEDS": {},
    "HOST_PATIENCE_SECS": 0,
    "LINKS_LOG": False,
    "DECISIONS_SAMPLE": 0,
    "PROGRESS": "off",
    "RESOURCESYNC_FILES": None,
    "STATS_DUMP": False,
    "WARC": False,
}
_UNFINISHED: Final = (1, 2)  # exit codes of a crawl
_LEFT_OUT: Final = {
    *(NAMED.keys() | of_one("command") | of_one("run") | BUDGETS),
    *("schedule", "quota", "follow", "depth", "harvest"),
}


@dataclass(frozen=True, slots=True)
class SiteVerification:
    """The result of a verification.

    Attributes:
        sources: verdicts on the documents of each source.
        n_requests: of all kinds, with robots.txt and redirects.
    """

    sources: dict[SourceName, SourceReport]
    n_requests: int


def verify(
    process: CrawlerProcessBase,
    settings: BaseSettings,
    root: Path,
    host: str,
    *,
    folder: Path,
    n_sampled: int | None,
    seed: int,
) -> SiteVerification:
    """Compare the documents of a crawl with their site.

    Args:
        process: in which the site is read.
        settings: of the crawl; those of the verification are set in them.
        root: folder of the crawl.
        host: of the site.
        folder: of temporary files.
        n_sampled: pages of each source; None: all.
        seed: of the sample.

    Raises:
        ConfigError: the crawl has nothing of the site, or a setting is wrong.
        OSError: a disk cannot be read, or is full; or the site was not read to its end.
    """
    held = HeldSite(root, host, folder)
    if not held.fetches.fetches:
        raise ConfigError(f"{host}: the crawl in {root} has nothing of this site")
    # `asyncio.run` would take the event loop of the process away.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        arguments = runner.run(_kept_arguments(settings))
    for name, value in (_SETTINGS | {"CRAWL_DIR": str(folder)}).items():
        settings.set(name, value, "cmdline")
    spider = type(
        "Verification", (VerifyingSpider,), {"plan": held.plan(n_sampled, seed)}
    )
    arguments |= {"follow": "none", "harvest": "none"}
    checked = check_operator(spider, arguments, settings, process)
    code = run_crawl(process, checked)
    if code in _UNFINISHED:
        raise OSError("the site was not read to its end")
    stats = checked.crawler.stats
    counts = stats.get_stats() if stats else {}
    n_requests = sum(n for name, n in counts.items() if name.startswith("http/status/"))
    found = SiteComparison(held, folder / _NAME, host, folder)
    return SiteVerification(found.reports, n_requests)


async def _kept_arguments(settings: BaseSettings) -> dict[str, str]:
    """Return the arguments of the crawl by which its documents are chosen.

    Those of a crawl without a frontier are empty.
    """
    found: dict[str, str] = {}
    try:
        async with await OperatedCrawl.open(settings) as crawl:
            profiles = SpiderProfiles(crawl.frontier, crawl.connection.outage)
            for texts in await profiles.texts():
                found |= texts
    except (ConfigError, RedisError):
        return {}
    known = ARGUMENTS.keys() - _LEFT_OUT
    return {name: text for name, text in found.items() if name in known}
