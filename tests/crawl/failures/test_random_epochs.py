"""Epochs of refresh on webs that change by chance, with kills at random times.

More seeds: `python -m tests.crawl.failures.test_random_epochs 10 20`.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any
from urllib.parse import urlsplit

import pytest

from rdfcrawl.monitor.refreshing.epochs import RefreshPlanFile
from rdfcrawl.stores.log.crawl_log import iter_latest
from tests.crawl.sources.test_measures_of_random_webs import QUICK, RandomRuns
from tests.support.crawl_fixtures import Commands
from tests.support.crawl_webs import Loopback
from tests.support.judged_requests import SeenRequest
from tests.support.later_commands import DAY_SECS
from tests.support.random_web import LIVING, MOVED, RandomWeb, normal

HOST_BUDGET = 8  # fewer than the pages of a site
GONE_TRIES, GONE_MS = 3, 7 * DAY_SECS * 1000
BUDGET: dict[str, Any] = {"REFRESH_HOST_BUDGET": HOST_BUDGET}
HELD = 16  # most pages that a worker has requested when it is killed
_find_said = re.compile(rb'<urn:x:says> "([^"]*)"').search


class JudgedStore:
    """The statements that a store has after some requests, by the effects in the docs.

    Attributes:
        said: by URL.
    """

    def __init__(self) -> None:
        self.said: dict[str, str] = {}
        self._left: dict[str, set[str]] = {}
        self._missing: dict[str, list[int]] = {}

    def apply(self, each: SeenRequest) -> None:
        """Apply the effect of a request."""
        url, end = each.url, each.end
        if each.status != 404:
            self._missing.pop(url, None)
        if each.status in (*LIVING, MOVED):  # no longer as it was redirected before
            for sources in self._left.values():
                sources.discard(url)
        if each.status in LIVING:
            if end != url:
                self.said.pop(url, None)
            self._store(end, each.content.says)
        elif each.status == MOVED:
            self._left.setdefault(each.answer.target, set()).add(url)
        elif each.status == 410:
            self._delete(url, end)
        elif each.status == 404:
            times = self._missing.setdefault(url, [])
            times.append(each.ms)
            if len(times) >= GONE_TRIES and times[-1] - times[0] >= GONE_MS:
                self._delete(url, end)

    def _store(self, url: str, said: str) -> None:
        for left in self._left.pop(url, ()):
            self.said.pop(left, None)
        self.said.pop(url, None)
        if said:
            self.said[url] = said

    def _delete(self, *urls: str) -> None:
        for url in urls:
            self._store(url, "")


class KilledEpochs(RandomRuns):
    """A crawl whose refreshers and workers are killed in each epoch."""

    settings = QUICK | {"REVISITS": "refresh", "RETRY_TIMES": 0}

    def __init__(self, commands: Commands, web: RandomWeb, seed: int) -> None:
        super().__init__(commands, web, seed)
        self._store = JudgedStore()
        self._n_judged = 0

    def epoch(self) -> None:
        """Let a day pass; kill a refresher and some workers; check the results."""
        self.next_day()
        n_asked = [len(server.targets) for server in self.web.servers]
        end = time.monotonic() + self.chance.uniform(0, 0.5)
        self.kill(self.start_refresh(**BUDGET), lambda: time.monotonic() > end)
        self.refresh(**BUDGET)
        planned = self._planned()
        self.refresh(**BUDGET)  # the plan is spent once
        assert self._planned() == planned
        n_kills = self.chance.randint(1, 2)
        for _ in range(n_kills):
            self.kill_worker()
        self.crawl()
        asked = [
            Counter(server.targets[n:])
            for n, server in zip(n_asked, self.web.servers, strict=True)
        ]
        self._check_requests(planned, asked, n_kills)
        self.check_store()

    def _planned(self) -> set[str]:
        """Return the pages of the plan."""
        return {normal(each.url) for each in RefreshPlanFile(self.root).fetches()}

    def _check_requests(
        self, planned: set[str], asked: list[Counter[str]], n_kills: int
    ) -> None:
        """Check that each planned page was requested, and none too often."""
        old, new = self.requests[: self._n_judged], self.requests[self._n_judged :]
        assert planned <= {each.url for each in new}
        n_planned = Counter(urlsplit(url).hostname for url in planned)
        assert max(n_planned.values(), default=0) <= HOST_BUDGET
        ends = {hop.url for each in new for hop in each.hops()}
        ends |= {each.answer.target for each in new}
        # Their targets of former days answer for themselves.
        again = {each.url for each in new}
        ends |= {hop.url for each in old if each.url in again for hop in each.hops()}
        n_again = 0
        for root, targets in zip(self.web.roots, asked, strict=True):
            for target, n in targets.items():
                is_page = not target.endswith((".xml", ".txt"))
                if is_page and normal(f"{root}{target}") not in ends:
                    assert n <= 1 + n_kills, target
                    n_again += n > 1
        assert n_again <= HELD * n_kills

    def check_store(self) -> None:
        """Compare the statements in the store with those of the requests."""
        for each in self.requests[self._n_judged :]:
            if not (each.answer.is_sitemap or each.is_lost):
                self._store.apply(each)
        self._n_judged = len(self.requests)
        found = {}
        for piece in iter_latest(self.root / "quads"):
            if said := _find_said(piece.quads):
                found[normal(piece.graph)] = said[1].decode()
        assert found == self._store.said


def run_epochs(commands: Commands, loopback: Loopback, seed: int, n: int) -> None:
    """Crawl a web of a seed, and refresh it in some epochs with kills."""
    hosts = [f"127.99.{seed % 200 + 1}.{n}" for n in (1, 2)]
    epochs = KilledEpochs(commands, RandomWeb(loopback, hosts, seed), seed)
    epochs.crawl()
    epochs.check_store()
    for _ in range(n):
        epochs.epoch()
    epochs.check()


@pytest.mark.in_turn(2, rooms=("analysis", "frontier"))
def test_stores_equal_the_web_after_random_kills(
    commands: Commands, loopback: Loopback
) -> None:
    """If refreshers and workers are killed at any time, then each store is right.

    Pages are those of their last responses, deleted ones are gone, and measures are
    those of the judge.
    """
    run_epochs(commands, loopback, 1, 3)


def main(first: int, end: int, n_epochs: int = 10) -> None:
    """Refresh webs of seeds from a first one on; print those that fail."""
    for seed in range(first, end):
        with TemporaryDirectory() as parent, Loopback() as servers:
            folders = (Path(mkdtemp(dir=parent)) for _ in count())
            commands = Commands(partial(next, folders))
            try:
                run_epochs(commands, servers, seed, n_epochs)
                result = "all stores equal the web"
            except AssertionError as error:
                result = str(error)
            finally:
                commands.stop()
        sys.stdout.write(f"seed {seed}: {result}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
