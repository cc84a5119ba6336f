"""Run the crawl of a verification, and judge its results."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Final

from redis.exceptions import RedisError

from rdfcrawl.analysis.verifications import SiteVerification
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.times import now_ms, second_text
from rdfcrawl.frontier.arguments.crawl import ARGUMENTS, NAMED, of_one
from rdfcrawl.frontier.queue.profiles import BUDGETS, SpiderProfiles
from rdfcrawl.launch.private_crawls import run_private_crawl
from rdfcrawl.launch.verifying.comparison import SiteComparison
from rdfcrawl.launch.verifying.fetches import SiteScope
from rdfcrawl.launch.verifying.held import read_sites
from rdfcrawl.launch.verifying.spider import VerifyingSpider
from rdfcrawl.monitor.operating.crawl import OperatedCrawl

if TYPE_CHECKING:
    from scrapy.crawler import CrawlerProcessBase
    from scrapy.settings import BaseSettings

    from rdfcrawl.launch.verifying.spider import VerificationPlan

_UNFINISHED: Final = (1, 2)  # exit codes of a crawl
_LEFT_OUT: Final = {
    *(NAMED.keys() | of_one("command") | of_one("run") | BUDGETS),
    *("schedule", "quota", "follow", "depth", "harvest"),
}


def verify(
    process: CrawlerProcessBase,
    settings: BaseSettings,
    root: Path,
    hosts: Sequence[str],
    *,
    folder: Path,
    n_sampled: int | None,
    seed: int,
) -> list[SiteVerification]:
    """Compare the documents of a crawl with their sites; return a result for each.

    All sites are read by one crawl, so that each of their hosts has one delay.

    Args:
        process: in which the sites are read.
        settings: of the crawl; those of the verification are set in them.
        root: folder of the crawl.
        hosts: of the sites.
        folder: of temporary files.
        n_sampled: pages of each source; None: all.
        seed: of the sample.

    Raises:
        ConfigError: the crawl has nothing of a site, or a setting is wrong.
        OSError: a disk cannot be read, or is full; or the sites were not read to their
            ends.
    """
    scopes = list(map(SiteScope, hosts))
    held = read_sites(root, scopes, folder)
    for host, site in zip(hosts, held, strict=True):
        if not site.fetches.fetches:
            raise ConfigError(f"{host}: the crawl in {root} has nothing of this site")
    plan = reduce(or_, (site.plan(n_sampled, seed) for site in held))
    n_requests = _run(process, settings, plan, folder)
    ended = second_text(now_ms())
    again = read_sites(folder / VerifyingSpider.name, scopes, folder)
    compared = (SiteComparison(*each, folder) for each in zip(held, again, strict=True))
    return [
        SiteVerification(
            site=host,
            ended=ended,
            is_full=n_sampled is None,
            sources=each.reports,
            n_requests=n_requests if len(hosts) == 1 else each.n_requests,
        )
        for host, each in zip(hosts, compared, strict=True)
    ]


def _run(
    process: CrawlerProcessBase,
    settings: BaseSettings,
    plan: VerificationPlan,
    folder: Path,
) -> int:
    """Request what a plan says; return the number of requests.

    Raises:
        OSError: the sites were not read to their ends.
    """
    # `asyncio.run` would take the event loop of the process away.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        arguments = runner.run(_kept_arguments(settings))
    spider = type("Verification", (VerifyingSpider,), {"plan": plan})
    arguments |= {"follow": "none", "harvest": "none"}
    code, crawler = run_private_crawl(
        process, settings, spider, arguments, folder=folder
    )
    if code in _UNFINISHED:
        raise OSError("the sites were not read to their ends")
    stats = crawler.stats
    return int(stats.get_value("http/requests", 0)) if stats is not None else 0


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
