"""Commands that read the log of a crawl: `store verify`, `report`, the first `query`.

The log has 200,000 statements in 2,000 documents of 2 to 20 KB.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.bench.budgets import line
from tests.bench.documents.server import served
from tests.bench.documents.sites import linked_data
from tests.bench.figures import Figure, judge
from tests.bench.measured import Usage, count_lines, crawl, run_measured


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Crawl, run each command, and return the lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--a-host", type=int, default=100, help="documents of 20 hosts")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seeds = folder / "seeds.txt"
        with served(
            lambda port: linked_data(port, "text/turtle", a_host=options.a_host)
        ) as documents:
            seeds.write_text("\n".join(x for x in documents if x.endswith("/id/0")))
            crawled = crawl(folder, seeds, "-a", "scope=host")
        n_quads = count_lines(folder / "crawl/linkeddata/quads", "-v '^#'")
        print(f"{crawled.n_documents} documents, {n_quads} statements", flush=True)
        return [*_store(folder), *_report(folder, crawled.cpu_secs), _query(folder)]


def _run(folder: Path, *words: str) -> Usage:
    crawl_dir = f"CRAWL_DIR={folder / 'crawl'}"
    command = [sys.executable, "-m", "scrapy", *words, "-s", crawl_dir]
    usage = run_measured(command, lambda _: None)
    name = " ".join(words[:2])
    print(f"{name}: {usage.cpu_secs:.2f} s, {usage.rss_mb:.0f} MB", flush=True)
    if usage.exit_code:
        raise RuntimeError(f"{name} exited with {usage.exit_code}")
    return usage


def _store(folder: Path) -> list[Figure]:
    uri = f"oxigraph:{folder / 'store'}"
    load, verify = (
        _run(folder, "store", do, uri).cpu_secs for do in ("load", "verify")
    )
    return [line("store verify", verify / load, f"{verify:.1f} s", f"{load:.1f} s")]


def _report(folder: Path, crawl_secs: float) -> list[Figure]:
    secs = [_run(folder, "report").cpu_secs for _ in range(2)]
    names = "report, the first", "report, nothing new"
    return [
        line(name, each / crawl_secs, f"{each:.1f} s", f"{crawl_secs:.1f} s")
        for name, each in zip(names, secs, strict=True)
    ]


def _query(folder: Path) -> Figure:
    query = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
    return line(
        "first query on 200,000 statements", _run(folder, "query", query).cpu_secs
    )


if __name__ == "__main__":
    sys.exit(judge(main()))
