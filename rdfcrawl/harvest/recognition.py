"""Recognition of sources in ordinary documents.

Nothing is requested to find out: a response that was fetched anyway shows a source, or
it does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdfcrawl.bodies import head_of
from rdfcrawl.catalogs.ckan import portal
from rdfcrawl.catalogs.sparql import recognition
from rdfcrawl.catalogs.sparql.recognition import (
    ERROR_STATUSES,
    PAGE_TYPES,
    TABLE_TYPES,
)
from rdfcrawl.harvest.discovery import NOTHING_FOUND, found
from rdfcrawl.records import FollowUp, Kind, Record
from rdfcrawl.tasks.source import SourceTask

if TYPE_CHECKING:
    from rdfcrawl.harvest.context import HarvestContext
    from rdfcrawl.harvest.discovery import Discovery
    from rdfcrawl.records import Document

_LOOKED_AT: Final = PAGE_TYPES | TABLE_TYPES
_HEAD_BYTES: Final = max(recognition.HEAD_BYTES, portal.LOOKED_AT_BYTES)


class RecognizedSources:
    """Finds the sources behind documents that were fetched anyway."""

    def __init__(self, context: HarvestContext) -> None:
        harvest = context.arguments.harvest
        self._wanted = frozenset(x for x in harvest if isinstance(x, Kind))
        self._run = context.run
        self._datasets = context.datasets

    async def find(self, document: Document) -> Discovery:
        """Return the sources behind a document, but for those that dumps replace."""
        follow_ups = recognized(document, self._wanted, self._run)
        if not follow_ups:  # as of most documents
            return NOTHING_FOUND
        return found(*[x for x in follow_ups if not await self._is_taken(x.record)])

    async def _is_taken(self, record: Record) -> bool:
        """Return whether all datasets of an endpoint are taken in another way."""
        is_endpoint = record.kind is Kind.SPARQL
        return is_endpoint and await self._datasets.is_taken_otherwise(record.url)


def recognized(document: Document, wanted: frozenset[Kind], run: int) -> list[FollowUp]:
    """Return the records by which the source behind a document is harvested.

    Args:
        document: fetched, its body not yet freed; statements about endpoints are the
            registry's (`datasets`).
        wanted: kinds that are harvested.
        run: of the crawl.
    """
    lists = []
    if Kind.RESOURCESYNC in wanted and _may_name_lists(document):
        from rdfcrawl.harvest.resourcesync import listed_at, named_by  # noqa: PLC0415

        lists = [listed_at(document, url, run) for url in named_by(document)]
    urls: dict[Kind, str] = {}
    response = document.response
    if response.error_body:
        if response.status in ERROR_STATUSES:
            urls[Kind.SPARQL] = _endpoint(document, response.error_body)
    elif response.media_type in _LOOKED_AT and (head := head_of(response, _HEAD_BYTES)):
        if response.media_type in PAGE_TYPES:
            urls[Kind.CKAN] = _portal(document, head)
        urls[Kind.SPARQL] = _endpoint(document, head)
    if not urls:  # as of most documents
        return lists
    record = document.record
    task = SourceTask(run)
    return lists + [
        FollowUp(Record(url, kind, record.depth + 1, document.url, task=task))
        for kind, url in urls.items()
        if url and kind in wanted
    ]


def _may_name_lists(document: Document) -> bool:
    """Tell whether it is worth importing what looks for lists of ResourceSync."""
    media_type = document.media_type
    return bool(document.response.http_links or not media_type or "html" in media_type)


def _portal(document: Document, body: bytes) -> str:
    hint = portal.recognize(document.url, body)
    return hint.url if hint else ""


def _endpoint(document: Document, head: bytes) -> str:
    found = recognition.recognize(
        document.url,
        status=document.status,
        headers={"content-type": document.media_type},
        head=head[: recognition.HEAD_BYTES],
    )
    return found.endpoint if found else ""
