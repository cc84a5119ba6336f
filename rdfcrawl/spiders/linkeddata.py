"""The Linked Data spider: from document to document along RDF links."""

from __future__ import annotations

from rdfcrawl.spiders.base import RdfSpider


class LinkedDataSpider(RdfSpider):
    """Follows the IRIs that `follow` names, from the seeds on, across hosts."""

    name = "linkeddata"
