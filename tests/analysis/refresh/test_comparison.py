"""The tables of the documentation are those of the benchmark."""

from __future__ import annotations

from tests.bench.bench_refresh import (
    DOCUMENT,
    N_PAGES,
    POLICIES,
    SHARES,
    webs,
    written,
)
from tests.support.changing_pages import optimal_freshness


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
