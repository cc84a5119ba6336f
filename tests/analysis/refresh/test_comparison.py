"""The tables of the documentation are those of the benchmark."""

from __future__ import annotations

import math
import random

import pytest

from tests.bench.bench_refresh import (
    DOCUMENT,
    N_PAGES,
    POLICIES,
    SHARES,
    webs,
    written,
)
from tests.bench.refresh_limits import UnknownRates
from tests.support.changing_pages import ChangingSite, optimal_freshness


def test_documentation_has_the_figures_of_the_benchmark() -> None:
    """If some figures are computed again, then they are those of the documentation.

    The tables are complete, and a new one replaces the old.
    """
    text = DOCUMENT.read_text(encoding="utf-8")
    table = text.partition("<!-- table policies -->")[2].partition("<!-- end")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if "|" in line]
    tables = {(row[0], row[1]): row[2:] for row in rows if len(row) > 1}
    for name, web in webs().items():
        for share in SHARES:
            row = tables[name, f"{share:.2f}"]
            assert len(row) == len(POLICIES) + 1
            optimum = optimal_freshness(web.rates, round(N_PAGES * share))
            assert row[-1] == f"{optimum:.3f}"
    for policy, share in (("oldest first", 0.5), ("`posterior`", 0.05)):
        found = webs()["stationary"].run(POLICIES[policy], share).freshness
        column = list(POLICIES).index(policy)
        assert tables["stationary", f"{share:.2f}"][column] == f"{found:.3f}"
    assert "\n\n| new |\n\n<!-- end" in written(text, "policies", "| new |\n")


def test_no_policy_exceeds_the_bound() -> None:
    """If rates have to be learned, then policies are fresh within a bound.

    It is that of pages without fetches if there is no budget.
    """
    n_days, rates = 5, [0.0] * 40 + [0.5] * 40 + [24.0] * 20
    bound = UnknownRates((0.4, 0.4, 0.2), 0.5, 24.0, n_days, n_before=1).bound(0.5)
    random.Random(1).shuffle(rates)
    for name in ("oldest first", "StormCrawler", "`posterior`"):
        site = ChangingSite(rates)
        found = site.run(POLICIES[name], n_epochs=n_days, budget=50, warm_up=1)
        assert 0.98 * bound < found.freshness < bound
    stale = UnknownRates((0.0, 1.0, 0.0), 0.5, 24.0, n_days, n_before=0).bound(0.0)
    assert stale == pytest.approx((1 - math.exp(-2.5)) / 2.5, rel=0.01)
