"""The settings of refresh, read and checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self, cast

from rdfcrawl.analysis.refresh.failures import FailureRules
from rdfcrawl.analysis.refresh.intervals import (
    STORMCRAWLER,
    AdaptiveInterval,
    FixedInterval,
)
from rdfcrawl.analysis.refresh.optimal import OptimalFreshness
from rdfcrawl.analysis.refresh.sitemap_led import SitemapLed
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.values import check_method, integer, load_setting, value_of

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from rdfcrawl.analysis.refresh.policy import RefreshPolicy

POLICIES: Final = ("fixed", "adaptive", "stormcrawler", "optimal", "sitemap")


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshOptions:
    """What is fixed for refresh.

    Attributes:
        policy: chooses the pages of a host.
        policy_name: as the setting has it.
        epoch_ms: length of an epoch.
        host_budget: most fetches of one host in an epoch.
        budget: most fetches of all hosts in an epoch; 0: no limit.
        failures: when pages that fail are tried again, and when they are gone.
    """

    policy: RefreshPolicy
    policy_name: str = "sitemap"
    epoch_ms: int = 86_400_000
    host_budget: int = 100
    budget: int = 0
    failures: FailureRules = field(default_factory=FailureRules)

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        """Read the settings.

        Raises:
            ConfigError: a value is out of range, or the policy is none.
        """
        least = integer(settings, "REFRESH_RETRY_SECS", 0, 31_622_400)
        most = integer(settings, "REFRESH_RETRY_MAX_SECS", 0, 31_622_400)
        name = value_of(settings, "REFRESH_POLICY")
        return cls(
            policy=_policy(settings, name),
            policy_name=name if isinstance(name, str) else name.__qualname__,
            epoch_ms=1000 * integer(settings, "REFRESH_EPOCH_SECS", 1, 31_622_400),
            host_budget=integer(settings, "REFRESH_HOST_BUDGET", 0),
            budget=integer(settings, "REFRESH_BUDGET", 0),
            failures=FailureRules(
                least_tries=integer(settings, "REFRESH_GONE_TRIES", 1, 50),
                least_ms=1000 * integer(settings, "REFRESH_GONE_SECS", 0, 31_622_400),
                first_wait_ms=1000 * least,
                most_wait_ms=1000 * max(least, most),
            ),
        )


def _policy(settings: BaseSettings, name: Any) -> RefreshPolicy:
    interval_ms = 1000 * integer(settings, "REFRESH_INTERVAL_SECS", 0, 3_162_240_000)
    match name:
        case "fixed":
            return FixedInterval(interval_ms)
        case "adaptive":
            return AdaptiveInterval()
        case "stormcrawler":
            return STORMCRAWLER
        case "optimal":
            return OptimalFreshness()
        case "sitemap":
            return SitemapLed()
    if isinstance(name, str) and "." not in name:
        raise ConfigError(
            f"REFRESH_POLICY={name}: must be one of {', '.join(POLICIES)}, or the path"
            " of a class"
        )
    return _own_policy(settings, name)


def _own_policy(settings: BaseSettings, path: Any) -> RefreshPolicy:
    """Return a policy of the user's: of its `from_settings`, if it has that."""
    found = load_setting("REFRESH_POLICY", "class", path)
    where = f"REFRESH_POLICY={path}"
    check_method(where, found, "choose", 2)
    try:
        if hasattr(found, "from_settings"):
            return cast("RefreshPolicy", found.from_settings(settings))
        return cast("RefreshPolicy", found())
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {error}") from error
