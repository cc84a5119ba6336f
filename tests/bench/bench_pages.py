"""HTML pages of 50 to 150 KB of shops, blogs and portals, by form of annotation.

The reference is Scrapy with extruct in one spider, on a quarter of the pages, as it is
slower, in the same minutes. The CPU of the start, that of a run with one page, is
subtracted on both sides.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.bench.budgets import line
from tests.bench.documents.server import served
from tests.bench.documents.sites import web_pages
from tests.bench.figures import Figure, judge
from tests.bench.measured import crawl, run_measured

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAMES: Final = {
    "plain": "plain",
    "json-ld": "JSON-LD",
    "microdata": "Microdata",
    "rdfa": "RDFa",
    "mixed": "mixed",
}
_OF_REFERENCE: Final = 4  # each n-th page; not each third: those are all of shops


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Return the lines of each form."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=180)
    options = parser.parse_args(arguments)
    figures = []
    for form, name in _NAMES.items():
        with (
            served(
                lambda port, form=form: web_pages(port, form, options.pages)  # type: ignore[misc]
            ) as pages,
            tempfile.TemporaryDirectory() as folder,
        ):
            ours, theirs = _measure(Path(folder), [*pages])
        rates = f"{ours:.0f} pages/s", f"Scrapy + extruct: {theirs:.0f} pages/s"
        figures.append(line(f"HTML pages, {name}", ours, *rates))
        print(*figures[-1:], rates[1], flush=True)
    return figures


def _measure(folder: Path, urls: list[str]) -> tuple[float, float]:
    """Return pages per second of CPU of a crawl, and of the reference."""
    every, some = _seeds(folder, "all", urls), urls[::_OF_REFERENCE]
    one, few = _seeds(folder, "one", urls[:1]), _seeds(folder, "few", some)
    run = crawl(folder, every, "-a", "depth=0")
    if run.n_documents != len(urls):
        print(f"crawled {run.n_documents} of {len(urls)} pages")
    ours = run.cpu_secs - crawl(folder, one, "-a", "depth=0").cpu_secs
    theirs = _extruct_secs(folder, few) - _extruct_secs(folder, one)
    return (len(urls) - 1) / ours, (len(some) - 1) / theirs


def _seeds(folder: Path, name: str, urls: Iterable[str]) -> Path:
    path = folder / f"{name}.txt"
    path.write_text("\n".join(urls))
    return path


def _extruct_secs(folder: Path, seeds: Path) -> float:
    items = folder / "items.jsonl"
    items.unlink(missing_ok=True)
    words = ["tests.bench.scrapy_extruct", str(seeds), str(items)]
    usage = run_measured([sys.executable, "-m", *words], lambda _: None)
    n_found = items.read_bytes().count(b"\n")
    if n_found != len(seeds.read_text().split()):
        print(f"Scrapy + extruct: {n_found} pages of {seeds.name}")
    return usage.cpu_secs


if __name__ == "__main__":
    sys.exit(judge(main()))
