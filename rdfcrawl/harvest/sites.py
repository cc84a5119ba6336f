"""Offers of a site: sitemaps, and datasets at `/.well-known/void`; one request each.

Sources: VoID (W3C Note 2011) section 7.2; RFC 8615.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.arguments.parsers import VOID
from rdfcrawl.harvest.discovery import NOTHING_FOUND, Discovery, found
from rdfcrawl.harvest.tasks import read_task
from rdfcrawl.records import FollowUp, Kind, Record
from rdfcrawl.tasks.sitemap import RobotsTask
from rdfcrawl.uri import is_of_web
from rdfcrawl.uri.origin import origin_of

if TYPE_CHECKING:
    from rdfcrawl.harvest.context import HarvestContext
    from rdfcrawl.records import Document

PATH: Final = "/.well-known/void"
_EXCUSED: Final = Discovery(is_excused=True)
_NOT_THERE: Final = frozenset({401, 403, 404, 406, 410})
_MAX_SITES: Final = 100_000  # remembered


class SiteOffers:
    """Requests the offers of each discovered site; the frontier drops repetitions."""

    def __init__(self, context: HarvestContext) -> None:
        self._run = context.run
        self._wants_void = VOID in context.arguments.harvest
        self._wants_sitemaps = Kind.SITEMAP in context.arguments.harvest
        self._known: set[str] = set()

    def find(self, document: Document) -> Discovery:
        """Return the records for the site of a document, if the site is new."""
        url, status = document.record.url, document.response.status
        if url.endswith(PATH) and origin_of(url) + PATH == url:
            return _EXCUSED if status in _NOT_THERE else NOTHING_FOUND
        if not (status and (self._wants_void or self._wants_sitemaps)):
            return NOTHING_FOUND
        return self._of_site(document.record)

    def of_source(self, record: Record) -> Discovery:
        """Return the record for the VoID of a site that the operator named."""
        if record.kind is not Kind.SITEMAP:
            return NOTHING_FOUND
        task = read_task(record)
        if not (task.is_named and task.payload == RobotsTask()):
            return NOTHING_FOUND
        return found(FollowUp(_void(record, record.depth), is_part_of_source=True))

    def _of_site(self, record: Record) -> Discovery:
        origin = origin_of(record.url)
        if origin in self._known or not is_of_web(origin):
            return NOTHING_FOUND
        if len(self._known) >= _MAX_SITES:
            self._known.clear()
        self._known.add(origin)
        records = []
        if self._wants_void:
            records.append(_void(record, record.depth + 1))
        if self._wants_sitemaps:
            from rdfcrawl.harvest.sitemap import root_of  # noqa: PLC0415 (slow)

            root = root_of(origin, self._run, is_named=False)
            records.append(replace(root, depth=record.depth + 1, parent=record.url))
        return found(*map(FollowUp, records))


def _void(record: Record, depth: int) -> Record:
    return Record(origin_of(record.url) + PATH, Kind.PAGE, depth, record.url)
