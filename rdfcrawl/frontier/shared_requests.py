"""The requests of ordinary spiders, shared through Redis by scrapy-redis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from redis.exceptions import RedisError
from scrapy.core.scheduler import BaseScheduler, Scheduler
from scrapy.settings import BaseSettings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.redis.address import describe, named_redis
from rdfcrawl.frontier.redis.errors import one_line

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_FILTER_OF_SCRAPY = "scrapy.dupefilters.RFPDupeFilter"
_FILTER = "scrapy_redis.dupefilter.RFPDupeFilter"


def request_scheduler(crawler: Crawler) -> BaseScheduler:
    """Return the scheduler of requests that are not in the frontier.

    It is that of scrapy-redis for an ordinary spider with a Redis in its settings, and
    else that of Scrapy, which keeps them in memory.

    Raises:
        ConfigError: Redis cannot be used, or a setting of scrapy-redis is wrong.
    """
    url = named_redis(crawler.settings)
    if url is None:
        return Scheduler.from_crawler(crawler)
    from scrapy_redis.scheduler import (  # noqa: PLC0415 (of ordinary spiders)
        Scheduler as SharedScheduler,
    )

    settings = BaseSettings()  # the other ones are frozen
    settings.update(crawler.settings)
    if settings.get("DUPEFILTER_CLASS") == _FILTER_OF_SCRAPY:
        settings.set("DUPEFILTER_CLASS", _FILTER, "cmdline")
    try:
        scheduler: BaseScheduler = SharedScheduler.from_settings(settings)
    except (RedisError, ImportError, TypeError, ValueError) as error:
        raise ConfigError(f"REDIS_URL={describe(url)}: {one_line(error)}") from error
    cast("Any", scheduler).stats = crawler.stats
    return scheduler
