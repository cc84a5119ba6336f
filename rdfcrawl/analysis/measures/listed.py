"""Outcomes of the URLs that sitemaps list, and the pages that they cover."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import nsmallest
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.analysis.measures.ratio import MeasuredRatio

if TYPE_CHECKING:
    from rdfcrawl.analysis.measures.uri_facts import UriFacts

MAX_EXAMPLES: Final = 200  # of URLs that are listed in vain
_MISSING: Final = frozenset({404, 410})
_PAGES: Final = frozenset({"SUCCESSFUL", "PARTIAL", "UNCHANGED"})


class PageOutcome(StrEnum):
    """Outcome of the last try to fetch a URL."""

    READ = "read"
    REDIRECTED = "redirected"
    NOT_FOUND = "not found"
    ERROR_PAGE = "error page"
    REFUSED = "refused"
    FAILED = "failed"
    NOT_TRIED = "not requested"


IN_VAIN: Final = frozenset(PageOutcome) - {PageOutcome.READ, PageOutcome.NOT_TRIED}
"""Outcomes of URLs that a sitemap should not list."""


def outcome_of(facts: UriFacts) -> PageOutcome:
    """Return the outcome of the last try to fetch a URL."""
    if facts.refusal:
        return PageOutcome.REFUSED
    if not facts.fetches:
        return PageOutcome.NOT_TRIED
    last = facts.fetches[-1]
    if facts.is_redirect:
        return PageOutcome.REDIRECTED
    if last.http_status in _MISSING or last.status == "DELETED":
        return PageOutcome.NOT_FOUND
    if last.status not in _PAGES or facts.has_failed:
        return PageOutcome.FAILED
    return PageOutcome.ERROR_PAGE if facts.is_error_page else PageOutcome.READ


class VainListing(NamedTuple):
    """A URL that a sitemap should not list.

    Attributes:
        detail: HTTP status, reason of the failure, or target of the redirect.
        sitemap: one that lists it.
    """

    url: str
    outcome: PageOutcome
    detail: str
    sitemap: str


@dataclass(slots=True)
class ListedCount:
    """Counts the outcomes of listed URLs, and the pages that were read.

    Attributes:
        outcomes: of the listed URLs.
        n_read: pages that were read, listed or not.
        examples: URLs that are listed in vain, the first ones of all.
    """

    outcomes: Counter[PageOutcome] = field(default_factory=Counter)
    n_read: int = 0
    examples: list[VainListing] = field(default_factory=list)

    def add(self, facts: UriFacts) -> None:
        """Count a URL."""
        outcome = outcome_of(facts)
        self.n_read += outcome is PageOutcome.READ
        if not facts.is_listed:
            return
        self.outcomes[outcome] += 1
        if outcome in IN_VAIN and len(self.examples) < MAX_EXAMPLES:
            sitemap = facts.listings[-1].sitemap
            example = VainListing(facts.url, outcome, _detail(facts), sitemap)
            self.examples.append(example)

    def add_all(self, other: ListedCount) -> None:
        """Add the counts of another domain."""
        self.outcomes += other.outcomes
        self.n_read += other.n_read
        self.examples = nsmallest(MAX_EXAMPLES, self.examples + other.examples)

    @property
    def n_listed(self) -> int:
        """Number of listed URLs."""
        return self.outcomes.total()

    @property
    def n_in_vain(self) -> int:
        """Number of URLs that are listed in vain."""
        return sum(self.outcomes[each] for each in IN_VAIN)

    @property
    def coverage(self) -> MeasuredRatio:
        """The share of the pages that were read which sitemaps list."""
        return MeasuredRatio(self.outcomes[PageOutcome.READ], self.n_read)


def _detail(facts: UriFacts) -> str:
    if facts.refusal:
        return facts.refusal
    if facts.is_redirect:
        return facts.redirects_to
    last = facts.fetches[-1]
    is_status = last.http_status >= 400 or not last.fault
    return str(last.http_status) if is_status else last.fault
