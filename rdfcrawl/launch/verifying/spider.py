"""The spider that reads the sources of sites again, outside of their crawl."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple

from rdfcrawl.core.batches import in_batches
from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.records import Document, FollowUp, Record
from rdfcrawl.core.tasks import CollectionPage, ListedPage, PortalFile, RefreshedPage
from rdfcrawl.downloader.client import HttpRequest, conditional_request
from rdfcrawl.frontier.queue.candidate import kind_of
from rdfcrawl.launch.verifying.fetches import SourceRoot
from rdfcrawl.spiders.base import SEEDS_AT_ONCE, RdfSpider

_LISTED: Final = (ListedPage, PortalFile, CollectionPage)


class PlannedPage(NamedTuple):
    """A page to request, to which no source leads in a verification.

    Attributes:
        url: of the page.
        root: the first page of its collection; empty if it is in none, or the first.
        number: of the page in its collection.
    """

    url: str
    root: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class VerificationPlan:
    """The requests of a verification.

    Attributes:
        roots: the first request of each source.
        pages: linked pages, and first or chosen pages of collections.
        validators: `ETag` and `Last-Modified` of pages that were read without losses.
        sample: pages and files to request; None: all.
    """

    roots: tuple[SourceRoot, ...] = ()
    pages: tuple[PlannedPage, ...] = ()
    validators: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    sample: frozenset[str] | None = None

    def __or__(self, other: VerificationPlan) -> VerificationPlan:
        """Return the requests of both plans."""
        sample = self.sample
        if sample is not None and other.sample is not None:
            sample |= other.sample
        return VerificationPlan(
            tuple(dict.fromkeys((*self.roots, *other.roots))),
            tuple(dict.fromkeys((*self.pages, *other.pages))),
            {**self.validators, **other.validators},
            sample,
        )


class VerifyingSpider(RdfSpider):
    """Reads the sources of a plan, and those pages that are in its sample."""

    name = "verify"
    takes = (
        *("sites", "slice", "sources", "portals", "organization", "group", "q", "fq"),
        *("endpoints", "graphs", "skip_graphs", "take", "query"),
        *("repositories", "metadata_prefix", "sets"),
    )
    plan: ClassVar[VerificationPlan] = VerificationPlan()

    async def start(self) -> AsyncIterator[Document]:
        """Queue the sources and the pages of the plan."""
        roots = (
            self.harvesters.root(kind, url, is_named=is_named)
            for kind, url, is_named in self.plan.roots
        )
        pages = map(self._record, self.plan.pages)
        for records in (roots, pages):
            for group in in_batches(records, SEEDS_AT_ONCE):
                follow_ups = [FollowUp(each, is_part_of_source=True) for each in group]
                await self.joined().seeds.add_sources(follow_ups)
        async for document in super().start():
            yield document

    def _record(self, page: PlannedPage) -> Record:
        task: RefreshedPage | CollectionPage
        if page.root:
            task = CollectionPage(0, page.number, page.root)
        else:
            task = RefreshedPage(*self.plan.validators.get(page.url, ("", "")))
        return Record(page.url, kind_of(page.url), task=task)

    async def request_for(self, record: Record) -> HttpRequest | None:
        """Return a conditional request for a page or a dump of the crawl.

        Raises:
            SourceFault: `NOT_WANTED`: the sample lacks a page or file of a source.
        """
        found = await super().request_for(record)
        if found is not None or not record.kind.is_of_url or record.chain:
            return found
        plan, is_listed = self.plan, isinstance(record.task, _LISTED)
        if is_listed and plan.sample is not None and record.url not in plan.sample:
            raise SourceFault(Reason.NOT_WANTED, "the sample lacks it")
        return conditional_request(
            record.url, *plan.validators.get(record.url, ("", ""))
        )
