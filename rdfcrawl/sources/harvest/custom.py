"""Base class of a user's harvesters; see `docs/how-to/own-harvesters.md`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Final

from rdfcrawl.core.content import head_of
from rdfcrawl.core.errors import Fault, FaultLog, Reason
from rdfcrawl.core.records import (
    Document,
    FollowUp,
    HarvestedPart,
    Kind,
    Record,
    Urgency,
)
from rdfcrawl.core.source_tasks import CustomTask, SourceTask
from rdfcrawl.sources.harvest.protocol import HarvestContext, Harvester, read_task
from rdfcrawl.sources.harvest.response import iter_quads

_MAX_CONTENT_BYTES: Final = 64 * 1024 * 1024


class CustomHarvester(Harvester):
    """Base of the harvesters in `HARVESTERS`; subclasses implement `harvest`.

    Attributes:
        context: the crawl: arguments, settings, shared state.
    """

    def __init__(self, context: HarvestContext) -> None:
        self.context = context

    async def harvest(self, document: Document) -> AsyncIterator[Document | FollowUp]:
        """Yield the documents in a response, and its follow-ups.

        See `protocol.Harvester.harvest`.
        """
        fault = Fault(Reason.INTERNAL, f"{type(self).__name__} has no harvest()")
        yield document.harvested(faults=[*document.faults, fault])

    def root(self, url: str, *, is_named: bool = True) -> Record:
        """Return the first record of the harvest of a source."""
        task = SourceTask(self.context.run, is_named, CustomTask(self.name))
        return Record(url, Kind.CUSTOM, task=task)

    @property
    def name(self) -> str:
        """Name of the harvester in the setting `HARVESTERS`."""
        names = self.context.options.harvesters.items()
        return next(name for name, each in names if each is type(self))

    def content(self, document: Document) -> bytes:
        """Return the body of a response; at most its first 64 MiB."""
        return head_of(document.response, _MAX_CONTENT_BYTES)

    def statements(
        self, lines: Iterable[str], url: str
    ) -> AsyncIterator[HarvestedPart]:
        """Yield checked statements of a document, and faults of invalid statements.

        Args:
            lines: of N-Triples.
            url: of the document, which names the graph.
        """
        return iter_quads(lines, url, FaultLog())

    def payload(self, document: Document) -> str:
        """Return the `payload` of `follow`; empty for the first response."""
        task = read_task(document.record).payload
        return task.payload if isinstance(task, CustomTask) else ""

    def follow(self, document: Document, url: str, payload: str = "") -> FollowUp:
        """Return a further request to the same source, for this harvester."""
        record = document.record
        step = CustomTask(self.name, payload)
        task = SourceTask(self.context.run, read_task(record).is_named, step)
        following = Record(url, Kind.CUSTOM, record.depth, record.url, task=task)
        return FollowUp(following, is_part_of_source=True, urgency=Urgency.SOON)

    def page(self, document: Document, url: str) -> FollowUp:
        """Return the request for a page or a file of the source."""
        record = document.record
        return FollowUp(Record(url, Kind.PAGE, record.depth + 1, record.url))
