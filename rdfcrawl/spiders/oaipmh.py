"""The OAI-PMH spider: the records of repositories."""

from __future__ import annotations

from rdfcrawl.spiders.base import RdfSpider


class OaiPmhSpider(RdfSpider):
    """Harvests the repositories in `repositories`."""

    name = "oaipmh"
    takes = ("repositories", "metadata_prefix", "sets")
