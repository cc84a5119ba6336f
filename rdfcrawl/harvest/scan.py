"""The search of every document's statements for data elsewhere, beside links."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from rdfcrawl.catalogs.access import AccessScan
from rdfcrawl.catalogs.paging import PagingScan
from rdfcrawl.catalogs.sparql.services import ServiceScan
from rdfcrawl.rdf.namespaces import VOID

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

# Whatever is looked for has one of these in it; long ones are found faster.
_MARKS: Final = (
    b"http://www.w3.org/ns/",
    VOID.encode(),
    b"https://w3id.org/",
    b"://schema.org/",
)
_NO_URLS: Final[frozenset[bytes]] = frozenset()


class DocumentScan:
    """Gathers what a document says of data elsewhere.

    Attributes:
        has_any: there was something to look at; else nothing was found.
    """

    def __init__(self) -> None:
        self.has_any = False

    @cached_property
    def accesses(self) -> AccessScan:
        """What it says of datasets."""
        return AccessScan()

    @cached_property
    def paging(self) -> PagingScan:
        """What it says of collections and their pages."""
        return PagingScan()

    @cached_property
    def services(self) -> ServiceScan:
        """What it says of SPARQL services."""
        return ServiceScan()

    @property
    def urls(self) -> AbstractSet[bytes]:
        """URLs that are no ordinary links, as they have been named as something."""
        return self.accesses.urls if self.has_any else _NO_URLS

    def feed(self, chunk: bytes) -> None:
        """Take the next statements: whole lines of canonical N-Quads."""
        for mark in _MARKS:
            if mark in chunk:
                break
        else:
            return
        self.has_any = True
        self.accesses.feed(chunk)
        self.paging.feed(chunk)
        self.services.feed(chunk)
