"""Crawls with and without `want`, of a shop, a portal and a blog.

Run: `python -m tests.bench want`. Requests are those that the sites have seen; recall
is that of the crawl without `want`, in documents with wanted statements.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rdfcrawl.rdf.wanted import statement_counter, wanted_iris
from rdfcrawl.stores.log.crawl_log import iter_latest
from tests.bench.figures import Figure, judge
from tests.otherweb.wanted_sites import WantedBlog, WantedPortal, WantedShop

if TYPE_CHECKING:
    from tests.otherweb.wanted_sites import WantedSite

_LOOK_SECS: Final = 0.1
_SITES: Final[dict[str, type[WantedSite]]] = {
    "shop": WantedShop,
    "portal": WantedPortal,
    "blog": WantedBlog,
}


@dataclass(frozen=True, slots=True)
class Run:
    """One crawl.

    Attributes:
        targets: requested ones, in order.
        n_bytes: of their bodies.
        wanted: URLs of the documents with wanted statements.
        n_wanted_bytes: of their bodies.
        n_stored_bytes: of the bodies of documents with any statements.
        first_secs: from the start of the process to the first of them in the log.
    """

    targets: list[str]
    n_bytes: int
    wanted: frozenset[str]
    n_wanted_bytes: int
    n_stored_bytes: int
    first_secs: float


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Print a row per crawl; return recall and costs of those with `want`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", choices=_SITES, action="append")
    options = parser.parse_args(arguments)
    print(
        f"{'':14}{'requests':>10}{'wanted':>8}{'share':>8}{'bytes':>8}{'any':>8}{'first':>8}"
    )
    figures = []
    for number, name in enumerate(options.site or _SITES):
        site = _SITES[name](f"127.55.9.{number + 1}")
        site.start()
        try:
            usual, wanting = (_crawl(site, want) for want in ("", site.wanted))
        finally:
            site.stop()
        _print_row(name, usual)
        _print_row(f"{name}, want", wanting)
        recall = len(wanting.wanted & usual.wanted) / len(usual.wanted)
        share = len(wanting.targets) / len(usual.targets)
        figures += [
            Figure(f"{name}, recall of wanted documents", recall, "", at_least=0.99),
            Figure(f"{name}, requests", share, "x without want", at_most=0.6),
            Figure(f"{name}, first row", wanting.first_secs, "s", at_most=10),
        ]
        if name == "shop":
            useful = wanting.n_stored_bytes / wanting.n_bytes
            what = "shop, bytes of documents with statements"
            figures.append(Figure(what, useful, "", at_least=0.95))
    return figures


def _print_row(name: str, run: Run) -> None:
    shares = (
        len(run.wanted) / len(run.targets),
        run.n_wanted_bytes / run.n_bytes,
        run.n_stored_bytes / run.n_bytes,
    )
    columns = "".join(f"{share:8.1%}" for share in shares)
    numbers = f"{len(run.targets):10}{len(run.wanted):8}"
    print(f"{name:14}{numbers}{columns}{run.first_secs:7.1f}s")


def _crawl(site: WantedSite, want: str) -> Run:
    site.requests.clear()
    with tempfile.TemporaryDirectory() as name:
        began, first_secs = time.monotonic(), 0.0
        process = subprocess.Popen(
            _line(site, want, name),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        quads = Path(name) / "linkeddata" / "quads"
        while process.poll() is None:
            if not first_secs and _wanted_documents(quads, site.wanted):
                first_secs = time.monotonic() - began
            time.sleep(_LOOK_SECS)
        if process.returncode:
            raise RuntimeError(f"the crawl ended with {process.returncode}")
        wanted = _wanted_documents(quads, site.wanted)
        stored = frozenset(x.graph for x in iter_latest(quads) if x.quads)
    targets = [request.target for request in site.requests]
    sizes = {x: len(site.pages[x]().body) for x in targets if x in site.pages}
    return Run(
        targets,
        sum(sizes.get(x, 0) for x in targets),
        wanted,
        sum(n for x, n in sizes.items() if site.url(x) in wanted),
        sum(n for x, n in sizes.items() if site.url(x) in stored),
        first_secs or time.monotonic() - began,
    )


def _line(site: WantedSite, want: str, folder: str) -> list[str]:
    more = ("-a", f"want={want}") if want else ()
    return [
        *(sys.executable, "-m", "scrapy", "crawl", "linkeddata"),
        *("-a", f"seeds={site.url()}", "-a", "scope=host"),
        *("-a", "follow=abox,hyperlink", *more),
        *("-s", "DOWNLOAD_DELAY=0", "-s", "GUARD_ALLOW_NETS=127.0.0.0/8"),
        *("-s", f"CRAWL_DIR={folder}", "-s", "PROGRESS=off", "-s", "DESCRIBE=off"),
    ]


def _wanted_documents(quads: Path, want: str) -> frozenset[str]:
    """Return the graphs with wanted statements."""
    if not quads.is_dir():
        return frozenset()
    count = statement_counter(wanted_iris((want,)))
    try:
        pieces = list(iter_latest(quads))
    except OSError:  # the log grows meanwhile
        return frozenset()
    return frozenset(x.graph for x in pieces if count(x.quads))


if __name__ == "__main__":
    sys.exit(judge(main()))
