"""All that a document leads to beside its links."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Final

from rdfcrawl.arguments.seeds import iter_seeds
from rdfcrawl.harvest.collections import CollectionPages
from rdfcrawl.harvest.described import DescribedDatasets
from rdfcrawl.harvest.discovery import NOTHING_FOUND
from rdfcrawl.harvest.failed_files import FailedFiles
from rdfcrawl.harvest.recognition import RecognizedSources
from rdfcrawl.harvest.sites import SiteOffers
from rdfcrawl.records import Kind

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rdfcrawl.fetch.answer import HttpRequest
    from rdfcrawl.harvest.context import HarvestContext
    from rdfcrawl.harvest.discovery import Discovery
    from rdfcrawl.harvest.scan import DocumentScan
    from rdfcrawl.records import Document, FollowUp, Record

_MAX_ENDPOINTS: Final = 100_000  # that the operator named


class DocumentDiscovery:
    """Asks the discoverers, in the order in which their follow-ups are queued.

    Attributes:
        follow: which IRIs of a document are links.
    """

    def __init__(self, context: HarvestContext) -> None:
        self._run = context.run
        self.follow = context.arguments.follow
        self._sources = RecognizedSources(context)
        self._sites = SiteOffers(context)
        self._datasets = DescribedDatasets(context)
        self._collections = CollectionPages(context)
        self._failed_files = FailedFiles(context)
        self._endpoints = context.arguments.endpoints

    async def find(self, document: Document, scan: DocumentScan) -> Discovery:
        """Return what a document leads to, beside its links.

        Args:
            document: read to its end.
            scan: has seen its statements.
        """
        kind = document.record.kind
        if kind.is_source:
            return self._sites.of_source(document.record)
        if document.is_nofollow:
            is_file = kind is Kind.DUMP
            return await self._failed_files.find(document) if is_file else NOTHING_FOUND
        discoveries = [await self._sources.find(document), self._sites.find(document)]
        if scan.has_any:
            discoveries.append(await self._datasets.find(document, scan))
        may_be_page = scan.has_any or document.links or document.record.task
        if may_be_page and self.follow.wants_datasets:
            discoveries.append(await self._collections.find(document, scan))
        if kind is Kind.DUMP:
            discoveries.append(await self._failed_files.find(document))
        some = [each for each in discoveries if each is not NOTHING_FOUND]
        return self._without_named(sum(some, NOTHING_FOUND)) if some else NOTHING_FOUND

    async def request(self, record: Record) -> HttpRequest | None:
        """Return the request for a page of a collection, if it is a conditional one."""
        return await self._collections.question(record)

    async def revisits(self) -> AsyncIterator[list[FollowUp]]:
        """Yield what another run of the crawl asks for again, in groups."""
        if self._run:
            async for group in self._collections.again():
                yield group

    def _without_named(self, found: Discovery) -> Discovery:
        """Return a discovery without endpoints that are harvested anyway."""
        if not self._named_endpoints:
            return found
        kept = tuple(x for x in found.follow_ups if not self._is_named(x.record))
        return replace(found, follow_ups=kept)

    @cached_property
    def _named_endpoints(self) -> frozenset[str]:
        named = islice(iter_seeds(self._endpoints), _MAX_ENDPOINTS)
        return frozenset(x for x in named if isinstance(x, str))

    def _is_named(self, record: Record) -> bool:
        return record.kind is Kind.SPARQL and record.url in self._named_endpoints
