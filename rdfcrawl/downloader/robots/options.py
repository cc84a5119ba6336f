"""The settings of robots.txt and of other reservations of publishers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options import defaults
from rdfcrawl.core.options.table import OptionsTable, one_of, parsed, part, switch
from rdfcrawl.core.options.values import texts
from rdfcrawl.core.reservations import PRODUCT_TOKEN, Obedience, ReservationPolicy
from rdfcrawl.downloader.robots.signals import USES
from rdfcrawl.frontier.queue.host_rules import KeepingOptions


def _agent(_name: str, value: Any) -> str:
    return str(value or PRODUCT_TOKEN)


def _uses(name: str, value: Any) -> tuple[str, ...]:
    uses = texts(value)
    if unknown := set(uses) - USES:
        raise ConfigError(
            f"{name}: {min(unknown)!r}: must be some of {', '.join(sorted(USES))}"
        )
    return uses


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsSettings(OptionsTable):
    """Effect of robots.txt and of publishers' reservations."""

    is_obeyed: bool = switch("ROBOTSTXT_OBEY", defaults.ROBOTSTXT_OBEY)
    """obey `robots.txt`"""
    obeys_delay: bool = switch("ROBOTSTXT_CRAWL_DELAY", True)
    """obey `Crawl-delay` in `robots.txt`"""
    agent: str = parsed("ROBOTSTXT_USER_AGENT", defaults.ROBOTSTXT_USER_AGENT, _agent)
    """product token whose group of `robots.txt` applies, before that of `*`"""
    keeping: KeepingOptions = part(KeepingOptions)
    directives: Obedience = one_of("XROBOTS_POLICY", "respect", Obedience)
    """effect of `noindex`, `nofollow` and similar directives in `X-Robots-Tag` and
    robots `<meta>`; see
    [politeness](../explanation/politeness.md#directives-of-publishers)"""
    tdm: Obedience = one_of("TDM_POLICY", "respect", Obedience)
    """effect of reservations on text and data mining; see there. Unless they
    are ignored, a file of each origin with documents that need it is requested once
    a day"""
    signals: Obedience = one_of("CONTENT_SIGNAL_POLICY", "respect", Obedience)
    """effect of `Content-Signal` and `Content-Usage` in `robots.txt`; see
    there"""
    uses: tuple[str, ...] = parsed(
        "CONTENT_USES",
        ["search"],
        _uses,
        allowed="some of `search`, `ai-input`, `ai-train`",
    )
    """uses of the crawl: documents are left out if their site denies any of them
    """

    @property
    def obeyed_agent(self) -> str:
        """The product token; empty if robots.txt is ignored."""
        return self.agent if self.is_obeyed else ""

    @property
    def policy(self) -> ReservationPolicy:
        """Which reservations of publishers are obeyed."""
        return ReservationPolicy(
            robots=self.directives,
            tdm=self.tdm,
            signals=self.signals,
            unwelcome=frozenset(f"{use}=no" for use in self.uses),
            agent=self.agent.lower(),
        )
