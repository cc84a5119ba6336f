"""`make bench`: the table of all figures that have a budget.

`python -m tests.bench` measures all of its lines, prints them, and writes them into
docs/explanation/performance.md. `python -m tests.bench NAME ...` runs the benchmarks
named, e.g. `crawl start`, of the table or not, and prints their figures alone.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tests.bench.budgets import BUDGETS, SECTIONS
from tests.bench.figures import Figure, figures_of, judge
from tests.bench.table import table_text, write_table


def main(names: list[str]) -> int:
    """Run benchmarks one after another, each in a separate process.

    Returns:
        1 if a figure missed its budget or is absent, or a benchmark failed; else 0.
    """
    here = Path(__file__).parent
    known = sorted(path.stem.removeprefix("bench_") for path in here.glob("bench_*.py"))
    if unknown := set(names) - set(known):
        print(f"no such benchmark: {', '.join(sorted(unknown))}; {', '.join(known)}")
        return 1
    figures: list[Figure] = []
    failed: list[str] = []
    for name in names or SECTIONS:
        print(f"\n== {name}", flush=True)
        began = time.monotonic()
        # A fresh process: memory left by an earlier benchmark is not measured.
        with ProcessPoolExecutor(1, get_context("spawn")) as processes:
            try:
                figures += processes.submit(figures_of, name).result()
            except Exception as error:
                print(f"failed: {error!r}", flush=True)
                failed.append(name)
        print(f"({time.monotonic() - began:.0f} s)", flush=True)
    print("\n== budgets")
    missed = judge(figures)
    if failed:
        print(f"failed: {', '.join(failed)}")
    absent = 0 if names else _keep(figures)
    return int(bool(missed or failed or absent))


def _keep(figures: list[Figure]) -> int:
    """Write the table if it has all lines; return 1 if it has not."""
    found = {figure.name: figure for figure in figures}
    if absent := BUDGETS.keys() - found.keys():
        print(f"not measured, so no table is written: {', '.join(sorted(absent))}")
        return 1
    write_table(table_text(found[name] for name in BUDGETS))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
