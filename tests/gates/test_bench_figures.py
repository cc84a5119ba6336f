"""The judge of benchmarks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bench.figures import Figure, judge


@pytest.mark.parametrize(
    ("value", "budget", "is_met"),
    [
        (2.0, {"at_most": 2.0}, True),
        (2.01, {"at_most": 2.0}, False),
        (0.4, {"at_least": 0.4}, True),
        (0.39, {"at_least": 0.4}, False),
        (float("nan"), {"at_most": 2.0}, False),
        (float("nan"), {"at_least": 2.0}, False),
        (99.0, {}, True),
    ],
)
def test_a_figure_is_judged_by_its_budget(
    value: float, budget: dict[str, Any], *, is_met: bool
) -> None:
    """If a figure is worse than its budget, or no number at all, it is missed."""
    assert Figure("crawl", value, "x bare loop", **budget).is_met is is_met


def test_one_missed_budget_fails_the_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """If one of several figures is missed, it stands out and the run fails."""
    good = Figure("pages", 500, "pages/s", at_least=200)
    bad = Figure("crawl", 2.5, "x bare loop", at_most=2.0)
    assert judge([good]) == 0
    assert judge([good, bad]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "MISSED" in line] == [str(bad)]
    assert "2.50 x bare loop" in str(bad)
    assert "at most 2.00" in str(bad)
