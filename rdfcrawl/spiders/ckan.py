"""The CKAN spider: catalogues of datasets, and what they distribute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.spiders.base import RdfSpider

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.records import Record


class CkanSpider(RdfSpider):
    """Harvests the portals in `portals`."""

    name = "ckan"
    takes = "ckan"

    def named(self) -> tuple[str, ...] | Path:
        """Return the portals."""
        return self.arguments.portals

    def root(self, url: str, run: int) -> Record:
        """Return the record that a harvest begins with."""
        from rdfcrawl.harvest.ckan import root_of

        return root_of(url, run)
