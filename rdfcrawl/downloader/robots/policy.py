"""Rules of robots.txt (RFC 9309)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from rdfcrawl.core.reservations import PRODUCT_TOKEN
from rdfcrawl.downloader.robots.parser import RobotsRecords, read_records
from rdfcrawl.downloader.robots.paths import PathRules
from rdfcrawl.downloader.robots.signals import SignalRules

MAX_ROBOTS_REDIRECTS: Final = 5  # RFC 9309 2.3.1.2: follow at least five


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
    paths = PathRules(records.rules) if forbids else None
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
