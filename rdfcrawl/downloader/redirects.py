"""Redirects: resolve them, decide which to follow, and build the next requests.

Redirects within a politeness key are followed within the visit. They bypass the
frontier's filters and the robots.txt check before a visit, but may lead to another
path, port, scheme or host that the operator or the site excludes. A page with a refresh
without delay (`<meta http-equiv=refresh content="0; url=...">`) is a redirect, like in
browsers and search engines.

Source: the WHATWG HTML standard, clause 4.2.5.3, "shared declarative refresh steps".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import unescape
from typing import TYPE_CHECKING, Final
from urllib.parse import urldefrag, urljoin

from rdfcrawl.core.errors import GUARDED, Fault, Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.core.tasks import RefreshedPage, RequestTask
from rdfcrawl.downloader.client import HttpResponse, RequestOptions
from rdfcrawl.frontier.queue.candidate import kind_of_named
from rdfcrawl.frontier.queue.host_rules import BlockedHosts
from rdfcrawl.frontier.queue.queued_records import meta_of
from rdfcrawl.uri import BadUri, requestable
from rdfcrawl.uri.hosts import is_same_server, origin_of

if TYPE_CHECKING:
    from rdfcrawl.core.records import Record
    from rdfcrawl.core.visits import Visit
    from rdfcrawl.downloader.cookies import ChainCookies
    from rdfcrawl.downloader.host_delay import HostDelay
    from rdfcrawl.downloader.robots.cache import RobotsCache
    from rdfcrawl.frontier.request_turns import Take


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
HEAD_BYTES: Final = 4096  # of a page, searched for the element
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
# Content that does not count, or not for clients that run scripts.
_SKIPPED: Final = re.compile(rb"<(script|style|template|noscript|title|textarea)[\s>/]")
_attributes: Final = re.compile(
    rb"""([^\s"'<>/=]{1,32})\s{0,16}=\s{0,16}("[^"]*"|'[^']*'|[^\s"'>]+)"""
).finditer
_content: Final = re.compile(
    r"\s*0+(?:\.[0-9.]*)?(?:\s*[;,]\s*|\s+)(?:url\s*=\s*)?(.*)",
    re.IGNORECASE | re.DOTALL,
).fullmatch


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
    each on its default port. Validators are sent to the URL that they are of.
    """
    if options.data and status in _BECOMES_GET:
        headers = tuple(h for h in options.headers if h[0].lower() != "content-type")
        options = replace(options, data=b"", headers=headers)
    if options.headers and not is_same_server(url, target):
        headers = tuple(h for h in options.headers if h[0].lower() in _NOT_SECRET)
        options = replace(options, headers=headers)
    if options.conditions:
        headers = tuple(h for h in options.headers if h not in options.conditions)
        own = options.conditions if target == options.read_at else ()
        options = replace(options, headers=(*headers, *own))
    if options.request is not None:
        options = replace(
            options, request=request_after(options.request, status, url, target)
        )
    return options


def options_of_second(
    cookies: ChainCookies | None, options: RequestOptions, status: int, *urls: str
) -> RequestOptions:
    """Return the options of a request for the second of two URLs in a visit."""
    url, target = urls
    options = options_after(options, status, url, target)
    return options if cookies is None else cookies.options_for(target, options)


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
    record = replace(
        record, url=target, kind=kind, chain=chain, lost=0, retries=0, refusal=""
    )
    task = record.task
    if not isinstance(task, RefreshedPage):
        return record
    if task.is_stored and not task.read_at:  # the target replaces what is stored
        return replace(record, task=replace(task, etag="", last_modified=""))
    return replace(record, task=None, change="")  # the target has its own schedule


