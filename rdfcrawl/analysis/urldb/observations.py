"""Observations of URIs from the logs: outcomes, links, and entries of sitemaps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from json.encoder import encode_basestring as quoted
from typing import Final, NamedTuple, Self

from rdfcrawl.analysis.measures.uri_facts import (
    LACKING,
    NO_STATEMENTS,
    REFUSALS,
    WAS_READ,
)
from rdfcrawl.analysis.measures.usage import UNKNOWN_FORMAT
from rdfcrawl.analysis.urldb.joining import Columns, observe
from rdfcrawl.analysis.urldb.record import (
    AGAIN,
    BY_LINK,
    BY_LIST,
    BY_REDIRECT,
    BY_SOURCE,
    NOINDEX,
    SEED,
)
from rdfcrawl.core.errors import Reason
from rdfcrawl.core.formats import HTML, Relation
from rdfcrawl.core.last_copies import REDIRECTED, WITHOUT_STATEMENTS
from rdfcrawl.core.namespaces import DCTERMS, RC
from rdfcrawl.core.source_tasks import SitemapTask
from rdfcrawl.core.tasks import RefreshedPage, RequestTask, RevisitedPage
from rdfcrawl.core.times import moment_text
from rdfcrawl.rdf.links.outlinks import relation_iri
from rdfcrawl.stores.provenance.blocks import ActivityBlock
from rdfcrawl.stores.provenance.records import Activity, written_url
from rdfcrawl.stores.reading import iter_marked

_PAGE_TASKS: Final = frozenset(("", RefreshedPage.TAG, RequestTask.TAG))
_AGAIN_TASKS: Final = frozenset((RefreshedPage.TAG, RevisitedPage.TAG))
_SEED_TASKS: Final = _AGAIN_TASKS | {RequestTask.TAG}
_LEFT: Final = f"{RefreshedPage.TAG}(is_left=True)"
# The documents of a source share its URL, but none is the content of that URL.
_OF_SOURCE: Final = "source("
_ONLY_DATASETS: Final = "only_datasets=True"
# A task is `name(...)`; the task of a source is within that of its run.
_find_task: Final = re.compile(r"(?:source\([^\"]*?payload=)?([^\"(]*)").match
_MAX_BYTES: Final = 4 * 1024 * 1024  # of lines with buffered targets
_MAX_TARGETS: Final = 150_000


class UrlObservation(NamedTuple):
    """An observation about a URL.

    Attributes:
        url: absolute, as written.
        ms: time of the observation, Unix time; 0 precedes any fetch.
        columns: the observed values.
    """

    url: str
    ms: int
    columns: Columns


def observe_block(block: ActivityBlock) -> Iterator[UrlObservation]:
    """Yield observations from the activities of a block."""
    for activity in block.activities:
        yield from _observe(_ObservedFetch.of(activity))
    for url, started_ms, first_url in block.same:
        if started_ms:
            first = quoted(written_url(first_url))
            columns = observe(latest=f'["sameContentAs",{started_ms},{first}]')
            yield UrlObservation(written_url(url), started_ms, columns)


class _ObservedFetch(NamedTuple):
    """An activity, as an observation of a URL.

    Attributes:
        activity: with the kind of its task.
        url: that is observed.
        redirect: target of its redirects; None if there were none.
        is_left: another page was read at the URL before, and is no more.
        is_chained: another host redirects to the URL.
        followed: if another URL redirects to this one in the same visit, the name of
            the value of such targets.
        requested: URLs in their order, if there were redirects.
        only_datasets: of a sitemap, which was not read for its entries.
    """

    activity: Activity
    url: str
    redirect: str | None = None
    is_left: bool = False
    is_chained: bool = False
    followed: str = ""
    requested: tuple[str, ...] = ()
    only_datasets: bool = False

    @classmethod
    def of(cls, activity: Activity) -> Self:
        url, task = activity.uri, activity.task
        if task:
            found = _find_task(task)
            activity = activity._replace(task=found[1] if found else "")
            if task.startswith(_OF_SOURCE):
                activity = activity._replace(
                    text_hash="", sketch="", n_shingles=0, statements_hash=""
                )
        requested = tuple(map(written_url, activity.requested))
        redirect = None
        if requested and requested[-1] != url:
            redirect = requested[-1]
        if activity.location:
            redirect = written_url(activity.location)
        is_chained = bool(requested) and requested[0] != url
        return cls(
            *(activity, url, redirect, task == _LEFT, is_chained),
            requested=requested,
            only_datasets=_ONLY_DATASETS in task,
        )


def _observe(fetch: _ObservedFetch) -> Iterator[UrlObservation]:
    activity = fetch.activity
    if fetch.requested:
        yield from _redirected(fetch)
    if activity.location:
        yield _led_to(written_url(activity.location))
    if fetch.is_chained and _keeps_former_page(activity):
        yield _led_to(fetch.url)
    elif not (fetch.is_chained and _is_no_sitemap(activity)):
        yield _observed(fetch)
    if fetch.requested:
        yield from _followed(fetch)
    if activity.sitemap_format and not fetch.only_datasets:
        yield from _emptied(fetch)


def _led_to(url: str) -> UrlObservation:
    """Return the observation that a redirect leads to a URL."""
    return UrlObservation(url, 0, observe(latest=f'["{BY_REDIRECT}",0,"true"]'))


def _observed(fetch: _ObservedFetch) -> UrlObservation:
    activity = fetch.activity
    started_ms = activity.started_ms
    reasons = (each.reason for each in activity.faults)
    fault = next(filter(LACKING.__contains__, reasons), activity.reason)
    # The target of the redirect is the sitemap.
    is_moved = fetch.redirect is not None and (
        _is_sitemap(activity)
        or (activity.task == SitemapTask.TAG and activity.status == "UNCHANGED")
    )
    status = "REDIRECTED" if is_moved else activity.status
    statements = activity.statements_hash
    if not activity.n_statements and activity.format == HTML.name and not statements:
        statements = NO_STATEMENTS
    columns = (
        f"{started_ms},{quoted(status)},{activity.http_status}"
        f",{activity.n_statements},{quoted(fault)},{quoted(activity.content_hash)}"
        f",{quoted(activity.text_hash)},{activity.run}"
        f",{quoted(activity.last_modified)},{quoted(statements)}"
    )
    latest = [
        f'["{name}",{started_ms},{quoted(value)}]' for name, value in _latest_of(fetch)
    ]
    if (format_name := activity.sitemap_format) and not is_moved:
        # What could not be read does not change the format of the entries.
        ms = 0 if format_name == UNKNOWN_FORMAT else started_ms
        latest.append(f'["sitemapFormat",{ms},{quoted(format_name)}]')
    was_requested = bool(activity.http_status) or fault not in REFUSALS
    latest += _page_request(fetch, started_ms if was_requested else 0)
    latest.sort()  # by name
    found_by = activity.found_by
    origin = f"{started_ms},{quoted(found_by)}" if found_by else ""
    columns_of = observe(fetch=columns, latest=",".join(latest), origin=origin)
    return UrlObservation(fetch.url, started_ms, columns_of)


def _latest_of(fetch: _ObservedFetch) -> Iterator[tuple[str, str]]:
    """Yield names and values of which the latest counts."""
    activity = fetch.activity
    if fetch.redirect is not None:
        yield "redirect", fetch.redirect
        if activity.status in _HAS_COPY:
            yield "readAt", fetch.redirect
    for name, text in (
        ("etag", activity.etag),
        ("foundBy", activity.found_by),
        ("lastModified", activity.last_modified),
        ("parent", activity.parent and written_url(activity.parent)),
        ("canonical", activity.canonical and written_url(activity.canonical)),
        ("sketch", activity.sketch),
        ("source", "sitemap" if activity.rank >= 0 else ""),
        ("spider", activity.spider),
        ("task", activity.task),
    ):
        if text:
            yield name, text
    for name, number in (
        ("depth", activity.depth),
        ("images", activity.n_images),
        ("shingles", activity.n_shingles if activity.sketch else 0),
        ("words", activity.n_words),
        ("linkedWords", activity.n_linked_words),
    ):
        if number:
            yield name, str(number)
    for name, is_true in (
        ("errorPage", activity.is_error_page),
        ("isLeft", fetch.is_left),
        (NOINDEX, NOINDEX in activity.robots_directives),
    ):
        if is_true:
            yield name, "true"
    if activity.immutable_until_ms:
        yield "immutableUntil", moment_text(activity.immutable_until_ms)


def _page_request(fetch: _ObservedFetch, requested_ms: int) -> Iterator[str]:
    """Yield the value about the request of a page, which no later request changes.

    Args:
        fetch: of the page.
        requested_ms: its start; 0 if there was no request.
    """
    activity, task = fetch.activity, fetch.activity.task
    if fetch.followed:
        yield f'["{fetch.followed}",0,"true"]'
        return
    if fetch.is_chained and (not task or task == RefreshedPage.TAG):
        yield f'["{BY_LINK}",0,"true"]'
    if activity.rank >= 0:
        yield f'["{BY_LIST}",0,"true"]'
    elif fetch.is_chained:
        return
    elif not activity.parent and requested_ms and (not task or task in _SEED_TASKS):
        value = AGAIN if task in _AGAIN_TASKS else "true"
        yield f'["{SEED}",{requested_ms},"{value}"]'
    elif not task or fetch.is_left:
        yield f'["{BY_LINK}",0,"true"]'


def _followed(fetch: _ObservedFetch) -> Iterator[UrlObservation]:
    """Yield the requests that followed the redirects of a URL.

    A target that could not be read as a part of a source may be a good page.
    """
    activity, url, urls = fetch.activity, fetch.url, fetch.requested
    is_page = activity.task in _PAGE_TASKS
    if url not in urls or not (is_page or activity.status in _HAS_COPY):
        return
    *between, end = urls[urls.index(url) :]
    moved = Activity("", activity.started_ms, status="REDIRECTED")
    follow = BY_REDIRECT if is_page else BY_SOURCE
    for each in between[1:]:
        redirect = fetch.redirect or ""
        yield _observed(_ObservedFetch(moved, each, redirect, followed=follow))
    if is_page and _keeps_former_page(activity):
        yield _led_to(end)
    elif end != url:
        own = activity
        if not _is_sitemap(activity):
            # Without the terms that are about the page that redirects.
            own = activity._replace(parent="", rank=-1, found_by="", task="")
        target = fetch.redirect if activity.location else None
        yield _observed(_ObservedFetch(own, end, target, followed=follow))


def _is_sitemap(activity: Activity) -> bool:
    """Return whether a sitemap was read."""
    return bool(activity.sitemap_format) and not _is_no_sitemap(activity)


def _is_no_sitemap(activity: Activity) -> bool:
    """Return whether a sitemap was expected, and another document is there."""
    return (
        activity.task == SitemapTask.TAG and activity.sitemap_format == UNKNOWN_FORMAT
    )


def _keeps_former_page(activity: Activity) -> bool:
    """Return whether the target of a redirect does not replace the page.

    That says nothing about the target, which may be a front page.
    """
    return _has_doubt(activity, REDIRECTED)


def _has_doubt(activity: Activity, begin: str) -> bool:
    """Return whether the last copy stays, for a reason that begins so."""
    return any(
        fault.reason == Reason.COPY_KEPT and fault.detail.startswith(begin)
        for fault in activity.faults
    )


def _redirected(fetch: _ObservedFetch) -> Iterator[UrlObservation]:
    """Yield the redirect target of each URL of another host before the crawled URL."""
    urls, ms = fetch.requested, fetch.activity.started_ms
    for url in urls:
        if url == fetch.url:
            break
        if url != urls[-1]:
            latest = f'["redirect",{ms},{quoted(urls[-1])}]'
            if fetch.activity.withdraws(url):
                latest += f',["withdrawn",{ms},"true"]'
            yield UrlObservation(url, ms, observe(latest=latest))


def _emptied(fetch: _ObservedFetch) -> Iterator[UrlObservation]:
    """Yield the reading of a sitemap without entries, which has no statements.

    Its store keeps the last entries, and the pages may be requested again.
    """
    activity = fetch.activity
    is_read = activity.status == "SUCCESSFUL" and not activity.n_links
    is_empty = is_read and not activity.n_statements
    is_known = activity.sitemap_format != UNKNOWN_FORMAT
    if is_known and (is_empty or _has_doubt(activity, WITHOUT_STATEMENTS)):
        end = fetch.url if fetch.redirect is None else fetch.redirect
        reading = _SitemapReading(end.encode(), activity.started_ms, is_sitemap=True)
        yield from reading.end()


_HAS_COPY: Final = WAS_READ | {"UNCHANGED"}
_NOT_FETCHED: Final = observe()[2:]
# Relations to other URLs of the page itself; they are not links.
_FORMS: Final = [
    relation_iri(each).encode() for each in (Relation.CANONICAL, Relation.ALTERNATE)
]
_forms = b"|".join(map(re.escape, _FORMS))
_begin = rb"^<(?!(?:%b)>)[^>\n]*> <([^>\n]*)" % _forms
_find_targets = re.compile(_begin, re.MULTILINE).findall
_find_forms = re.compile(rb"^<(?:%b)> <([^>\n]*)" % _forms, re.MULTILINE).findall


class LinkedUrls:
    """Targets of links, with the first and the last document that links to each.

    They are buffered, since many documents link to the same targets.
    """

    def __init__(self) -> None:
        self._documents: list[tuple[int, bytes, list[bytes]]] = []
        self._n_bytes = 0
        self._first: dict[bytes, tuple[int, bytes]] = {}
        self._last: dict[bytes, int] = {}
        self._forms: dict[bytes, None] = {}

    def add(self, blocks: Iterable[bytes]) -> None:
        """Add the links in the marked documents of a member, as complete lines."""
        ms, document = 0, b""
        for mark, lines in iter_marked(blocks):
            if mark is not None:
                ms, document = int(mark[2]), mark[1]
            else:
                self._documents.append((ms, document, _find_targets(lines)))
                self._n_bytes += len(lines)
                if any(each in lines for each in _FORMS):
                    self._forms.update(dict.fromkeys(_find_forms(lines)))
        if self._n_bytes >= _MAX_BYTES:
            self._join_targets()

    def _join_targets(self) -> None:
        """Join the buffered targets of documents with the known ones."""
        self._documents.sort(key=lambda each: each[:2])
        first: dict[bytes, tuple[int, bytes]] = {}
        last: dict[bytes, int] = {}
        for ms, _, targets in self._documents:
            last.update(dict.fromkeys(targets, ms))
        for ms, document, targets in reversed(self._documents):
            first.update(dict.fromkeys(targets, (ms, document)))
        for target in first.keys() & self._first.keys():
            first[target] = min(first[target], self._first[target])
            last[target] = max(last[target], self._last[target])
        self._first.update(first)
        self._last.update(last)
        self._documents.clear()
        self._n_bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether `take` should be called."""
        return len(self._first) + len(self._forms) >= _MAX_TARGETS

    def take(self) -> Iterator[UrlObservation]:
        """Yield all observations, and start empty."""
        self._join_targets()
        for target, (ms, document) in self._first.items():
            source = quoted(document.decode("utf-8", "replace"))
            linked = f"[{ms},{source},{self._last[target]}]"
            columns = ["", linked, *_NOT_FETCHED]
            yield UrlObservation(target.decode("utf-8", "replace"), 0, columns)
        for target in self._forms.keys() - self._first.keys():
            yield UrlObservation(target.decode("utf-8", "replace"), 0, observe())
        self._first, self._last, self._forms = {}, {}, {}


