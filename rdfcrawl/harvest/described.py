"""The datasets that the statements of a document describe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.harvest.discovery import Discovery
from rdfcrawl.records import Kind
from rdfcrawl.sitemaps.access import AccessMethod

if TYPE_CHECKING:
    from rdfcrawl.harvest.context import HarvestContext
    from rdfcrawl.harvest.scan import DocumentScan
    from rdfcrawl.records import Document


class DescribedDatasets:
    """Takes the datasets that documents describe, each by its best way."""

    def __init__(self, context: HarvestContext) -> None:
        self._datasets = context.datasets
        self._wants_endpoints = Kind.SPARQL in context.arguments.harvest

    async def find(self, document: Document, scan: DocumentScan) -> Discovery:
        """Return what is fetched of the datasets in the statements of a document."""
        findings = scan.accesses.read(document.url)
        if scan.services.has_some:
            own = scan.services.own_endpoint(document.url)
            replaced = scan.services.replaced(document.url)
            findings = findings.with_service(own, replaced)
        left_out = Discovery(n_not_rdf=findings.n_left_out)
        if not self._wants_endpoints:
            findings = findings.without(AccessMethod.SPARQL)
        return left_out + await self._datasets.described(findings, document)
