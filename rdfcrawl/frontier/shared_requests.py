"""The requests of ordinary spiders, shared through Redis by scrapy-redis."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, cast

from redis.exceptions import RedisError
from scrapy.core.scheduler import BaseScheduler, Scheduler
from scrapy.settings import BaseSettings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.redis.address import describe, named_redis
from rdfcrawl.frontier.redis.errors import one_line

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

_FILTER_OF_SCRAPY = "scrapy.dupefilters.RFPDupeFilter"
_FILTER = "scrapy_redis.dupefilter.RFPDupeFilter"
_SETTINGS: Final = (
    *("DUPEFILTER_CLASS", "REDIS_PARAMS", "SCHEDULER_DUPEFILTER_KEY"),
    *("SCHEDULER_FLUSH_ON_START", "SCHEDULER_IDLE_BEFORE_CLOSE", "SCHEDULER_PERSIST"),
    *("SCHEDULER_QUEUE_CLASS", "SCHEDULER_QUEUE_KEY", "SCHEDULER_SERIALIZER"),
)


def request_scheduler(crawler: Crawler) -> BaseScheduler:
    """Return the scheduler of requests that are not in the frontier.

    It is that of scrapy-redis for an ordinary spider with a Redis in its settings, and
    else that of Scrapy, which keeps them in memory.

    Raises:
        ConfigError: Redis cannot be used, or a setting of scrapy-redis is wrong; also
            raised when the scheduler opens.
    """
    if named_redis(crawler.settings) is None:
        return Scheduler.from_crawler(crawler)
    from scrapy_redis.scheduler import (  # noqa: PLC0415 (of ordinary spiders)
        Scheduler as SharedScheduler,
    )

    class NamingScheduler(SharedScheduler):  # type: ignore[misc]  # untyped
        def open(self, spider: Spider) -> None:
            with _named_faults(settings):
                super().open(spider)

    settings = BaseSettings()  # the other ones are frozen
    settings.update(crawler.settings)
    if settings.get("DUPEFILTER_CLASS") == _FILTER_OF_SCRAPY:
        priority = settings.getpriority("DUPEFILTER_CLASS") or 0
        settings.set("DUPEFILTER_CLASS", _FILTER, priority)
    with _named_faults(settings):
        scheduler = NamingScheduler.from_settings(settings)
    scheduler.stats = crawler.stats
    return cast("BaseScheduler", scheduler)


@contextmanager
def _named_faults(settings: BaseSettings) -> Iterator[None]:
    """Raise errors of scrapy-redis as `ConfigError`s that name the settings."""
    try:
        yield
    except RedisError as error:
        url = describe(named_redis(settings) or "")
        raise ConfigError(f"REDIS_URL={url}: {one_line(error)}") from error
    except (AttributeError, ImportError, LookupError, NameError, TypeError,
            ValueError) as error:  # fmt: skip
        given = [x for x in _SETTINGS if settings.getpriority(x)] or ["REDIS_URL"]
        raise ConfigError(f"{', '.join(given)}: {one_line(error)}") from error
