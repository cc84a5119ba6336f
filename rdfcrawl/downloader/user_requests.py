"""Options of requests of users' spiders."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rdfcrawl.downloader.redirects import REDIRECTS
from rdfcrawl.frontier.queue.queued_requests import meta_of

if TYPE_CHECKING:
    from rdfcrawl.core.tasks import RequestTask
    from rdfcrawl.downloader.client import RequestOptions


def options_of_user(options: RequestOptions, request: RequestTask) -> RequestOptions:
    """Return the options of a request of a user's spider, by its `meta`."""
    meta = meta_of(request)
    statuses = meta.get("handle_httpstatus_list") or ()
    wants_redirects = meta.get("handle_httpstatus_all") or any(
        status in REDIRECTS for status in statuses
    )
    return replace(
        options,
        request=request,
        follows=not (meta.get("dont_redirect") or wants_redirects),
        is_final=bool(meta.get("dont_retry")),
    )
