"""The protocol of harvesters."""

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
        """Return the first record of the harvest of a source.

        Args:
            url: of the source.
            is_named: the operator named the source; the crawl did not discover it.
        """
        ...

    async def question(self, record: Record) -> HttpRequest | None:
        """Return the request for a record; None is a GET of its URL."""
        ...

    def harvest(self, document: Document) -> AsyncIterator[Document | FollowUp]:
        """Yield the documents in a response, and its follow-ups.

        Among the documents is the response itself, as `document.harvested(...)`;
        `document.part(...)` makes the others. `document` itself is not changed.
        Responses with faults are harvested as well.
        """
        ...

    def ignores_robots(self, record: Record) -> bool:
        """Return whether a record is requested although robots.txt disallows it."""
        ...
