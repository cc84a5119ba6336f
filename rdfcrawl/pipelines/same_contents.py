"""Find documents with the content of an earlier one in the crawl.

All documents since the last flush are compared in one round trip, and the statements
about them follow their activities in the provenance.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from redis.exceptions import RedisError

from rdfcrawl.core.counting import counted
from rdfcrawl.core.formats import HTML
from rdfcrawl.pipelines.provenance import has_losses, identity, same_content
from rdfcrawl.rdf.fingerprints import content_hash

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from rdfcrawl.core.records import Document
    from rdfcrawl.frontier.queue.tables import FetchedContent

    FirstUrls = Callable[[Sequence[FetchedContent], int], Awaitable[list[str]]]

logger = logging.getLogger(__name__)

_NOTHING: Final = content_hash(b"")


class SameContents:
    """The documents of one worker that wait for comparison.

    Args:
        first_urls: returns the first URL of each content; see `FirstContents.look_up`.
        most: contents that the crawl remembers; 0: no comparison.
    """

    def __init__(self, first_urls: FirstUrls, most: int) -> None:
        self._first_urls = first_urls
        self._most = most
        # content, requested URL, start, and activity
        self._waiting: list[tuple[FetchedContent, str, int, bytes]] = []

    def note(self, document: Document, quads: bytes) -> None:
        """Queue a document for comparison, if its content is comparable.

        Args:
            document: fetched document.
            quads: that describe it, beginning with the activity.
        """
        if self._most and (content := compared_hash(document)):
            fetched = content, document.url
            activity = quads[1 : quads.index(b">")]
            url, started_ms = document.record.url, document.response.started_ms
            self._waiting.append((fetched, url, started_ms, activity))

    async def compare(self) -> SameStatements:
        """Return the statements about all documents noted since the last call.

        If Redis is full or unreachable, there are none.
        """
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return SameStatements(b"", 0)
        contents = [fetched for fetched, *_ in waiting]
        try:
            urls = await self._first_urls(contents, self._most)
        except RedisError as error:
            skipped = counted(len(contents), "content")
            logger.debug("not compared: %s: %s", skipped, error)
            return SameStatements(b"", 0)
        if not any(urls):  # the usual case
            return SameStatements(b"", 0)
        lines = [
            identity(activity.decode(), crawled, started_ms)
            + same_content(activity.decode(), url)
            for url, ((_, own), crawled, started_ms, activity) in zip(
                urls, waiting, strict=True
            )
            if url not in ("", own)
        ]
        return SameStatements("".join(lines).encode(), len(lines))


class SameStatements(NamedTuple):
    """Statements about documents with the content of another one.

    Attributes:
        quads: a statement for each, preceded by its identification: it may be far from
            the activity, and readers that continue there need it.
        n_documents: their number.
    """

    quads: bytes
    n_documents: int


def compared_hash(document: Document) -> str:
    """Return the hash for comparing a document; empty for others.

    For pages, and documents with losses, this is the hash of all bytes: pages with the
    same visible text may differ in their data. For other documents, it is the hash of
    their statements, independent of their URL.
    """
    shown, text_hash, sketch, *_ = document.facts
    if not shown or shown == _NOTHING:
        return ""
    if not document.record.kind.is_of_url:
        return ""
    is_page = document.reading.format is HTML
    is_set = sketch and not is_page and not has_losses(document)
    return text_hash if is_set else shown
