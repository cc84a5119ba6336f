"""Outcomes of the URLs that sitemaps list, and the pages that they cover.

Other than in formulas, URLs count as listed only if a sitemap lists them now.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.measures.ratio import MeasuredRatio
from rdfcrawl.core.errors import Reason

if TYPE_CHECKING:
    from rdfcrawl.analysis.measures.uri_facts import UriFacts

_MISSING: Final = frozenset({404, 410})
_PAGES: Final = frozenset({"SUCCESSFUL", "PARTIAL", "UNCHANGED"})


class PageOutcome(StrEnum):
    """Outcome of the last try to fetch a URL."""

    READ = "read"
    REDIRECTED = "redirected"
    NOT_FOUND = "not found"
    ERROR_PAGE = "error page"
    NOINDEX = "noindex"
    BLOCKED = "blocked"
    REFUSED = "refused"
    FAILED = "failed"
    NOT_TRIED = "not requested"


def outcome_of(facts: UriFacts) -> PageOutcome:
    """Return the outcome of the last try to fetch a URL."""
    if facts.refusal:
        is_blocked = facts.refusal == Reason.ROBOTS_DISALLOWED
        return PageOutcome.BLOCKED if is_blocked else PageOutcome.REFUSED
    if not facts.fetches:
        return PageOutcome.NOT_TRIED
    last = facts.fetches[-1]
    is_missing = last.http_status in _MISSING or last.status == "DELETED"
    is_noindex = facts.is_noindex or last.fault == Reason.NOINDEX
    rules = (
        (PageOutcome.REDIRECTED, facts.is_redirect),
        (PageOutcome.NOT_FOUND, is_missing),
        (PageOutcome.NOINDEX, is_noindex),
        (PageOutcome.FAILED, last.status not in _PAGES or facts.has_failed),
        (PageOutcome.ERROR_PAGE, facts.is_error_page),
        (PageOutcome.READ, True),
    )
    return next(each for each, fits in rules if fits)


def detail_of(facts: UriFacts) -> str:
    """Return the reason, the HTTP status, or the target of redirects of the last try.

    It was refused, redirected, or failed.
    """
    if facts.refusal:
        return facts.refusal
    if facts.is_redirect:
        return facts.redirects_to
    last = facts.fetches[-1]
    is_status = last.http_status >= 400 or last.fault in ("", Reason.NOINDEX)
    return str(last.http_status) if is_status else last.fault


@dataclass(slots=True)
class ListedCount:
    """Counts the outcomes of listed URLs, and the pages that were read.

    Attributes:
        outcomes: of the listed URLs.
        n_read: pages that were read, listed or not.
    """

    outcomes: Counter[PageOutcome] = field(default_factory=Counter)
    n_read: int = 0

    def add(self, facts: UriFacts, outcome: PageOutcome) -> None:
        """Count a URL with its outcome."""
        self.n_read += outcome is PageOutcome.READ
        if facts.is_still_listed:
            self.outcomes[outcome] += 1

    def add_all(self, other: ListedCount) -> None:
        """Add the counts of another domain."""
        self.outcomes += other.outcomes
        self.n_read += other.n_read

    @property
    def n_listed(self) -> int:
        """Number of listed URLs."""
        return self.outcomes.total()

    @property
    def coverage(self) -> MeasuredRatio:
        """The share of the pages that were read which sitemaps list."""
        return MeasuredRatio(self.outcomes[PageOutcome.READ], self.n_read)
