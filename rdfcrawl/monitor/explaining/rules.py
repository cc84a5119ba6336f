"""Predict whether a URI found now would be queued, from settings and spiders alone.

Depth, budgets and `robots.txt` are ignored: they depend on the link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.core.errors import Decision, Reason
from rdfcrawl.frontier.queue.host_rules import parse_hosts
from rdfcrawl.frontier.queue.profiles import SpiderProfiles
from rdfcrawl.frontier.queue.shared_rules import shared_entries
from rdfcrawl.monitor.explaining.values import RuleVerdict
from rdfcrawl.uri.guard.operator import refusal_of
from rdfcrawl.uri.traps import is_endless

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.options import CrawlOptions
    from rdfcrawl.monitor.operating.crawl import OperatedCrawl


def judge_by_settings(url: str, options: CrawlOptions) -> list[RuleVerdict]:
    """Return why settings would refuse a requestable URL for any spider."""
    found = []
    if is_endless(url, options.trap_limits):
        found.append(RuleVerdict("", Decision.URL_TRAP))
    if options.ignored_names.covers_url(url):
        found.append(RuleVerdict("", Decision.IGNORED_EXTENSION))
    if detail := refusal_of(url, options.guard):
        found.append(RuleVerdict("", Reason.GUARD_BLOCKED, detail))
    return found


async def judge_by_spiders(crawl: OperatedCrawl, url: str) -> list[RuleVerdict]:
    """Return the verdict of each spider of a crawl on a requestable URL.

    Raises:
        RedisError: Redis is unreachable.
    """
    found = []
    left = parse_hosts(await shared_entries(crawl.frontier))
    if left.covers(url):
        found.append(RuleVerdict("", Decision.HOST_LEFT))
    profiles = SpiderProfiles(crawl.frontier, crawl.connection.outage)
    await profiles.learn_all()
    for name, link_filter in zip(
        profiles.names.values(), await profiles.link_filters(), strict=False
    ):
        found.append(RuleVerdict(name, link_filter.refusal(url) or ""))
    return found
