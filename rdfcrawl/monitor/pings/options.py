"""The settings of pings."""

from __future__ import annotations

from dataclasses import dataclass

from rdfcrawl.core.options.table import OptionsTable, integer
from rdfcrawl.frontier.queue.pings import PingLimits


@dataclass(frozen=True, slots=True)
class PingOptions(OptionsTable):
    """How many pings of strangers are accepted in an hour."""

    of_host: int = integer("PING_PER_HOST", 0)
    of_domain: int = integer("PING_PER_DOMAIN", 0)
    of_all: int = integer("PING_PER_HOUR", 0)

    @property
    def limits(self) -> PingLimits:
        """The same for the queue of pings."""
        return PingLimits(self.of_host, self.of_domain, self.of_all)
