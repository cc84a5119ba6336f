"""Entries of a sitemap or feed, and limits on one."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from rdfcrawl.sitemaps.markup import MarkupLimits

if TYPE_CHECKING:
    from rdfcrawl.sitemaps.dates import PointInTime


class SitemapFormat(StrEnum):
    """Format of a sitemap."""

    URLSET = "urlset"
    INDEX = "sitemapindex"
    RSS = "rss"
    RSS_1 = "rss1"
    ATOM = "atom"
    TEXT = "text"


class ChangeFrequency(StrEnum):
    """Expected change frequency of a page."""

    ALWAYS = "always"
    HOURLY = "hourly"
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    YEARLY = "yearly"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class EntryExtension:
    """Data of an extension of the protocol about a URL.

    Attributes:
        kind: local name of its element, in lower case: `image`, `video`, `news`,
            `link` (of hreflang annotations) or another one.
        values: names and texts of its content, in document order. The names are
            local, with those of the elements around them: `publication/name`.
            Attributes are `@name`, or `restriction/@relationship`.
    """

    kind: str
    values: tuple[tuple[str, str], ...]

    def value(self, name: str) -> str:
        """Return the first value of this name, or an empty text."""
        return next((text for key, text in self.values if key == name), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapEntry:
    """One URL of a sitemap.

    Attributes:
        position: in the document, from 0, including left out entries.
        url: requestable.
        is_sitemap: a sitemap of an index, not a page.
        lastmod: of the last change; of a feed, when updated or published.
        changefreq: expected.
        priority: from 0.0 to 1.0 among the URLs of its site; 0.5 is meant if unset.
        extensions: of the entry.
    """

    position: int
    url: str
    is_sitemap: bool = False
    lastmod: PointInTime | None = None
    changefreq: ChangeFrequency | None = None
    priority: float | None = None
    extensions: tuple[EntryExtension, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapLimits:
    """Limits on one sitemap; entries before a limit are kept.

    Attributes:
        markup: of the XML; its `n_bytes` holds for URL lists as well.
        n_entries: URLs, sitemaps and datasets of one document. The protocol allows
            50,000.
        n_extensions: of one entry; the protocol allows 1,000 images.
        depth: of indexes in indexes. The protocol allows none in another; some are
            found in the wild.
        n_values: of one element of a dataset or extension.
    """

    markup: MarkupLimits = field(default_factory=MarkupLimits)
    n_entries: int = 50_000
    n_extensions: int = 1_000
    depth: int = 3
    n_values: int = 10_000


DEFAULT_LIMITS: Final = SitemapLimits()
