"""Recognition of sources in ordinary documents; nothing is requested to find out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdfcrawl.bytesource import head_of
from rdfcrawl.catalogs.ckan import portal
from rdfcrawl.catalogs.sparql import recognition
from rdfcrawl.catalogs.sparql.recognition import ERROR_STATUSES, PAGE_TYPES, TABLE_TYPES
from rdfcrawl.harvest.discovery import NOTHING_FOUND, found
from rdfcrawl.records import FollowUp, Kind, Record
from rdfcrawl.tasks.source import SourceTask

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        """Return the sources behind a document, except those that dumps replace."""
        response = document.response
        may_name_lists = response.http_links or "html" in (
            response.media_type or "html"
        )
        may_be_source = response.error_body or response.media_type in _LOOKED_AT
        if not (may_name_lists or may_be_source):  # as of most documents
            return NOTHING_FOUND
        follow_ups: list[FollowUp] = []
        if may_name_lists and Kind.RESOURCESYNC in self._wanted:
            from rdfcrawl.harvest.resourcesync import (  # noqa: PLC0415 (slow)
                listed_at,
                named_by,
            )

            urls = named_by(document)
            follow_ups += [listed_at(document, url, self._run) for url in urls]
        depth, task = document.record.depth + 1, SourceTask(self._run)
        for kind, url in _sources_behind(document):
            record = Record(url, kind, depth, document.url, task=task)
            if kind in self._wanted and not await self._is_taken(record):
                follow_ups.append(FollowUp(record))
        return found(*follow_ups)

    async def _is_taken(self, record: Record) -> bool:
        """Return whether every dataset of an endpoint is fetched in another way."""
        is_endpoint = record.kind is Kind.SPARQL
        return is_endpoint and await self._datasets.is_taken_otherwise(record.url)


def _sources_behind(document: Document) -> Iterator[tuple[Kind, str]]:
    """Yield kinds and URLs of the sources that a response with its body shows.

    Statements about endpoints are the business of the registry (`datasets`).
    """
    response = document.response
    if response.error_body:
        is_source, head = response.status in ERROR_STATUSES, response.error_body
    else:
        is_source = response.media_type in _LOOKED_AT
        head = head_of(response, _HEAD_BYTES) if is_source else b""
        is_page = response.media_type in PAGE_TYPES
        if head and is_page and (url := portal.recognize(document.url, head)):
            yield Kind.CKAN, url
    if head and is_source and (url := _endpoint(document, head)):
        yield Kind.SPARQL, url


def _endpoint(document: Document, head: bytes) -> str:
    return recognition.recognize(
        document.url,
        status=document.status,
        headers={"content-type": document.media_type},
        head=head[: recognition.HEAD_BYTES],
    )
