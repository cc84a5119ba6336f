"""What a site says of its datasets at `/.well-known/void`: one request per site.

Source: VoID (W3C Note 2011) section 7.2; RFC 8615.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdfcrawl.harvest.claims import SITE
from rdfcrawl.harvest.tasks import read_task
from rdfcrawl.records import FollowUp, Kind, Record
from rdfcrawl.uri.origin import origin_of

if TYPE_CHECKING:
    from rdfcrawl.records import Document

PATH: Final = "/.well-known/void"
_NOT_THERE: Final = frozenset({401, 403, 404, 406, 410})


def child_of_site(document: Document, *, is_own: bool) -> FollowUp:
    """Return the record of the description of a document's site."""
    record = document.record
    depth = record.depth if is_own else record.depth + 1
    child = Record(origin_of(record.url) + PATH, Kind.PAGE, depth, record.url)
    return FollowUp(child, is_part_of_source=is_own)


def is_named_site(record: Record) -> bool:
    """Tell whether a record asks for the sitemaps of a site that was named."""
    if record.kind is not Kind.SITEMAP:
        return False
    task = read_task(record)
    return task.is_named and task.words == SITE


def is_well_known(url: str) -> bool:
    """Tell whether a URL is the well-known place of a site's description."""
    return url.endswith(PATH) and origin_of(url) + PATH == url


def forgive(document: Document) -> None:
    """Take it for no fault that a site has no description: most have none."""
    if document.status in _NOT_THERE:
        document.faults.clear()
