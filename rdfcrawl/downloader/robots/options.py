"""The settings of robots.txt and of other reservations of publishers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.table import OptionsTable, one_of, parsed, part, switch
from rdfcrawl.core.options.values import texts
from rdfcrawl.core.reservations import PRODUCT_TOKEN, Obedience, ReservationPolicy
from rdfcrawl.downloader.robots.signals import USES
from rdfcrawl.frontier.queue.kept_robots import KeepingOptions


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
class RobotsRules(OptionsTable):
    """What robots.txt and the reservations of publishers count for."""

    is_obeyed: bool = switch("ROBOTSTXT_OBEY")
    agent: str = parsed("ROBOTSTXT_USER_AGENT", _agent)
    keeping: KeepingOptions = part(KeepingOptions)
    directives: Obedience = one_of("XROBOTS_POLICY", Obedience)
    tdm: Obedience = one_of("TDM_POLICY", Obedience)
    signals: Obedience = one_of("CONTENT_SIGNAL_POLICY", Obedience)
    uses: tuple[str, ...] = parsed(
        "CONTENT_USES", _uses, allowed="some of `search`, `ai-input`, `ai-train`"
    )

    @property
    def obeyed_agent(self) -> str:
        """The product token; empty if robots.txt is not obeyed."""
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
