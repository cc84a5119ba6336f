"""The sitemap spider: what sites say of themselves, and then their pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.spiders.base import RdfSpider

if TYPE_CHECKING:
    from pathlib import Path


class SitemapSpider(RdfSpider):
    """Reads the sitemaps of the sites in `sites`, and what they list."""

    name = "sitemap"
    takes = ("sites", "slice")

    def named(self) -> tuple[str, ...] | Path:
        """Return the sites."""
        return self.arguments.sites
