"""One step of the harvest of a site's sitemaps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self


@dataclass(frozen=True, slots=True)
class RobotsTask:
    """The robots.txt of a site, whose sitemaps are read."""

    TAG: ClassVar = "robots"

    # read only descriptions of datasets, to confirm claims of others
    is_confirming: bool = False


@dataclass(frozen=True, slots=True)
class ConsentTask:
    """The robots.txt of a site, as consent to sitemaps of others that list its URLs."""

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
    # time of the last ping for it, or for the index that lists it, in ms: it is read
    # again in the same run; 0: no ping
    ping: int = 0
    is_guess: bool = False  # not named anywhere: it is tried at `/sitemap.xml`

    def below(self) -> Self:
        """Return the task of a sitemap that this one, an index, lists.

        It is not read if its depth exceeds `SitemapLimits.depth`.
        """
        return replace(self, depth=self.depth + 1, ping=0, is_guess=False)
