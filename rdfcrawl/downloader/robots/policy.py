"""Rules of robots.txt (RFC 9309), responses without rules, and the settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Any, Final

from rdfcrawl.core.errors import ConfigError, Fault, Reason
from rdfcrawl.core.options import defaults
from rdfcrawl.core.options.table import OptionsTable, one_of, parsed, part, switch
from rdfcrawl.core.options.values import texts
from rdfcrawl.core.reservations import PRODUCT_TOKEN, Obedience, ReservationPolicy
from rdfcrawl.downloader.robots.parser import (
    USES,
    PathPattern,
    PathRules,
    RobotsRecords,
    SignalRule,
    path_of,
    read_records,
)
from rdfcrawl.frontier.queue.host_rules import KeepingOptions

MAX_ROBOTS_REDIRECTS: Final = 5  # RFC 9309 2.3.1.2: follow at least five
_REFUSALS: Final = (Reason.GUARD_BLOCKED, Reason.HOST_LEFT, Reason.LEASES_LOST)
_NOT_SENT: Final = (*_REFUSALS, Reason.DNS_BLOCKED)
_MAX_SHARED: Final = 16  # rules of a site that are shared with others


class RobotsAccess(Enum):
    """The result of fetching a robots.txt (RFC 9309 2.3.1)."""

    PARSE = auto()
    """2.3.1.1: there are rules."""
    ALLOW_ALL = auto()
    """2.3.1.3, unavailable: there are none, and the body is ignored."""
    UNREACHABLE = auto()
    """2.3.1.4: no request is allowed until it can be read."""


def judge(status: int) -> RobotsAccess:
    """Interpret the final response for robots.txt.

    Args:
        status: of the last response, after at most `MAX_ROBOTS_REDIRECTS` redirects; 0
            if there was none.

    429 counts as unreachable, unlike in the RFC: a host that wants fewer requests may
    have rules.

    >>> judge(404), judge(503)
    (<RobotsAccess.ALLOW_ALL: 2>, <RobotsAccess.UNREACHABLE: 3>)
    """
    if 200 <= status < 300:
        return RobotsAccess.PARSE
    # 2.3.1.2: after too many redirects it may count as unavailable.
    if 300 <= status < 500 and status != 429:
        return RobotsAccess.ALLOW_ALL
    return RobotsAccess.UNREACHABLE


class SignalRules:
    """The signals of one robots.txt for one crawler."""

    def __init__(self, rules: Sequence[SignalRule]) -> None:
        # The most specific one last, since it decides; of two, the one that says no.
        self._rules = [
            (PathPattern.of(rule.pattern.encode()), rule.said)
            for rule in sorted(rules, key=_rank)
        ]
        self.n_bytes = sum(400 + len(rule.pattern) for rule in rules)

    def of(self, url: str) -> tuple[str, ...]:
        """Return the signals for a URL of the origin, as `use=yes`, sorted."""
        path = path_of(url)
        found: dict[str, str] = {}
        for pattern, said in self._rules:
            if pattern.matches(path):
                found.update(said)
        return tuple(sorted(f"{use}={word}" for use, word in found.items()))


def _rank(rule: SignalRule) -> tuple[int, bool]:
    return len(rule.pattern), any(word == "no" for _, word in rule.said)


@dataclass(frozen=True, slots=True, eq=False)
class RobotsRules:
    """The rules of one robots.txt for this crawler."""

    # `Crawl-delay` of the matching group, 0 if there is none; not limited
    delay_secs: float = 0.0
    sitemaps: tuple[str, ...] = ()  # values of `Sitemap`, as written
    n_bytes: int = 0  # approximate size in memory
    _paths: PathRules | None = None
    has_more_sitemaps: bool = False  # some were not kept
    # signals on the use of its documents
    signals: SignalRules | None = None

    def allows(self, url: str) -> bool:
        """Return whether `url`, of the origin of these rules, may be requested."""
        paths = self._paths
        if paths is None or paths.allows(url):
            return True
        # RFC 9309 2.2.2: /robots.txt itself is implicitly allowed.
        return url[url.find("/", url.find("://") + 3) :] == "/robots.txt"


ALLOW_ALL: Final = RobotsRules()
"""The rules of a site without rules."""


def parse_robots(body: bytes, agent: str = PRODUCT_TOKEN) -> RobotsRules:
    r"""Parse robots.txt; malformed lines are ignored.

    Other text contains no rules, and so allows everything.

    Args:
        body: of any length; only complete lines within `MAX_ROBOTS_BYTES` are read.
        agent: product token of the crawler.

    >>> rules = parse_robots(b"User-agent: *\nDisallow: /private")
    >>> rules.allows("http://example.org/private/a")
    False
    """
    return rules_of(read_records(body, agent))


def rules_of(records: RobotsRecords) -> RobotsRules:
    """Build the rules from records."""
    forbids = not all(records.rules.values())
    is_empty = not forbids and not records.sitemaps and not records.delay_secs
    if is_empty and not records.signals:
        return ALLOW_ALL
    paths = _paths_of(records.rules) if forbids else None
    signals = SignalRules(records.signals) if records.signals else None
    n_bytes = 200 + sum(map(len, records.sitemaps)) + (paths.n_bytes if paths else 0)
    return RobotsRules(
        records.delay_secs,
        tuple(records.sitemaps),
        n_bytes + (signals.n_bytes if signals else 0),
        paths,
        records.has_more_sitemaps,
        signals=signals,
    )


def _paths_of(rules: Mapping[str, bool]) -> PathRules:
    """Return rules for paths; few ones are often those of many sites, and shared."""
    is_short = len(rules) <= _MAX_SHARED
    return _shared_paths(tuple(rules.items())) if is_short else PathRules(rules)


@lru_cache(maxsize=256)
def _shared_paths(rules: tuple[tuple[str, bool], ...]) -> PathRules:
    return PathRules(dict(rules))


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsResponse:
    """The response to one request for robots.txt."""

    status: int  # HTTP status, 0 without a complete response
    body: bytes = b""  # its text, up to the limit
    location: str = ""
    redirected_to: str = ""  # target of the last request, if another origin
    retry_after_secs: float | None = None
    fault: Fault | None = None  # why there was no response
    is_connection_refused: bool = False  # nothing listens there
    is_blocked: bool = False  # the origin itself was not requested
    # not sent, as the worker stops or has lost the host
    is_unsent: bool = False


def is_refused(response: RobotsResponse) -> bool:
    """Return whether we refuse the request, now and later."""
    fault = response.fault
    return fault is not None and fault.reason in _REFUSALS


def is_not_sent(response: RobotsResponse) -> bool:
    """Return whether no request was sent; a later one may be."""
    fault = response.fault
    return fault is not None and fault.reason in _NOT_SENT


def is_unknown(response: RobotsResponse) -> bool:
    """Return whether the origin's state is unknown, as no request was sent."""
    fault = response.fault
    return is_not_sent(response) or (
        fault is not None and fault.reason is Reason.HOST_BUSY
    )


def faults_of(response: RobotsResponse) -> list[Fault]:
    """Return why nothing of an origin may be requested, after such a response."""
    if response.is_blocked and response.fault:
        return [response.fault]
    detail = f"status {response.status}"
    if not response.status:
        detail = response.fault.detail if response.fault else "no response"
    if response.redirected_to:
        detail += f" at {response.redirected_to}, where it redirects to"
    fault = Fault(Reason.ROBOTS_UNREACHABLE, detail[: Fault.MAX_DETAIL])
    return [fault, response.fault] if response.fault else [fault]


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
