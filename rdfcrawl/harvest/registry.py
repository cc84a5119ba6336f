"""Which class harvests which kind of source: the table, and its instances."""

from __future__ import annotations

from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from scrapy.utils.misc import load_object

from rdfcrawl.harvest.document_discovery import DocumentDiscovery
from rdfcrawl.harvest.tasks import read_task
from rdfcrawl.records import Record
from rdfcrawl.tasks.custom import CustomTask

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from rdfcrawl.fetch.answer import HttpRequest
    from rdfcrawl.harvest.context import HarvestContext
    from rdfcrawl.harvest.protocol import Harvester
    from rdfcrawl.records import Document, FollowUp, Kind

HARVESTERS: Final[Mapping[str, str]] = {
    "sitemap": "rdfcrawl.harvest.sitemap.SitemapHarvester",
    "resourcesync": "rdfcrawl.harvest.resourcesync.ResourceSyncHarvester",
    "ckan": "rdfcrawl.harvest.ckan.CkanHarvester",
    "sparql": "rdfcrawl.harvest.sparql.SparqlHarvester",
    "warc": "rdfcrawl.harvest.warc.WarcHarvester",
}
"""Our classes by the names of the kinds that they harvest.

The setting `HARVESTERS` adds others, and replaces these.
"""


class HarvesterRegistry:
    """The harvesters of one crawl and of one spider's arguments.

    Classes are imported when the first record of their kind needs them.

    Args:
        make_context: gives what harvesters work with, once the crawl is joined.
        classes: of the user's, see `HarvestOptions.harvesters`.

    Attributes:
        media_types: of pages that are harvested.
    """

    def __init__(
        self,
        make_context: Callable[[], HarvestContext],
        classes: Mapping[str, type] = MappingProxyType({}),
    ) -> None:
        self.media_types = frozenset(name for name in classes if "/" in name)
        self._make_context = make_context
        self._classes: dict[str, str | type] = {**HARVESTERS, **classes}
        self._harvesters: dict[str, Harvester] = {}

    def root(self, kind: Kind, url: str) -> Record:
        """Return the record that begins with what the operator calls a URL.

        Args:
            kind: that it is called.
            url: of a source, or of a file.
        """
        if not kind.is_source:
            return Record(url, kind)
        return self._of(kind.name.lower()).root(url)

    def custom_root(self, name: str, url: str) -> Record:
        """Return the record that a harvest by a harvester of the user's begins with."""
        return self._of(name).root(url)

    async def question(self, record: Record) -> HttpRequest | None:
        """Return the request for a record; None is a GET of its URL."""
        if not record.kind.is_source:
            return await self.discovery.request(record)
        return await self._of(name_of(record)).question(record)

    def harvest(self, document: Document) -> AsyncIterator[Document | FollowUp]:
        """See `Harvester.harvest`."""
        name = name_of(document.record) or document.media_type
        return self._of(name).harvest(document)

    def ignores_robots(self, record: Record) -> bool:
        """Return whether a record is requested although robots.txt disallows it."""
        name = name_of(record)
        return bool(name) and self._of(name).ignores_robots(record)

    @cached_property
    def context(self) -> HarvestContext:
        """What harvesters work with; there once the crawl is joined."""
        return self._make_context()

    @cached_property
    def discovery(self) -> DocumentDiscovery:
        """What finds more in documents than their links."""
        return DocumentDiscovery(self.context)

    def _of(self, name: str) -> Harvester:
        harvester = self._harvesters.get(name)
        if harvester is None:
            make = load_object(self._classes[name])
            harvester = self._harvesters[name] = cast("Harvester", make(self.context))
        return harvester


def name_of(record: Record) -> str:
    """Return the name of the harvester that a record is of; empty if it is a page."""
    if not record.kind.is_source:
        return ""
    payload = read_task(record).payload
    if isinstance(payload, CustomTask):
        return payload.harvester
    return record.kind.name.lower()
