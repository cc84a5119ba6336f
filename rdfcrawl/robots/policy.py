"""What robots.txt allows (RFC 9309)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from protego import Protego

PRODUCT_TOKEN: Final = "rdfcrawl"  # noqa: S105  a name, not a secret
"""The name that groups of rules are meant for (RFC 9309 2.2.1)."""

MAX_ROBOTS_BYTES: Final = 500 * 1024  # RFC 9309 2.5: parse at least 500 KiB
MAX_ROBOTS_REDIRECTS: Final = 5  # RFC 9309 2.3.1.2: follow at least five
MAX_SITEMAPS: Final = 1000

# A line that may forbid something, in all the spellings that the parser takes.
_DISALLOW: Final = re.compile(r"\s*d\w*w[\s:]+[^\s#]", re.IGNORECASE).match
_BOM: Final = b"\xef\xbb\xbf"


class Access(Enum):
    """What the fetch of robots.txt came to (RFC 9309 2.3.1)."""

    PARSE = auto()
    """2.3.1.1: there are rules."""
    ALLOW_ALL = auto()
    """2.3.1.3, unavailable: there are none, and the body means nothing."""
    UNREACHABLE = auto()
    """2.3.1.4: nothing may be asked for until it can be read."""


def judge(status: int) -> Access:
    """Say what the final answer for robots.txt means.

    Args:
        status: of the last answer, after at most `MAX_ROBOTS_REDIRECTS` redirects; 0
            if there was none.

    429 is treated as unreachable, which the RFC does not ask for: a host that wants
    fewer requests is not one without rules.

    >>> judge(404), judge(503)
    (<Access.ALLOW_ALL: 2>, <Access.UNREACHABLE: 3>)
    """
    if 200 <= status < 300:
        return Access.PARSE
    # 2.3.1.2: after too many redirects it may be taken as unavailable.
    if 300 <= status < 500 and status != 429:
        return Access.ALLOW_ALL
    return Access.UNREACHABLE


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """What one robots.txt says to this crawler.

    Attributes:
        delay_secs: `Crawl-delay` of our group, 0 if there is none; not limited.
        sitemaps: values of `Sitemap`, as written, at most `MAX_SITEMAPS`.
        n_bytes: size of the text that the rules were read from.
        agent: product token whose group applies.
    """

    delay_secs: float = 0.0
    sitemaps: tuple[str, ...] = ()
    n_bytes: int = 0
    _parser: Protego | None = None
    agent: str = PRODUCT_TOKEN

    @property
    def allows_all(self) -> bool:
        """Nothing is forbidden to anybody."""
        return self._parser is None

    def allows(self, url: str) -> bool:
        """Say whether `url`, of the origin the rules are for, may be asked for."""
        parser = self._parser
        if parser is None or parser.can_fetch(url, self.agent):
            return True
        # RFC 9309 2.2.2: /robots.txt itself is implicitly allowed.
        return url[url.find("/", url.find("://") + 3) :] == "/robots.txt"


ALLOW_ALL: Final = Rules()
"""The rules of a site that has none."""


def parse_robots(body: bytes, agent: str = PRODUCT_TOKEN) -> Rules:
    r"""Read robots.txt; what cannot be read in it is passed over.

    Args:
        body: of any length; what follows the last whole line within
            `MAX_ROBOTS_BYTES` is not read.
        agent: product token that the site may address us by.

    >>> rules = parse_robots(b"User-agent: *\nDisallow: /private")
    >>> rules.allows("http://example.org/private/a")
    False
    """
    text = _text(body)
    parser = Protego.parse(text)
    sitemaps = tuple(list(parser.sitemaps)[:MAX_SITEMAPS])
    delay_secs = parser.crawl_delay(agent) or 0.0
    forbids = any(_DISALLOW(line) for line in text.splitlines())
    if not forbids and not sitemaps and not delay_secs:
        return ALLOW_ALL
    return Rules(delay_secs, sitemaps, len(text), parser if forbids else None, agent)


def _text(body: bytes) -> str:
    body = body.removeprefix(_BOM)
    if len(body) > MAX_ROBOTS_BYTES:
        body = body[:MAX_ROBOTS_BYTES]
        end = max(body.rfind(b"\n"), body.rfind(b"\r"))
        body = body[: end + 1]
    return body.decode("utf-8", "replace")
