"""The look through every document's statements: for links, and for data elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from rdfcrawl.catalogs.access import AccessScan
from rdfcrawl.catalogs.paging import PagingScan
from rdfcrawl.catalogs.sparql.services import ServiceScan
from rdfcrawl.rdf.namespaces import VOID

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from rdfcrawl.links.policy import LinkPolicy

# Whatever tells of data elsewhere has one of these in it; long ones are found faster.
_MARKS: Final = (
    b"http://www.w3.org/ns/",
    VOID.encode(),
    b"https://w3id.org/",
    b"://schema.org/",
)
_NO_URLS: Final[frozenset[bytes]] = frozenset()
_BULK_BYTES: Final = 32 * 1024  # of one chunk: few documents are so large


@dataclass(eq=False)
class DocumentScan:
    """Finds the links of a document, and gathers what it says of data elsewhere.

    Attributes:
        follow: which IRIs are links.
        has_any: there was something to gather.
    """

    follow: LinkPolicy
    has_any: bool = False

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

    def links(self, chunk: bytes) -> set[bytes]:
        """Return the links in further statements, and gather what they tell.

        Args:
            chunk: whole lines of canonical N-Quads.
        """
        is_telling = self.follow.wants_datasets
        if is_telling and len(chunk) >= _BULK_BYTES and not self.has_any:
            links, is_telling = self.follow.scan_bulk(chunk)
        else:
            links = self.follow.scan(chunk)
        if is_telling:
            for mark in _MARKS:
                if mark in chunk:
                    self.gather(chunk)
                    break
        return links

    def gather(self, chunk: bytes) -> None:
        """Gather what statements tell of data elsewhere."""
        self.has_any = True
        self.accesses.feed(chunk)
        self.paging.feed(chunk)
        self.services.feed(chunk)
