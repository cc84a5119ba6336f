"""Effects of a budget of fetches: the length of a round, and the freshness of copies.

The outlook of an epoch is kept in the folder of the plan, for the command and the
report.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from heapq import nlargest
from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.analysis.refresh.aims import FreshnessPlan
from rdfcrawl.analysis.refresh.optimal import budget_for, freshness_of
from rdfcrawl.analysis.refresh.policy import DAY_MS
from rdfcrawl.core.messages import counted
from rdfcrawl.stores.files import synced_file

if TYPE_CHECKING:
    from pathlib import Path

TARGET: Final = 0.9
"""Share of fresh copies for which an outlook names the budget."""
FOLDER: Final = "refresh"
"""Name of the folder of plans, in that of the crawl."""
_FILE: Final = "outlook.json"
_DRAFT: Final = ".outlook.draft"
_N_HOSTS: Final = 10  # that are named, those with the longest rounds


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshOutlook:
    """Effects of the budget of one host, or that of several together.

    Attributes:
        hosts: name of the host, or number of hosts.
        n_pages: that may be fetched again.
        n_fetches: in an epoch.
        epoch_ms: length of an epoch.
        freshness: mean share of time for which copies are fresh, at best.
        needed: fetches in an epoch for a freshness of `TARGET`; None: not even if each
            page is fetched in each epoch.
    """

    hosts: str
    n_pages: int
    n_fetches: int
    epoch_ms: int
    freshness: float
    needed: int | None

    @property
    def round_days(self) -> float | None:
        """Time until all pages were fetched, in days; None: never."""
        if not self.n_fetches:
            return None
        return self.n_pages / self.n_fetches * self.epoch_ms / DAY_MS

    def __str__(self) -> str:
        """Return the outlook in words."""
        days = self.round_days
        length = "never ends" if days is None else f"takes {days_text(days)}"
        needs = (
            f"{TARGET} is out of reach in epochs of {days_text(self.epoch_ms / DAY_MS)}"
            if self.needed is None
            else f"{TARGET} needs {self.needed:,} an epoch"
        )
        return (
            f"{self.hosts}: {self.n_fetches:,} of {counted(self.n_pages, 'page')} an"
            f" epoch, so a round {length}, and at best {self.freshness:.2f} of the"
            f" copies are fresh; {needs}"
        )


def days_text(days: float) -> str:
    """Return a time in its largest unit, to three digits."""
    units = {"day": 1.0, "hour": 24.0, "minute": 1440.0, "second": 86_400.0}
    name = next((x for x, n in units.items() if days * n >= 1), "second")
    number = float(f"{days * units[name]:.3g}")
    return counted(int(number) if number.is_integer() else number, name)


@dataclass(slots=True)
class _LimitedHost:
    host: str
    n_fetches: int
    rates: Mapping[float, int]

    @property
    def n_pages(self) -> int:
        return sum(self.rates.values())

    @property
    def round(self) -> float:
        return self.n_pages / self.n_fetches if self.n_fetches else float("inf")


def grouped_rates(rates: Iterable[float]) -> Counter[float]:
    """Return the number of pages of each rate, in changes per ms, to two digits."""
    return Counter(float(f"{rate:.2g}") for rate in rates)


@dataclass(slots=True)
class OutlookCount:
    """Gathers the hosts that have fewer fetches than their policy wants.

    Memory: the rates of all their pages together, and of the hosts that are named, each
    distinct rate once, to two digits.

    Attributes:
        epoch_ms: length of an epoch.
        n_hosts: number of these hosts.
    """

    epoch_ms: int
    n_hosts: int = 0
    _all: Counter[float] = field(default_factory=Counter)
    _n_fetches: int = 0
    _longest: list[_LimitedHost] = field(default_factory=list)

    def add(self, host: str, rates: Counter[float], n_fetches: int) -> None:
        """Add a host.

        Args:
            host: its name.
            rates: of its pages, grouped.
            n_fetches: in an epoch.
        """
        self.n_hosts += 1
        self._all += rates
        self._n_fetches += n_fetches
        self._longest = nlargest(
            _N_HOSTS,
            [*self._longest, _LimitedHost(host, n_fetches, rates)],
            key=lambda each: (each.round, each.n_pages),
        )

    def outlooks(self) -> list[RefreshOutlook]:
        """Return the outlook of all hosts together, then of those with long rounds."""
        found = list(self._longest)
        if self.n_hosts > 1:
            name = counted(self.n_hosts, "host")
            found.insert(0, _LimitedHost(name, self._n_fetches, self._all))
        return [self._outlook(each) for each in found]

    def _outlook(self, host: _LimitedHost) -> RefreshOutlook:
        most = 1 / self.epoch_ms
        budget = host.n_fetches / self.epoch_ms
        needed = budget_for(host.rates, TARGET, most)
        return RefreshOutlook(
            hosts=host.host,
            n_pages=host.n_pages,
            n_fetches=host.n_fetches,
            epoch_ms=self.epoch_ms,
            freshness=float(f"{freshness_of(host.rates, budget, most):.3g}"),
            needed=None if needed is None else round(needed * self.epoch_ms),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshGoal:
    """The aim of the last epoch of refresh.

    Attributes:
        epoch_ms: length of an epoch.
        plan: for a wanted freshness; None: none is wanted.
    """

    epoch_ms: int = DAY_MS
    plan: FreshnessPlan | None = None


def write_outlooks(
    root: Path, goal: RefreshGoal, outlooks: Iterable[RefreshOutlook]
) -> None:
    """Replace the goal and the outlooks of a crawl."""
    draft = root / FOLDER / _DRAFT
    there = {"goal": asdict(goal), "outlooks": [asdict(each) for each in outlooks]}
    with synced_file(draft) as file:
        file.write(json.dumps(there).encode("ascii"))
    draft.replace(root / FOLDER / _FILE)


def read_goal(root: Path) -> RefreshGoal:
    """Return the goal of the last epoch of a crawl."""
    found = _read(root).get("goal", {})
    if plan := found.get("plan"):
        found["plan"] = FreshnessPlan(**plan)
    return RefreshGoal(**found)


def read_outlooks(root: Path) -> list[RefreshOutlook]:
    """Return the outlooks of a crawl; none if budgets suffice."""
    return [RefreshOutlook(**row) for row in _read(root).get("outlooks", [])]


def _read(root: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((root / FOLDER / _FILE).read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return found
