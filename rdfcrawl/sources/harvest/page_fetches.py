"""The last fetches of pages and dumps that later runs of a crawl revisit.

A fetch is noted when the statements of the page are on disk. For each page, a table of
its site keeps the digest of the URL and a `PageFetch`, about 160 bytes.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.errors import Reason
from rdfcrawl.core.formats import HTML
from rdfcrawl.core.records import GONE, Document, Kind, Record
from rdfcrawl.core.tasks import (
    DumpPart,
    ListedPage,
    PortalFile,
    RefreshedPage,
    RevisitedPage,
)
from rdfcrawl.downloader.client import HttpRequest, conditional_request
from rdfcrawl.sources.harvest.last_copies import has_end_tag
from rdfcrawl.uri import fingerprint
from rdfcrawl.uri.hosts import site_of

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.tables import StateStore

MAX_PAGES: Final = 1_000_000  # of one site; others are fetched only once
_FETCHES: Final = "fetches"  # table of a site: digest of a URL -> `PageFetch`
_KEY_BYTES: Final = 9
_REVISITED: Final = (ListedPage, DumpPart, RevisitedPage, PortalFile)


@dataclass(frozen=True, slots=True)
class PageFetch:
    """The last fetch of a listed page, kept between runs.

    Attributes:
        run: the run that fetched the page.
        secs: time of the request, Unix time.
        lastmod: claim of the sitemap at that time.
        n_failures: consecutive failed fetches, including this one.
        etag, last_modified: of the last response read without losses.
        read_at: URL after redirects, if different.
        has_copy: statements of the page are stored.
        is_doubtful: the next run requests the page once more: it has no statements,
            or is cut, or lacks datasets that stay, or is unchanged in spite of a new
            date in the sitemap.
        since_secs: time of the first request of a portal's file that got the present
            content; -1: as before, 0: unknown.
    """

    run: int
    secs: int
    lastmod: str = ""
    n_failures: int = 0
    etag: str = ""
    last_modified: str = ""
    read_at: str = ""
    has_copy: bool = False
    is_doubtful: bool = False
    since_secs: int = 0

    def is_fresh(self, url: str, now_secs: int, most_secs: int) -> bool:
        """Return whether a file need not be requested, as it changes rarely.

        That is so for a tenth of the time for which it had not changed (RFC 9111
        4.2.2), half as much more or less by its URL.
        """
        share = (fingerprint(url) % 100 + 50) / 1000
        age_secs = share * max(self.secs - self.since_secs, 0) if self.since_secs else 0
        return now_secs - self.secs < min(age_secs, most_secs)


class PageFetches:
    """The last fetches of pages and dumps, shared by all workers of a crawl."""

    def __init__(self, store: StateStore) -> None:
        self._store = store
        # URL -> fetch, status, and whether the next fetch must be unconditional
        self._noted: dict[str, tuple[PageFetch, int, bool]] = {}
        self._refreshed: set[str] = set()  # of these, by `scrapy refresh`
        self._forgotten: set[str] = set()
        self._withdrawn: set[str] = set()  # since the last flush
        self._usual = UsualPages()

    async def request_for(self, record: Record) -> HttpRequest | None:
        """Return a conditional request for a page of an earlier run; None for others.

        A page of this run is requested unconditionally: its statements may be lost. The
        same applies to a page that was read elsewhere: another resource may have the
        same validators (RFC 9110 8.8.3).
        """
        task = record.task
        if not isinstance(task, _REVISITED) or not task.run:
            return None
        url = record.first_url
        fetch = (await self.last_of([url])).popitem()[1]
        if fetch is None or fetch.run >= task.run:
            return None
        if record.url != (fetch.read_at or url):
            return None
        return conditional_request(record.url, fetch.etag, fetch.last_modified)

    async def last_of(self, urls: Iterable[str]) -> dict[str, PageFetch | None]:
        """Return the last fetch of each page."""
        sites: dict[str, list[str]] = {}
        for url in urls:
            sites.setdefault(site_of(url), []).append(url)
        found: dict[str, PageFetch | None] = {}
        for site, some in sites.items():
            keys = {url: _key(url) for url in some}
            texts = await self._store.get_many(site, _FETCHES, keys.values())
            for url, key in keys.items():
                found[url] = decode(texts[key], PageFetch) if key in texts else None
        return found

    async def left_by(self, document: Document) -> str:
        """Return the former URL of a page that now redirects elsewhere; or "".

        The stored statements are those of the former URL, which no other record
        requests.
        """
        task, status = document.record.task, document.status
        is_conclusive = 200 <= status < 300 or status in GONE
        if not (isinstance(task, _REVISITED) and task.run and is_conclusive):
            return ""
        last = (await self.last_of([document.record.first_url])).popitem()[1]
        return last.read_at if last and last.read_at != document.url else ""

    def note(self, document: Document, run: int) -> None:
        """Note a fetch of a run, for the next flush.

        One that `scrapy refresh` has queued counts only for a page that was noted
        before: if sitemaps list it, dates before this fetch do not make it due.
        """
        record, task, status = document.record, document.record.task, document.status
        is_refreshed = isinstance(task, RefreshedPage)
        if is_refreshed:
            task = RevisitedPage(run)
        if not isinstance(task, _REVISITED):
            return
        is_fetched = _is_fetched(document)
        secs = document.response.started_ms // 1000
        is_same = status == 304 or document.has_same_statements or not is_fetched
        fetch = PageFetch(
            task.run,
            secs,
            task.lastmod,
            n_failures=0 if is_fetched else 1,
            has_copy=bool(document.n_quads),  # also if it is unchanged
            is_doubtful=not is_refreshed and _is_doubtful(document, self._usual),
            since_secs=(-1 if is_same else secs) if isinstance(task, PortalFile) else 0,
        )
        url = record.first_url
        if is_fetched and document.url != url:
            fetch = replace(fetch, read_at=document.url)
        is_unclear = fetch.is_doubtful and not (
            status == 304 or document.has_same_statements
        )
        if is_fetched and not document.has_losses:
            response = document.response
            fetch = replace(
                fetch, etag=response.etag, last_modified=response.last_modified
            )
        self._noted[url] = fetch, status, is_unclear
        self._forgotten.discard(url)
        self._withdrawn.discard(url)
        (self._refreshed.add if is_refreshed else self._refreshed.discard)(url)

    def forget(self, url: str) -> None:
        """Forget the fetches of a withdrawn document, at the next flush but one.

        The store may be flushed already when it is deleted there. If the worker is
        killed then, the document is withdrawn once more, if its fetches are known.
        """
        self._noted.pop(url, None)
        self._withdrawn.add(url)

    async def flush(self) -> None:
        """Store the noted fetches."""
        noted, self._noted = self._noted, {}
        refreshed, self._refreshed = self._refreshed, set()
        unsure = [
            url
            for url, (x, status, _) in noted.items()
            if url in refreshed or _adds_to_last(x, status)
        ]
        last = await self.last_of(unsure)
        sites: dict[str, dict[str, str]] = {}
        for url, (fetch, status, is_unclear) in noted.items():
            known = last.get(url)
            if url in refreshed and known is None:
                continue
            merged = _added(known, fetch, status)
            if url in refreshed and known is not None:
                merged = replace(merged, lastmod=known.lastmod)
            if is_unclear and merged.is_doubtful and not merged.n_failures:
                merged = replace(merged, etag="", last_modified="")
            sites.setdefault(site_of(url), {})[_key(url)] = encode(merged)
        for site, entries in sites.items():
            await self._store.put_up_to(site, _FETCHES, entries, MAX_PAGES)
        forgotten, self._forgotten = self._forgotten, self._withdrawn
        self._withdrawn = set()
        await self.drop(forgotten)

    async def drop(self, urls: Iterable[str]) -> None:
        """Forget the fetches of pages that are withdrawn."""
        for url in urls:
            await self._store.drop(site_of(url), _FETCHES, [_key(url)])

    async def withdrawn(self, urls: Iterable[str]) -> dict[str, PageFetch | None]:
        """Return the last fetches of documents to withdraw.

        If a dataset has such a document later, it is due, without validators: a 304
        would have no statements.
        """
        fetches = await self.last_of(urls)
        for url, fetch in fetches.items():
            if fetch is None:
                continue
            n_failures = max(1, fetch.n_failures)
            due = replace(fetch, etag="", last_modified="", n_failures=n_failures)
            if due != fetch:
                entry = {_key(url): encode(due)}
                await self._store.put(site_of(url), _FETCHES, entry)
        return fetches


def shortfall_of(document: Document) -> str:
    """Return the deficiency of a dump in a few words; empty if there is none.

    A redirect to another host, where the dump is requested next, is not a deficiency. A
    few skipped statements do not justify fetching everything again.
    """
    if 300 <= document.status < 400 and not document.faults:
        return ""
    if not document.n_quads:
        reasons = [str(fault.reason) for fault in document.faults]
        return reasons[0] if reasons else "no statements"
    if document.reading.format is HTML and not document.reading.n_members:
        return "a page"
    return "cut" if document.is_partial else ""


_LEAST: Final = 10  # different pages that are usual for a site
_MAX_SITES: Final = 10_000  # in memory
_SMALL_BYTES: Final = 2048  # a page without content, such as an error message


def _is_once_more(fetch: PageFetch, last: PageFetch, status: int) -> bool:
    """Return whether a doubtful page is requested again, which is done once.

    Of an unchanged page, only a new date in the sitemap is doubtful.
    """
    if last.is_doubtful:
        return False
    if status == 304 or fetch.has_copy:
        return fetch.lastmod != last.lastmod
    return last.has_copy or bool(last.n_failures)


def _is_doubtful(document: Document, usual: UsualPages) -> bool:
    """Return whether a fetched page may be another one when it is requested again."""
    response = document.response
    if document.status == 304 or document.has_same_statements:
        return True  # if its date is a new one
    if document.n_quads and (document.is_partial or _has_copy_kept(document)):
        return True
    if not 200 <= document.status < 300:
        return False
    if document.reading.format is not HTML:
        return bool(document.faults) and not document.n_quads
    is_small = response.n_bytes < _SMALL_BYTES
    is_odd = not has_end_tag(response) if document.n_quads else is_small
    if document.faults and not document.n_quads:
        return True
    return usual.is_exception(document, is_odd=is_odd)


def _has_copy_kept(document: Document) -> bool:
    return any(fault.reason is Reason.COPY_KEPT for fault in document.faults)


@dataclass(slots=True)
class UsualPages:
    """Which pages of a site look like all others, in this worker.

    A page without its end tag, or a small one without statements, may be an error that
    has status 200, unless most pages of its site are like that and differ.
    """

    _n_pages: Counter[str] = field(default_factory=Counter)
    _odd: dict[str, Counter[bytes]] = field(default_factory=dict)

    def is_exception(self, document: Document, *, is_odd: bool) -> bool:
        """Return whether a page is odd and the others of its site are not."""
        site = site_of(document.url)
        if len(self._n_pages) > _MAX_SITES:
            self._n_pages.clear()
            self._odd.clear()
        self._n_pages[site] += 1
        if not is_odd:
            return False
        odd = self._odd.setdefault(site, Counter())
        digest = blake2b(document.response.body or b"", digest_size=_KEY_BYTES).digest()
        odd[digest if len(odd) < _LEAST else b""] += 1
        return len(odd) < _LEAST or 2 * odd.total() < self._n_pages[site]


def _adds_to_last(fetch: PageFetch, status: int) -> bool:
    return bool(fetch.n_failures) or fetch.is_doubtful or 300 <= status < 400


def _is_fetched(document: Document) -> bool:
    """Return whether all of a page was fetched, or is as before."""
    # The target of a redirect to another host is noted in its turn.
    if not (200 <= document.status < 300 or document.status == 304):
        return False
    if document.is_deleted or document.is_doubtful or document.response.is_partial:
        return False
    return document.record.kind is not Kind.DUMP or not shortfall_of(document)


def _added(last: PageFetch | None, fetch: PageFetch, status: int) -> PageFetch:
    """Return a fetch merged with the last one."""
    if last is None:
        return fetch
    if fetch.since_secs < 0:
        fetch = replace(fetch, since_secs=last.since_secs)
    if fetch.is_doubtful and last.run < fetch.run:
        fetch = replace(fetch, is_doubtful=_is_once_more(fetch, last, status))
    if status == 304:
        etag = fetch.etag or last.etag
        last_modified = fetch.last_modified or last.last_modified
        return replace(
            fetch,
            etag=etag,
            last_modified=last_modified,
            has_copy=last.has_copy,
        )
    if fetch.n_failures and last.run < fetch.run:
        fetch = replace(fetch, n_failures=last.n_failures + 1)
    if fetch.n_failures and status not in GONE:  # the last good copy stays
        etag, last_modified = last.etag, last.last_modified
        fetch = replace(
            fetch,
            etag=etag,
            last_modified=last_modified,
            has_copy=last.has_copy,
        )
    if status not in GONE:  # its statements are still of the last URL
        fetch = replace(fetch, read_at=last.read_at)
    return fetch


def _key(url: str) -> str:
    digest = blake2b(url.encode(), digest_size=_KEY_BYTES).digest()
    return b64encode(digest).decode()
