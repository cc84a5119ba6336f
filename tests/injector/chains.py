"""Runs of one crawl of many sites: with faults, killed, and without."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from operator import lt
from typing import TYPE_CHECKING, Any, Final

from tests.injector.judging import not_equal, stored, untrue, worse
from tests.injector.sites import InjectedSite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from tests.injector.judging import Truth
    from tests.injector.kinds import SourceKind
    from tests.support.crawl_fixtures import Commands, RunningCrawl
    from tests.support.crawl_webs import Loopback

_SPIDER: Final = "every-source"
_QUICK: Final[dict[str, Any]] = {
    "SPIDER_MODULES": "rdfcrawl.spiders,tests.injector.spiders",
    "TRANSFER_FIRST_BYTE_SECS": 8,
    "ENDPOINT_FIRST_BYTE_SECS": 8,
    "TRANSFER_MIN_RATE_SECS": 5,
    "DOWNLOAD_TIMEOUT": 8,
    "RETRY_TIMES": 0,
    "FRONTIER_LEASE_SECS": 10,
    "CKAN_ROBOTS": "never",
}
_REFRESH: Final[dict[str, Any]] = {
    "REVISITS": "refresh",
    "REFRESH_POLICY": "fixed",
    "REFRESH_INTERVAL_SECS": 0,
    "REFRESH_EPOCH_SECS": 1,
}
_FAILURES: Final[dict[str, Any]] = {"REFRESH_RETRY_SECS": 0}
_OF_LINKS: Final = {"slice": "1", "follow": "abox"}
_LONGEST_SECS: Final = 300.0
# Seconds after the responses with faults, in each start of the command.
_KILLED_AT: Final = (None, 0.05)
_START_SECS: Final = 60.0
_QUIET_SECS: Final = 2.0  # shorter than the crawls wait for a response
_LOOK_SECS: Final = 0.02

Cell = tuple[str, int]  # a fault, and the request of a run that gets it


@dataclass
class CrawlChain:
    """A crawl of sites, run after run.

    If the kinds of the sites `has_links`, then these are followed, and dumps sliced.

    Attributes:
        bad: documents that were not as they should be, in any run.
        n_held: sites that were at the request of their fault at each kill.
    """

    commands: Commands
    sites: Sequence[InjectedSite]
    folder: Path
    bad: list[str] = field(default_factory=list)
    n_held: list[int] = field(default_factory=list)
    _n: int = 0
    _by_refresh: bool = False

    def run_with(
        self,
        cells: Sequence[Cell] = (),
        *,
        has_kills: bool = False,
        by_refresh: bool = False,
    ) -> None:
        """Serve the next version: with a fault at each site, if any; then without.

        Args:
            cells: of the sites.
            has_kills: the command is killed at some faults, and given again.
            by_refresh: `scrapy refresh` chooses linked pages.
        """
        self._n += 1
        self._by_refresh = by_refresh and self.sites[0].kind.has_links
        if cells:
            for site, (fault, nth) in zip(self.sites, cells, strict=True):
                site.begin(version=self._n, fault=fault, nth=nth)
                self._refresh()
            for secs in _KILLED_AT if has_kills else ():
                self._kill(secs)
            name = f"run {self._n} {'killed, ' * has_kills}with"
            self._judge(untrue if self._n == 1 else worse, name)
            self.bad += [
                f"{name} {site}: got {len(site.seen)} requests"
                for site in self.sites
                if not site.n_faults
            ]
        for site in self.sites:
            site.begin(version=self._n, nth=site.nth)
        self._refresh()
        self._judge(not_equal, f"run {self._n} after")

    def _judge(
        self, judge: Callable[[InjectedSite, Truth], list[str]], name: str
    ) -> None:
        result = self._start().wait(_LONGEST_SECS)
        assert result.code == 0, result.stderr[-3000:]
        for site, truth in zip(self.sites, stored(result, self.sites), strict=True):
            if wrong := judge(site, truth):
                more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
                found = "; ".join(wrong[:3])
                self.bad.append(f"{name} {site.told or site}: {found}{more}")

    def _start(self) -> RunningCrawl:
        seeds = defaultdict(list)
        for site in self.sites:
            seeds[site.kind.argument].append(f"{site.origin}{site.kind.seed}\n")
        for name, urls in seeds.items():
            (self.folder / f"{name}.txt").write_text("".join(urls))
        arguments = {name: f"@{self.folder}/{name}.txt" for name in seeds}
        has_links = self.sites[0].kind.has_links
        return self.commands.start_crawl(
            arguments=arguments | (_OF_LINKS if has_links else {}),
            spider=_SPIDER,
            folder=self.folder,
            **_QUICK,
            **(_REFRESH | _FAILURES if self._by_refresh else {"REVISIT_SECS": 0}),
        )

    def _refresh(self) -> None:
        """Choose the pages of the run that begins now."""
        if self._by_refresh:
            time.sleep(1 - time.time() % 1)  # the epoch is over
            running = self.commands.start(
                "refresh", folder=self.folder, **_REFRESH, **_FAILURES
            )
            result = running.wait()
            assert result.code == 0, result.stderr[-3000:]

    def _kill(self, secs: float | None) -> None:
        """Run the command until each site has had the request of its fault; kill it.

        Args:
            secs: after the responses; None if it is killed before them.
        """
        running, is_open = self._start(), threading.Event()
        for site in self.sites:
            site.may_respond = is_open.is_set
        self._wait_for_faults(running)
        if secs is not None:
            is_open.set()
            time.sleep(secs)
        with suppress(ProcessLookupError):
            os.kill(running.process.pid, signal.SIGKILL)
        running.wait()
        is_open.set()

    def _wait_for_faults(self, running: RunningCrawl) -> None:
        """Wait until each site holds a response, or no more of them do."""
        before = [site.n_faults for site in self.sites]
        n_held, last = 0, time.monotonic() + _START_SECS
        while n_held < len(self.sites) and time.monotonic() < last:
            time.sleep(_LOOK_SECS)
            n_now = sum(map(lt, before, [site.n_faults for site in self.sites]))
            if n_now > n_held:
                n_held, last = n_now, time.monotonic() + _QUIET_SECS
            if running.process.poll() is not None:
                break
        self.n_held.append(n_held)


def start_sites(
    loopback: Loopback, kinds: Iterable[SourceKind], prefix: str
) -> list[InjectedSite]:
    """Start a site of each kind, each on a host of its own."""
    return [
        InjectedSite(kind, loopback, f"{prefix}.{n // 200}.{n % 200 + 1}")
        for n, kind in enumerate(kinds)
    ]
