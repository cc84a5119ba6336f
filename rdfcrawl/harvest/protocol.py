"""What a harvester is to the crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rdfcrawl.fetch.answer import HttpRequest
    from rdfcrawl.records import Document, FollowUp, Record


class Harvester(Protocol):
    """Reads the responses of one kind of source.

    Harvesters are stateless: all state is in the `HarvestContext` that the class is
    called with. One instance serves all records of a kind and of a spider's arguments.
    """

    def root(self, url: str, *, is_named: bool = True) -> Record:
        """Return the record that the harvest of a source begins with.

        Args:
            url: that stands for the source.
            is_named: by the operator; the crawl did not come upon it.
        """
        ...

    async def question(self, record: Record) -> HttpRequest | None:
        """Return the request for a record; None is a GET of its URL."""
        ...

    def harvest(self, document: Document) -> AsyncIterator[Document | FollowUp]:
        """Yield the documents in a response, and its follow-ups.

        The response itself is among them, as `document.harvested(...)`; others are
        made by `document.part(...)`. Nothing is written into `document`. A response
        that is a fault is harvested as well.
        """
        ...

    def ignores_robots(self, record: Record) -> bool:
        """Return whether a record is requested although robots.txt disallows it."""
        ...
