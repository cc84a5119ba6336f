"""Cost of stores that follow a crawl, next to their own bulk loaders.

Each store is filled from a log by `scrapy store load`, then by its own bulk loader from
`scrapy export` of the same log; CPU is that of loader and server together. Then it
follows a crawl without delay, on the same machine as the web, which is as fast as a
crawl can be: how far behind it is, and how long it takes to catch up. All are measured
on one log; the tables at the end are those of `docs/explanation/performance.md`. If one
fails, it is named, and the others go on.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rdfcrawl.dataweb.process import NETWORK, run_dataweb
from rdfcrawl.stores.crawl_folder import is_finished
from rdfcrawl.stores.followers.status import read_statuses
from tests.bench.bench_export import write_log
from tests.bench.figures import Figure, judge
from tests.bench.loaded_stores import STORES, Spent
from tests.bench.measured import crawled_web, run_measured
from tests.bench.store_tables import CrawlLag, StoreRow, markdown

if TYPE_CHECKING:
    from tests.bench.loaded_stores import LoadedStore

_SCRAPY = [sys.executable, "-m", "scrapy"]
# As a multiple of the bulk loader's CPU.
_BUDGETS: dict[str, float] = {}
_CRAWL_SECS = 300.0


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Print rows per store; return its cost relative to its bulk loader."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stores", nargs="*", help="names; all by default")
    parser.add_argument("--quads", type=int, default=60_000, help="in the log")
    parser.add_argument("--per-document", type=int, default=20, help="quads")
    parser.add_argument(
        "--no-blank-nodes", action="store_true", help="each thing has an IRI"
    )
    parser.add_argument("--nodes", type=int, default=6, help="hosts crawled; 0: none")
    options = parser.parse_args(arguments)
    known = {store.name: store for store in STORES}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_log(
            folder / "log",
            options.quads,
            options.per_document,
            has_blank_nodes=not options.no_blank_nodes,
        )
        data = _exported(folder)
        rows: list[StoreRow] = []
        failed: list[str] = []
        for chosen in options.stores or known:
            if missing := known[chosen].missing():
                print(f"{chosen}: without {missing}")
                continue
            try:
                rows.append(_measure(known[chosen], folder, data, options))
            except (OSError, RuntimeError) as error:
                failed.append(chosen)
                print(f"{chosen}: failed: {error}", flush=True)
    print(f"\n{markdown(rows)}", flush=True)
    figures = [
        Figure(
            f"{row.name} follows, CPU",
            row.ratio,
            f"x {row.loader}",
            at_most=_BUDGETS.get(row.name),
        )
        for row in rows
    ]
    # One that failed has missed.
    return [*figures, Figure("stores that failed", len(failed), "", at_most=0)]


def _exported(folder: Path) -> Path:
    path = folder / "data.nq.gz"
    line = [*_SCRAPY, "export", "--to", str(path), *_of_crawl(folder / "log")]
    run_measured(line, lambda _: None)
    return path


def _of_crawl(root: Path) -> list[str]:
    return ["-s", f"CRAWL_DIR={root.parent}", "-s", f"CRAWL_ID={root.name}"]


def _measure(
    kind: type[LoadedStore], folder: Path, data: Path, options: argparse.Namespace
) -> StoreRow:
    place = folder / "store"

    def new() -> LoadedStore:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        return kind(place)

    bulk = new().load(data)
    _print(f"{kind.name}, {kind.loader}", bulk, options)
    store = new()
    followed = store.while_running(lambda: _load(store, folder / "log"))
    _print(f"{kind.name}, follower", followed, options)
    lag = None
    if options.nodes:
        store = new()
        with store.running():
            lag = _crawl(store, options.nodes)
        print(f"{kind.name}, behind a crawl: {lag}", flush=True)
    shutil.rmtree(place)
    return StoreRow(
        name=kind.name,
        loader=kind.loader,
        n_documents=options.quads // options.per_document,
        n_quads=options.quads,
        bulk=bulk,
        followed=followed,
        lag=lag,
    )


def _load(store: LoadedStore, root: Path) -> Spent:
    stores = json.dumps({store.uri: store.options})
    line = [*_SCRAPY, "store", "load", store.uri, "-s", f"STORES={stores}"]
    usage = run_measured([*line, *_of_crawl(root)], lambda _: None)
    if usage.exit_code:
        raise RuntimeError(f"the follower ended with {usage.exit_code}")
    return Spent(usage.wall_secs, usage.cpu_secs, rss_mb=usage.rss_mb)


def _print(name: str, spent: Spent, options: argparse.Namespace) -> None:
    n_documents = options.quads // options.per_document
    print(
        f"{name:34}{spent.wall_secs:7.1f} s, {n_documents / spent.wall_secs:7,.0f}"
        f" documents/s, {options.quads / spent.wall_secs / 1e3:6.0f} k quads/s, CPU"
        f" {spent.cpu_secs:6.1f} s, of the server {spent.server_secs:6.1f} s, peak"
        f" {spent.rss_mb:5.0f} MB, of the server {spent.server_mb:5.0f} MB",
        flush=True,
    )


def _crawl(store: LoadedStore, n_nodes: int) -> CrawlLag:
    """Crawl while the store follows; return how far behind it is."""
    config = crawled_web(n_nodes)
    n_documents = n_nodes * config.n_resources
    root = store.folder / "crawls" / "linkeddata"
    lags: list[tuple[int, float]] = []  # in documents and seconds
    ended: list[float] = []

    def look(_: int) -> None:
        if not ended:
            found = read_statuses(root) if root.exists() else []
            lags.extend((each.n_behind, each.secs_behind) for each in found)
            if is_finished(root / "quads"):
                ended.append(time.monotonic())

    with run_dataweb(config, store.folder):
        stores = json.dumps({store.uri: store.options})
        line = [
            *(*_SCRAPY, "crawl", "linkeddata", "-s", f"STORES={stores}"),
            *("-a", f"seeds=@{store.folder / 'seeds.txt'}"),
            *("-s", "DOWNLOAD_DELAY=0", "-s", "CONCURRENT_REQUESTS=64"),
            *("-s", "PROGRESS=off", "-s", f"GUARD_ALLOW_NETS={NETWORK}"),
            *_of_crawl(root),
        ]
        began = time.monotonic()
        usage = run_measured(line, look, _CRAWL_SECS)
    if usage.exit_code or not ended:
        raise RuntimeError(f"the crawl ended with {usage.exit_code}")
    last = lags[-1] if lags else (n_documents, 0.0)
    return CrawlLag(
        n_documents=n_documents,
        crawl_secs=ended[0] - began,
        most=max(lags, default=last),
        at_end=last,
        later_secs=began + usage.wall_secs - ended[0],
    )


if __name__ == "__main__":
    sys.exit(judge(main()))
