"""The sitemap spider: sitemaps of sites, then their pages."""

from __future__ import annotations

from rdfcrawl.spiders.base import RdfSpider


class SitemapSpider(RdfSpider):
    """Reads the sitemaps of the sites in `sites`, and the pages they list."""

    name = "sitemap"
    takes = ("sites", "sitemaps", "sitemaps_since", "slice")
