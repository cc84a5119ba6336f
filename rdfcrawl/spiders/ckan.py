"""The CKAN spider: catalogues of datasets, and what they distribute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.spiders.base import RdfSpider

if TYPE_CHECKING:
    from pathlib import Path


class CkanSpider(RdfSpider):
    """Harvests the portals in `portals`."""

    name = "ckan"
    takes = ("portals", "organization", "group", "q", "fq")

    def named(self) -> tuple[str, ...] | Path:
        """Return the portals."""
        return self.arguments.portals
