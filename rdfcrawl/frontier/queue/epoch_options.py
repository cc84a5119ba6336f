"""Read the settings of quotas for registered domains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdfcrawl.core.options.values import number

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochOptions:
    """How much is fetched of a registered domain, and how often.

    Attributes:
        quota: most fetches in an epoch.
        secs: length of an epoch at least; 0: it ends when its quota is spent.
        phi: of Algorithm 6.1, how fast the shares move.
    """

    quota: int
    secs: float = 86_400.0
    phi: float = 0.1

    @classmethod
    def from_settings(cls, settings: BaseSettings, quota: int) -> EpochOptions:
        """Read the settings; raise `ConfigError` for a value out of range."""
        return cls(
            quota=quota,
            secs=number(settings, "SCHEDULE_EPOCH_SECS", 0, 86_400 * 365),
            phi=number(settings, "SCHEDULE_PHI", 0.001, 0.999),
        )
