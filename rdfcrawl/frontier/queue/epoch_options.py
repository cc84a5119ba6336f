"""Read the settings of quotas for registered domains."""

from __future__ import annotations

from dataclasses import dataclass

from rdfcrawl.core.options.table import OptionsTable, number


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochOptions(OptionsTable):
    """How much is fetched of a registered domain, and how often.

    Attributes:
        quota: most fetches in an epoch.
        secs: length of an epoch at least; 0: it ends when its quota is spent.
        phi: of Algorithm 6.1, how fast the shares move.
    """

    quota: int
    secs: float = number("SCHEDULE_EPOCH_SECS", 0, 86_400 * 365)
    phi: float = number("SCHEDULE_PHI", 0.001, 0.999)
