"""Find one URI, in any spelling, in the logs of a crawl.

Members of segments that do not name its host are passed over, which costs little more
than to inflate them.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Final

from rdfcrawl.explaining.values import ExplainedFetch, UriFault, UriLink, UriStep
from rdfcrawl.log.decisions import LoggedDecision, iter_decisions
from rdfcrawl.log.searching import iter_members_with
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.rdf.namespaces import HTTP, PROV, RC, RDF, SQUIRREL
from rdfcrawl.uri import BadUri, NormalForm, host_of
from rdfcrawl.uri.schemes import seed_url

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.log.segments import SegmentDamage

MAX_LISTED: Final = 20
MAX_STEPS: Final = 255  # documents on the way to a seed

_ACTIVITY: Final = rb"<urn:rdfcrawl:activity:[0-9a-f]{32}"
_find_named: Final = re.compile(
    rb"^(%b)[^>\n]*> <(?:%b|%b)> (?:<([^>\n]*)>|\"([^\n]*)\"\S* <)"
    % (_ACTIVITY, f"{SQUIRREL}crawled".encode(), f"{RDF}first".encode()),
    re.MULTILINE,
).finditer
_find_facts: Final = re.compile(
    rb"^%b([^>\n]*)> <([^>\n]*)> (?:<([^>\n]*)>|(\"(?:[^\"\\\n]|\\.)*\"))" % _ACTIVITY,
    re.MULTILINE,
).findall
_DOCUMENT: Final = re.compile(rb"#\tdocument <([^>]*)> ([0-9]+)").fullmatch


class UriSearch:
    """The search for one URI.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
        url: requestable.
        normal_form: of the crawl.

    Attributes:
        damages: of segments, each once.
    """

    def __init__(self, root: Path, url: str, normal_form: NormalForm) -> None:
        self._root, self._normal_form = root, normal_form
        self._url, self._normal = url, normal_form.normalize(url)
        self._host = host_of(url).encode()
        self._known: dict[bytes, bool] = {}  # spellings, and whether they are it
        self.damages: dict[SegmentDamage, None] = {}

    def is_it(self, spelling: bytes) -> bool:
        """Return whether a URL in a log is the one that is searched."""
        if self._host not in spelling.lower():
            return False
        found = self._known.get(spelling)
        if found is None:
            try:
                url = seed_url(spelling.decode("utf-8", "replace"))
                found = self._normal_form.normalize(url) == self._normal
            except BadUri:
                found = False
            if len(self._known) > 100_000:
                self._known.clear()
            self._known[spelling] = found
        return found

    def _wants(self, content: bytes) -> bool:
        return self._host in content or self._host in content.lower()

    def _tell(self, damage: SegmentDamage) -> None:
        self.damages[damage] = None

    def fetches(self, spelling: str = "") -> list[ExplainedFetch]:
        """Return the activities that crawled the URI or were redirected there.

        With a spelling, only that one is looked for, which is quicker.
        """
        named = f"<{graph_iri(spelling)}>".encode() if spelling else b""

        def wants(content: bytes) -> bool:
            return named in content if named else self._wants(content)

        found: dict[bytes, ExplainedFetch] = {}
        latest: deque[bytes] = deque()
        for content in iter_members_with(self._root, "provenance", wants, self._tell):
            for match in _find_named(content):
                name = match[1]
                if name not in found and self.is_it(match[2] or match[3]):
                    found[name] = _fetch_of(name, content)
                    latest.append(name)
                    if len(latest) > 100 * MAX_LISTED:
                        del found[latest.popleft()]
        fetches = sorted(found.values(), key=lambda each: each.started_ms)
        return [each for each in fetches if each.uri]

    def decisions(self) -> list[LoggedDecision]:
        """Return the decisions about the URI, oldest first."""
        found = iter_decisions(self._root, self._wants, self._tell)
        mine = [each for each in found if self.is_it(each.uri.encode())]
        return sorted(mine, key=lambda each: each.ms)

    def links(self) -> tuple[tuple[UriLink, ...], int]:
        """Return the first links to the URI, and the number of all."""
        first: list[UriLink] = []
        n_links = 0
        for link in self._iter_links():
            n_links += 1
            if len(first) < MAX_LISTED:
                first.append(link)
        return tuple(first), n_links

    def _iter_links(self) -> Iterator[UriLink]:
        for content in iter_members_with(self._root, "links", self._wants, self._tell):
            document, ms = "", 0
            for line in content.split(b"\n"):
                if mark := _DOCUMENT(line):
                    document, ms = mark[1].decode("utf-8", "replace"), int(mark[2])
                    continue
                relation, _, target = line[1:-1].partition(b"> <")
                if target and self.is_it(target):
                    yield UriLink(document, relation.decode("utf-8", "replace"), ms)


def way_to_seed(
    root: Path, parent: str, normal_form: NormalForm
) -> tuple[UriStep, ...]:
    """Return the documents that led to a URI, from its parent on to a seed.

    The provenance is read once for each step.
    """
    way: list[UriStep] = []
    seen: set[str] = set()
    while parent and parent not in seen and len(way) < MAX_STEPS:
        seen.add(parent)
        try:
            search = UriSearch(root, seed_url(parent), normal_form)
            # A parent is named as its fetch was told of.
            fetches = search.fetches(parent) or search.fetches()
        except BadUri:
            fetches = []
        if not fetches:
            way.append(UriStep(parent, -1))
            break
        first = fetches[0]
        way.append(UriStep(parent, first.depth))
        parent = first.parent
    return tuple(way)


def _fetch_of(name: bytes, content: bytes) -> ExplainedFetch:
    """Return what the lines about an activity say."""
    begin = content.find(name + b"> ")
    end = content.rfind(b"\n" + name) + 1
    end = content.find(b"\n", max(begin, end)) + 1 or len(content)
    facts: dict[str, str] = {}
    hops: list[str] = []
    faults: list[UriFault] = []
    lines = b"\n".join(
        line
        for line in content[max(begin, 0) : end].split(b"\n")
        if line.startswith(name)
    )
    for _, predicate, iri, text in _find_facts(lines):
        term, value = predicate.decode(), _text(iri, text)
        if term == f"{RDF}first":
            hops.append(value)
        elif term == f"{RC}reason":
            faults.append(UriFault(value, ""))
        elif term == f"{RC}detail" and faults:
            faults[-1] = UriFault(faults[-1].reason, value)
        else:
            facts.setdefault(term, value)
    return ExplainedFetch(
        uri=facts.get(f"{SQUIRREL}crawled", ""),
        started_ms=_time(facts.get(f"{PROV}startedAtTime", "")),
        status=facts.get(f"{SQUIRREL}status", ""),
        http_status=_number(facts.get(f"{HTTP}statusCodeValue", "0")),
        n_statements=_number(facts.get(f"{SQUIRREL}approxNumberOfTriples", "0")),
        run=_number(facts.get(f"{RC}run", "-1"), -1),
        depth=_number(facts.get(f"{SQUIRREL}depth", "0")),
        parent=facts.get(f"{RC}parent", ""),
        found_by=facts.get(f"{RC}foundBy", ""),
        same_content_as=facts.get(f"{RC}sameContentAs", ""),
        hops=tuple(hops),
        faults=tuple(faults),
    )


def _text(iri: bytes, literal: bytes) -> str:
    if literal:
        with suppress(ValueError):  # escapes of N-Quads are among those of JSON
            return str(json.loads(literal))
        return literal[1:-1].decode("utf-8", "replace")
    return iri.decode("utf-8", "replace")


def _number(text: str, default: int = 0) -> int:
    is_number = text.isascii() and text.isdecimal() and len(text) < 19
    return int(text) if is_number else default


def _time(text: str) -> int:
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0
