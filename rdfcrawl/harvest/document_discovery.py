"""Everything that a document leads to beside its links."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Final

from rdfcrawl.arguments.seeds import iter_seeds
from rdfcrawl.formats import HTML
from rdfcrawl.harvest.collections import CollectionPages
from rdfcrawl.harvest.discovery import NOTHING_FOUND, Discovery
from rdfcrawl.harvest.recognition import RecognizedSources
from rdfcrawl.harvest.sites import SiteOffers
from rdfcrawl.records import Kind
from rdfcrawl.sitemaps.access import AccessMethod

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rdfcrawl.fetch.answer import HttpRequest
    from rdfcrawl.harvest.context import HarvestContext
    from rdfcrawl.harvest.scan import DocumentScan
    from rdfcrawl.records import Document, FollowUp, Record

_MAX_ENDPOINTS: Final = 100_000  # that the operator named


class DocumentDiscovery:
    """Asks the discoverers, in the order in which their follow-ups are queued."""

    def __init__(self, context: HarvestContext) -> None:
        self._run = context.run
        self.follow = context.arguments.follow
        self._sources = RecognizedSources(context)
        self._sites = SiteOffers(context)
        self._datasets = context.datasets
        self._wants_endpoints = Kind.SPARQL in context.arguments.harvest
        self._collections = CollectionPages(context)
        self._endpoints = context.arguments.endpoints

    async def find(self, document: Document, scan: DocumentScan) -> Discovery:
        """Return all that a document, read to its end, leads to beside its links."""
        kind = document.record.kind
        if kind.is_source:
            return self._sites.of_source(document.record)
        if document.is_nofollow:
            return await self._instead_of(document)
        discoveries = [await self._sources.find(document), self._sites.find(document)]
        if scan.has_any:
            discoveries.append(await self._described(document, scan))
        may_be_page = scan.has_any or document.links or document.record.task
        if may_be_page and self.follow.wants_datasets:
            discoveries.append(await self._collections.find(document, scan))
        discoveries.append(await self._instead_of(document))
        some = [each for each in discoveries if each is not NOTHING_FOUND]
        return self._without_named(sum(some, NOTHING_FOUND)) if some else NOTHING_FOUND

    async def request(self, record: Record) -> HttpRequest | None:
        """Return the conditional request for a page of a collection; else None."""
        return await self._collections.question(record)

    async def revisits(self) -> AsyncIterator[list[FollowUp]]:
        """Yield the records that another run of the crawl repeats, in groups."""
        if self._run:
            async for group in self._collections.again():
                yield group

    async def _described(self, document: Document, scan: DocumentScan) -> Discovery:
        """Return the records of the datasets in the statements of a document."""
        findings = scan.accesses.read(document.url)
        if scan.services.has_some:
            own = scan.services.own_endpoint(document.url)
            replaced = scan.services.replaced(document.url)
            findings = findings.with_service(own, replaced)
        left_out = Discovery(n_not_rdf=findings.n_left_out)
        if not self._wants_endpoints:
            findings = findings.without(AccessMethod.SPARQL)
        return left_out + await self._datasets.described(findings, document)

    async def _instead_of(self, document: Document) -> Discovery:
        """Return other access to the datasets of a dump that is deficient."""
        is_dump = document.record.kind is Kind.DUMP
        if is_dump and (lack := _shortfall_of(document)):
            return await self._datasets.instead_of_file(document, lack)
        return NOTHING_FOUND

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


def _shortfall_of(document: Document) -> str:
    """Return the deficiency of a dump in a few words; empty if there is none.

    A redirect to another host, where the dump is requested next, is none. Single
    statements that were left out are no reason to fetch everything once more.
    """
    if 300 <= document.status < 400 and not document.faults:
        return ""
    if not document.n_quads:
        reasons = [str(fault.reason) for fault in document.faults]
        return reasons[0] if reasons else "no statements"
    if document.reading.format is HTML and not document.reading.n_members:
        return "a page"
    return "cut" if document.is_partial else ""
