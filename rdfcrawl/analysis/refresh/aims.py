"""A wanted freshness in place of a budget: the fetches of an epoch that it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdfcrawl.core.messages import counted

if TYPE_CHECKING:
    from rdfcrawl.analysis.refresh.freshness import PageOutlook


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshnessPlan:
    """Effect of the fetches of an epoch on a wanted freshness.

    Attributes:
        freshness: wanted share of fresh copies.
        n_pages: pages with a copy.
        n_fetches: in the epoch.
        kept: expected freshness in the epoch without a fetch.
        expected: the same with these fetches.
        why: why it is less than is wanted; empty if it is not.
    """

    freshness: float
    n_pages: int
    n_fetches: int
    kept: float
    expected: float
    why: str = ""

    def __str__(self) -> str:
        """Return the plan in words."""
        copies = counted(self.n_pages, "copy", "copies")
        fetches = counted(self.n_fetches, "fetch", "fetches")
        head = f"FRESHNESS={self.freshness:g}"
        if self.why:
            return (
                f"{head} is out of reach: {fetches} keep {self.expected:.3f} of"
                f" {copies} fresh, as {self.why}"
            )
        kept = f"{fetches} in this epoch {'keeps' if self.n_fetches == 1 else 'keep'}"
        return (
            f"{head}: {kept} {self.expected:.3f} of {copies} fresh, {self.kept:.3f}"
            " would be without"
        )


@dataclass(slots=True)
class FreshnessAim:
    """Counts the pages of all hosts, to find the fetches that a freshness needs.

    Attributes:
        freshness: wanted share of fresh copies.
        n_pages: pages with a copy.
        kept: sum of their outlooks without a fetch.
        fetched: sum of their outlooks with a fetch of each.
        capped: the host with most pages beyond its limit, and their number.
    """

    freshness: float
    n_pages: int = 0
    kept: float = 0.0
    fetched: float = 0.0
    capped: tuple[int, str] = (0, "")

    def add(self, outlook: PageOutlook, n_pages: float = 1) -> None:
        """Count some pages of one outlook."""
        self.n_pages += round(n_pages)
        self.kept += n_pages * outlook.kept
        self.fetched += n_pages * outlook.fetched

    def cap(self, host: str, n_left: int) -> None:
        """Count a host with more pages than its limit."""
        self.capped = max(self.capped, (n_left, host))

    @property
    def missing(self) -> float:
        """Outlooks that fetches have to add."""
        return self.freshness * self.n_pages - self.kept

    def plan(
        self, n_fetches: int, gain: float, *, is_all: bool, host_limit: str, epoch: str
    ) -> FreshnessPlan:
        """Return the effect of some fetches.

        Args:
            n_fetches: their number.
            gain: sum of the outlooks that they add.
            is_all: no page that could be fetched is left out for the budget of all.
            host_limit: setting that limits the fetches of a host.
            epoch: its length, in words.
        """
        n = max(self.n_pages, 1)
        why, most = "", self.fetched / n
        if gain < self.missing * (1 - 1e-9):
            if most < self.freshness:
                why = f"pages change too often for epochs of {epoch}"
            elif not is_all:
                why = "REFRESH_BUDGET allows no more"
            elif self.capped[0]:
                why = f"{host_limit} allows no more on {self.capped[1]}"
            else:
                why = "other pages are not due"
        return FreshnessPlan(
            freshness=self.freshness,
            n_pages=self.n_pages,
            n_fetches=n_fetches,
            kept=round(self.kept / n, 3),
            expected=round((self.kept + gain) / n, 3),
            why=why,
        )