_LISTS: Final = f"{RC}lists".encode()
_LISTS_SITEMAP: Final = f"{RC}listsSitemap".encode()
_MODIFIED: Final = f"{DCTERMS}modified".encode()
_CHANGEFREQ: Final = f"{RC}changefreq".encode()
_PRIORITY: Final = f"{RC}priority".encode()
_STATEMENT: Final = re.compile(
    rb'^<([^>\n]*)> <(%b)> ["<]([^>"\n]*)[">]'
    % b"|".join(
        map(re.escape, (_LISTS, _LISTS_SITEMAP, _MODIFIED, _CHANGEFREQ, _PRIORITY))
    ),
    re.MULTILINE,
)
# Values as we write them; any document may use the same vocabulary.
_VALUES: Final = {
    _MODIFIED: re.compile(rb"[0-9]{4}[0-9T:.Z-]{,40}+").fullmatch,
    _CHANGEFREQ: re.compile(rb"[a-z]{1,20}+").fullmatch,
    _PRIORITY: re.compile(rb"0\.[0-9]{1,6}+|1\.0").fullmatch,
}


def iter_listings(blocks: Iterable[bytes]) -> Iterator[UrlObservation]:
    """Yield the observations in the marked documents of a member, in complete lines.

    A document is a sitemap if it has a statement about its own listed URLs.
    """
    reading: _SitemapReading | None = None
    for mark, quads in iter_marked(blocks):
        if mark is not None:
            if reading is not None:
                yield from reading.end()
            reading = _SitemapReading(mark[1], int(mark[2]))
        elif reading is not None and (reading.is_sitemap or _LISTS in quads):
            yield from reading.read(quads)
    if reading is not None:
        yield from reading.end()


