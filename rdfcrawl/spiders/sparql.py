"""The SPARQL spider: all statements behind endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.spiders.base import RdfSpider

if TYPE_CHECKING:
    from pathlib import Path


class SparqlSpider(RdfSpider):
    """Harvests the endpoints in `endpoints`."""

    name = "sparql"
    takes = ("endpoints", "graphs", "skip_graphs", "take", "query")

    def named(self) -> tuple[str, ...] | Path:
        """Return the endpoints."""
        return self.arguments.endpoints
