"""The interval of the freshness of copies, against simulated webs whose truth is known.

`python -m tests.analysis.refresh.test_freshness [N_RUNS [N_PAGES]]` prints the coverage
and the mean width: the table of docs/explanation/refresh.md.
"""

from __future__ import annotations

import random
import sys
from math import inf
from typing import NamedTuple

import pytest

from rdfcrawl.analysis.measures.refetches import iter_intervals
from rdfcrawl.analysis.refresh.freshness import freshness_now
from rdfcrawl.analysis.refresh.histories import SiteHistories
from rdfcrawl.analysis.refresh.sampling import sample
from rdfcrawl.analysis.refresh.stale import StaleProbability
from tests.support.changing_pages import ChangingSite, Honesty, uneven_rates

MIXED = (0.0, 0.02, 0.2, 1.0)


class Web(NamedTuple):
    """A web of one site.

    Attributes:
        rates: of which each page has one; empty: those of the real web.
        honesty: of its sitemap.
        n_epochs: days in which it was refreshed.
        share: of its pages that are fetched in a day.
    """

    rates: tuple[float, ...] = ()
    honesty: Honesty = "none"
    n_epochs: int = 12
    share: float = 0.1


WEBS = {
    "after the crawl": Web(n_epochs=0),
    "few refetches": Web(n_epochs=3),
    "gamma": Web(),
    "mixed": Web(MIXED),
    "fast tail": Web((*([0.005] * 8), 3.0, 3.0)),
    "truthful": Web(honesty="truthful", share=0.2),
    "70 % recall": Web(honesty="incomplete", share=0.2),
    "false claims": Web(honesty="imprecise", share=0.2),
    "always new": Web(honesty="rewritten", share=0.2),
    "new by chance": Web(honesty="random", share=0.2),
    "never new": Web(honesty="silent", share=0.2),
    "false claims, few fetches": Web(honesty="imprecise", share=0.05),
    "new by chance, few fetches": Web(honesty="random", share=0.05),
}


def watched(web: Web, n_pages: int, seed: int) -> tuple[float, float, float]:
    """Return the bounds of the freshness of a site, and the true one, a day later."""
    dice = random.Random(seed)
    rates = uneven_rates(n_pages, mean=0.1, seed=seed)
    if web.rates:
        rates = [dice.choice(web.rates) for _ in rates]
    site = ChangingSite(rates, web.honesty, seed=seed)
    budget = round(n_pages * web.share)
    site.run(StaleProbability(), n_epochs=web.n_epochs, budget=budget)
    site.pass_day()
    histories = SiteHistories(float(site.day))
    for page in site.pages:
        facts = page.facts()
        histories.add(facts, iter_intervals(facts))
    low, high = freshness_now(histories, float(site.day)).interval
    return low, high, sum(x.copy == x.version for x in site.pages) / n_pages


def test_draws_are_made_where_hardly_any_point_is_possible() -> None:
    """If few points of a round have a density, then the sampler still ends."""
    found = sample(
        lambda point: -point[0] if point[0] > 1 else -inf,
        [0.0, 0.0],
        [0.5, 0.5],
        20,
        "a",
    )
    assert len(found) == 20


@pytest.mark.in_turn(2)
def test_interval_has_the_true_freshness() -> None:
    """If webs are watched, then the true freshness is in the interval, nearly always.

    It is wide if next to nothing is known of a web, and narrower later.
    """
    n_runs = n_inside = 0
    for place, web in enumerate(WEBS.values()):
        found = [watched(web, 40, seed) for seed in (2 * place, 2 * place + 1)]
        n_runs += len(found)
        n_inside += sum(low <= truth <= high for low, high, truth in found)
        width = sum(high - low for low, high, _ in found) / len(found)
        is_watched = web.n_epochs * web.share > 1  # each page, once or more
        assert width < 0.5 if is_watched else width > 0.3
    assert n_inside >= 0.93 * n_runs


def main() -> None:
    """Print a row for each web."""
    given = [*map(int, sys.argv[1:]), *(100, 40)[len(sys.argv) - 1 :]]
    n_runs, n_pages = given
    for name, web in WEBS.items():
        found = [watched(web, n_pages, seed) for seed in range(n_runs)]
        n_inside = sum(low <= truth <= high for low, high, truth in found)
        width = sum(high - low for low, high, _ in found) / n_runs
        print(f"| {name} | {n_inside} of {n_runs} | {width:.2f} |", flush=True)


if __name__ == "__main__":
    main()
