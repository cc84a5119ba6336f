"""Decide whether to follow a redirect, separately for each hop.

Redirects within a politeness key are followed within the visit. They bypass the
frontier's filters and the robots.txt check before a visit, but may lead to another
path, port, scheme or host that the operator or the site excludes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import GUARDED, Fault, Reason
from rdfcrawl.frontier.queue.host_rules import BlockedHosts
from rdfcrawl.uri.origin import origin_of

if TYPE_CHECKING:
    from rdfcrawl.core.records import Record
    from rdfcrawl.core.visits import Visit
    from rdfcrawl.downloader.host_delay import HostDelay
    from rdfcrawl.downloader.robots.cache import RobotsCache
    from rdfcrawl.frontier.request_turns import Take


@dataclass(slots=True, kw_only=True, eq=False)
class RedirectJudge:
    """Decide which redirects are followed."""

    # returns whether the crawl wants the redirect target of a record
    wants: Callable[[Record, str], bool] = lambda _record, _target: True
    # returns whether a record is denied, even if already queued
    refuses: Callable[[Record], bool] = lambda _record: False
    # rules of each origin; None if robots.txt is ignored
    robots: RobotsCache | None = None
    blocked_hosts: BlockedHosts = field(default_factory=BlockedHosts)

    def unwanted(self, record: Record, target: str) -> Fault | None:
        """Return the fault of a target that the operator excludes."""
        if (fault := self.blocked_hosts.fault(target)) is not None:
            return fault
        if self.wants(record, target):
            return None
        return Fault(Reason.NOT_WANTED, target[: Fault.MAX_DETAIL])

    async def refusal(
        self,
        record: Record,
        requested: Sequence[str],
        target: str,
        *,
        pace: HostDelay,
        visit: Visit,
        take: Take,
    ) -> Fault | list[Fault] | None:
        """Return why robots.txt forbids to request a target of the visit.

        A `Crawl-delay` of the target's origin slows down `pace` and `visit`.

        Returns:
            A fault if it is forbidden, a list of faults if the rules are unavailable.
        """
        robots = self.robots
        if robots is None:
            return None
        rules = await robots.rules(origin_of(target), take=take)
        if isinstance(rules, list):
            blocked = (each for each in rules if each.reason in GUARDED)
            return next(blocked, None) or rules
        fault = robots.refusal(rules, target)
        if fault is None or fault.reason is Reason.ROBOTS_DISALLOWED:
            visit.keep_delay(rules.delay_secs)
            pace.change(visit.delay_secs)
            if fault is None or robots.is_exempt(record, requested[0], target):
                return None
        detail = f"{fault.detail} {target}".strip()
        return Fault(fault.reason, detail[: Fault.MAX_DETAIL])
