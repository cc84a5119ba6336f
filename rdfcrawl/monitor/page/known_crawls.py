"""The crawls in a folder, and in the Redis that settings name."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from redis.exceptions import RedisError
from scrapy.settings import BaseSettings

from rdfcrawl.frontier.redis.address import named_redis
from rdfcrawl.frontier.redis.client import async_client
from rdfcrawl.monitor.operating.crawl import crawls_in
from rdfcrawl.stores.crawl_folder import crawl_folder
from rdfcrawl.stores.segment_file import list_segments, log_bytes

_MOST_KEYS: Final = 100_000  # of a Redis whose crawls are listed


class KnownCrawl(NamedTuple):
    """A crawl of which a page can show something.

    Attributes:
        name: of the crawl.
        place: `folder` or `Redis`.
        n_bytes: of its statements on this machine, compressed.
        written_ms: time of the last segment of these, Unix time; 0: there is none.
    """

    name: str
    place: str
    n_bytes: int = 0
    written_ms: int = 0


def crawls_in_folder(settings: BaseSettings) -> list[KnownCrawl]:
    """Return the crawls that have begun in `CRAWL_DIR`, by name."""
    folder = crawl_folder(settings)
    found = {
        path.parent
        for name in ("quads", "frontier")
        for path in folder.glob(f"*/{name}")
    }
    return [_described(root) for root in sorted(found)]


async def crawls_in_redis(settings: BaseSettings) -> list[KnownCrawl]:
    """Return the crawls of the Redis that settings name, by name.

    There are none if it cannot be reached, or has more than 100,000 keys.
    """
    if named_redis(settings) is None:
        return []
    redis = async_client(settings)
    try:
        if await redis.dbsize() > _MOST_KEYS:
            return []
        return [KnownCrawl(name, "Redis") for name in await crawls_in(redis)]
    except (RedisError, OSError):
        return []
    finally:
        await redis.aclose()


def _described(root: Path) -> KnownCrawl:
    quads = root / "quads"
    written_ms = 0
    with suppress(OSError, ValueError):  # of no segments, or one just replaced
        written_ms = max(path.stat().st_mtime_ns for path in list_segments(quads))
    return KnownCrawl(root.name, "folder", log_bytes(quads), written_ms // 1_000_000)
