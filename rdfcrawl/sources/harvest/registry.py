"""The harvester classes of the kinds of sources, and their instances."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from functools import cached_property
from importlib import import_module
from types import MappingProxyType
from typing import Any

from rdfcrawl.core.records import Document, FollowUp, Kind, Record, Urgency
from rdfcrawl.core.source_tasks import CustomTask
from rdfcrawl.downloader.client import HttpRequest
from rdfcrawl.frontier.arguments.seeds import Seed
from rdfcrawl.sources.harvest.document_discovery import DocumentDiscovery
from rdfcrawl.sources.harvest.protocol import HarvestContext, Harvester, read_task


class HarvesterRegistry:
    """The harvesters for one crawl and one spider's arguments.

    Classes are imported with the first record of their kind.

    Args:
        make_context: returns the context, after the crawl was joined.
        classes: of the user, see `HarvestOptions.harvesters`.

    Attributes:
        media_types: of pages with a harvester.
    """

    def __init__(
        self,
        make_context: Callable[[], HarvestContext],
        classes: Mapping[str, type] = MappingProxyType({}),
    ) -> None:
        self._make_context = make_context
        self._classes = classes
        self.media_types = frozenset(name for name in classes if "/" in name)
        self._harvesters: dict[str, Harvester] = {}

    def root(self, kind: Kind | str, url: str, *, is_named: bool = True) -> Record:
        """Return the first record for a source or file.

        Args:
            kind: of the record, or the name of a harvester.
            url: of the source or file.
            is_named: the operator has named the source.
        """
        if isinstance(kind, str):
            return self._of(kind).root(url)
        if not kind.is_source:
            return Record(url, kind)
        return self._of(kind.name.lower()).root(url, is_named=is_named)

    async def queue(
        self, seeds: Iterable[Seed], urgency: Urgency = Urgency.ORDINARY
    ) -> None:
        """Queue the sources among seeds; the operator has named them."""
        sources = [
            FollowUp(
                self.root(seed.kind, seed.url), is_part_of_source=True, urgency=urgency
            )
            for seed in seeds
            if seed.kind is not None
        ]
        if sources:
            await self.context.session.seeds.add_sources(sources)

    async def expect_named(self, seeds: Iterable[Seed]) -> None:
        """Note the sitemaps among seeds before the first of them is queued."""
        from rdfcrawl.sources.harvest.budgeted_pages import BudgetedPages

        sitemaps = [
            self.root(Kind.SITEMAP, seed.url)
            for seed in seeds
            if seed.kind is Kind.SITEMAP
        ]
        await BudgetedPages(self.context).expect_named(sitemaps)

    async def request_for(self, record: Record) -> HttpRequest | None:
        """Return the request for a record; None is a GET of its URL."""
        if not record.kind.is_source:
            return await self.discovery.request(record)
        return await self._of(name_of(record)).request_for(record)

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
        """The context, after the crawl was joined."""
        return self._make_context()

    @cached_property
    def discovery(self) -> DocumentDiscovery:
        """The discovery in documents, apart from their links."""
        return DocumentDiscovery(self.context, self.harvest)

    def _of(self, name: str) -> Harvester:
        harvester = self._harvesters.get(name)
        if harvester is None:
            make: Any = self._classes.get(name) or _class_of(name)
            harvester = self._harvesters[name] = make(self.context)
        return harvester


def _class_of(name: str) -> type:
    """Return our harvester of a name: the class in the module of this name."""
    module = import_module(f"rdfcrawl.sources.harvest.{name}")
    for each in vars(module).values():
        is_own = str(getattr(each, "__module__", "")).startswith(module.__name__)
        if is_own and isinstance(each, type) and Harvester in each.__mro__:
            return each
    raise KeyError(name)


def name_of(record: Record) -> str:
    """Return the name of the harvester of a record; empty for a page."""
    if not record.kind.is_source:
        return ""
    payload = read_task(record).payload
    if isinstance(payload, CustomTask):
        return payload.harvester
    return record.kind.name.lower()
