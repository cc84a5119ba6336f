"""Find the crawl of a command that only needs its frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.queue.options import CrawlPaths
from rdfcrawl.frontier.redis.client_settings import named_redis
from rdfcrawl.stores.crawl_folder import CrawlLocation

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def begun_crawl(settings: BaseSettings) -> str:
    """Return the name of the crawl `CRAWL_ID`, or of the only one in `CRAWL_DIR`.

    Raises:
        ConfigError: there is no crawl on this machine, or there are several.
    """
    location = CrawlLocation.from_settings(settings)
    folder, name = location.folder, location.crawl_id
    if not name:
        found = (*folder.glob("*/quads"), *folder.glob("*/frontier"))
        names = sorted({path.parent.name for path in found})
        if len(names) != 1:
            there = f"there are {', '.join(names)}" if names else "there is none here"
            raise ConfigError(f"CRAWL_DIR={folder}: say -s CRAWL_ID=NAME; {there}")
        (name,) = names
    paths = CrawlPaths(folder / name)
    if named_redis(settings) is None and not paths.frontier.exists():
        raise ConfigError(
            f"CRAWL_ID={name}: no crawl of this name has begun in"
            f" CRAWL_DIR={paths.root.parent}; REDIS_URL names a crawl's Redis elsewhere"
        )
    return name
