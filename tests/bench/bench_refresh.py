"""How fresh each policy of refresh keeps pages that change, with the same budget.

Run: `python -m tests.bench.bench_refresh [write]`; with `write`, the tables in
`docs/explanation/refresh.md` are replaced.

All dice have fixed seeds. Each day a policy fetches as many pages as its budget allows.
Freshness is the share of time for which copies were equal, in days 31 to 60.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import fsum, log
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.refresh.optimal import OptimalFreshness, freshness_of
from rdfcrawl.analysis.refresh.policy import (
    DAY_MS,
    STORMCRAWLER,
    AdaptiveInterval,
    FixedInterval,
    most_urgent,
)
from rdfcrawl.analysis.refresh.posterior import RATES, SiteModel, fetch_worth
from rdfcrawl.analysis.refresh.stale import StaleProbability
from rdfcrawl.analysis.refresh.trust import judge_site
from tests.bench.figures import Figure, judge
from tests.bench.refresh_limits import UnknownRates
from tests.support.changing_pages import (
    ChangingSite,
    Honesty,
    RefreshResult,
    kept_fresh,
    optimal_freshness,
    run_together,
    uneven_rates,
)

if TYPE_CHECKING:
    from rdfcrawl.analysis.measures.uri_facts import UriFacts
    from rdfcrawl.analysis.refresh.policy import RefreshEpoch, RefreshPolicy

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "explanation" / "refresh.md"
N_PAGES, N_DAYS, WARM_UP = 300, 60, 30
MEAN_RATE: Final = 0.1
SHARES: Final = (0.05, 0.1, 0.2, 0.5)  # of the pages, that are fetched each day
LATER: Final = (
    ("stationary", 0.05),
    ("mixed", 0.05),
    ("mixed", 0.1),
    ("fast tail", 0.05),
)
MIXED: Final = {0.0: 120, 1 / 7: 120, 24.0: 60}
"""Pages of the mixed web, by changes a day."""
PERIODS: Final = ((9, 30), (30, 60), (9, 60))  # days before, and the last one
ENDS: Final = (60, 120, 180, 240, 300)  # days
LIES: Final[tuple[Honesty, ...]] = ("silent", "rewritten", "random")
POLICIES: Final[dict[str, RefreshPolicy]] = {
    "oldest first": FixedInterval(0),
    "fixed, a week": FixedInterval(7 * DAY_MS),
    "Nutch": AdaptiveInterval(),
    "StormCrawler": STORMCRAWLER,
    "`optimal`": OptimalFreshness(),
    "`posterior`": StaleProbability(),
}


@dataclass(frozen=True)
class Web:
    """Pages of one site or several.

    Attributes:
        rates: changes of each page in a day.
        sizes: of the sites.
        drift: share of the pages whose rate changes, each day.
    """

    rates: list[float]
    sizes: Sequence[int] = (N_PAGES,)
    drift: float = 0.0

    def run(self, policy: RefreshPolicy, share: float) -> RefreshResult:
        """Refresh the sites by a policy."""
        sites, begin = [], 0
        for n, size in enumerate(self.sizes):
            rates = self.rates[begin : begin + size]
            sites.append(ChangingSite(rates, "none", n, self.drift, f"{n}.example"))
            begin += size
        return run_together(sites, policy, N_DAYS, round(N_PAGES * share), WARM_UP)


def webs() -> dict[str, Web]:
    """Return the webs by name, each of 300 pages."""
    dice = random.Random(2)
    uneven = uneven_rates(N_PAGES, mean=MEAN_RATE)
    mixed = [rate for rate, n in MIXED.items() for _ in range(n)]
    fast = uneven[:270] + [float(dice.randint(10, 100)) for _ in range(30)]
    for rates in (mixed, fast):
        dice.shuffle(rates)
    return {
        "stationary": Web(uneven),
        "mixed": Web(mixed),
        "fast tail": Web(fast),
        "drifting": Web(uneven, drift=1 / 60),
        "31 sites": Web(uneven, [5] * 30 + [150]),
    }


def compare() -> tuple[str, list[Figure]]:
    """Return a table of policies, webs and budgets, and what it must show."""
    head = ["web", "budget", *POLICIES, "optimum"]
    rows, figures = [], []
    for name, web in webs().items():
        for share in SHARES:
            found = {x: web.run(y, share).freshness for x, y in POLICIES.items()}
            best = optimal_freshness(web.rates, round(N_PAGES * share))
            cells = [f"{each:.3f}" for each in (*found.values(), best)]
            rows.append([name, f"{share:.2f}", *cells])
            print(*rows[-1], flush=True)
            for other in ("oldest first", "`optimal`"):
                ratio = found["`posterior`"] / found[other]
                least = 1.0 if other == "oldest first" else None
                figures.append(
                    Figure(f"{name}, {share}", ratio, f"x {other}", at_least=least)
                )
    return _table(head, rows), figures


def compare_sitemaps() -> tuple[str, list[Figure]]:
    """Return a table of sitemaps and budgets, and what it must show."""
    kinds: dict[str, Honesty] = {
        "none": "none",
        "truthful": "truthful",
        "with 70 % of the changes": "incomplete",
        "with as many false claims": "imprecise",
        "`lastmod`s that never change": "silent",
        "all `lastmod`s new each day": "rewritten",
        "`lastmod`s new by chance": "random",
    }
    rates = uneven_rates(N_PAGES, mean=MEAN_RATE)
    rows, figures = [], []
    for name, kind in kinds.items():
        row = [name]
        for share in SHARES:
            found = settled(rates, kind, round(N_PAGES * share))
            cost = found.n_fetches / found.n_changed
            row += [f"{found.freshness:.3f}", f"{cost:.2f}"]
            if kind == "truthful":
                figures.append(Figure(f"truthful, {share}", cost, "", at_most=1.05))
        rows.append(row)
        print(*row, flush=True)
    for lie in LIES:
        longest = max(_days_trusted(rates, lie, seed) for seed in range(5))
        figures.append(Figure(f"{lie}, trusted for", longest, "days", at_most=10))
    head = ["sitemap", *(x for share in SHARES for x in (f"{share:.2f}", "cost"))]
    return _table(head, rows), figures


def compare_later() -> tuple[str, list[Figure]]:
    """Return a table of webs and times: the share of the optimum that is reached.

    With small budgets it takes long until the rates of pages are known.
    """
    rows = []
    for name, share in LATER:
        rates, budget = webs()[name].rates, round(N_PAGES * share)
        best = optimal_freshness(rates, budget)
        site, row = ChangingSite(rates, host="0.example"), [name, f"{share:.2f}"]
        site.run(StaleProbability(), n_epochs=WARM_UP, budget=budget)
        begin = WARM_UP
        for end in ENDS:
            days = end - begin
            found = site.run(StaleProbability(), n_epochs=days, budget=budget)
            row.append(f"{found.freshness / best:.3f}")
            begin = end
        rows.append(row)
        print(*row, flush=True)
    begins = (WARM_UP, *ENDS)
    periods = [f"{a + 1} to {b}" for a, b in zip(begins, ENDS, strict=False)]
    return _table(["web", "budget", *periods], rows), []


@dataclass(frozen=True)
class GivenDistribution:
    """`posterior` for a site whose distribution of rates is known, not learned.

    Which page has which rate is learned from its fetches alone.
    """

    prior: Sequence[float]

    @classmethod
    def of(cls, rates: Sequence[float]) -> GivenDistribution:
        """Return the policy for pages with these rates, in changes a day."""
        grid = [each * DAY_MS for each in RATES]
        nearest = [min(grid, key=lambda x: abs(log(x / max(y, 1e-9)))) for y in rates]
        found = Counter(nearest)
        return cls([found[each] / len(rates) for each in grid])

    def choose(
        self, open_pages: Callable[[], Iterable[UriFacts]], epoch: RefreshEpoch
    ) -> list[str]:
        """Return the pages whose fetch is worth most."""
        model = SiteModel(judge_site(open_pages(), epoch.now_ms), self.prior)
        worths = (
            (fetch_worth(each, model, epoch.now_ms), each.url) for each in open_pages()
        )
        return most_urgent(worths, epoch.n_fetches)


def compare_limits() -> tuple[str, list[Figure]]:
    """Return a table of the share of the optimum without errors in the distribution.

    The rate of each page is learned from its fetches in both columns.
    """
    rows = []
    for name, share in LATER:
        web = webs()[name]
        best = optimal_freshness(web.rates, round(N_PAGES * share))
        policies = StaleProbability(), GivenDistribution.of(web.rates)
        found = [web.run(each, share).freshness / best for each in policies]
        rows.append([name, f"{share:.2f}", *(f"{each:.3f}" for each in found)])
        print(*rows[-1], flush=True)
    return _table(["web", "budget", "`posterior`", "known distribution"], rows), []


def compare_bounds() -> tuple[str, list[Figure]]:
    """Return a table of the mixed web: the share of the optimum, and what limits it.

    The limit holds for each policy that learns which page has which rate.
    """
    seldom, often = sorted(MIXED)[1:]
    first, second, third = (n / N_PAGES for n in MIXED.values())
    rates, rows, head = webs()["mixed"].rates, [], ["budget"]
    for begin, end in PERIODS:
        head += [f"days {begin + 1} to {end}", "at most"]
    for share in (0.05, 0.1):
        budget = round(N_PAGES * share)
        best, row = optimal_freshness(rates, budget), [f"{share:.2f}"]
        for begin, end in PERIODS:
            site = ChangingSite(rates, host="0.example")
            found = site.run(
                StaleProbability(), n_epochs=end, budget=budget, warm_up=begin
            )
            pages = UnknownRates((first, second, third), seldom, often, end, begin)
            row += [f"{x / best:.3f}" for x in (found.freshness, pages.bound(share))]
        rows.append(row)
        print(*row, flush=True)
    return _table(head, rows), []


def settled(rates: list[float], kind: Honesty, budget: int) -> RefreshResult:
    """Refresh a site with a sitemap; the first days do not count."""
    site = ChangingSite(rates, kind)
    site.run(StaleProbability(), n_epochs=WARM_UP, budget=budget)
    return site.run(StaleProbability(), n_epochs=N_DAYS - WARM_UP, budget=budget)


def _days_trusted(rates: list[float], lie: Honesty, seed: int) -> int:
    """Return for how many days a site is trusted after it begins to lie."""
    site = ChangingSite(rates, "truthful", seed)
    site.run(StaleProbability(), n_epochs=30, budget=60)
    site.honesty = lie
    n_days = 0
    while n_days < 100 and judge_site(site.known(), site.day * DAY_MS).dated.is_trusted:
        site.run(StaleProbability(), n_epochs=1, budget=60)
        n_days += 1
    return n_days


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(each)} |\n" for each in lines)


def hosts_of_webs() -> dict[str, tuple[list[list[float]], int]]:
    """Return the rates of the pages of several hosts, and fetches a day for all."""
    dice = random.Random(1)

    def drawn(n: int, mean: float) -> list[float]:
        return [float(f"{dice.gammavariate(0.5, mean / 0.5):.2g}") for _ in range(n)]

    sizes = [20] * 99 + [20_000]
    return {
        "99 of 20 pages, one of 20,000": ([drawn(n, 0.1) for n in sizes], 2000),
        "8 of 1,000 pages, each 3 times as fast": (
            [drawn(1000, 0.001 * 3**k) for k in range(8)],
            1000,
        ),
        "5 static, 5 of 0.3 a day, 1,000 pages each": (
            [[0.001] * 1000] * 5 + [[0.3] * 1000] * 5,
            1000,
        ),
    }


def equal_shares(hosts: list[list[float]], budget: int) -> float:
    """Return the best freshness if each host gets as much as others that need it."""
    shares = dict.fromkeys(range(len(hosts)), 0.0)
    left, wanting = float(budget), set(shares)
    while left > 1e-6 and wanting:
        each = left / len(wanting)
        for n in list(wanting):
            step = min(each, len(hosts[n]) - shares[n])
            shares[n], left = shares[n] + step, left - step
            if shares[n] >= len(hosts[n]) - 1e-9:
                wanting.discard(n)
    fresh = [freshness_of(Counter(x), shares[n], 1.0) for n, x in enumerate(hosts)]
    sizes = [len(some) for some in hosts]
    return fsum(map(mul, fresh, sizes)) / sum(sizes)


def compare_shares() -> tuple[str, list[Figure]]:
    """Return a table of webs of several hosts that share a budget."""
    rows, figures = [], []
    for name, (hosts, budget) in hosts_of_webs().items():
        best = optimal_freshness([rate for some in hosts for rate in some], budget)
        found = kept_fresh(hosts, budget, N_DAYS)
        fresh = (equal_shares(hosts, budget), found, best)
        rows.append([name, f"{budget:,}", *(f"{each:.3f}" for each in fresh)])
        print(*rows[-1], flush=True)
        figures.append(Figure(name, found / best, "x optimum", at_least=0.98))
    head = ["hosts", "fetches a day", "equal shares, in theory", "one price"]
    return _table([*head, "optimum, in theory"], rows), figures


def written(text: str, name: str, table: str) -> str:
    """Return a text with another table between its markers."""
    begin, end = f"<!-- table {name} -->\n", "<!-- end of table -->"
    return re.sub(f"{begin}.*?{end}", f"{begin}\n{table}\n{end}", text, flags=re.DOTALL)


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Compare all policies; write the tables if wanted."""
    given = sys.argv[1:] if arguments is None else arguments
    tables: dict[str, Callable[[], tuple[str, list[Figure]]]] = {
        "policies": compare,
        "later": compare_later,
        "limits": compare_limits,
        "bounds": compare_bounds,
        "sitemaps": compare_sitemaps,
        "shares": compare_shares,
    }
    figures = []
    for name, make in tables.items():
        table, found = make()
        figures += found
        if "write" in given:
            text = DOCUMENT.read_text(encoding="utf-8")
            DOCUMENT.write_text(written(text, name, table), encoding="utf-8")
    return figures


if __name__ == "__main__":
    sys.exit(judge(main()))
