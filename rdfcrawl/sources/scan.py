"""What is looked for in the statements of every document, beside links."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rdfcrawl.catalogs.access import AccessScan
from rdfcrawl.catalogs.paging import PagingScan
from rdfcrawl.catalogs.sparql.services import ServiceScan

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet


# Whatever is looked for has one of these in it; long ones are found faster.
_MARKS: Final = (
    b"http://www.w3.org/ns/",
    b"http://rdfs.org/ns/void#",
    b"https://w3id.org/",
    b"://schema.org/",
)


@dataclass(slots=True)
class Scan:
    """Gathers what a document says of data elsewhere.

    Attributes:
        accesses: what it says of datasets.
        paging: what it says of collections and their pages.
        services: what it says of SPARQL services.
    """

    accesses: AccessScan = field(default_factory=AccessScan)
    paging: PagingScan = field(default_factory=PagingScan)
    services: ServiceScan = field(default_factory=ServiceScan)

    @property
    def urls(self) -> AbstractSet[bytes]:
        """URLs that are no ordinary links, as they have been named as something."""
        return self.accesses.urls

    def feed(self, chunk: bytes) -> None:
        """Take the next statements: whole lines of canonical N-Quads."""
        if not any(mark in chunk for mark in _MARKS):
            return
        self.accesses.feed(chunk)
        self.paging.feed(chunk)
        self.services.feed(chunk)
