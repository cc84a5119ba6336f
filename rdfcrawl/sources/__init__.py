"""Sources: what an answer of each kind leads to.

A sitemap, a portal or an endpoint is read page by page; each page is a record of its
own (`Record.task`), so that a crash costs one page. A source turns a page into the
documents it stands for and into the records that come next; what the pages of a
source must know of each other is on its shelf.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdfcrawl.records import Kind
from rdfcrawl.sources.ckan import CkanSource
from rdfcrawl.sources.resourcesync import ResourceSyncSource
from rdfcrawl.sources.sitemap import SitemapSource
from rdfcrawl.sources.sparql import SparqlSource

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rdfcrawl.sources.base import Desk, Source

MAKERS: Final[Mapping[Kind, Callable[[Desk], Source]]] = {
    Kind.SITEMAP: SitemapSource,
    Kind.CKAN: CkanSource,
    Kind.RESOURCESYNC: ResourceSyncSource,
    Kind.SPARQL: SparqlSource,
}
