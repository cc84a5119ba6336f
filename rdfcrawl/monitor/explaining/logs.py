"""Find one URI, in any spelling, in the logs of a crawl.

Members of segments that do not contain its host are skipped, at little more than the
cost of decompression.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from rdfcrawl.analysis.crawl_index.uri_places import PlaceRole
from rdfcrawl.core.namespaces import HTTP, PROV, RC, RDF, RDFS, SQUIRREL
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
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.rdf.terms import text_of_term, unix_ms, whole_number
from rdfcrawl.stores.log.decisions import LoggedDecision, read_decisions
from rdfcrawl.stores.log.documents import DroppedVersion, LogDocument, iter_documents
from rdfcrawl.stores.reading import SegmentDamage
from rdfcrawl.stores.segment_file import TornMember
from rdfcrawl.uri import BadUri, NormalForm, fingerprint, host_of
from rdfcrawl.uri.parse import seed_url

ACTIVITY: Final = rb"<urn:rdfcrawl:activity:[0-9a-f]{32}"
MAX_LISTED: Final = 20
_find_facts: Final = re.compile(
    rb"^%b([^>\n]*)> <([^>\n]*)> (?:<([^>\n]*)>|(\"(?:[^\"\\\n]|\\.)*\"))" % ACTIVITY,
    re.MULTILINE,
).findall
_N_STATEMENTS: Final = f"{SQUIRREL}approxNumberOfTriples"
_LABELS: Final = {f"{RC}extractor", f"{RDFS}label"}

_Facts = dict[str, list[str]]  # by predicate, values in order


def read_fetch(name: bytes, content: bytes) -> ExplainedFetch:
    """Parse the lines about an activity.

    Args:
        name: of the activity, without its closing bracket.
        content: complete lines that include those about the activity.
    """
    own: _Facts = defaultdict(list)
    nodes: dict[str, _Facts] = defaultdict(lambda: defaultdict(list))
    for suffix, predicate, iri, text in _find_facts(_lines_about(name, content)):
        node = suffix.decode()
        facts = own if node in ("", ":response") else nodes[node]
        facts[predicate.decode()].append(text_of_term(iri, text))

    def first(term: str) -> str:
        return own[term][0] if term in own else ""

    return ExplainedFetch(
        uri=first(f"{SQUIRREL}crawled"),
        started_ms=unix_ms(first(f"{PROV}startedAtTime")) or 0,
        ended_ms=unix_ms(first(f"{PROV}endedAtTime")) or 0,
        status=first(f"{SQUIRREL}status"),
        http_status=whole_number(first(f"{HTTP}statusCodeValue")),
        n_statements=whole_number(first(_N_STATEMENTS)),
        n_links=whole_number(first(f"{RC}links")),
        run=whole_number(first(f"{RC}run"), -1),
        depth=whole_number(first(f"{SQUIRREL}depth")),
        parent=first(f"{RC}parent"),
        found_by=first(f"{RC}foundBy"),
        task=first(f"{RC}task"),
        spider=first(f"{RC}spider"),
        same_content_as=first(f"{RC}sameContentAs"),
        hops=tuple(_each(nodes, ":hop:", f"{RDF}first")),
        faults=tuple(_faults(nodes)),
        n_faults=whole_number(first(f"{RC}faults")),
        reading=_reading(own, nodes, first(f"{RC}bytes")),
    )


def _lines_about(name: bytes, content: bytes) -> bytes:
    begin = max(content.find(name + b"> "), 0)
    end = content.rfind(b"\n" + name) + 1
    end = content.find(b"\n", max(begin, end)) + 1 or len(content)
    lines = content[begin:end].split(b"\n")
    return b"\n".join(line for line in lines if line.startswith(name))


def _reading(
    own: _Facts, nodes: Mapping[str, _Facts], n_bytes: str
) -> ExplainedReading:
    def first(term: str) -> str:
        return own[RC + term][0] if RC + term in own else ""

    return ExplainedReading(
        n_bytes=whole_number(n_bytes, -1),
        media_type=first("mediaType"),
        etag=first("etag"),
        last_modified=first("lastModified"),
        immutable_until=first("immutableUntil"),
        format=first("format"),
        decided_by=first("decidedBy"),
        packing=first("packing"),
        compared_to_last=first("comparedToLast"),
        canonical=first("canonical"),
        is_error_page=first("errorPage") == "true",
        robots_directives=tuple(own.get(f"{RC}robotsDirective", ())),
        content_signals=tuple(own.get(f"{RC}contentSignal", ())),
        tdm_reservation=first("tdmReservation"),
        tdm_policy=first("tdmPolicy"),
        extractors=tuple(_parts(nodes, ":extraction:")),
        members=tuple(_parts(nodes, ":member:")[:MAX_LISTED]),
        n_members=whole_number(first("members")),
    )


def _each(nodes: Mapping[str, _Facts], kind: str, term: str) -> list[str]:
    return [
        value
        for name, facts in nodes.items()
        if name.startswith(kind)
        for value in facts.get(term, ())
    ]


def _parts(nodes: Mapping[str, _Facts], kind: str) -> list[ReadPart]:
    found = []
    for name, facts in nodes.items():
        if name.startswith(kind):
            labels = [facts[term][0] for term in _LABELS if term in facts]
            found.append(
                ReadPart(
                    name=labels[0] if labels else "",
                    format=facts.get(f"{RC}format", [""])[0],
                    n_statements=whole_number(facts.get(_N_STATEMENTS, [""])[0]),
                )
            )
    return found


def _faults(nodes: Mapping[str, _Facts]) -> list[UriFault]:
    return [
        UriFault(
            facts.get(f"{RC}reason", [""])[0],
            facts.get(f"{RC}detail", [""])[0],
            whole_number(facts.get(f"{RC}count", [""])[0], 1),
        )
        for name, facts in nodes.items()
        if name.startswith(":fault:")
    ]


MAX_STEPS: Final = 255  # documents on the way to a seed
MAX_TARGETS: Final = 100
MAX_VERSIONS: Final = 100

_SAME: Final = f"{RC}sameContentAs".encode()
_NAMING: Final = f"{SQUIRREL}crawled".encode(), f"{RDF}first".encode(), _SAME
_named: Final = re.compile(
    rb"(%b)[^>\n]*> <(%b)> (?:<([^>\n]*)>|\"((?:[^\"\\\n]|\\.)*+)\"\S*+ <)"
    % (ACTIVITY, b"|".join(_NAMING))
).match
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
        named = f"<{graph_iri(spelling)}>".encode() if spelling else b""

        def wants(content: bytes) -> bool:
            return named in content if named else self._wants(content)

        roles = [PlaceRole.FETCH, *([] if named else [PlaceRole.SAME_CONTENT])]
        members = self._logs.naming(self._mark, roles, wants, self._note_damage)
        found: dict[bytes, ExplainedFetch] = {}
        latest: deque[bytes] = deque()
        copies: list[str] = []
        n_copies = members.n_left_out.get(PlaceRole.SAME_CONTENT, 0)
        for each in members.found:
            if named not in each.content:
                continue
            for name, predicate, term in self._iter_named(each.content):
                if predicate == _SAME:
                    n_copies += 1
                    if len(copies) < MAX_LISTED:
                        copies.append(read_fetch(name, each.content).uri)
                    continue
                fetch = read_fetch(name, each.content)
                if name in found:
                    # A later activity may state that it has the content of another URI.
                    same = found[name].same_content_as or fetch.same_content_as
                    found[name] = replace(found[name], same_content_as=same)
                elif self.matches(term):
                    found[name] = fetch
                    latest.append(name)
                    if len(latest) > 100 * MAX_LISTED:
                        del found[latest.popleft()]
        fetches = sorted(found.values(), key=lambda each: each.started_ms)
        return FoundFetches([x for x in fetches if x.uri], tuple(copies), n_copies)

    def _iter_named(self, content: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
        """Yield activity, predicate and term of each statement about the URI."""
        found = []
        for predicate in _NAMING:
            mark = b"> <%b> " % predicate
            at = content.find(mark)
            while at >= 0:
                begin = content.rfind(b"\n", 0, at) + 1
                end = content.find(b"\n", at)
                if match := _named(content, begin, end if end >= 0 else len(content)):
                    term = match[3] if match[3] is not None else match[4]
                    if self.matches(term):
                        found.append((begin, match[1], match[2], term))
                at = content.find(mark, at + len(mark))
        for _, name, said, term in sorted(found):
            yield name, said, term

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
