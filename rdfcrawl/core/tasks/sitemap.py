"""One step of the harvest of a site's sitemaps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self


@dataclass(frozen=True, slots=True)
class RobotsTask:
    """The robots.txt of a site, whose sitemaps are read."""

    TAG: ClassVar = "robots"

    # only what they say of datasets is wanted, to confirm what others say
    is_confirming: bool = False


@dataclass(frozen=True, slots=True)
class ConsentTask:
    """The robots.txt of a site, which lets sitemaps of others list its URLs or not."""

    TAG: ClassVar = "consent"

    site: str  # see `site_of`


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapTask:
    """One reading of one sitemap."""

    TAG: ClassVar = "sitemap"

    # hosts whose robots.txt names it, or the index that lists it; see
    # `addresses.may_list`
    robots_hosts: tuple[str, ...] = ()
    is_confirming: bool = False  # see `RobotsTask`
    depth: int = 0  # indexes above it
    # when somebody pinged it, or the index that lists it, in ms: it is read once more
    # in a run; 0: nobody did
    ping: int = 0
    is_guess: bool = False  # nobody names it: it is looked for at `/sitemap.xml`

    def below(self) -> Self:
        """Return the task of a sitemap that this one, an index, lists.

        It is not to be read if its depth is more than `SitemapLimits.depth`.
        """
        return replace(self, depth=self.depth + 1, ping=0, is_guess=False)
