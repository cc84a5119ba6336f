"""The settings of quotas for registered domains."""

from __future__ import annotations

from dataclasses import dataclass

from rdfcrawl.core.options.table import OptionsTable, number


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochOptions(OptionsTable):
    """Amount and frequency of fetches per registered domain.

    Attributes:
        quota: most fetches in an epoch.
        secs: minimum length of an epoch; 0: it ends when its quota is spent.
        phi: step by which shares move, of Algorithm 6.1.
    """

    quota: int
    secs: float = number("SCHEDULE_EPOCH_SECS", 86_400.0, 0, 86_400 * 365)
    """with `schedule=domain`, least time between two epochs of a registered domain; 0:
    the next one begins when the quota is spent. Kept with the quota: a worker that
    is given one sets it for all"""
    phi: float = number("SCHEDULE_PHI", 0.1, 0.001, 0.999)
    """with `schedule=domain`, the part of the smaller share that moves between sitemaps
    and links after an epoch, and is judged; kept as the one above"""
