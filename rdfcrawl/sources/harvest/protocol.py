"""The protocol of harvesters, their context, and the tasks of their records."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from rdfcrawl.core.records import Document, FollowUp, Record, Urgency
from rdfcrawl.core.source_tasks import Payload, SourceTask

if TYPE_CHECKING:
    from rdfcrawl.downloader.client import HttpRequest
    from rdfcrawl.frontier.arguments.crawl import CrawlArguments
    from rdfcrawl.frontier.queue.options import CrawlOptions
    from rdfcrawl.frontier.queue.tables import StateStore
    from rdfcrawl.frontier.session import CrawlSession
    from rdfcrawl.sources.harvest.datasets import DatasetRegistry
    from rdfcrawl.sources.harvest.options import HarvestOptions


class Harvester(Protocol):
    """Reads the responses of one kind of source.

    Harvesters are stateless: all state is in the `HarvestContext` given to the class.
    One instance serves all records of a kind and of a spider's arguments.
    """

    def root(self, url: str, *, is_named: bool = True) -> Record:
        """Return the first record of the harvest of a source.

        Args:
            url: of the source.
            is_named: the operator named the source; the crawl did not discover it.
        """

    async def request_for(self, _record: Record) -> HttpRequest | None:
        """Return the request for a record; None is a GET of its URL."""
        return None

    def harvest(self, document: Document) -> AsyncIterator[Document | FollowUp]:
        """Yield the documents in a response, and its follow-ups.

        One of the documents is the response itself, `document.harvested(...)`;
        `document.part(...)` makes the others. `document` itself is not changed.
        Responses with faults are harvested as well.
        """

    def ignores_robots(self, _record: Record) -> bool:
        """Return whether a record is requested although robots.txt disallows it."""
        return False


@dataclass(frozen=True)
class HarvestContext:
    """The crawl from the view of harvesters, with all of their state.

    Attributes:
        arguments: of the spider that queued the record.
        crawl: the settings of the crawl and of this worker.
        options: the settings of the harvesters.
        session: the worker's connection to the crawl.
        count: called with the name of a statistic and a number.
    """

    arguments: CrawlArguments
    crawl: CrawlOptions
    options: HarvestOptions
    session: CrawlSession
    count: Callable[[str, int], None]

    @cached_property
    def datasets(self) -> DatasetRegistry:
        """Registry of the known datasets."""
        from rdfcrawl.sources.harvest.datasets import DatasetRegistry

        return DatasetRegistry(self.session, self.options.revisit_secs)

    @property
    def state_store(self) -> StateStore:
        """Tables shared by the responses and runs of a source."""
        return self.session.state_store

    @property
    def run(self) -> int:
        """Number of the run: 0 until the crawl has finished once."""
        return self.session.run


def read_task(record: Record) -> SourceTask:
    """Return the task of a record; by default of a first run.

    >>> from rdfcrawl.core.records import Kind, Record
    >>> read_task(Record("http://a.example/", Kind.CKAN, task=SourceTask(2))).run
    2
    """
    return record.task if isinstance(record.task, SourceTask) else SourceTask(0)


def next_step(
    record: Record, step: Payload, *, url: str = "", urgency: Urgency = Urgency.ORDINARY
) -> FollowUp:
    """Return a further request to the source of a record, by default to its URL."""
    task = replace(read_task(record), payload=step)
    url = url or record.url
    further = Record(url, record.kind, record.depth, record.url, task=task)
    return FollowUp(further, is_part_of_source=True, urgency=urgency)


def has_moved(document: Document) -> bool:
    """Return whether a response redirects to another host, requested next."""
    is_redirect = 300 <= document.status < 400 and document.status != 304
    return is_redirect and not document.faults
