"""Scan of documents for links and for data elsewhere, and results of discovery."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.namespaces import DCAT, HYDRA, LDES, SD, TREE
from rdfcrawl.frontier.arguments.parsers import DCAT_US, VOID
from rdfcrawl.rdf.links.policy import find_describing

if TYPE_CHECKING:
    from rdfcrawl.core.errors import Fault
    from rdfcrawl.core.records import FollowUp
    from rdfcrawl.rdf.links.policy import LinkPolicy
    from rdfcrawl.sources.access import AccessScan
    from rdfcrawl.sources.paging import PagingScan
    from rdfcrawl.sources.sparql.services import ServiceScan

FOUND: Final = "found sources"  # table of the crawl: kind and URL -> the record
# Paths that are tried on each site, by word of `harvest`.
GUESSES: Final = {VOID: "/.well-known/void", DCAT_US: "/data.json"}


@dataclass(frozen=True, slots=True)
class Discovery:
    """Results and counts of a discoverer; discoveries can be added."""

    # records to queue; the first record of a URL wins
    follow_ups: tuple[FollowUp, ...] = ()
    faults: tuple[Fault, ...] = ()  # of the document
    # skipped files of datasets, declared not to be RDF
    not_rdf: tuple[str, ...] = ()
    # documents that no source has any more: their statements are deleted
    withdrawn: tuple[str, ...] = ()
    # the URL was a guess, so a missing document is not a fault
    is_excused: bool = False

    def __add__(self, other: Discovery) -> Discovery:
        """Return both; see `combined`."""
        return combined((self, other))

    def parts(self) -> Iterator[FollowUp | Fault]:
        """Yield the follow-ups and the faults."""
        yield from self.follow_ups
        yield from self.faults


NOTHING_FOUND: Final = Discovery()


def combined(discoveries: Sequence[Discovery]) -> Discovery:
    """Return all discoveries as one; nothing is copied if only one is not empty."""
    some = [each for each in discoveries if each is not NOTHING_FOUND]
    if len(some) < 2:
        return some[0] if some else NOTHING_FOUND
    return Discovery(
        tuple(chain.from_iterable(each.follow_ups for each in some)),
        tuple(chain.from_iterable(each.faults for each in some)),
        tuple(chain.from_iterable(each.not_rdf for each in some)),
        tuple(chain.from_iterable(each.withdrawn for each in some)),
        any(each.is_excused for each in some),
    )


def found(*follow_ups: FollowUp) -> Discovery:
    """Return a discovery of records to queue."""
    return Discovery(follow_ups) if follow_ups else NOTHING_FOUND


_OF_PAGES: Final = tuple(x.encode() for x in (HYDRA, TREE, LDES, DCAT + "Dataset"))
_OF_SERVICES: Final = SD.encode()
_NO_URLS: Final[frozenset[bytes]] = frozenset()
_BULK_BYTES: Final = 32 * 1024  # of one chunk; few documents are larger


@dataclass(eq=False)
class DocumentScan:
    """Finds the links of a document, and collects statements about data elsewhere.

    Attributes:
        follow: the links to follow.
        has_any: there were such statements.
        has_pages: some of them are about collections.
        has_services: some of them are about SPARQL services.
        whole: all statements, if few.
    """

    follow: LinkPolicy
    has_any: bool = False
    has_pages: bool = False
    has_services: bool = False
    whole: bytes | None = None

    @cached_property
    def accesses(self) -> AccessScan:
        """Statements about datasets."""
        from rdfcrawl.sources.access import AccessScan

        return AccessScan()

    @cached_property
    def paging(self) -> PagingScan:
        """Statements about collections and pages."""
        from rdfcrawl.sources.paging import PagingScan

        return PagingScan()

    @cached_property
    def services(self) -> ServiceScan:
        """Statements about SPARQL services."""
        from rdfcrawl.sources.sparql.services import ServiceScan

        return ServiceScan()

    @property
    def urls(self) -> AbstractSet[bytes]:
        """URLs of distributions, which are not ordinary links."""
        return self.accesses.urls if self.has_any else _NO_URLS

    def links(
        self, chunk: bytes, found: AbstractSet[bytes] | None = None
    ) -> AbstractSet[bytes]:
        """Return the links in complete lines of canonical N-Quads; collect statements.

        Args:
            chunk: the lines.
            found: the links, if already known.
        """
        is_describing = self.follow.wants_datasets
        if found is not None:
            links = found
        elif is_describing and len(chunk) >= _BULK_BYTES and not self.has_any:
            links, is_describing = self.follow.scan_bulk(chunk)
        else:
            links = self.follow.scan(chunk)
        if is_describing and (self.has_any or find_describing(chunk)):
            self.gather(chunk)
        return links

    def gather(self, chunk: bytes) -> None:
        """Collect statements about data elsewhere."""
        self.has_any = True
        self.accesses.feed(chunk)
        if any(mark in chunk for mark in _OF_PAGES):
            self.has_pages = True
            self.paging.feed(chunk)
        if _OF_SERVICES in chunk:
            self.has_services = True
            self.services.feed(chunk)
