"""Results of a benchmark: figures, each with its budget.

A benchmark is a module `bench_*` with `main(arguments) -> list[Figure]`, which may
print progress. Run alone, it ends with `sys.exit(judge(main()))`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure, and its budget.

    A budget is a ratio to something measured in the same run wherever that can be:
    absolute times of one machine differ by half.

    Attributes:
        name: of the measurement.
        value: the figure.
        unit: of it, e.g. "x bare loop", "MB".
        at_most: its budget, if it must not be greater.
        at_least: its budget, if it must not be less.
        measured: the quantity behind a ratio, with its unit, or empty.
        yardstick: the same of the reference, or empty.
    """

    name: str
    value: float
    unit: str
    at_most: float | None = None
    at_least: float | None = None
    measured: str = ""
    yardstick: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the figure keeps to its budget; one without a budget does."""
        if self.at_most is not None and not self.value <= self.at_most:
            return False
        return self.at_least is None or self.value >= self.at_least

    @property
    def budget(self) -> str:
        """The budget in words; empty if there is none."""
        if self.at_most is not None:
            return f"at most {_text(self.at_most)}"
        return f"at least {_text(self.at_least)}" if self.at_least is not None else ""

    def __str__(self) -> str:
        verdict = "" if self.is_met else "MISSED"
        return (
            f"{self.name:44}{_text(self.value):>10} {self.unit:24} "
            f"{self.budget:18}{verdict}"
        ).rstrip()

    def row(self) -> str:
        """Return the figure as a row of a table in Markdown."""
        value = f"{_text(self.value)} {self.unit}".strip()
        verdict = self.budget if self.is_met else f"{self.budget}: **missed**"
        cells = self.name, self.measured, self.yardstick, value, verdict
        return f"| {' | '.join(cells)} |"


def figures_of(name: str) -> list[Figure]:
    """Run one benchmark in this process, with its usual sizes."""
    figures: list[Figure] = import_module(f"tests.bench.bench_{name}").main([])
    return figures


def judge(figures: Iterable[Figure]) -> int:
    """Print each figure with its budget; return 1 if one is missed, else 0."""
    missed = 0
    for figure in figures:
        print(figure, flush=True)
        missed += not figure.is_met
    if missed:
        print(f"{missed} missed")
    return int(missed > 0)


def _text(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"
