"""`make bench`: every benchmark, and whether it keeps to its budgets.

`python -m tests.bench [NAME ...]` runs those named, e.g. `crawl start`.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tests.bench.figures import Figure, figures_of, judge


def main(names: list[str]) -> int:
    """Run benchmarks one after another, each in a separate process.

    Returns:
        1 if a figure missed its budget, or a benchmark failed; else 0.
    """
    here = Path(__file__).parent
    known = sorted(path.stem.removeprefix("bench_") for path in here.glob("bench_*.py"))
    if unknown := set(names) - set(known):
        print(f"no such benchmark: {', '.join(sorted(unknown))}; {', '.join(known)}")
        return 1
    figures: list[Figure] = []
    failed: list[str] = []
    for name in names or known:
        print(f"\n== {name}", flush=True)
        # A fresh process: memory left by an earlier benchmark is not measured.
        with ProcessPoolExecutor(1, get_context("spawn")) as processes:
            try:
                figures += processes.submit(figures_of, name).result()
            except Exception as error:
                print(f"failed: {error!r}", flush=True)
                failed.append(name)
    print("\n== budgets")
    missed = judge(figures)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return int(missed or bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
