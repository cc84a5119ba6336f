"""What a frontier record of a sitemap means: how it was come by."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Self

from rdfcrawl.errors import Reason, SourceFault

_MAX = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapTask:
    """One reading of one sitemap.

    Attributes:
        depth: indexes above it.
        robots_hosts: hosts whose robots.txt names it, or the index that lists it; see
            `addresses.may_list`.
    """

    depth: int = 0
    robots_hosts: tuple[str, ...] = ()

    def encode(self) -> str:
        """Return it as a short ASCII text; empty if nothing is out of the ordinary."""
        fields = {
            "depth": self.depth,
            "hosts": sorted(self.robots_hosts),
        }
        said = {key: value for key, value in fields.items() if value}
        return json.dumps(said, separators=(",", ":")) if said else ""

    @classmethod
    def decode(cls, text: str) -> Self:
        """Return what `encode` was given.

        Raises:
            SourceFault: `BAD_ANSWER`, it is no such text.
        """
        try:
            fields = json.loads(text) if text else {}
            depth, hosts = fields.get("depth", 0), fields.get("hosts", [])
            is_right = type(depth) is int and 0 <= depth <= _MAX
            is_right = is_right and all(type(host) is str for host in hosts)
        except (ValueError, AttributeError, TypeError):
            is_right = False
        if not is_right:
            raise SourceFault(Reason.BAD_ANSWER, f"no task of a sitemap: {text[:80]}")
        return cls(depth=depth, robots_hosts=tuple(hosts))

    def below(self) -> Self:
        """Return the task of a sitemap that this one, an index, lists.

        It is not to be read if its depth is more than `SitemapLimits.depth`.
        """
        return type(self)(depth=self.depth + 1, robots_hosts=self.robots_hosts)
