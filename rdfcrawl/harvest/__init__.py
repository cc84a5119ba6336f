"""Sources: what an answer of each kind leads to.

A sitemap, a portal or an endpoint is read page by page; each page is a record of its
own (`Record.task`), so that a crash costs one page. A source turns a page into the
documents it stands for and into the records that come next; what the pages of a
source must know of each other is in the state store.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from rdfcrawl.records import Kind, Record

if TYPE_CHECKING:
    from rdfcrawl.harvest.base import Desk, Source


def source_of(kind: Kind, desk: Desk) -> Source:
    """Return what reads the answers of a kind.

    Each has rooms of its own, which are imported when the first answer needs them.

    Raises:
        ValueError: answers of this kind are documents.
    """
    # ruff: noqa: PLC0415
    match kind:
        case Kind.SITEMAP:
            from rdfcrawl.harvest.sitemap import SitemapSource

            return SitemapSource(desk)
        case Kind.CKAN:
            from rdfcrawl.harvest.ckan import CkanSource

            return CkanSource(desk)
        case Kind.RESOURCESYNC:
            from rdfcrawl.harvest.resourcesync import ResourceSyncSource

            return ResourceSyncSource(desk)
        case Kind.SPARQL:
            from rdfcrawl.harvest.sparql import SparqlSource

            return SparqlSource(desk)
    raise ValueError(kind)


def root_of(kind: Kind, url: str, run: int) -> Record:
    """Return the record that begins with what the operator calls a URL.

    Args:
        kind: that it is called.
        url: of a source, or of a file.
        run: of the crawl.
    """
    if not kind.is_source:
        return Record(url, kind)
    source = import_module(f"rdfcrawl.harvest.{kind.name.lower()}")
    return cast("Record", source.root_of(url, run))
