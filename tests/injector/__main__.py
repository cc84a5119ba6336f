"""Tries each fault at each request of the kinds of sources.

    python -m tests.injector [--in first|later|killed] [--fault NAME] [KIND ...]

Prints the documents that were not as they should be. Hundreds of sites are crawled at
the same time, each with one fault at one request.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from tests.injector.chains import CrawlChain, start_sites
from tests.injector.kinds import KINDS, SourceKind
from tests.injector.sites import FAULTS
from tests.support.crawl_fixtures import Commands
from tests.support.crawl_webs import Loopback

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_AT_ONCE: Final = 300  # sites of a crawl


class FaultTrials:
    """Chains of crawls in a folder.

    Args:
        loopback: serves the sites.
        folder: for the crawls.
        run: `first`, `later` or `killed`: the one with faults.

    Attributes:
        n_cells: pairs of a fault and a request that were tried.
        n_held: kills at these requests.
    """

    def __init__(self, loopback: Loopback, folder: Path, run: str) -> None:
        self._loopback, self._folder, self._run = loopback, folder, run
        self._n_chains = 0
        self.n_cells = self.n_held = 0

    def try_all(
        self, kinds: Sequence[SourceKind], faults: Sequence[str], at: Sequence[int]
    ) -> Iterator[str]:
        """Yield what was wrong in any cell of some kinds."""
        if not kinds:
            return
        numbers, bad = self._count(kinds)
        yield from bad
        cells = [
            (kind, (fault, nth))
            for kind, number in zip(kinds, numbers, strict=True)
            for nth, fault in product(range(number), faults)
            if not at or nth in at
        ]
        for n in range(0, len(cells), _AT_ONCE):
            some = cells[n : n + _AT_ONCE]
            chain = self._chain([kind for kind, _ in some])
            if self._run != "first":
                chain.run_with()
            chain.run_with([cell for _, cell in some], has_kills=self._run == "killed")
            self.n_cells += len(some)
            self.n_held += sum(chain.n_held)
            yield from chain.bad

    def _count(self, kinds: Sequence[SourceKind]) -> tuple[list[int], list[str]]:
        """Return the numbers of requests in a run without faults."""
        chain = self._chain(kinds)
        for _ in range(1 if self._run == "first" else 2):
            chain.run_with()
        return [len(site.seen) for site in chain.sites], chain.bad

    def _chain(self, kinds: Sequence[SourceKind]) -> CrawlChain:
        self._n_chains += 1
        sites = start_sites(self._loopback, kinds, f"127.{110 + self._n_chains}")
        folder = self._folder / str(self._n_chains)
        folder.mkdir()
        return CrawlChain(Commands(lambda: folder), sites, folder)


def main() -> int:
    """Run the crawls; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.injector")
    runs = ("first", "later", "killed")
    parser.add_argument("--in", dest="run", choices=runs, default="later")
    parser.add_argument("--fault", action="append", choices=FAULTS)
    parser.add_argument("--at", type=int, action="append", help="number of a request")
    parser.add_argument("kinds", nargs="*", metavar="KIND")
    given = parser.parse_args()
    n_bad = 0
    with Loopback() as loopback, TemporaryDirectory(prefix="injector-") as folder:
        trials = FaultTrials(loopback, Path(folder), given.run)
        for has_links in (False, True):
            kinds = [x for x in KINDS if x.has_links is has_links]
            kinds = [x for x in kinds if not given.kinds or x.name in given.kinds]
            for each in trials.try_all(kinds, given.fault or [*FAULTS], given.at or []):
                print(each, flush=True)
                n_bad += 1
    print(f"{trials.n_cells} tried, {trials.n_held} kills, {n_bad} wrong")
    return min(n_bad, 1)


if __name__ == "__main__":
    sys.exit(main())
