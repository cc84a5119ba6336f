"""The settings of pings, read and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.core.options.values import integer
from rdfcrawl.frontier.queue.pings import PingLimits

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
