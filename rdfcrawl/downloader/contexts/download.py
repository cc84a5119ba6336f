"""Download one context, politely, within limits, and only from permitted hosts.

Source: JSON-LD 1.1 API, section 9.4 (LoadDocumentCallback).
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from rdfcrawl.core.content import head_of
from rdfcrawl.core.errors import Fault, FaultLog, Reason, SourceFault
from rdfcrawl.core.formats import HEAD_BYTES
from rdfcrawl.core.messages import counted
from rdfcrawl.core.namespaces import JSON_LD
from rdfcrawl.downloader.client import (
    HttpClient,
    HttpResponse,
    RequestOptions,
    conditional_headers,
    response_in_turn,
)
from rdfcrawl.downloader.contexts.cache import ContextEntry
from rdfcrawl.downloader.redirects import is_redirect, resolve_redirect
from rdfcrawl.downloader.retry_policy import RetryDecision, judge_response
from rdfcrawl.frontier.queue.host_rules import BlockedHosts
from rdfcrawl.frontier.request_turns import FREE, SoloTurn, SoloTurns
from rdfcrawl.rdf.environment import MAX_CONTEXT_BYTES
from rdfcrawl.rdf.links.headers import json_ld_alternate
from rdfcrawl.rdf.sniffing import begins_json
from rdfcrawl.rdf.text import MARK_BYTES, to_utf8
from rdfcrawl.uri import host_of
from rdfcrawl.uri.hosts import origin_of

if TYPE_CHECKING:
    from rdfcrawl.core.visits import Visit
    from rdfcrawl.downloader.local_failures import LocalFailures
    from rdfcrawl.downloader.options import FetchOptions
    from rdfcrawl.downloader.robots.cache import RobotsCache
    from rdfcrawl.downloader.spool import Spool


logger = logging.getLogger(__name__)

ACCEPT: Final = (
    f'application/ld+json;profile="{JSON_LD}context", '
    "application/ld+json;q=0.9, application/json;q=0.8, */*;q=0.1"
)
_JSON: Final = re.compile(r"(?:application|text)/(?:[\w.+-]+\+)?json").fullmatch
_MAX_AGE: Final = re.compile(r"(?i)(?:^|[\s,])max-age\s*=\s*\"?(\d{1,10})").search
_MUST_REVALIDATE: Final = re.compile(r"(?i)(?:^|[\s,])no-(?:cache|store)\b").search
_PRIVATE: Final = re.compile(r"(?i)(?:^|[\s,])(?:private|no-store)\b").search
# After other faults, the last copy is used as long as it may be.
_FINAL: Final = frozenset(
    {
        *(Reason.NOT_FOUND, Reason.GONE, Reason.NOT_WANTED, Reason.BAD_URI),
        *(Reason.ROBOTS_DISALLOWED, Reason.GUARD_BLOCKED, Reason.HOST_LEFT),
    }
)
# A retry after a short time may succeed.
_PASSING: Final = frozenset(
    {
        Reason.DNS, Reason.DNS_UNANSWERED, Reason.DNS_BLOCKED,
        Reason.UNREACHABLE, Reason.TIMEOUT, Reason.TLS, Reason.BAD_HTTP,
        Reason.SERVER_ERROR, Reason.HOST_BUSY, Reason.ROBOTS_UNREACHABLE,
        Reason.TRUNCATED_BODY, Reason.INTERNAL,
    }
)  # fmt: skip


How = Literal["fetched", "not_modified", "stale", "failed"]
_MAX_HOSTS: Final = 1000


class ContextResult(NamedTuple):
    """The result of a download."""

    entry: ContextEntry
    how: How


@dataclass(slots=True, kw_only=True, eq=False)
class ContextDownloader:
    """Fetch contexts through the client of all documents."""

    exchange: HttpClient
    robots: RobotsCache | None  # rules to obey; None if robots.txt is ignored
    spool: Spool
    fetch: FetchOptions  # limits on every request
    options: ContextOptions  # limits on contexts
    hosts: ContextHosts  # turns and blocked hosts

    async def __call__(self, url: str, *, known: ContextEntry | None) -> ContextResult:
        """Fetch a context; failures on the web never raise.

        The request is conditional on the validators of `known`.
        """
        known = known if known and known.is_usable else None
        fetch = _ContextFetch(self, url, known)
        try:
            async with asyncio.timeout(self.options.load_secs):
                entry = await fetch.run()
        except TimeoutError:
            local_failures = self.hosts.local_failures
            if local_failures is not None and local_failures.is_pausing():
                await local_failures.wait_until_all_passed()  # not the context's fault
                return await self(url, known=known)
            detail = f"over {self.options.load_secs:g} s"
            return self._failed(url, Fault(Reason.TIMEOUT, detail), fetch)
        except SourceFault as exc:
            return self._failed(url, exc.fault, fetch)
        except Exception:  # the edge: the document is parsed without the context
            logger.exception("Unexpected error on context %(url)s", {"url": url})
            return self._failed(url, Fault(Reason.INTERNAL), fetch)
        return ContextResult(entry, fetch.how)

    def _failed(self, url: str, fault: Fault, fetch: _ContextFetch) -> ContextResult:
        passes = fault.reason in _PASSING
        secs = self.options.passing_secs if passes else self.options.fault_secs
        if fault.reason not in _FINAL and fetch.known is not None:
            # RFC 5861 section 4: better a stale context than none.
            return ContextResult(fetch.known.prolonged(secs), "stale")
        what = f"{fault.reason}: {fault.detail}" if fault.detail else str(fault.reason)
        until = time.time() + secs
        entry = ContextEntry(
            fault=f"{what[:200]} <{url}>", fresh_until=until, stale_until=until
        )
        return ContextResult(entry, "failed")


@dataclass(slots=True, eq=False)
class _ContextFetch:
    """Follow one context through its redirects."""

    _get: ContextDownloader
    _url: str
    known: ContextEntry | None
    how: How = "fetched"

    async def run(self) -> ContextEntry:
        url, requested = self._url, set[str]()
        while True:
            requested.add(url)
            response = await self._request(url)
            try:
                target = _target(url, response)
                if not target:
                    return self._entry(url, response)
            finally:
                self._get.spool.release(response)
            if target in requested:
                raise SourceFault(Reason.REDIRECT_LOOP, target)
            if len(requested) > self._get.fetch.redirect_limit:
                raise SourceFault(
                    Reason.REDIRECT_LIMIT, counted(len(requested), "redirect")
                )
            url = target

    async def _request(self, url: str) -> HttpResponse:
        """Request one hop, with one retry if that may help."""
        getter, hosts = self._get, self._get.hosts
        if not url.startswith(("http:", "https:")):
            raise SourceFault(Reason.BAD_URI, "a context beyond HTTP")
        if (fault := hosts.blocked_hosts.fault(url)) is not None:
            raise SourceFault(fault.reason, fault.detail)
        if hosts.is_denied(url):
            raise SourceFault(Reason.NOT_WANTED)
        delay_secs = await self._obey(url)
        options = self._options_for(url)
        response = await self._try(url, options, delay_secs)
        if judge_response(response, getter.fetch, options) is RetryDecision.RETRY:
            getter.spool.release(response)
            response = await self._try(url, options, delay_secs)
            judge_response(response, getter.fetch, options)
        if response.fault is not None:
            getter.spool.release(response)
            raise SourceFault(response.fault.reason, response.fault.detail)
        return response

    async def _try(
        self, url: str, options: RequestOptions, delay_secs: float
    ) -> HttpResponse:
        getter = self._get
        response = await response_in_turn(
            partial(getter.exchange.get, url, options),
            partial(getter.hosts.turns.of_url, url, delay_secs),
        )
        if response.is_local_failure:
            # The worker stops and cancels the loads: without the context, the document
            # would be parsed wrongly.
            await asyncio.get_running_loop().create_future()
        return response

    async def _obey(self, url: str) -> float:
        """Check robots.txt; return the delay between requests to the host."""
        robots, least_secs = self._get.robots, self._get.options.delay_secs
        if robots is None:
            return least_secs
        turns = self._get.hosts.turns
        rules = await robots.rules(
            origin_of(url), take=partial(turns.of_url, delay_secs=least_secs)
        )
        if isinstance(rules, list):
            raise SourceFault(rules[0].reason, rules[0].detail)
        if (fault := robots.refusal(rules, url)) is not None:
            raise SourceFault(fault.reason, fault.detail)
        return max(least_secs, rules.delay_secs)

    def _options_for(self, url: str) -> RequestOptions:
        headers: tuple[tuple[str, str], ...] = ()
        known = self.known
        if known is not None and known.url == url:
            headers = conditional_headers(known.etag, known.last_modified)
        return RequestOptions(
            accept=ACCEPT,
            max_bytes=MAX_CONTEXT_BYTES,
            spool_bytes=MAX_CONTEXT_BYTES,
            timeout_secs=self._get.options.timeout_secs,
            first_byte_secs=self._get.fetch.first_byte_secs,
            headers=headers,
        )

    def _entry(self, url: str, response: HttpResponse) -> ContextEntry:
        options = self._get.options
        fresh_until = time.time() + lifetime_secs(response.cache_control, options)
        is_private = bool(_PRIVATE(response.cache_control))
        stale_until = fresh_until + options.stale_secs
        if response.status == 304 and self.known is not None:
            self.how = "not_modified"
            return replace(
                self.known,
                etag=response.etag or self.known.etag,
                last_modified=response.last_modified or self.known.last_modified,
                fresh_until=fresh_until,
                stale_until=stale_until,
            )
        return ContextEntry(
            url=url,
            content=_content(response, is_checked=self.known is not None),
            etag=_sendable(response.etag),
            last_modified=_sendable(response.last_modified),
            fresh_until=fresh_until,
            stale_until=stale_until,
            is_private=is_private,
        )


def lifetime_secs(cache_control: str, options: ContextOptions) -> float:
    """Return how long a response is fresh (RFC 9111 5.2.2), within bounds.

    >>> from rdfcrawl.downloader.contexts.download import ContextOptions
    >>> lifetime_secs("public, max-age=7200", ContextOptions())
    7200.0
    """
    if _MUST_REVALIDATE(cache_control):
        return options.least_fresh_secs
    found = _MAX_AGE(cache_control)
    if found is None:
        return options.fresh_secs
    secs = float(found[1])
    return min(max(secs, options.least_fresh_secs), options.most_fresh_secs)


def _target(url: str, response: HttpResponse) -> str:
    """Return the target of a redirect; empty if the response is the context."""
    if is_redirect(response.status, response.location):
        return resolve_redirect(url, response.location)
    # 9.4, step 4: JSON takes precedence over a link to an alternate.
    if response.status == 304 or _JSON(response.media_type):
        return ""
    alternate = json_ld_alternate(response.http_links, base=url)
    return "" if alternate == url else alternate


def _content(response: HttpResponse, *, is_checked: bool) -> bytes:
    """Return the body of a response.

    JSON is accepted under any text media type: many file hosts serve it as plain text.

    Args:
        response: the response.
        is_checked: it would take the place of a context, so it must be one.
    """
    body = to_utf8(
        head_of(response, MAX_CONTEXT_BYTES),
        charset=response.charset,
        is_xml=False,
        log=FaultLog(),
        is_page=False,
    )
    if MARK_BYTES in body:
        raise SourceFault(Reason.BAD_CHARSET, "the context is not UTF-8")
    if not begins_json(body[:HEAD_BYTES]):
        what = response.media_type or "no media type"
        raise SourceFault(Reason.UNSUPPORTED_FORMAT, f"{what}, no JSON object")
    if is_checked and not _has_context(body):
        raise SourceFault(Reason.SYNTAX, "no context in it")
    return body


def _has_context(body: bytes) -> bool:
    try:
        return "@context" in json.loads(body)
    except (ValueError, RecursionError):
        return False


def _sendable(validator: str) -> str:
    """Return a validator; empty if it cannot be sent unchanged."""
    return validator if validator.isascii() and validator.isprintable() else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextOptions:
    """How contexts are fetched and kept; times in seconds, sizes in bytes.

    Attributes:
        delay_secs: minimum time between two requests to a host.
        load_secs: for one load, including waits and redirects.
        timeout_secs: for one request.
        most_per_document: contexts fetched for one document.
        memory_bytes: memory of a worker's contexts.
        fresh_secs: lifetime of a context without `Cache-Control`.
        least_fresh_secs, most_fresh_secs: bounds on that of `Cache-Control`.
        stale_secs: further lifetime for revalidation, or for use if the host fails.
        fault_secs: lifetime of a fault of the context.
        passing_secs: lifetime of a temporary fault.
    """

    delay_secs: float = 1.0
    load_secs: float = 60.0
    timeout_secs: float = 20.0
    most_per_document: int = 20
    memory_bytes: int = 16 * 1024 * 1024
    fresh_secs: float = 24 * 3600.0
    least_fresh_secs: float = 600.0
    most_fresh_secs: float = 7 * 24 * 3600.0
    stale_secs: float = 7 * 24 * 3600.0
    fault_secs: float = 3600.0
    passing_secs: float = 300.0


@dataclass(slots=True)
class _HostClock:
    next_at: float = 0.0
    queue: asyncio.Lock = field(default_factory=asyncio.Lock)


class LocalTurns(SoloTurns):
    """Keep the delay between the requests of this process to a host.

    It counts from the actual start of a turn, which is later than planned in a busy
    process.
    """

    def __init__(self) -> None:
        self._clocks: dict[str, _HostClock] = {}

    async def of_url(
        self, url: str, delay_secs: float = 0.0, *, visit: Visit | None = None
    ) -> SoloTurn | None:
        """See `SoloTurns.of_url`."""
        del visit
        if delay_secs <= 0:
            return FREE
        if len(self._clocks) > _MAX_HOSTS:
            self._forget()
        clock = self._clocks.setdefault(host_of(url), _HostClock())
        async with clock.queue:
            now = time.monotonic()
            while now < clock.next_at:  # a timer may fire a clock tick early
                await asyncio.sleep(clock.next_at - now)
                now = time.monotonic()
            clock.next_at = now + delay_secs
        return FREE

    def _forget(self) -> None:
        """Forget the clocks of hosts without waiting requests."""
        now = time.monotonic()
        self._clocks = {
            host: clock
            for host, clock in self._clocks.items()
            if clock.next_at > now or clock.queue.locked()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextHosts:
    """Decide when and whether a host may be requested for a context.

    Attributes:
        is_denied: returns whether the operator has denied a URL.
        local_failures: local failures to wait out; None to ignore them.
        blocked_hosts: blocked hosts, which get no requests, not even for robots.txt.
    """

    turns: SoloTurns = field(default_factory=LocalTurns)
    is_denied: Callable[[str], bool] = lambda _: False
    local_failures: LocalFailures | None = None
    blocked_hosts: BlockedHosts = field(default_factory=BlockedHosts)
