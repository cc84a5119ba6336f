"""Detect documents whose links lead only to further copies of themselves.

Sites that respond to any URL with one page, or with almost equal pages, have infinitely
many URLs. Their documents are fetched and stored like others, but beyond a number of
copies, their links are not followed. A document with unique content is never judged by
other documents of its host.

One worker counts the documents it has processed; `settle` adds up domains and addresses
for many documents in one step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.options.table import OptionsTable, integer
from rdfcrawl.rdf.fingerprints import (
    SHINGLE_WORDS,
    Fingerprint,
    Sketch,
    read_sketch,
)

MAX_CACHED: Final = 100_000  # contents and hosts
LEAST_PAGES: Final = 64  # of a host, before its pages are compared with each other
MOST_KINDS: Final = 4  # kinds of near copies that are distinguished on one host
NEAR: Final = 0.9  # least resemblance of long near copies
LEAST_SHINGLES: Final = 16  # of compared pages: shorter ones differ by chance
_TENTH: Final = 10
_SLACK: Final = 0.06  # of an estimate by 64 parts
_ERRORS: Final = "errors"  # represents the content of all error pages


@dataclass(frozen=True, slots=True)
class CopyLimits(OptionsTable):
    """How many documents of one content are followed further; 0 is no limit."""

    of_host: int = integer("TRAP_COPIES_PER_HOST", 100, 0)
    """documents of one content on a host whose links are followed, counted by each
    worker for itself; those of a tenth as many come last; 0: of all. See
    [traps](../explanation/politeness.md#traps)"""
    of_domain: int = integer("TRAP_COPIES_PER_DOMAIN", 500, 0)
    """the same on all hosts of a registered domain"""
    of_address: int = integer("TRAP_COPIES_PER_ADDRESS", 2000, 0)
    """the same on all hosts of an address"""
    near: int = integer("TRAP_NEAR_COPIES", 1000, 0)
    """pages of a host that hardly differ and lead to nothing else, whose links are
    followed; 0: of all"""


NO_LIMITS: Final = CopyLimits(0, 0, 0, 0)


class ComparedDocument(NamedTuple):
    """Properties by which copies are recognized.

    Attributes:
        host: of its URL.
        shown: fingerprint of its text, or of its statements if it is not a page.
        is_page: it is in markup.
        n_statements: number of stored statements.
        n_images: of a page of few words, which may differ from others by its images.
        is_error_page: it says that there is no such page.
    """

    host: str
    shown: Fingerprint
    is_page: bool
    n_statements: int
    n_images: int = 0
    is_error_page: bool = False


class CopyVerdict(NamedTuple):
    """Decision about the links of a document.

    Attributes:
        reason: why they are not followed; None if they are.
        is_last: they are queued after all others of their hosts.
    """

    reason: Reason | None = None
    is_last: bool = False


FOLLOWED: Final = CopyVerdict()


@dataclass(slots=True)
class _NearCopies:
    """The pages of one host without statements."""

    n_pages: int = 0
    kinds: dict[Sketch, int] = field(default_factory=dict)  # by that of the first
    last: AbstractSet[bytes] = frozenset()  # links of the previous near copy

    def kind_of(self, shown: Fingerprint) -> Sketch | None:
        """Return the sketch of the first near copy of a page, if there is one."""
        return self._kind_of(read_sketch(shown.sketch), shown.n_shingles)

    def _kind_of(self, sketch: Sketch, n_shingles: int) -> Sketch | None:
        least = _least_resemblance(n_shingles)
        return next((x for x in self.kinds if x.resemblance(sketch) >= least), None)

    def note(self, shown: Fingerprint) -> int:
        """Count a page; return the number of its near copies, including the page."""
        self.n_pages += 1
        if self.n_pages < LEAST_PAGES:
            return 0
        sketch = read_sketch(shown.sketch)
        kind = self._kind_of(sketch, shown.n_shingles)
        if kind is None:
            if len(self.kinds) >= MOST_KINDS:
                del self.kinds[min(self.kinds, key=self.kinds.__getitem__)]
            kind = sketch
        n = self.kinds[kind] = self.kinds.get(kind, 0) + 1
        return n


def _least_resemblance(n_shingles: int) -> float:
    """Return the resemblance from which pages are near copies.

    A word is part of 8 shingles, so short pages that differ only in a number have a
    much lower resemblance than long ones.
    """
    one_word = (n_shingles - SHINGLE_WORDS) / (n_shingles + SHINGLE_WORDS)
    return min(NEAR, one_word - _SLACK)


class CopyJudge:
    """Count the documents of one worker, and judge the links of copies.

    Args:
        limits: numbers of copies whose links are followed.
        place_of: returns domain and address of a host; empty if unknown.

    Attributes:
        suspects: frequent contents; documents with other contents, of hosts without
            near copies, need not be judged.
        near_hosts: hosts with many near copies or error pages.
    """

    def __init__(
        self, limits: CopyLimits, place_of: Callable[[str], tuple[str, str]]
    ) -> None:
        self.suspects: set[str] = set()
        self.near_hosts: set[str] = set()
        self._limits, self._place_of = limits, place_of
        self._known: set[int] = set()  # hashes of contents seen at least once
        self._copies: dict[tuple[str, str], int] = {}  # by host and content
        self._near: dict[str, _NearCopies] = {}
        self._spread: dict[tuple[str, str], int] = {}  # by domain or address, content
        self._since: list[tuple[str, str]] = []
        self._over: dict[tuple[str, str], Reason] = {}

    def is_first(self, content: str) -> bool:
        """Remember a content; return whether it is new to this worker.

        Documents with new content need not be noted, unless they are error pages, or
        pages without statements, which may be near copies.
        """
        mark = hash(content)  # much smaller than the content
        if mark in self._known:
            return False
        if len(self._known) >= MAX_CACHED:
            self._known.clear()
        self._known.add(mark)
        return True

    def note(self, document: ComparedDocument) -> None:
        """Count a processed document."""
        limits = self._limits
        content = _content_of(document)
        if not content:
            return
        self._since.append((document.host, content))
        n = self._count((document.host, content))
        if limits.of_host and n > limits.of_host // _TENTH:
            self._suspect(content)
            if content == _ERRORS:
                self.near_hosts.add(document.host)
        if limits.near and content != _ERRORS and _may_be_near(document):
            near = self._near.get(document.host)
            if near is None:
                near = self._near[document.host] = _NearCopies()
            if near.note(document.shown) > limits.near // _TENTH:
                self.near_hosts.add(document.host)

    def judge(
        self,
        document: ComparedDocument,
        links: AbstractSet[bytes],
        *,
        digest: Callable[[], object],
        leads_on: Callable[[AbstractSet[bytes]], bool],
    ) -> CopyVerdict:
        """Judge the links of a document, before `note`.

        Args:
            document: with the links.
            links: of the document.
            digest: returns a value that is equal for equal statements, except for
                occurrences of the document's URL.
            leads_on: returns whether any of some links has another form than the URL.
        """
        content = _content_of(document)
        if not content:
            return FOLLOWED
        if document.is_page and document.n_statements and content != _ERRORS:
            # Pages filled by scripts have the same text, but different data.
            if content not in self.suspects:
                return FOLLOWED
            content = f"{content} {digest()}"
            self._count((document.host, content))
        verdict = self._judge_copy(document.host, content)
        if verdict.reason or not _may_be_near(document):
            return verdict
        is_last = self._judge_near(document, links, leads_on)
        return is_last if is_last.reason or is_last.is_last else verdict

    def _judge_copy(self, host: str, content: str) -> CopyVerdict:
        n, most = self._copies.get((host, content), 0), self._limits.of_host
        if most and n >= most:
            is_error = content == _ERRORS
            return CopyVerdict(Reason.SOFT_404 if is_error else Reason.HOST_COPIES)
        for place in self._place_of(host) if self._over else ():
            if reason := self._over.get((place, content)):
                return CopyVerdict(reason)
        return CopyVerdict(is_last=bool(most) and n >= max(1, most // _TENTH))

    def _judge_near(
        self,
        document: ComparedDocument,
        links: AbstractSet[bytes],
        leads_on: Callable[[AbstractSet[bytes]], bool],
    ) -> CopyVerdict:
        near, most = self._near.get(document.host), self._limits.near
        if near is None or document.host not in self.near_hosts:
            return FOLLOWED
        kind = near.kind_of(document.shown)
        n = near.kinds[kind] if kind is not None else 0
        if n <= most // _TENTH:
            return FOLLOWED
        new, near.last = links - near.last, frozenset(links)
        if n > _TENTH * most or (n > most and not leads_on(new)):
            return CopyVerdict(Reason.ENDLESS_PAGES)
        return CopyVerdict(is_last=True)

    def _count(self, key: tuple[str, str]) -> int:
        if len(self._copies) >= MAX_CACHED and key not in self._copies:
            self._copies = _without_rare(self._copies)
            self._near.clear()
            self.near_hosts.clear()
        n = self._copies[key] = self._copies.get(key, 0) + 1
        return n

    def settle(self) -> None:
        """Add the documents noted since the last call to domains and addresses."""
        since, self._since = self._since, []
        limits = self._limits
        for (host, content), n in Counter(since).items():
            domain, address = self._place_of(host)
            for place, most, reason in (
                (domain, limits.of_domain, Reason.DOMAIN_COPIES),
                (address, limits.of_address, Reason.ADDRESS_COPIES),
            ):
                if place and most and self._add(place, content, n) > most:
                    self._over[place, content] = reason
                    self._suspect(content)

    def _suspect(self, content: str) -> None:
        if len(self.suspects) >= MAX_CACHED:
            self.suspects.clear()  # each returns with its next copy
        self.suspects.add(content)

    def _add(self, place: str, content: str, n: int) -> int:
        key = place, content
        if len(self._spread) >= MAX_CACHED and key not in self._spread:
            self._spread = _without_rare(self._spread)
            self._over = {x: y for x, y in self._over.items() if x in self._spread}
        total = self._spread[key] = self._spread.get(key, 0) + n
        return total


def _content_of(document: ComparedDocument) -> str:
    """Return the content by which a document is compared; empty if it is not."""
    if document.is_error_page:
        return _ERRORS
    return "" if document.n_images else document.shown.text_hash


def _may_be_near(document: ComparedDocument) -> bool:
    has_words_alone = document.is_page and not document.n_statements
    return has_words_alone and document.shown.n_shingles >= LEAST_SHINGLES


def _without_rare(counts: dict[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """Keep only frequent entries, or none if there are too many of these."""
    often = {key: n for key, n in counts.items() if n > _TENTH}
    return often if len(often) < MAX_CACHED // 2 else {}
