"""How fresh each policy of refresh keeps a site, with the same budget.

Run: `python -m tests.bench.bench_refresh [N_PAGES [N_DAYS]]`.

Pages change by Poisson processes, on average 0.1 times a day, most of them hardly ever
(gamma distribution of shape 0.5). Each day a policy fetches as many as its budget
allows. Freshness is the share of time for which copies were equal, after a warm-up of a
third of the days.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from math import fsum
from operator import mul
from typing import TYPE_CHECKING

from rdfcrawl.analysis.refresh.optimal import OptimalFreshness, freshness_of
from rdfcrawl.analysis.refresh.policy import (
    DAY_MS,
    STORMCRAWLER,
    AdaptiveInterval,
    FixedInterval,
)
from rdfcrawl.analysis.refresh.stale import StaleProbability
from rdfcrawl.analysis.refresh.trust import judge_site
from tests.bench.figures import Figure, judge
from tests.support.changing_pages import (
    ChangingSite,
    Honesty,
    kept_fresh,
    optimal_freshness,
    uneven_rates,
)

if TYPE_CHECKING:
    from rdfcrawl.analysis.refresh.policy import RefreshPolicy
    from tests.support.changing_pages import RefreshResult

MEAN_RATE = 0.1
SHARES = (0.1, 0.2)  # of the pages, that are fetched each day
LIES: tuple[Honesty, ...] = ("silent", "rewritten", "random")


def policies(
    rates: list[float], share: float
) -> dict[str, tuple[RefreshPolicy, Honesty]]:
    """Return the policies that are compared, each with the sitemap of its site."""
    interval_ms = round(DAY_MS / share)
    known = {f"https://a.example/{n}": rate / DAY_MS for n, rate in enumerate(rates)}
    nutch = AdaptiveInterval(first_ms=interval_ms, least_ms=DAY_MS)
    with_known = OptimalFreshness(lambda facts: known[facts.url], exploration=0.0)
    return {
        "fixed interval": (FixedInterval(interval_ms), "none"),
        "adaptive, as Nutch": (nutch, "none"),
        "adaptive, as StormCrawler": (STORMCRAWLER, "none"),
        "optimal, rates estimated": (OptimalFreshness(), "none"),
        "optimal, rates known": (with_known, "none"),
        "sitemap-led, truthful": (StaleProbability(), "truthful"),
        **{f"sitemap-led, {lie}": (StaleProbability(), lie) for lie in LIES},
    }


def compare(rates: list[float], n_days: int, share: float) -> list[Figure]:
    """Print a row for each policy; return its freshness next to a fixed interval."""
    budget = round(len(rates) * share)
    optimum = optimal_freshness(rates, budget)
    print(f"{len(rates)} pages, {budget} fetches a day; optimum {optimum:.3f}")
    figures = []
    fixed = 0.0
    for name, (policy, honesty) in policies(rates, share).items():
        site = ChangingSite(rates, honesty)
        found = site.run(policy, n_epochs=n_days, budget=budget, warm_up=n_days // 3)
        fixed = fixed or found.freshness
        print(f"{name:28} {_row(found)}", flush=True)
        # Adaptive intervals grow beyond the budget.
        least = None if "adaptive" in name or "fixed" in name else 1.0
        figures.append(
            Figure(
                f"{name}, {share:.0%} a day",
                found.freshness / fixed,
                "x fixed",
                at_least=least,
            )
        )
    return figures


def _row(found: RefreshResult) -> str:
    each = found.n_fetches / found.n_changed
    return f"fresh {found.freshness:.3f}, {each:.2f} fetches for each changed page"


def truth(rates: list[float], n_days: int) -> list[Figure]:
    """Return the cost of a truthful sitemap, and the time until lies are found out."""
    budget = round(len(rates) * SHARES[-1])
    site = ChangingSite(rates, "truthful")
    found = site.run(StaleProbability(), n_epochs=n_days, budget=budget)
    figures = [
        Figure("truthful", found.n_fetches / found.n_changed, "x changed", at_most=1.1),
        Figure("truthful, missed", found.n_missed, "pages", at_most=0),
    ]
    for lie in LIES:
        longest = max(_days_trusted(rates, lie, budget, seed) for seed in range(5))
        figures.append(Figure(f"{lie}, trusted for", longest, "days", at_most=10))
    return figures


def _days_trusted(rates: list[float], lie: Honesty, budget: int, seed: int) -> int:
    """Return for how many days a site is trusted after it begins to lie."""
    site = ChangingSite(rates, "truthful", seed)
    site.run(StaleProbability(), n_epochs=30, budget=budget)
    site.honesty = lie
    n_days = 0
    while n_days < 100 and _is_trusted(site):
        site.run(StaleProbability(), n_epochs=1, budget=budget)
        n_days += 1
    return n_days


def _is_trusted(site: ChangingSite) -> bool:
    facts = (page.facts() for page in site.pages)
    return judge_site(facts, site.day * DAY_MS).dated.is_trusted


def webs() -> dict[str, tuple[list[list[float]], int]]:
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


def compare_shares() -> list[Figure]:
    """Print freshness by shares of a budget; return that by one price, of the best."""
    figures = []
    for name, (hosts, budget) in webs().items():
        best = optimal_freshness([rate for some in hosts for rate in some], budget)
        found = kept_fresh(hosts, budget, 60)
        equal = equal_shares(hosts, budget)
        print(f"{name}: equal {equal:.3f}, one price {found:.3f}, optimum {best:.3f}")
        figures.append(Figure(name, found / best, "x optimum", at_least=0.98))
    return figures


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Compare all policies, with two budgets."""
    given = sys.argv[1:] if arguments is None else arguments
    n_pages, n_days = (*map(int, given), *(300, 120)[len(given) :])
    rates = uneven_rates(n_pages, mean=MEAN_RATE)
    figures = [each for share in SHARES for each in compare(rates, n_days, share)]
    return figures + truth(rates, n_days) + compare_shares()


if __name__ == "__main__":
    sys.exit(judge(main()))
