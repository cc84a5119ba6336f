"""Tell which documents only lead on to further copies of themselves.

Sites that answer whatever is asked for with one page, or with pages that hardly differ,
have URLs without end. Their documents are fetched and stored as all others are; but
beyond a number of copies, the links of further ones are not followed. A document with
a content of its own is never judged by the others of its host.

All is counted by one worker, when a document is done; `settle` adds up domains and
addresses for many documents at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from operator import eq
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.options.table import OptionsTable, integer
from rdfcrawl.rdf.fingerprints import BINS, SHINGLE_WORDS

if TYPE_CHECKING:
    from rdfcrawl.rdf.fingerprints import Fingerprint

MAX_CACHED: Final = 100_000  # contents and hosts
LEAST_PAGES: Final = 64  # of a host, before its pages are compared with each other
MOST_KINDS: Final = 4  # of near copies, that are told apart on one host
NEAR: Final = 0.9  # least resemblance of near copies that are long
LEAST_SHINGLES: Final = 16  # of pages that are compared: shorter ones differ by chance
_TENTH: Final = 10
_SLACK: Final = 0.06  # of an estimate by 64 parts
_ERRORS: Final = "errors"  # stands for the content of all error pages


@dataclass(frozen=True, slots=True)
class CopyLimits(OptionsTable):
    """How many documents of one content are followed further; 0 is no limit."""

    of_host: int = integer("TRAP_COPIES_PER_HOST", 0)
    """documents of one content on a host whose links are followed, counted by each
    worker for itself; those of a tenth as many come last; 0: of all. See
    [traps](../explanation/politeness.md#traps)"""
    of_domain: int = integer("TRAP_COPIES_PER_DOMAIN", 0)
    """the same on all hosts of a registered domain"""
    of_address: int = integer("TRAP_COPIES_PER_ADDRESS", 0)
    """the same on all hosts of an address"""
    near: int = integer("TRAP_NEAR_COPIES", 0)
    """pages of a host that hardly differ and lead to nothing else, whose links are
    followed; 0: of all"""


NO_LIMITS: Final = CopyLimits(0, 0, 0, 0)


class ComparedDocument(NamedTuple):
    """What copies are known by.

    Attributes:
        host: of its URL.
        shown: fingerprint of its text, or of its statements if it is no page.
        is_page: it is in markup.
        n_statements: that were stored of it.
        n_images: of a page of few words; such pages differ in what they show.
        is_error_page: it says that there is nothing.
    """

    host: str
    shown: Fingerprint
    is_page: bool
    n_statements: int
    n_images: int = 0
    is_error_page: bool = False


class CopyVerdict(NamedTuple):
    """What becomes of the links of a document.

    Attributes:
        reason: why they are not followed; None if they are.
        is_last: they are queued behind all others of their hosts.
    """

    reason: Reason | None = None
    is_last: bool = False


FOLLOWED: Final = CopyVerdict()


@dataclass(slots=True)
class _NearCopies:
    """The pages of one host without statements."""

    n_pages: int = 0
    kinds: dict[str, int] = field(default_factory=dict)  # by that of the first
    last: AbstractSet[bytes] = frozenset()  # links of the near copy before

    def kind_of(self, shown: Fingerprint) -> str | None:
        """Return the sketch of the first near copy of a page, if there is one."""
        sketch, least = shown.sketch[:BINS], _least_resemblance(shown.n_shingles)
        return next((x for x in self.kinds if _are_near(x, sketch, least)), None)

    def note(self, shown: Fingerprint) -> int:
        """Count a page; return the number of near copies, the page included."""
        self.n_pages += 1
        if self.n_pages < LEAST_PAGES:
            return 0
        kind = self.kind_of(shown)
        if kind is None:
            if len(self.kinds) >= MOST_KINDS:
                del self.kinds[min(self.kinds, key=self.kinds.__getitem__)]
            kind = shown.sketch[:BINS]
        n = self.kinds[kind] = self.kinds.get(kind, 0) + 1
        return n


def _are_near(one: str, other: str, least: float) -> bool:
    """Return whether two sketches agree in that share of the parts that one has."""
    n_equal = sum(map(eq, one, other))
    if n_equal < least * BINS:
        return False
    empty = sum([x == y == "." for x, y in zip(one, other, strict=True)])
    return bool(n_equal - empty >= least * (BINS - empty))


def _least_resemblance(n_shingles: int) -> float:
    """Return from which resemblance on pages are near copies.

    A word stands in 8 shingles, so that short pages which differ in a number alone
    resemble each other far less than long ones.
    """
    one_word = (n_shingles - SHINGLE_WORDS) / (n_shingles + SHINGLE_WORDS)
    return min(NEAR, one_word - _SLACK)


class CopyJudge:
    """Counts the documents of one worker, and judges the links of copies.

    Args:
        limits: see there.
        place_of: returns domain and address of a host; empty if not known.

    Attributes:
        suspects: contents of which there are many: documents with others, of hosts
            without near copies, need not be judged.
        near_hosts: hosts with many near copies or error pages.
    """

    def __init__(
        self, limits: CopyLimits, place_of: Callable[[str], tuple[str, str]]
    ) -> None:
        self.suspects: set[str] = set()
        self.near_hosts: set[str] = set()
        self._limits, self._place_of = limits, place_of
        self._known: set[int] = set()  # hashes of contents that came once at least
        self._copies: dict[tuple[str, str], int] = {}  # by host and content
        self._near: dict[str, _NearCopies] = {}
        self._spread: dict[tuple[str, str], int] = {}  # by domain or address, content
        self._since: list[tuple[str, str]] = []
        self._over: dict[tuple[str, str], Reason] = {}

    def is_first(self, content: str) -> bool:
        """Return whether a content is new here, as most are; remember the content.

        Documents with a new content need not be noted, unless they are error pages, or
        pages without statements, which may be near copies.
        """
        mark = hash(content)  # far smaller
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
            document: that has them.
            links: of the document.
            digest: returns what is equal for equal statements, apart from its own URL.
            leads_on: told links, returns whether one is of another form than its URL.
        """
        content = _content_of(document)
        if not content:
            return FOLLOWED
        if document.is_page and document.n_statements and content != _ERRORS:
            # Pages that a script fills have one text, and data of their own.
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

    def _count(self, what: tuple[str, str]) -> int:
        if len(self._copies) >= MAX_CACHED and what not in self._copies:
            self._copies = _without_rare(self._copies)
            self._near.clear()
            self.near_hosts.clear()
        n = self._copies[what] = self._copies.get(what, 0) + 1
        return n

    def settle(self) -> None:
        """Add up for domains and addresses what was noted since the last time."""
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
            self.suspects.clear()  # each comes back with its next copy
        self.suspects.add(content)

    def _add(self, place: str, content: str, n: int) -> int:
        what = place, content
        if len(self._spread) >= MAX_CACHED and what not in self._spread:
            self._spread = _without_rare(self._spread)
            self._over = {x: y for x, y in self._over.items() if x in self._spread}
        total = self._spread[what] = self._spread.get(what, 0) + n
        return total


def _content_of(document: ComparedDocument) -> str:
    """Return what a document shows; empty if nothing is to be compared."""
    if document.is_error_page:
        return _ERRORS
    return "" if document.n_images else document.shown.text_hash


def _may_be_near(document: ComparedDocument) -> bool:
    has_words_alone = document.is_page and not document.n_statements
    return has_words_alone and document.shown.n_shingles >= LEAST_SHINGLES


def _without_rare(counts: dict[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """Return the frequent ones, as there are too many others."""
    often = {what: n for what, n in counts.items() if n > _TENTH}
    return often if len(often) < MAX_CACHED // 2 else {}
