"""Which class harvests which kind of source: the table, and its instances."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final, cast

from scrapy.utils.misc import load_object

from rdfcrawl.harvest.document_discovery import DocumentDiscovery
from rdfcrawl.records import Record

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from rdfcrawl.fetch.answer import Question
    from rdfcrawl.harvest.context import HarvestContext
    from rdfcrawl.harvest.protocol import Harvester
    from rdfcrawl.records import Document, FollowUp, Kind

HARVESTERS: Final[Mapping[str, str]] = {
    "sitemap": "rdfcrawl.harvest.sitemap.SitemapHarvester",
    "resourcesync": "rdfcrawl.harvest.resourcesync.ResourceSyncHarvester",
    "ckan": "rdfcrawl.harvest.ckan.CkanHarvester",
    "sparql": "rdfcrawl.harvest.sparql.SparqlHarvester",
}
"""Classes by the names of the kinds that they harvest."""


class HarvesterRegistry:
    """The harvesters of one crawl and of one spider's arguments.

    Classes are imported when the first record of their kind needs them.

    Args:
        make_context: gives what harvesters work with, once the crawl is joined.
        classes: dotted paths by the names of kinds.
    """

    def __init__(
        self,
        make_context: Callable[[], HarvestContext],
        classes: Mapping[str, str] = HARVESTERS,
    ) -> None:
        self._make_context = make_context
        self._classes = classes
        self._harvesters: dict[Kind, Harvester] = {}

    def root(self, kind: Kind, url: str) -> Record:
        """Return the record that begins with what the operator calls a URL.

        Args:
            kind: that it is called.
            url: of a source, or of a file.
        """
        return self._of(kind).root(url) if kind.is_source else Record(url, kind)

    async def question(self, record: Record) -> Question | None:
        """Return the request for a record; None is a GET of its URL."""
        if not record.kind.is_source:
            return await self.discovery.request(record)
        return await self._of(record.kind).question(record)

    def harvest(self, document: Document) -> AsyncIterator[Document | FollowUp]:
        """See `Harvester.harvest`."""
        return self._of(document.record.kind).harvest(document)

    def ignores_robots(self, record: Record) -> bool:
        """Return whether a record is requested although robots.txt disallows it."""
        kind = record.kind
        return kind.is_source and self._of(kind).ignores_robots(record)

    @cached_property
    def context(self) -> HarvestContext:
        """What harvesters work with; there once the crawl is joined."""
        return self._make_context()

    @cached_property
    def discovery(self) -> DocumentDiscovery:
        """What finds more in documents than their links."""
        return DocumentDiscovery(self.context)

    def _of(self, kind: Kind) -> Harvester:
        harvester = self._harvesters.get(kind)
        if harvester is None:
            make = load_object(self._classes[kind.name.lower()])
            harvester = self._harvesters[kind] = cast("Harvester", make(self.context))
        return harvester