@dataclass(slots=True, kw_only=True, eq=False)
class RedirectJudge:
    """Decide which redirects are followed."""

    # returns whether the crawl wants the redirect target of a record
    wants: Callable[[Record, str], bool] = lambda _record, _target: True
    # returns whether a record is denied, even if already queued
    refuses: Callable[[Record], bool] = lambda _record: False
    # rules of each origin; None if robots.txt is ignored
    robots: RobotsCache | None = None
    blocked_hosts: BlockedHosts = field(default_factory=BlockedHosts)

    def unwanted(self, record: Record, target: str) -> Fault | None:
        """Return the fault of a target that the operator excludes."""
        if (fault := self.blocked_hosts.fault(target)) is not None:
            return fault
        if self.wants(record, target):
            return None
        return Fault(Reason.NOT_WANTED, target[: Fault.MAX_DETAIL])

    async def refusal(
        self,
        record: Record,
        requested: Sequence[str],
        target: str,
        *,
        pace: HostDelay,
        visit: Visit,
        take: Take,
    ) -> Fault | list[Fault] | None:
        """Return why robots.txt forbids to request a target of the visit.

        A `Crawl-delay` of the target's origin slows down `pace` and `visit`.

        Returns:
            A fault if it is forbidden, a list of faults if the rules are unavailable.
        """
        robots = self.robots
        if robots is None:
            return None
        rules = await robots.rules(origin_of(target), take=take)
        if isinstance(rules, list):
            blocked = (each for each in rules if each.reason in GUARDED)
            return next(blocked, None) or rules
        fault = robots.refusal(rules, target)
        if fault is None or fault.reason is Reason.ROBOTS_DISALLOWED:
            visit.keep_delay(rules.delay_secs)
            pace.change(visit.delay_secs)
            if fault is None or robots.is_exempt(record, requested[0], target):
                return None
        detail = f"{fault.detail} {target}".strip()
        return Fault(fault.reason, detail[: Fault.MAX_DETAIL])


def refresh_target(url: str, response: HttpResponse) -> str:
    """Return the target of a refresh without delay; empty if there is none.

    >>> from rdfcrawl.downloader.client import HttpResponse
    >>> page = b"<META HTTP-EQUIV=Refresh CONTENT='0; URL=../b#c'>"
    >>> response = HttpResponse(media_type="text/html", body=page)
    >>> refresh_target("http://example.org/a/", response)
    'http://example.org/b#c'
    """
    if response.media_type not in _HTML or not response.body:
        return ""
    begin = response.body[:HEAD_BYTES]
    if b"http-equiv" not in begin.lower():
        return ""
    base, target = url, ""
    for name, attributes in _elements(begin):
        if name == b"<base" and base == url:
            base = urljoin(url, attributes.get(b"href", ""))
        elif attributes.get(b"http-equiv", "").strip().lower() == "refresh":
            target = _target(attributes.get(b"content", ""))
            break
    if not target:
        return ""
    target = urljoin(base, target)
    return "" if urldefrag(target).url == urldefrag(url).url else target


def _elements(begin: bytes) -> Iterator[tuple[bytes, dict[bytes, str]]]:
    """Yield the elements `<base` and `<meta` of a page, with their attributes."""
    lower = begin.lower()
    at = lower.find(b"<")
    while at >= 0:
        skipped = _SKIPPED.match(lower, at)
        end = lower.find(b">", at)
        if lower.startswith(b"<!--", at):
            end = lower.find(b"-->", at)
        elif skipped is not None:
            end = lower.find(b"</" + skipped[1], at)
        elif end > 0 and (name := lower[at : at + 5]) in (b"<base", b"<meta"):
            found = _attributes(begin, at + 5, end)
            yield name, {each[1].lower(): _text(each[2]) for each in found}
        if end < 0:
            return
        at = lower.find(b"<", end)


def _text(value: bytes) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = value.decode("latin-1")
    is_quoted = text[:1] in ("'", '"')
    return unescape(text[1:-1] if is_quoted else text)


def _target(content: str) -> str:
    found = _content(content[:HEAD_BYTES])
    if found is None:
        return ""
    target = found[1].strip()
    if target[:1] in ("'", '"'):
        return target[1:].partition(target[0])[0].strip()
    return target


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
