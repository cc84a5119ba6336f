"""The settings of pings, read and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.errors import ConfigError
from rdfcrawl.frontier.options import CrawlPaths
from rdfcrawl.frontier.pings import PingLimits
from rdfcrawl.log.location import crawl_folder
from rdfcrawl.options.values import integer

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def ping_limits(settings: BaseSettings) -> PingLimits:
    """Return how many pings of strangers are accepted in an hour.

    Raises:
        ConfigError: a value is out of range.
    """
    return PingLimits(
        integer(settings, "PING_PER_HOST", 0),
        integer(settings, "PING_PER_DOMAIN", 0),
        integer(settings, "PING_PER_HOUR", 0),
    )


def pinged_crawl(settings: BaseSettings) -> str:
    """Return the name of the pinged crawl.

    Raises:
        ConfigError: there is none on this machine, or there are several.
    """
    if crawl_id := settings.get("CRAWL_ID"):
        name = str(crawl_id)
    else:
        folder = crawl_folder(settings)
        names = sorted(path.parent.name for path in folder.glob("*/quads"))
        if len(names) != 1:
            there = f"there are {', '.join(names)}" if names else "there is none here"
            raise ConfigError(f"CRAWL_DIR={folder}: say -s CRAWL_ID=NAME; {there}")
        (name,) = names
    paths = CrawlPaths.from_settings(settings, name)
    if not settings.get("REDIS_URL") and not paths.frontier.exists():
        raise ConfigError(
            f"CRAWL_ID={name}: no crawl of this name has begun in"
            f" CRAWL_DIR={paths.root.parent}; REDIS_URL names a crawl's Redis elsewhere"
        )
    return name
