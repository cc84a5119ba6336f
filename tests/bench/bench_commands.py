"""Growth of commands: CPU and memory of each, after longer crawls.

Three webs of small documents are crawled, and all commands run on each: a small one,
whose cost is that of the start, N documents, and four times as many.

Run: `python -m tests.bench.bench_commands [--documents N] [--hosts N] [--only NAME]`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final

from rdfcrawl.dataweb.process import run_dataweb
from tests.bench.figures import Figure, judge
from tests.bench.measured import Usage, crawl, crawl_line, crawled_web, run_measured

_FACTOR: Final = 4
_FEWEST: Final = 2000  # documents of the small web
_CPU_AT_MOST: Final = 1.75  # times the CPU of a document; Oxigraph needs 1.6
_BYTES_AT_MOST: Final = 800.0  # until buffers of sorting are full
_NOISE_SECS: Final = 0.5  # of CPU, which are no growth

_COUNT: Final = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
_OF_PROVENANCE: Final = (
    "SELECT (COUNT(*) AS ?n) { ?d <http://www.w3.org/ns/prov#wasGeneratedBy> ?a }"
)
COMMANDS: Final[dict[str, tuple[str, ...]]] = {
    "crawl again": ("crawl", "linkeddata"),
    "results": ("results",),
    "results hosts": ("results", "hosts"),
    "changes": ("changes",),
    "changes, each document": ("changes", "--documents", "--format", "json"),
    "export": ("export", "--to", "{}/all.nq.gz"),
    "export to TriG": ("export", "--to", "{}/all.trig"),
    "export to HDT": ("export", "--to", "{}/all.hdt"),
    "export to Parquet": ("export", "--to", "{}/all.parquet"),
    "export of items": ("export", "--to", "{}/all.jl"),
    "export by hosts": ("export", "--by-host", "--to", "{}/hosts/"),
    "export of provenance": ("export", "--provenance", "--to", "{}/made.nq.gz"),
    "description": ("export", "--describe"),
    "query, the first": ("query", _COUNT),
    "query": ("query", _COUNT),
    "query of provenance": ("query", _OF_PROVENANCE),
    "store load": ("store", "load", "oxigraph:{}/oxigraph"),
    "store verify": ("store", "verify", "oxigraph:{}/oxigraph"),
    "store load of TriG": ("store", "load", "trig:{}/trig"),
    "store load of Parquet": ("store", "load", "parquet:{}/parquet"),
    "store status": ("store", "status"),
    "store compact": ("store", "compact"),
    "urldb build": ("urldb", "build"),
    "urldb build, nothing new": ("urldb", "build"),
    "urldb rank": ("urldb", "rank"),
    "urldb export": ("urldb", "export", "--to", "{}/urls.parquet"),
    "urldb observe": ("urldb", "observe", "--to", "{}/seen.parquet"),
    "report, the first": ("report",),
    "report, nothing new": ("report",),
    "refresh --dry-run": ("refresh", "--dry-run"),
    "refresh": ("refresh",),
    "explain": ("explain", "{url}"),
    "explain --offline": ("explain", "--offline", "{url}"),
    "frontier status": ("frontier", "status"),
    "frontier hosts": ("frontier", "hosts"),
    "frontier check": ("frontier", "check"),
    "frontier export": ("frontier", "export", "{}/frontier.bin"),
}
"""Commands in their order; `{}` is a folder for their files, `{url}` a fetched URL."""


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Print each run; return the growth of each command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--only", default="", help="commands with this in their names")
    options = parser.parse_args(arguments)
    names = [name for name in COMMANDS if options.only in name]
    sizes = _FEWEST, options.documents, options.documents * _FACTOR
    costs = [_costs(n, options.hosts, names) for n in sizes]
    return [figure for name in names for figure in _growth(name, costs, sizes[1])]


def _growth(name: str, costs: list[dict[str, Usage]], n_documents: int) -> list[Figure]:
    start, few, many = (each[name] for each in costs)
    few_secs = few.cpu_secs - start.cpu_secs
    many_secs = max(0.0, many.cpu_secs - start.cpu_secs - _NOISE_SECS)
    cpu = many_secs / (_FACTOR * max(few_secs, _NOISE_SECS / _FACTOR))
    n_bytes = (many.rss_mb - few.rss_mb) * 2**20 / (n_documents * (_FACTOR - 1))
    return [
        Figure(f"{name}, CPU of a document", cpu, "x", _CPU_AT_MOST),
        Figure(f"{name}, memory", n_bytes, "B/further document", _BYTES_AT_MOST),
    ]


def _costs(n_documents: int, n_hosts: int, names: list[str]) -> dict[str, Usage]:
    """Crawl a web, and return the cost of each command."""
    n_hosts = min(n_hosts, n_documents // 10)
    web = replace(crawled_web(n_hosts), triples=n_documents // n_hosts, rdf_degree=2)
    with tempfile.TemporaryDirectory() as name, run_dataweb(web, Path(name)) as served:
        seeds = Path(name, "seeds.txt")
        run = crawl(Path(name), seeds)
        print(f"{run.n_documents:,} documents: {run.cpu_secs:.1f} s", flush=True)
        return {each: run_command(Path(name), each, served.seeds[0]) for each in names}


def run_command(folder: Path, name: str, url: str) -> Usage:
    """Run one of the commands on the crawl in a folder; return its cost.

    Args:
        folder: with `crawl`, and `seeds.txt` if the command is a crawl.
        name: of the command.
        url: that the crawl has fetched.
    """
    words = [x.replace("{}", str(folder)).replace("{url}", url) for x in COMMANDS[name]]
    root = folder / "crawl"
    line = [sys.executable, "-m", "scrapy", *words, "-s", f"CRAWL_DIR={root}"]
    if words[0] == "crawl":
        line = crawl_line(words, root, folder / "seeds.txt")
    usage = run_measured(line, lambda _: None)
    print(
        f"  {name}: {usage.cpu_secs:.2f} s, {usage.rss_mb:.0f} MB,"
        f" exit code {usage.exit_code}",
        flush=True,
    )
    return usage


if __name__ == "__main__":
    sys.exit(judge(main()))
