"""The spiders of sources that list their content."""

from __future__ import annotations

from rdfcrawl.spiders.base import RdfSpider


class CkanSpider(RdfSpider):
    """Harvests the portals in `portals`."""

    name = "ckan"
    takes = ("portals", "organization", "group", "q", "fq")


class OaiPmhSpider(RdfSpider):
    """Harvests the repositories in `repositories`."""

    name = "oaipmh"
    takes = ("repositories", "metadata_prefix", "sets")


class ResourceSyncSpider(RdfSpider):
    """Synchronizes with the sources in `sources`."""

    name = "resourcesync"
    takes = ("sources", "audit")


class SitemapSpider(RdfSpider):
    """Reads the sitemaps of the sites in `sites`, and the pages they list."""

    name = "sitemap"
    takes = ("sites", "sitemaps", "sitemaps_since", "slice")


class SparqlSpider(RdfSpider):
    """Harvests the endpoints in `endpoints`."""

    name = "sparql"
    takes = ("endpoints", "graphs", "skip_graphs", "take", "query")
