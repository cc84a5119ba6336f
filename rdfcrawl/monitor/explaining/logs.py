"""Find one URI, in any spelling, in the logs of a crawl.

Members of segments that do not contain its host are skipped, at little more than the
cost of decompression.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from json.encoder import encode_basestring as quoted
from typing import Any, Final, NamedTuple

from rdfcrawl.analysis.crawl_index.uri_places import PlaceRole
from rdfcrawl.core.times import moment_text
from rdfcrawl.monitor.explaining.sources import FoundContent, SearchedLogs
from rdfcrawl.monitor.explaining.values import (
    ExplainedFetch,
    ExplainedReading,
    ReadPart,
    UriFault,
    UriLink,
    UriStep,
    UriTarget,
    UriVersion,
)
from rdfcrawl.stores.log.decisions import LoggedDecision, read_decisions
from rdfcrawl.stores.log.documents import DroppedVersion, LogDocument, iter_documents
from rdfcrawl.stores.provenance.blocks import ActivityBlock, iter_blocks
from rdfcrawl.stores.provenance.records import Activity, activity_iri, written_url
from rdfcrawl.stores.reading import SegmentDamage
from rdfcrawl.stores.segment_file import TornMember
from rdfcrawl.uri import BadUri, NormalForm, fingerprint, host_of
from rdfcrawl.uri.parse import seed_url

MAX_LISTED: Final = 20

# The members of an activity that are explained as they are.
_OF_FETCH: Final = ExplainedFetch.__dataclass_fields__.keys() & {*Activity._fields}
_OF_READING: Final = ExplainedReading.__dataclass_fields__.keys() & {*Activity._fields}
MAX_STEPS: Final = 255  # documents on the way to a seed
MAX_TARGETS: Final = 100
MAX_VERSIONS: Final = 100


def _explained(activity: Activity) -> ExplainedFetch:
    written = written_url
    values: dict[str, Any] = {name: getattr(activity, name) for name in _OF_FETCH}
    return ExplainedFetch(
        **values
        | {
            "uri": activity.uri,
            "parent": written(activity.parent) if activity.parent else "",
            "same_content_as": "",
            "hops": tuple(map(written, activity.requested)),
            "faults": tuple(
                UriFault(x.reason, x.detail, x.n_times) for x in activity.faults
            ),
            "reading": _reading(activity),
        }
    )


def _reading(activity: Activity) -> ExplainedReading:
    until_ms, canonical = activity.immutable_until_ms, activity.canonical
    values: dict[str, Any] = {name: getattr(activity, name) for name in _OF_READING}
    return ExplainedReading(
        **values
        | {
            "immutable_until": moment_text(until_ms) if until_ms else "",
            "canonical": written_url(canonical) if canonical else "",
            "tdm_reservation": "" if activity.tdm < 0 else str(activity.tdm),
            "extractors": tuple(
                ReadPart(name=name, format="", n_statements=n)
                for name, n in activity.extracted
            ),
            "members": tuple(
                ReadPart(name=x.name, format=x.format, n_statements=x.n_statements)
                for x in activity.members[:MAX_LISTED]
            ),
        }
    )


_DOCUMENT: Final = re.compile(rb"#\tdocument <([^>]*)> ([0-9]+)").fullmatch


class FoundFetches(NamedTuple):
    """Provenance of a URI.

    Attributes:
        fetches: activities that crawled it or were redirected to it, oldest first.
        copies: URIs that had its content later; the first `MAX_LISTED`.
        n_copies: number of all copies.
    """

    fetches: list[ExplainedFetch]
    copies: tuple[str, ...]
    n_copies: int


class _FetchCollector:
    """The activities about one URI in the blocks of some members.

    Args:
        matches: returns whether a URL is the URI.
    """

    def __init__(self, matches: Callable[[bytes], bool]) -> None:
        self._matches = matches
        self._fetches: dict[str, ExplainedFetch] = {}  # by activity
        self._latest: deque[str] = deque()
        self._same: dict[str, str] = {}  # first URL of the content, by activity
        self._copies: list[str] = []
        self._n_copies = 0

    def add(self, block: ActivityBlock) -> None:
        """Add the activities of a block."""
        for each in block.activities:
            urls = each.url, *each.requested
            if any(self._matches(written_url(url).encode()) for url in urls):
                self._keep(each.iri(block.worker), _explained(each))
        for same in block.same:
            if self._matches(written_url(same.url).encode()):
                name = activity_iri(block.worker, same.url, same.started_ms)
                self._same[name] = written_url(same.first_url)
            if self._matches(written_url(same.first_url).encode()):
                self._n_copies += 1
                if len(self._copies) < MAX_LISTED:
                    self._copies.append(written_url(same.url))

    def _keep(self, name: str, fetch: ExplainedFetch) -> None:
        if name in self._fetches:
            return
        self._fetches[name] = fetch
        self._latest.append(name)
        if len(self._latest) > 100 * MAX_LISTED:
            del self._fetches[self._latest.popleft()]

    def result(self, n_more_copies: int) -> FoundFetches:
        """Return all that was found.

        Args:
            n_more_copies: in members that were left out.
        """
        fetches = [
            replace(fetch, same_content_as=self._same.get(name, ""))
            for name, fetch in self._fetches.items()
        ]
        fetches.sort(key=lambda each: each.started_ms)
        n_copies = self._n_copies + n_more_copies
        return FoundFetches(fetches, tuple(self._copies), n_copies)


class LinksOfUri(NamedTuple):
    """Links from and to a URI in the log of links.

    Attributes:
        links: the first links to it.
        n_links: number of all links to it.
        targets: the first links of its latest version.
        n_targets: number of all links of that version.
    """

    links: tuple[UriLink, ...]
    n_links: int
    targets: tuple[UriTarget, ...]
    n_targets: int


class _FoundLink(NamedTuple):
    document: bytes
    ms: int
    relation: bytes
    target: bytes  # empty: the start of the document
    is_own: bool


class UriSearch:
    """The search for one URI.

    Args:
        logs: of the crawl, entered.
        url: requestable.
        normal_form: of the crawl.

    Attributes:
        damages: damage of segments, each reported once.
    """

    def __init__(self, logs: SearchedLogs, url: str, normal_form: NormalForm) -> None:
        self._logs, self._normal_form = logs, normal_form
        self._normal = normal_form.normalize(url)
        self._mark = fingerprint(self._normal)
        self._host = host_of(url).encode()
        self._known: dict[bytes, bool] = {}  # spelling -> whether it is the URI
        self.damages: dict[SegmentDamage, None] = {}

    def matches(self, spelling: bytes) -> bool:
        """Return whether a URL in a log is the one searched for."""
        found = self._known.get(spelling)
        if found is None:
            if self._host not in spelling.lower():
                return False
            found = self._is_its_spelling(spelling.decode("utf-8", "replace"))
            if len(self._known) > 100_000:
                self._known.clear()
            self._known[spelling] = found
        return found

    def _is_its_spelling(self, text: str) -> bool:
        if self._normal_form.is_simple(text):  # and so is its own normal form
            return text == self._normal
        try:
            return self._normal_form.normalize(seed_url(text)) == self._normal
        except BadUri:
            return False

    def _wants(self, content: bytes) -> bool:
        return self._host in content or self._host in content.lower()

    def _note_damage(self, damage: SegmentDamage) -> None:
        self.damages[damage] = None

    def fetches(self, spelling: str = "") -> FoundFetches:
        """Return the activities about the URI.

        With a spelling, only that one is searched, which is faster.
        """
        named = quoted(spelling)[1:-1].encode() if spelling else b""

        def wants(content: bytes) -> bool:
            return named in content if named else self._wants(content)

        roles = [PlaceRole.FETCH, *([] if named else [PlaceRole.SAME_CONTENT])]
        members = self._logs.naming(self._mark, roles, wants, self._note_damage)
        found = _FetchCollector(self.matches)
        for each in members.found:
            if named in each.content:
                for block in iter_blocks((each.content,)):
                    found.add(block)
        n_left_out = members.n_left_out.get(PlaceRole.SAME_CONTENT, 0)
        return found.result(n_left_out)

    def decisions(self) -> tuple[list[LoggedDecision], int]:
        """Return the decisions about the URI, oldest first, and their total number."""
        members = self._logs.naming(
            self._mark, [PlaceRole.DECISION], self._wants, self._note_damage
        )
        mine = [
            decision
            for each in members.found
            for decision in read_decisions(each.mark + each.content, self.matches)
        ]
        n_left_out = members.n_left_out.get(PlaceRole.DECISION, 0)
        return sorted(mine, key=lambda each: each.ms), len(mine) + n_left_out

    def links(self) -> LinksOfUri:
        """Return the first links to the URI, and the links of its latest version."""
        roles = [PlaceRole.LINKS_TO, PlaceRole.LINKS_FROM]
        members = self._logs.naming(self._mark, roles, self._wants, self._note_damage)
        links: list[UriLink] = []
        n_links = members.n_left_out.get(PlaceRole.LINKS_TO, 0)
        targets: dict[UriTarget, None] = {}
        latest_ms, n_targets = 0, 0
        for found in self._iter_links(members.found):
            if found.target and self.matches(found.target):
                n_links += 1
                if len(links) < MAX_LISTED:
                    document, relation = found.document, found.relation
                    link = UriLink(_decoded(document), _decoded(relation), found.ms)
                    links.append(link)
            if not found.is_own or found.ms < latest_ms:
                continue
            if not found.target:  # a version may be logged twice
                targets, latest_ms, n_targets = {}, found.ms, 0
            else:
                n_targets += 1
                if len(targets) < MAX_TARGETS:
                    target = _decoded(found.target), _decoded(found.relation)
                    targets[UriTarget(*target)] = None
        return LinksOfUri(tuple(links), n_links, tuple(targets), n_targets)

    def _iter_links(self, members: Iterator[FoundContent]) -> Iterator[_FoundLink]:
        """Yield links from or to the URI; an empty link starts each document."""
        for each in members:
            document, ms, is_own = b"", 0, False
            if mark := _DOCUMENT(each.mark.rstrip()):
                document, ms = mark[1], int(mark[2])
                is_own = self.matches(document)
            for line in each.content.split(b"\n"):
                if line[:1] == b"#" and (mark := _DOCUMENT(line)):
                    document, ms = mark[1], int(mark[2])
                    if is_own := self.matches(document):
                        yield _FoundLink(document, ms, b"", b"", is_own)
                elif is_own or self._wants(line):
                    relation, _, target = line[1:-1].partition(b"> <")
                    if target:
                        yield _FoundLink(document, ms, relation, target, is_own)

    def versions(self) -> tuple[list[UriVersion], int]:
        """Return the latest versions, oldest first, and the number of all versions.

        A version that was written twice counts once.
        """
        members = self._logs.naming(
            self._mark, [PlaceRole.STATEMENTS], self._wants, self._note_damage
        )
        found: dict[tuple[str, int, bytes], UriVersion] = {}
        for each in members.found:
            for document in _iter_versions(each):
                if self.matches(document.graph.encode()):
                    key = document.graph, *document.version
                    known = found.get(key)
                    if known is None or known.is_dropped:
                        found[key] = _version(document)
        latest = [found[key] for key in sorted(found, key=lambda key: key[1:])]
        n_left_out = members.n_left_out.get(PlaceRole.STATEMENTS, 0)
        return latest[-MAX_VERSIONS:], len(latest) + n_left_out


def _iter_versions(each: FoundContent) -> Iterator[LogDocument | DroppedVersion]:
    try:
        fd = os.open(each.path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        yield from iter_documents(each.path, fd, each.member)
    except TornMember:  # it was damaged since
        return
    finally:
        os.close(fd)


def _version(document: LogDocument | DroppedVersion) -> UriVersion:
    place = document.place if isinstance(document, LogDocument) else None
    return UriVersion(
        name=f"{document.version_ms}-{document.digest[:4].hex()}",
        graph=document.graph,
        version_ms=document.version_ms,
        digest=document.digest.hex(),
        n_bytes=document.n_bytes,
        place=place,
    )


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def way_to_seed(
    logs: SearchedLogs, parent: str, normal_form: NormalForm
) -> tuple[UriStep, ...]:
    """Return the documents that led to a URI, from its parent to a seed.

    Without an index, each step reads the provenance once.
    """
    way: list[UriStep] = []
    seen: set[str] = set()
    while parent and parent not in seen and len(way) < MAX_STEPS:
        seen.add(parent)
        try:
            search = UriSearch(logs, seed_url(parent), normal_form)
            # A parent is named in the spelling of its fetch.
            fetches = search.fetches(parent).fetches or search.fetches().fetches
        except BadUri:
            fetches = []
        if not fetches:
            way.append(UriStep(parent, -1))
            break
        first = fetches[0]
        way.append(UriStep(parent, first.depth))
        parent = first.parent
    return tuple(way)
