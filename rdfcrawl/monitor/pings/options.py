"""The settings of pings."""

from __future__ import annotations

from dataclasses import dataclass

from rdfcrawl.core.options.table import OptionsTable, integer
from rdfcrawl.frontier.queue.pings import PingLimits


@dataclass(frozen=True, slots=True)
class PingOptions(OptionsTable):
    """How many pings of strangers are accepted in an hour."""

    of_host: int = integer("PING_PER_HOST", 10, 0)
    """[pings](../explanation/sources.md#pings) of sitemaps of one host that `scrapy
    ping serve` accepts in an hour; 0 is no limit, here and in the next two"""
    of_domain: int = integer("PING_PER_DOMAIN", 100, 0)
    """the same of one registered domain"""
    of_all: int = integer("PING_PER_HOUR", 1000, 0)
    """the same of all hosts"""

    @property
    def limits(self) -> PingLimits:
        """Return the limits for the queue of pings."""
        return PingLimits(self.of_host, self.of_domain, self.of_all)
