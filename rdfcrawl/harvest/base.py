"""What a source is to the spider and to the visit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol

from rdfcrawl.arguments import VOID
from rdfcrawl.harvest.options import ObeyRobots
from rdfcrawl.harvest.pages import Pages
from rdfcrawl.harvest.recognition import recognized
from rdfcrawl.harvest.scan import Scan
from rdfcrawl.harvest.shortfall import shortfall_of
from rdfcrawl.harvest.tasks import is_named
from rdfcrawl.harvest.wellknown import (
    child_of_site,
    forgive,
    is_named_site,
    is_well_known,
)
from rdfcrawl.records import FollowUp, Kind
from rdfcrawl.seeds import iter_seeds
from rdfcrawl.sitemaps.access import Way
from rdfcrawl.uri.origin import origin_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from rdfcrawl.arguments import CrawlArguments
    from rdfcrawl.fetch.answer import Question
    from rdfcrawl.frontier.session import CrawlSession
    from rdfcrawl.frontier.state_store import StateStore
    from rdfcrawl.harvest.datasets import Datasets
    from rdfcrawl.options import SpiderOptions
    from rdfcrawl.records import Document, Record

_MAX_SITES: Final = 100_000  # remembered, and endpoints
_OF_SITES: Final = frozenset({VOID, Kind.SITEMAP})


@dataclass(frozen=True, slots=True)
class Desk:
    """What sources work with.

    Attributes:
        arguments: of the spider.
        options: of the crawl.
        session: the worker's connection to the crawl.
        datasets: their registry.
    """

    arguments: CrawlArguments
    options: SpiderOptions
    session: CrawlSession
    datasets: Datasets

    @property
    def state_store(self) -> StateStore:
        """What pages of a source know of each other."""
        return self.session.state_store

    @property
    def run(self) -> int:
        """How often the crawl was over before and was run again."""
        return self.session.run


class Source(Protocol):
    """One kind of source; it keeps nothing but what is on its desk."""

    async def question(self, record: Record) -> Question | None:
        """Return how a record is asked for; None is a GET of its URL."""
        ...

    def harvest(self, document: Document) -> AsyncIterator[Document]:
        """Yield the documents that an answer stands for, itself as the last.

        Those that have `chunks` are not read any further. What comes next is in
        `children` of the answer. An answer that is a fault may be of use as well.
        """
        ...


class Sources:
    """Chooses the source that a record is of.

    Args:
        make: makes the source of a kind, when it is first needed.
        desk: gives what sources work with, once the crawl is joined.
    """

    def __init__(
        self,
        make: Callable[[Kind, Desk], Source],
        desk: Callable[[], Desk],
    ) -> None:
        self._make = make
        self._make_desk = desk
        self._made: dict[Kind, Source] = {}
        self._sites: set[str] = set()

    async def question(self, record: Record) -> Question | None:
        """See `Source.question`; a page of a collection is asked whether it changed."""
        if not record.kind.is_source:
            return await self._pages.question(record)
        return await self._of(record.kind).question(record)

    def harvest(self, document: Document) -> AsyncIterator[Document]:
        """See `Source.harvest`."""
        return self._of(document.record.kind).harvest(document)

    async def again(self) -> AsyncIterator[list[FollowUp]]:
        """Yield what is asked for again as the crawl is run again, in groups."""
        if self.desk.run:
            async for children in self._pages.again():
                yield children

    def scan(self) -> Scan | None:
        """Return what looks through a document for data; None if nobody wants any."""
        return Scan() if self.desk.arguments.follow.wants_datasets else None

    async def beyond(self, document: Document, scan: Scan | None) -> list[FollowUp]:
        """Return what a document leads to, beside its links.

        That are the datasets it describes, each by its best way; the pages that follow
        it in a collection; the source that it is a page of, and what its site says of
        its datasets; and, if it is a file of a dataset and could not be had, another
        way to that.

        Args:
            document: read to its end.
            scan: has seen its statements.
        """
        record = document.record
        if record.kind.is_source:
            is_site = is_named_site(record)
            return [child_of_site(document, is_own=True)] if is_site else []
        is_file = record.kind is Kind.DUMP
        if document.is_nofollow:
            return await self._instead(document) if is_file else []
        children = [
            child
            for child in recognized(document, self._wanted_kinds, self.desk.run)
            if not await self._is_taken(child.record)
        ]
        if is_well_known(record.url):
            forgive(document)
        elif document.status and self._asks_sites and self._is_new_site(record):
            children += self._of_site(document)
        if scan is not None:
            if scan.has_any:
                children += await self._described(document, scan)
            children += await self._pages.following(document, scan)
        if is_file:
            children += await self._instead(document)
        if not children:  # as of most documents
            return children
        return [x for x in children if not self._is_named_endpoint(x.record)]

    async def _instead(self, document: Document) -> list[FollowUp]:
        """Return another way to what a file of a dataset did not give."""
        if lack := shortfall_of(document):
            return await self.desk.datasets.instead_of_file(document, lack)
        return []

    def _of_site(self, document: Document) -> list[FollowUp]:
        """Return what is asked for once for each site that the crawl comes upon."""
        children = []
        if VOID in self._wanted:
            children.append(child_of_site(document, is_own=False))
        if Kind.SITEMAP in self._wanted:
            from rdfcrawl.harvest.sitemap import root_of  # noqa: PLC0415 (slow)

            record = document.record
            root = root_of(origin_of(record.url), self.desk.run, is_named=False)
            root = replace(root, depth=record.depth + 1, parent=record.url)
            children.append(FollowUp(root))
        return children

    def _is_named_endpoint(self, record: Record) -> bool:
        """Tell whether an endpoint is harvested anyway, as the operator named it."""
        return record.kind is Kind.SPARQL and record.url in self._named_endpoints

    @cached_property
    def _named_endpoints(self) -> frozenset[str]:
        named = iter_seeds(self.desk.arguments.endpoints)
        return frozenset(x for x in islice(named, _MAX_SITES) if isinstance(x, str))

    async def _is_taken(self, record: Record) -> bool:
        """Tell whether all that is known behind an endpoint is had in another way."""
        is_endpoint = record.kind is Kind.SPARQL
        return is_endpoint and await self.desk.datasets.is_taken_otherwise(record.url)

    async def _described(self, document: Document, scan: Scan) -> list[FollowUp]:
        """Return what the statements of a document say of data elsewhere."""
        findings = scan.accesses.read(document.url)
        if scan.services.has_some:
            own = scan.services.own_endpoint(document.url)
            replaced = scan.services.replaced(document.url)
            findings = findings.with_service(own, replaced)
        self.desk.session.intake.turned.no_rdf += findings.n_left_out
        if Kind.SPARQL not in self._wanted:
            findings = findings.without(Way.SPARQL)
        return await self.desk.datasets.described(findings, document)

    def _is_new_site(self, record: Record) -> bool:
        """Tell whether this is the first document of a site, as far as is remembered.

        It may be asked for twice; the frontier takes it once.
        """
        site = origin_of(record.url)
        if site in self._sites:
            return False
        if len(self._sites) >= _MAX_SITES:
            self._sites.clear()
        self._sites.add(site)
        return True

    def is_exempt(self, record: Record) -> bool:
        """Tell whether a record is asked for although robots.txt disallows it.

        CKAN's own robots.txt forbids the API that it has for programs: `CKAN_ROBOTS`
        says whether that is obeyed.
        """
        if record.kind is not Kind.CKAN:
            return False
        match self.desk.options.harvest.ckan_robots:
            case ObeyRobots.ALWAYS:
                return False
            case ObeyRobots.NEVER:
                return True
            case _:
                return is_named(record)

    @cached_property
    def desk(self) -> Desk:
        """What sources work with; there once the crawl is joined."""
        return self._make_desk()

    @cached_property
    def _wanted(self) -> frozenset[Kind | str]:
        """What is harvested when it is come upon: kinds, and `VOID`."""
        return self.desk.arguments.harvest

    @cached_property
    def _wanted_kinds(self) -> frozenset[Kind]:
        return frozenset(x for x in self._wanted if isinstance(x, Kind))

    @cached_property
    def _asks_sites(self) -> bool:
        return bool(self._wanted & _OF_SITES)

    @cached_property
    def _pages(self) -> Pages:
        return Pages(self.desk)

    def _of(self, kind: Kind) -> Source:
        source = self._made.get(kind)
        if source is None:
            source = self._made[kind] = self._make(kind, self.desk)
        return source
