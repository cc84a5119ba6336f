"""Resolve redirects, and build the requests that follow them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.core.tasks import RefreshedPage
from rdfcrawl.downloader.client import conditional_headers
from rdfcrawl.frontier.queue.url_kind import kind_of_named
from rdfcrawl.uri import BadUri, requestable
from rdfcrawl.uri.origin import is_same_server

if TYPE_CHECKING:
    from rdfcrawl.core.records import Record
    from rdfcrawl.core.tasks import RequestTask
    from rdfcrawl.downloader.client import RequestOptions
    from rdfcrawl.downloader.cookies import ChainCookies

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
"""Statuses that redirect to one URI (RFC 9110 15.4)."""
SEE_OTHER: Final = 303
"""The status that represents a page with a refresh."""

_BECOMES_GET: Final = frozenset({301, 302, 303})  # RFC 9110 15.4.2 to 15.4.4
_SAFE: Final = frozenset({"GET", "HEAD"})
_OF_BODY: Final = frozenset({"content-type", "content-length"})
_SECRETS: Final = frozenset({"authorization", "cookie", "proxy-authorization"})
# Headers that other servers may receive; any other may contain a secret.
_NOT_SECRET: Final = frozenset(
    {"content-type", "if-modified-since", "if-none-match", "range"}
)


def is_redirect(status: int, location: str) -> bool:
    """Return whether a response redirects to another URI."""
    # RFC 9110 15.4.1: `Location` names the preferred choice.
    return status in REDIRECTS or (status == 300 and bool(location))


def resolve_redirect(base: str, location: str) -> str:
    """Return the URL to request for `Location` in a response of `base`.

    Raises:
        SourceFault: `REDIRECT_BAD_TARGET`: missing, or not a crawlable URL.

    >>> resolve_redirect("http://example.org/id/a", "../doc/a#it")
    'http://example.org/doc/a'
    """
    if not location:
        raise SourceFault(Reason.REDIRECT_BAD_TARGET, "no Location")
    try:
        return requestable(location, base)
    except BadUri as exc:
        raise SourceFault(Reason.REDIRECT_BAD_TARGET, exc.fault.detail) from exc


def check_chain(
    target: str, chain: Sequence[str], limit: int, *, may_return: bool = False
) -> None:
    """Refuse redirect loops and chains that are too long.

    With `may_return`, a requested URL may be requested again.

    Raises:
        SourceFault: `REDIRECT_LOOP` or `REDIRECT_LIMIT`.
    """
    if target in chain and not may_return:
        raise SourceFault(Reason.REDIRECT_LOOP, f"back to {target}")
    if len(chain) > limit:
        raise SourceFault(Reason.REDIRECT_LIMIT, f"over {counted(limit, 'redirect')}")


def options_after(
    options: RequestOptions, status: int, url: str, target: str
) -> RequestOptions:
    """Return the options of a request for the target of a redirect from `url`.

    A POST becomes a GET where a browser does so. Credentials stay with their server:
    another scheme, host or port is another server, except for https instead of http,
    each on its default port.
    """
    if options.data and status in _BECOMES_GET:
        headers = tuple(h for h in options.headers if h[0].lower() != "content-type")
        options = replace(options, data=b"", headers=headers)
    if options.headers and not is_same_server(url, target):
        headers = tuple(h for h in options.headers if h[0].lower() in _NOT_SECRET)
        options = replace(options, headers=headers)
    if options.request is not None:
        options = replace(
            options, request=request_after(options.request, status, url, target)
        )
    return options


def options_of_second(
    record: Record,
    cookies: ChainCookies | None,
    options: RequestOptions,
    status: int,
    *urls: str,
) -> RequestOptions:
    """Return the options of a request for the second of two URLs in a visit."""
    url, target = urls
    options = options_after(options, status, url, target)
    if isinstance(task := record.task, RefreshedPage):
        headers = validators_for(task, record.url, target)
        options = replace(options, headers=headers)
    return options if cookies is None else cookies.options_for(target, options)


def validators_for(
    task: RefreshedPage, own_url: str, url: str
) -> tuple[tuple[str, str], ...]:
    """Return the validators of a page to be fetched again, if they are of this URL.

    Another resource may have the same `ETag` (RFC 9110 8.8.3).

    Args:
        task: of the page.
        own_url: of the page.
        url: requested on behalf of the page.
    """
    if url != (task.read_at or own_url):
        return ()
    return conditional_headers(task.etag, task.last_modified)


def request_after(
    request: RequestTask, status: int, url: str, target: str
) -> RequestTask:
    """Return the request for the target of a redirect, like in `options_after`."""
    if status in _BECOMES_GET and request.method not in _SAFE:
        headers = tuple(h for h in request.headers if h[0].lower() not in _OF_BODY)
        request = replace(request, method="GET", body="", headers=headers)
    if not is_same_server(url, target):
        headers = tuple(h for h in request.headers if h[0].lower() not in _SECRETS)
        details = json.loads(request.details) if request.details else {}
        details.pop("cookies", None)
        text = json.dumps(details, sort_keys=True) if details else ""
        request = replace(request, headers=headers, details=text)
    return request


def moved(record: Record, requested: Sequence[str], target: str) -> Record:
    """Return the record of a redirect's target on another host.

    The requested URL of a source may be longer than the source's own, by a path or a
    query; the new source is then the corresponding prefix of the target.

    Raises:
        SourceFault: `REDIRECT_BAD_TARGET`: the target has no such prefix.
    """
    chain = (*record.chain, *requested)
    suffix = requested[0].removeprefix(record.url)
    if record.kind.is_source and suffix:
        base = target.removesuffix(suffix)
        if base == target or not requested[0].startswith(record.url):
            detail = f"not the URL of a source: {target}"
            raise SourceFault(Reason.REDIRECT_BAD_TARGET, detail)
        target = requestable(base)
    kind = kind_of_named(record.kind, target)
    record = replace(record, url=target, kind=kind, chain=chain, lost=0, retries=0)
    if isinstance(record.task, RefreshedPage):  # the target has its own schedule
        return replace(record, task=None, change="")
    return record