class _SitemapReading:
    """One version of a document that may be a sitemap."""

    def __init__(
        self, graph: bytes, version_ms: int, *, is_sitemap: bool = False
    ) -> None:
        self._sitemap = graph.partition(b"#")[0]  # further parts have a fragment
        self._name = self._sitemap.decode("utf-8", "replace")
        self._name_json = quoted(self._name)
        self._ms = version_ms
        self._url = b""
        self._is_index = False
        self._claims: dict[bytes, bytes] = {}
        self._n_urls = 0
        self._hash = blake2b(digest_size=16)
        self.is_sitemap = is_sitemap

    def read(self, quads: bytes) -> Iterator[UrlObservation]:
        """Yield complete entries; the claims of an entry follow it."""
        for subject, predicate, value in _STATEMENT.findall(quads):
            if predicate in (_LISTS, _LISTS_SITEMAP):
                if subject == self._sitemap:
                    yield from self.take()
                    self._url, self._is_index = value, predicate == _LISTS_SITEMAP
                    self.is_sitemap = True
                    self._n_urls += 1
                    self._hash.update(value + b"\n")
            elif subject == self._url and _VALUES[predicate](value):
                self._claims[predicate] = value

    def end(self) -> Iterator[UrlObservation]:
        """Yield the last entry, and the reading itself."""
        yield from self.take()
        if self.is_sitemap:
            is_index = "true" if self._is_index else "false"
            reading = f'{self._ms},{self._n_urls},"{self._hash.hexdigest()}",{is_index}'
            yield UrlObservation(self._name, 0, observe(reading=reading))

    def take(self) -> Iterator[UrlObservation]:
        """Yield the last entry, if there is one."""
        if not self._url:
            return
        claim = ",".join(
            [
                quoted(self._claims.get(predicate, b"").decode("utf-8", "replace"))
                for predicate in (_MODIFIED, _CHANGEFREQ, _PRIORITY)
            ]
        )
        ms, url = self._ms, self._url.decode("utf-8", "replace")
        columns = observe(
            listed=f"{ms},{self._name_json},{ms}",
            claim=f"{claim},{ms},{ms}",
            latest=f'["isSitemap",{ms},"true"]' if self._is_index else "",
            listing=f"{self._name_json},{ms},{ms},{claim}",
        )
        self._url = b""
        self._claims.clear()
        yield UrlObservation(url, 0, columns)
