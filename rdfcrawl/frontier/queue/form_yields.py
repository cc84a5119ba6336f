"""Which pages of a host are fetched first, last or not: a bandit over forms of URLs.

Each form of URL is an arm. A fetch is a try, and a success if its document has wanted
statements. A page that first linked to such a document has led to it. A form without
successes is unlikely after some tries that led nowhere, and a form that has led to such
documents after twice as many in a row: its URLs come last, and all but a small
share of these, chosen by hash, are not fetched at all. A form that leads to forms that
lead is kept, too. A form of few tries is judged with the wider form around it. Until a
host has its first success, each form has ten times as many tries.

Pure: no network, no clock, no chance. So all workers decide alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final
from zlib import crc32

from rdfcrawl.core.records import Urgency
from rdfcrawl.uri.page_forms import PageForm

MAX_FORMS: Final = 300  # of a host, with counts
_MAX_PARENTS: Final = 4  # forms remembered as leading to one form
_STALE_TRIES: Final = 2  # times as many tries, before a form leads nowhere any more
_WIDE_TRIES: Final = 4  # times as many tries, before a wide form is unlikely
_FIRST_TRIES: Final = 10  # times as many tries, before a host has any success
_GOOD_SHARE: Final = 0.5
# Fields of a host: a letter, and a form.
_TRIES, _HITS, _LEADS, _TRIES_AT_LEAD, UNLIKELY, _PARENT = "nylmku"


class UrlChance(Enum):
    """The prospects of a URL, by its form."""

    GOOD = "good"  # most tries succeeded
    SOME = "some"  # some tries succeeded, or led to pages that did
    UNKNOWN = "unknown"  # too few tries
    UNLIKELY = "unlikely"  # many tries, without success


_URGENCIES: Final = {
    UrlChance.GOOD: Urgency.HIGHEST,
    UrlChance.SOME: Urgency.RAISED,
    UrlChance.UNKNOWN: Urgency.ORDINARY,
    UrlChance.UNLIKELY: Urgency.LATER,
}


def urgency_of(chance: UrlChance) -> Urgency:
    """Return the urgency of URLs among those of their host."""
    return _URGENCIES[chance]


def is_explored(url: str, share: float) -> bool:
    """Return whether a URL of an unlikely form is fetched; the same on all workers."""
    return crc32(url.encode()) < share * 2**32


@dataclass(slots=True)
class HostForms:
    """The counts of one host.

    Attributes:
        tries: pages that a form gets before it is unlikely, if another one succeeded.
        counts: as stored, by field.
        changes: to the stored counts, by field, since they were last taken.
    """

    tries: int
    counts: Counter[str] = field(default_factory=Counter)
    changes: Counter[str] = field(default_factory=Counter)
    # forms with a page that was fetched, or that was passed over
    known: set[str] = field(default_factory=set)
    # form -> forms whose pages first linked to its pages
    _parents: dict[str, set[str]] = field(default_factory=dict)
    _has_hits: bool = False
    _alive: frozenset[str] | None = None  # computed when needed

    @classmethod
    def of(cls, counts: Mapping[str, int], tries: int) -> HostForms:
        """Return the counts with these fields, as stored."""
        found = cls(tries)
        for name, n in counts.items():
            found.counts[name] = n
            found._see(name)
        return found

    def add_all(self, changes: Mapping[str, int]) -> None:
        """Add changes that are not stored yet."""
        for name, n in changes.items():
            self._add(name, n)

    def _see(self, name: str) -> None:
        kind, form = name[0], name[1:]
        self._has_hits = self._has_hits or kind == _HITS
        if kind == _TRIES:
            self.known.add(form)
        elif kind == _PARENT:
            child, _, parent = form.partition("\n")
            self._parents.setdefault(child, set()).add(parent)

    def take_changes(self) -> Counter[str]:
        """Return the changes since the last call."""
        found, self.changes = self.changes, Counter()
        return found

    def add_try(self, form: PageForm, *, is_hit: bool) -> None:
        """Count a fetched page."""
        for each in dict.fromkeys(form):
            if each in self.known or len(self.known) < MAX_FORMS:
                self._add(_TRIES + each)
                if is_hit:
                    self._add(_HITS + each)

    def add_lead(self, form: PageForm) -> None:
        """Count a page that first linked to a page with wanted statements."""
        for each in {*self._arms(form.narrow), *self._arms(form.wide)}:
            n_since = self.counts[_TRIES + each] - self.counts[_TRIES_AT_LEAD + each]
            self._add(_LEADS + each)
            self._add(_TRIES_AT_LEAD + each, n_since)

    def add_link(self, form: PageForm, parent: PageForm) -> None:
        """Note that a page was first found on a page of another form."""
        child = form.narrow
        if child not in self.known:
            return
        for source in self._arms(parent.narrow):
            parents = self._parents.get(child, ())
            is_new = source != child and source not in parents
            if is_new and len(parents) < _MAX_PARENTS:
                self._add(f"{_PARENT}{child}\n{source}")

    def _arms(self, form: str) -> list[str]:
        """Return the known forms of pages, whichever sitemap lists them."""
        listed = f"{form} @"
        return [x for x in self.known if x == form or x.startswith(listed)]

    def add_unlikely(self, form: PageForm) -> None:
        """Count a URL that is set aside, for the form that is unlikely."""
        is_own = self.n_left(form) <= 0
        self._add(UNLIKELY + (form.narrow if is_own else form.wide))

    def forget_set_aside(self) -> None:
        """Reset the numbers of URLs that are set aside."""
        for name in [name for name in self.counts if name[0] == UNLIKELY]:
            self._add(name, -self.counts[name])

    def chance(self, form: PageForm) -> UrlChance:
        """Return the prospects of a URL by its form."""
        narrow, wide = form
        n_tries, hits = self.counts[_TRIES + narrow], self.counts[_HITS + narrow]
        if narrow in self.alive:
            is_good = hits and hits >= _GOOD_SHARE * n_tries
            return UrlChance.GOOD if is_good else UrlChance.SOME
        if n_tries >= self._tries_now:
            return UrlChance.UNLIKELY
        is_vain = self.counts[_TRIES + wide] >= _WIDE_TRIES * self._tries_now
        return (
            UrlChance.UNLIKELY
            if is_vain and wide not in self.alive
            else UrlChance.UNKNOWN
        )

    def n_left(self, form: PageForm) -> int:
        """Return how many more tries a form has until it may be unlikely."""
        return self._tries_now - self.counts[_TRIES + form.narrow]

    @property
    def _tries_now(self) -> int:
        return self.tries if self._has_hits else _FIRST_TRIES * self.tries

    @property
    def alive(self) -> frozenset[str]:
        """Forms of pages with wanted statements, or that lead there over any steps."""
        if self._alive is None:
            found = {x for x in self.known if self.counts[_HITS + x] or self._leads(x)}
            # Pages that led to successful ones must do so again; see `_leads`.
            waiting = [x for x in found if not self.counts[_HITS + x]]
            while waiting:
                new = self._parents.get(waiting.pop(), set()) - found
                found |= new
                waiting += new
            self._alive = frozenset(found)
        return self._alive

    def _leads(self, form: str) -> bool:
        n_since = self.counts[_TRIES + form] - self.counts[_TRIES_AT_LEAD + form]
        return self.counts[_LEADS + form] > 0 and n_since < _STALE_TRIES * self.tries

    @property
    def has_set_aside(self) -> bool:
        """Whether URLs were set aside since the last changes were taken."""
        return any(name[0] == UNLIKELY and n > 0 for name, n in self.changes.items())

    def wrongly_set_aside(self) -> Iterator[str]:
        """Yield forms with URLs that are set aside and not unlikely any more."""
        for form in self.alive:
            if self.counts[UNLIKELY + form] > 0:
                yield form

    def _add(self, name: str, by: int = 1) -> None:
        if name[0] != UNLIKELY:
            self._alive = None
        if name not in self.counts:
            self._see(name)
        self.counts[name] += by
        self.changes[name] += by
