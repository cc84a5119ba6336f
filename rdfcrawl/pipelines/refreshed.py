"""Statements to delete after a refetched page is gone or has moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.tasks.pages import RefreshedPage

if TYPE_CHECKING:
    from rdfcrawl.core.records import Document


def lost_copy(document: Document) -> str:
    """Return the URL of a page whose statements are deleted; empty if all stay.

    They are deleted if the page is gone, is redirected to another host, or was read at
    another URL. Other responses change nothing stored, and none affects the URL where
    the page was read before, which is requested by itself.
    """
    task, url = document.record.task, document.record.url
    if not isinstance(task, RefreshedPage) or not task.is_stored or task.read_at:
        return ""
    if task.is_gone(document.status, document.response.started_ms):
        return url
    is_elsewhere = document.url != url
    if any(fault.reason is not Reason.EMPTY for fault in document.faults):
        return url if document.n_quads and is_elsewhere else ""
    has_moved = 300 <= document.status < 400 and document.status != 304
    was_read = 200 <= document.status < 300 and is_elsewhere
    return url if has_moved or was_read else ""


def moved_from(document: Document) -> str:
    """Return the URL of a page that is redirected; empty for others.

    Its own statements are deleted, unless the new content is unknown.
    """
    url, status = document.record.url, document.status
    is_redirect = 300 <= status < 400 and status != 304
    if not is_redirect and document.url == url:
        return ""
    is_clear = all(fault.reason is Reason.EMPTY for fault in document.faults)
    is_known = 200 <= status < 400 and (is_clear or document.n_quads)
    return url if is_known or status in (404, 410) else ""
