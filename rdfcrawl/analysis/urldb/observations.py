"""Observations of URIs from the logs: outcomes, links, and entries of sitemaps."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b
from json.encoder import encode_basestring as quoted
from typing import Final, NamedTuple

from rdfcrawl.analysis.measures.uri_facts import NO_STATEMENTS
from rdfcrawl.analysis.urldb.record import (
    BY_LINK,
    BY_LIST,
    BY_REDIRECT,
    NOINDEX,
    REFUSALS,
    SEED,
    Columns,
    observe,
)
from rdfcrawl.core.formats import Relation
from rdfcrawl.core.namespaces import DCTERMS, HTTP, PROV, RC, RDF, RDF_TYPE, SQUIRREL
from rdfcrawl.core.tasks import RefreshedPage, RequestTask, RevisitedPage
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.rdf.links.outlinks import relation_iri
from rdfcrawl.rdf.terms import unix_ms, whole_number
from rdfcrawl.stores.reading import iter_marked
from rdfcrawl.uri import MAX_URL_CHARS

_ACTIVITY: Final = "<urn:rdfcrawl:activity:"
_END: Final = " <urn:rdfcrawl:provenance> .\n"
# Follows the name of an activity at the start of its description.
_ACTIVITY_TYPE: Final = f"> <{RDF_TYPE}> <{PROV}Activity>{_END}"
_CRAWLED: Final = f"{SQUIRREL}crawled"
_STATUS: Final = f"{SQUIRREL}status"
_N_STATEMENTS: Final = f"{SQUIRREL}approxNumberOfTriples"
_STARTED: Final = f"{PROV}startedAtTime"
_HTTP_STATUS: Final = f"{HTTP}statusCodeValue"
_REDIRECTS: Final = f"{RC}redirects"
_HOP: Final = f"{RDF}first"
_LOCATION: Final = f"{RC}location"  # of a redirect that the activity did not follow
_FOLLOWED: Final = f"{RC}followed"  # not in the logs: the URL is such a target
_CHAIN: Final = f"{RC}chain"  # not in the logs: another host redirects to the URL
_FAULT: Final = f"{RC}fault"
_REASON: Final = f"{RC}reason"
_TASK: Final = f"{RC}task"
_DIRECTIVE: Final = f"{RC}robotsDirective"
_IS_NOINDEX: Final = f'> <{_DIRECTIVE}> "noindex"'
_WITHDRAWN: Final = f"{PROV}wasInvalidatedBy"
_DEPTH: Final = f"{SQUIRREL}depth"
# The documents of a source share its URL, but none is the content of that URL.
_OF_SOURCE: Final = '"source('
_OF_STATEMENTS: Final = tuple(
    RC + name for name in ("textHash", "sketch", "shingles", "statementsHash")
)
_CONTENT_HASH: Final = f"{RC}contentHash"
_TEXT_HASH: Final = f"{RC}textHash"
_STATEMENTS_HASH: Final = f"{RC}statementsHash"
_FORMAT: Final = f"{RC}format"
_HTML: Final = '"HTML"'
_PARENT: Final = f"{RC}parent"
_SOURCE: Final = f"{RC}source"  # only of pages that a sitemap lists
_FOUND_BY: Final = f"{RC}foundBy"
_SEED_TASKS: Final = frozenset(
    each.TAG for each in (RefreshedPage, RevisitedPage, RequestTask)
)
_LAST_MODIFIED: Final = f"{RC}lastModified"
_SITEMAP_FORMAT: Final = f"{RC}sitemapFormat"
_LEFT: Final = '"refreshed(is_left=True)"'
_IS_LEFT: Final = f"{RC}isLeft"  # not in the logs: derived from the task
_SAME: Final = "sameContentAs"
# Appended after other activities; see `pipelines.account`.
_find_same: Final = re.compile(
    rf"^(<[^>\n]*+>) <{re.escape(_CRAWLED)}> (.*)\n"
    rf"\1 <{re.escape(_STARTED)}> (.*)\n\1 <{re.escape(RC + _SAME)}> (.*\n)",
    re.MULTILINE,
).findall
# A task is `name(...)`; the task of a source is within that of its run.
_find_task: Final = re.compile(r'"(?:source\([^"]*?payload=)?([^"(]*)').match
# Terms that are about a page that redirects, and not about its target.
_OF_REDIRECT: Final = frozenset(
    {_HOP, _CHAIN, _PARENT, _SOURCE, _FOUND_BY, _TASK, _IS_LEFT}
)
# Values of which the latest counts, ordered by name.
_TERMS: Final = {"redirect": _HOP, "depth": _DEPTH}
_LATEST: Final = {
    _TERMS.get(name, RC + name): name
    for name in (
        *("canonical", "depth", "errorPage", "etag", "foundBy", "images"),
        *("immutableUntil", "isLeft", "lastModified", "linkedWords", NOINDEX),
        *("parent", "redirect", "shingles", "sitemapFormat", "sketch", "source"),
        *("spider", "task", "words"),
    )
}


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


def iter_activities(lines: bytes) -> Iterator[UrlObservation]:
    """Yield observations from the activities in complete lines of provenance.

    The lines of an activity are adjacent, and its type comes first; only a
    `sameContentAs` follows later.
    """
    text = lines.decode("utf-8", "replace")
    for facts, piece in iter_described(text):
        urls = _redirects(facts, piece)
        if urls:
            yield from _redirected(facts, piece, urls)
        if _LOCATION in facts:
            facts[_HOP] = facts[_LOCATION]
            named = observe(latest=f'["{BY_REDIRECT}",0,"true"]')
            yield UrlObservation(text_of(facts[_HOP]), 0, named)
        if _DIRECTIVE in facts and _IS_NOINDEX in piece:
            facts[RC + NOINDEX] = '"true"'
        if _CRAWLED in facts:
            yield _observed(facts)
            yield from _followed(facts, urls)
            if _SITEMAP_FORMAT in facts:
                yield from _emptied(facts)
    for _, crawled, started, first in _find_same(text) if _SAME in text else ():
        ms = time_of(started)
        columns = observe(latest=f'["{_SAME}",{ms},{_json(first)}]')
        yield UrlObservation(text_of(f"{crawled}\n"), ms, columns)


def iter_described(text: str) -> Iterator[tuple[dict[str, str], str]]:
    """Yield the terms of each activity in complete lines, and its lines."""
    name = ""
    for piece in text.split(_ACTIVITY_TYPE):
        if name.startswith(_ACTIVITY):
            yield _facts_of(name, piece), piece
        # The name of the next activity starts a line.
        name = piece[piece.rfind("\n") + 1 :]


def _facts_of(name: str, piece: str) -> dict[str, str]:
    """Return the terms of an activity, of the response and of the first fault.

    Args:
        name: of the activity, without the closing bracket.
        piece: its lines after the first, and perhaps other lines. Line feeds occur
            only between statements.

    Returns:
        Terms by predicate; further lines may follow a term.
    """
    own = piece.replace(f"{name}:response> <", f"{name}> <")
    statements = own.removeprefix(f"{name}> <").split(f"{_END}{name}> <")
    facts = {
        predicate: term
        for predicate, _, term in [x.partition("> ") for x in statements]
    }
    if _FAULT in facts:
        facts[_REASON] = piece.partition(f"{name}:fault:0> <{_REASON}> ")[2]
    return facts


def _observed(facts: dict[str, str]) -> UrlObservation:
    crawled = text_of(facts[_CRAWLED])
    started_ms = time_of(facts.get(_STARTED, ""))
    if facts.get(_TASK, "").startswith(_OF_SOURCE):
        for name in _OF_STATEMENTS:
            facts.pop(name, None)
    if (task := _find_task(facts.get(_TASK, ""))) is not None:
        if facts[_TASK].startswith(_LEFT):
            facts[_IS_LEFT] = '"true"'
        facts[_TASK] = f'"{task[1]}"'
    if number_of(facts.get(_DEPTH), 0) == 0:  # seeds, and the default
        facts.pop(_DEPTH, None)
    answer = number_of(facts.get(_HTTP_STATUS), 0)
    n_statements = number_of(facts.get(_N_STATEMENTS), 0)
    fault = text_of(facts[_REASON]) if _REASON in facts else ""
    statements = _json(facts.get(_STATEMENTS_HASH, ""))
    if not n_statements and facts.get(_FORMAT) == _HTML and statements == '""':
        statements = f'"{NO_STATEMENTS}"'
    fetch = (
        f"{started_ms},{_json(facts.get(_STATUS, ''))},{answer},{n_statements}"
        f",{quoted(fault)},{_json(facts.get(_CONTENT_HASH, ''))}"
        f",{_json(facts.get(_TEXT_HASH, ''))},{number_of(facts.get(f'{RC}run'), -1)}"
        f",{_json(facts.get(_LAST_MODIFIED, ''))},{statements}"
    )
    latest = [
        f'["{name}",{started_ms},{_json(facts[predicate])}]'
        for predicate, name in _LATEST.items()
        if predicate in facts
    ]
    was_requested = bool(answer) or fault not in REFUSALS
    latest += _page_request(facts, started_ms if was_requested else 0)
    latest.sort()  # by name
    origin = f"{started_ms},{_json(facts[_FOUND_BY])}" if _FOUND_BY in facts else ""
    columns = observe(fetch=fetch, latest=",".join(latest), origin=origin)
    return UrlObservation(crawled, started_ms, columns)


def _page_request(facts: dict[str, str], requested_ms: int) -> Iterator[str]:
    """Yield the value about the request of a page, which no later request changes.

    Args:
        facts: of the activity.
        requested_ms: its start; 0 if there was no request.
    """
    task = facts.get(_TASK, '""')[1:-1]
    if _FOLLOWED in facts:
        yield f'["{BY_REDIRECT}",0,"true"]'
        return
    if _CHAIN in facts and (not task or task == RefreshedPage.TAG):
        yield f'["{BY_LINK}",0,"true"]'
    if _SOURCE in facts:
        yield f'["{BY_LIST}",0,"true"]'
    elif _PARENT not in facts and requested_ms and (not task or task in _SEED_TASKS):
        yield f'["{SEED}",{requested_ms},"true"]'
    elif _CHAIN not in facts and (not task or _IS_LEFT in facts):
        yield f'["{BY_LINK}",0,"true"]'


def _redirects(facts: dict[str, str], piece: str) -> list[str]:
    """Return the requested URLs of an activity with redirects, in order.

    Their ends become terms of the activity, if they are other URLs.
    """
    if _REDIRECTS not in facts:
        return []
    hops = piece.split(f"> <{_HOP}> ")[1:]
    urls = [text_of(hop) for hop in hops]
    crawled = text_of(facts.get(_CRAWLED, ""))
    if urls and urls[-1] != crawled:
        facts[_HOP] = hops[-1]
    if urls and urls[0] != crawled:
        facts[_CHAIN] = hops[0]
    return urls


def _followed(facts: dict[str, str], urls: list[str]) -> Iterator[UrlObservation]:
    """Yield the requests that followed the redirects of a page."""
    crawled, task = text_of(facts[_CRAWLED]), facts.get(_TASK, '""')[1:-1]
    if crawled not in urls or task not in ("", RefreshedPage.TAG):
        return
    *between, end = urls[urls.index(crawled) :]
    moved = {
        _STARTED: facts[_STARTED],
        _STATUS: '"REDIRECTED"',
        _HOP: facts.get(_HOP, ""),
    }
    for url in between[1:]:
        yield _observed(moved | {_CRAWLED: f"<{url}>", _FOLLOWED: ""})
    if end != crawled:
        own = {name: facts[name] for name in facts.keys() - _OF_REDIRECT}
        yield _observed(own | {_CRAWLED: f"<{end}>", _FOLLOWED: ""})


def _redirected(
    facts: dict[str, str], piece: str, urls: list[str]
) -> Iterator[UrlObservation]:
    """Yield the redirect target of each URL of another host before the crawled URL."""
    crawled, ms = text_of(facts.get(_CRAWLED, "")), time_of(facts.get(_STARTED, ""))
    for url in urls:
        if url == crawled:
            break
        if url != urls[-1]:
            latest = f'["redirect",{ms},{quoted(urls[-1])}]'
            if f"<{graph_iri(url)}> <{_WITHDRAWN}> <" in piece:
                latest += f',["withdrawn",{ms},"true"]'
            yield UrlObservation(url, ms, observe(latest=latest))


def _emptied(facts: dict[str, str]) -> Iterator[UrlObservation]:
    """Yield the reading of a sitemap without entries, which has no statements."""
    counts = [number_of(facts.get(x), 0) for x in (_N_STATEMENTS, f"{RC}links")]
    is_read = text_of(facts[_STATUS]) == "SUCCESSFUL" and not any(counts)
    if is_read and text_of(facts[_SITEMAP_FORMAT]) != "unknown":
        end, ms = facts.get(_HOP, facts[_CRAWLED]), time_of(facts.get(_STARTED, ""))
        yield from _SitemapReading(text_of(end).encode(), ms, is_sitemap=True).end()


def _json(term: str) -> str:
    r"""Return the text of a term of canonical N-Quads as a JSON string.

    >>> _json('"a"'), _json("<http://e.example/>")
    ('"a"', '"http://e.example/"')
    """
    is_plain = term.isprintable() and "\\" not in term and term.find('"', 1) > 0
    if is_plain and term.endswith('"') and len(term) <= MAX_URL_CHARS:
        return term
    return quoted(text_of(term))


def text_of(term: str) -> str:
    r"""Return the text of a term of canonical N-Quads, ignoring all after its line.

    >>> text_of('"a\\nb"'), text_of("<http://e.example/>")
    ('a\nb', 'http://e.example/')
    """
    term = term.partition(_END)[0]
    if term[:1] == "<":
        return term[1:-1]
    end = len(term) - 1 if term.endswith('"') else term.rfind('"')
    if "\\" in term:
        with suppress(ValueError):  # JSON has all escapes of N-Quads used here
            return str(json.loads(term[: end + 1]))[:MAX_URL_CHARS]
    return term[1:end][:MAX_URL_CHARS]


def number_of(term: str | None, default: int) -> int:
    """Return an integer of canonical N-Quads, or a default."""
    digits = "" if term is None else term[1:].partition('"')[0]
    return whole_number(digits, default)


def time_of(term: str) -> int:
    """Return a time of provenance in ms; 0 if missing or invalid."""
    return unix_ms(term[1:].partition('"')[0]) or 0


_NOT_FETCHED: Final = observe()[2:]
_MAX_BYTES: Final = 4 * 1024 * 1024  # of lines with buffered targets
_MAX_TARGETS: Final = 150_000
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
