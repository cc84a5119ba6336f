"""The CKAN spider: catalogues of datasets, and their distributions."""

from __future__ import annotations

from rdfcrawl.spiders.base import RdfSpider


class CkanSpider(RdfSpider):
    """Harvests the portals in `portals`."""

    name = "ckan"
    takes = ("portals", "organization", "group", "q", "fq")
