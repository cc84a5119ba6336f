"""The settings of refresh."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any, Final, Self, cast

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from rdfcrawl.analysis.refresh.optimal import OptimalFreshness
from rdfcrawl.analysis.refresh.policy import (
    STORMCRAWLER,
    AdaptiveInterval,
    FailureRules,
    FixedInterval,
    RefreshPolicy,
)
from rdfcrawl.analysis.refresh.stale import StaleProbability
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options import values
from rdfcrawl.core.options.table import (
    OptionsTable,
    integer,
    millisecs,
    number,
    parsed,
    part,
)
from rdfcrawl.core.options.values import check_method, load_setting

_YEAR: Final = 31_622_400
POLICIES: Final = ("fixed", "adaptive", "stormcrawler", "optimal", "posterior")


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshOptions(OptionsTable):
    """Settings of refresh.

    Attributes:
        policy: chooses the pages of a host.
        policy_name: value of the setting.
        host_limit: setting that limits the fetches of a host.
    """

    policy: RefreshPolicy
    host_limit: str = "REFRESH_HOST_BUDGET"
    policy_name: Any = parsed(
        "REFRESH_POLICY",
        "posterior",
        lambda _, value: value,
        allowed=f"{values.choices(POLICIES)}, or the path of a class",
    )
    """which pages of a host are fetched again"""
    interval_ms: int = millisecs(
        "REFRESH_INTERVAL_SECS", 7 * 24 * 3600, 0, 3_162_240_000
    )
    """of the policy `fixed`: time from a fetch of a page until it is due"""
    epoch_ms: int = millisecs("REFRESH_EPOCH_SECS", 24 * 3600, 1, _YEAR)
    """length of an epoch. Epochs begin at multiples of it since 1970, so a day begins
    at midnight UTC. The policy chooses once in an epoch, among pages that were
    fetched before it"""
    host_budget: int = integer("REFRESH_HOST_BUDGET", 100, 0)
    """most pages of one host that are fetched again in an epoch"""
    budget: int = integer("REFRESH_BUDGET", 0, 0)
    """most pages of all hosts in an epoch; 0 is no limit. If it is too small, it goes
    [where it keeps most copies fresh](../explanation/refresh.md#shares-of-a-budget)"""
    freshness: float = number("FRESHNESS", 0.0, 0, 0.999)
    """share of copies that are to be fresh, instead of a budget: each epoch has as many
    fetches as [that needs](../explanation/refresh.md#a-freshness-instead-of-a-budget).
    Then `REFRESH_HOST_BUDGET` limits only if it is set, as `REFRESH_BUDGET`; 0: none is
    wanted"""
    failures: FailureRules = part(FailureRules)

    @classmethod
    def from_settings(cls, settings: BaseSettings, **given: Any) -> Self:
        """Read the settings.

        Raises:
            ConfigError: a value is out of range, or there is no such policy.
        """
        own = settings.getpriority("REFRESH_HOST_BUDGET")
        read = cls.read(settings, **given)
        if read["freshness"] and own in {None, SETTINGS_PRIORITIES["addon"]}:
            read["host_budget"] = sys.maxsize
        name, failures = read["policy_name"], read["failures"]
        most_ms = max(failures.first_wait_ms, failures.most_wait_ms)
        read |= {
            "policy": _policy(settings, name, read["interval_ms"]),
            "policy_name": name if isinstance(name, str) else name.__qualname__,
            "failures": replace(failures, most_wait_ms=most_ms),
        }
        return cls(**read)


def _policy(settings: BaseSettings, name: Any, interval_ms: int) -> RefreshPolicy:
    policies: dict[Any, RefreshPolicy] = {
        "fixed": FixedInterval(interval_ms),
        "adaptive": AdaptiveInterval(),
        "stormcrawler": STORMCRAWLER,
        "optimal": OptimalFreshness(),
        "posterior": StaleProbability(),
    }
    if name in policies:
        return policies[name]
    if isinstance(name, str) and "." not in name:
        raise ConfigError(
            f"REFRESH_POLICY={name}: must be one of {', '.join(POLICIES)}, or the path"
            " of a class"
        )
    return _own_policy(settings, name)


def _own_policy(settings: BaseSettings, path: Any) -> RefreshPolicy:
    """Return a user's policy, made by its `from_settings` if it has that."""
    found = load_setting("REFRESH_POLICY", "class", path)
    where = f"REFRESH_POLICY={path}"
    check_method(where, found, "choose", 2)
    try:
        if hasattr(found, "from_settings"):
            return cast("RefreshPolicy", found.from_settings(settings))
        return cast("RefreshPolicy", found())
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {error}") from error
