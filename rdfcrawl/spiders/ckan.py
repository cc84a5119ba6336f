"""The CKAN spider: catalogues of datasets, and what they distribute."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rdfcrawl.spiders.base import RdfSpider

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rdfcrawl.records import Record
    from rdfcrawl.sources.base import Desk


class CkanSpider(RdfSpider):
    """Harvests the portals in `portals`."""

    name = "ckan"

    def named(self) -> tuple[str, ...] | Path:
        """Return the portals."""
        return self.arguments.portals

    def root(self, url: str, run: int) -> Record:
        """Return the record that a harvest begins with."""
        from rdfcrawl.sources.ckan import root_of

        return root_of(url, run)

    def _desk(self) -> Desk:
        desk = super()._desk()
        sources = replace(desk.options.sources, ckan_keys=tuple(self._keys()))
        return replace(desk, options=replace(desk.options, sources=sources))

    def _keys(self) -> Iterator[tuple[str, str]]:
        """Yield portals and their keys.

        A key for all is one for those that are named, wherever they redirect to.
        """
        from rdfcrawl.arguments import iter_seeds

        for url, key in self.options.sources.ckan_keys:
            if url:
                yield url, key
                continue
            for portal in iter_seeds(self.named()):
                if isinstance(portal, str):
                    yield self.root(portal, 0).url, key
