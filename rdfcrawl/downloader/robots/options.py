"""The settings for robots.txt and reservations of publishers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.values import is_on, one_of
from rdfcrawl.core.reservations import PRODUCT_TOKEN, Obedience, ReservationPolicy
from rdfcrawl.downloader.robots.signals import USES

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def robots_agent(settings: BaseSettings) -> str:
    """Return the product token of the crawler in robots.txt."""
    return str(settings.get("ROBOTSTXT_USER_AGENT") or PRODUCT_TOKEN)


def obeying_agent(settings: BaseSettings) -> str:
    """Return `robots_agent`; empty if robots.txt is ignored."""
    return robots_agent(settings) if is_on(settings, "ROBOTSTXT_OBEY") else ""


def reservation_policy(settings: BaseSettings) -> ReservationPolicy:
    """Return which reservations of publishers are obeyed.

    Raises:
        ConfigError: a setting is unknown.
    """
    uses = settings.getlist("CONTENT_USES")
    if unknown := set(uses) - USES:
        raise ConfigError(
            f"CONTENT_USES: {min(unknown)!r}: must be some of {', '.join(sorted(USES))}"
        )
    return ReservationPolicy(
        robots=one_of(settings, "XROBOTS_POLICY", Obedience),
        tdm=one_of(settings, "TDM_POLICY", Obedience),
        signals=one_of(settings, "CONTENT_SIGNAL_POLICY", Obedience),
        unwelcome=frozenset(f"{use}=no" for use in uses),
        agent=robots_agent(settings).lower(),
    )
