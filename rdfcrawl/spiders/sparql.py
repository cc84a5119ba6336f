"""The SPARQL spider: all statements behind endpoints."""

from __future__ import annotations

from rdfcrawl.spiders.base import RdfSpider


class SparqlSpider(RdfSpider):
    """Harvests the endpoints in `endpoints`."""

    name = "sparql"
    takes = ("endpoints", "graphs", "skip_graphs", "take", "query")
