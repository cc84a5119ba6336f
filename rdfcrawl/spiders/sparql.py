"""The SPARQL spider: all statements behind endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.spiders.base import RdfSpider

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.records import Record


class SparqlSpider(RdfSpider):
    """Harvests the endpoints in `endpoints`."""

    name = "sparql"
    takes = "sparql"

    def named(self) -> tuple[str, ...] | Path:
        """Return the endpoints."""
        return self.arguments.endpoints

    def root(self, url: str, run: int) -> Record:
        """Return the record that a harvest begins with."""
        from rdfcrawl.harvest.sparql import root_of

        return root_of(url, run)
