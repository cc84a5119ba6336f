"""The DCAT that a portal offers itself, where its API is refused.

Source: the documentation of ckanext-dcat, "RDF endpoints".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.harvest.dataset import KnownDataset
from rdfcrawl.harvest.discovery import NOTHING_FOUND
from rdfcrawl.harvest.tasks import read_task
from rdfcrawl.sitemaps.access import AccessMethod, DatasetAccess
from rdfcrawl.tasks.ckan import CkanStep, CkanTask

if TYPE_CHECKING:
    from rdfcrawl.catalogs.ckan.api import PortalAddress
    from rdfcrawl.harvest.context import HarvestContext
    from rdfcrawl.harvest.discovery import Discovery
    from rdfcrawl.records import Document


async def catalogue(
    portal: PortalAddress, document: Document, context: HarvestContext
) -> Discovery:
    """Return what to ask for instead of the API: the catalogue's first page.

    Its formats are tried one after the other; a format leads to its further pages.

    Args:
        portal: whose API was refused, for good and from the beginning.
        document: the refusal.
        context: of the harvester.
    """
    step = read_task(document.record).payload
    if isinstance(step, CkanTask) and step.step in (CkanStep.SHOW, CkanStep.CONFIRM):
        return NOTHING_FOUND  # the portal has answered before
    formats = DatasetAccess(AccessMethod.DUMP, (portal.catalogue_urls,))
    known = KnownDataset(name=f"{portal.url}/catalog", ways=(formats,))
    return await context.datasets.register(known, document)
