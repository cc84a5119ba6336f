"""Cost of ranking URIs: time, CPU time and peak memory.

The logs are those of `bench_urldb`: each document has ten links, half of them to few
pages, and each URI is listed by a sitemap.

Run: `python -m tests.bench.bench_ranks [N_URIS ...]`, e.g. `1000000`.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rdfcrawl.analysis.urldb.rank_building import rank
from tests.bench.figures import Figure, judge

SIZES = (20_000,)
MOST_MB = 900.0
MOST_US = 60.0  # of CPU for a link, on a machine that does other things as well


def run(root: Path) -> None:
    """Rank; print the cost, and the number of URIs."""
    start, cpu = time.perf_counter(), time.process_time()
    facts = rank(root, scratch=root).table.facts
    secs, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    numbers = facts["n_nodes"], facts["n_links"], facts["n_rounds"]
    print(f"{secs:.3f} {cpu:.3f} {peak_mb}", *numbers)


def measure(root: Path, n_uris: int) -> list[Figure]:
    """Return the cost of ranking a number of URIs, in a separate process."""
    python = [sys.executable, "-m"]
    for action in ("write", "build"):
        program = [*python, "tests.bench.bench_urldb", action, str(root), str(n_uris)]
        subprocess.run(program, check=True, capture_output=True)
    program = [*python, "tests.bench.bench_ranks", str(root)]
    done = subprocess.run(program, check=True, capture_output=True, text=True)
    secs, cpu, peak_mb, n_nodes, n_links, n_rounds = map(float, done.stdout.split())
    size = (root / "ranks" / "ranks.bin").stat().st_size
    print(
        f"{n_nodes:,.0f} URIs, {n_links:,.0f} links: {secs:.1f} s, {cpu:.1f} s of CPU,"
        f" peak RSS {peak_mb:.0f} MB, {n_rounds:.0f} rounds,"
        f" {size / n_nodes:.1f} B/URI",
        flush=True,
    )
    name = f"ranks {n_uris:,}"
    return [
        Figure(f"{name}, CPU", cpu / n_links * 1e6, "µs/link", at_most=MOST_US),
        Figure(f"{name}, memory", peak_mb, "MB", at_most=MOST_MB),
    ]


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Rank logs of each size."""
    given = sys.argv[1:] if arguments is None else arguments
    if given and not given[0].isdigit():
        run(Path(given[0]))
        return []
    figures: list[Figure] = []
    for n_uris in [int(each) for each in given] or SIZES:
        with tempfile.TemporaryDirectory() as name:
            figures += measure(Path(name) / "crawl", n_uris)
    return figures


if __name__ == "__main__":
    sys.exit(judge(main()))
