"""Epochs of refresh on a web that changes, with kills; judged by its truth and log."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.dataweb.evolution.parameters import ValidatorBehaviour, VanishedAs
from tests.crawl.manners.test_manners import check_pauses
from tests.crawl.sources.test_refresh import AgingSite
from tests.support.web_epochs import changing_web

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands, CrawlResult, RunningCrawl
    from tests.support.crawl_webs import Loopback
    from tests.support.web_epochs import CrawlEpoch, EpochWeb

DELAY_SECS = 0.03
INTERVAL_SECS = 1  # as long as an epoch
LEASE_SECS = 1
COMMON: dict[str, Any] = {
    "n_pages": 12,
    "vanishing": 0.03,
    "vanished_as": (VanishedAs.GONE,),
    "rates": (0.0, 0.2, 0.6),
}
SETTINGS: dict[str, Any] = {
    "CRAWL_ID": "sitemap",
    "REVISITS": "refresh",
    "REFRESH_EPOCH_SECS": INTERVAL_SECS,
    "DOWNLOAD_DELAY": DELAY_SECS,
    "FRONTIER_LEASE_SECS": LEASE_SECS,
    "FRONTIER_COMMIT_SECS": 0.1,
}


class RefreshedWeb:
    """A crawl of a web that changes, refreshed epoch after epoch.

    Args:
        chance: of the kills, and of when they come.
    """

    def __init__(self, commands: Commands, web: EpochWeb, *, chance: int) -> None:
        self._commands = commands
        self.web = web
        self._folder = commands.folder()
        self._chance = random.Random(chance)
        self.n_kills = 0

    def crawl(self, *, kills: bool = False) -> CrawlResult:
        """Fetch the queued pages, and never fetched ones of sitemaps."""

        def start() -> RunningCrawl:
            return self._commands.start_crawl(
                arguments={"sites": self.web.fronts},
                spider="sitemap",
                folder=self._folder,
                **SETTINGS,
            )

        if kills:
            running = start()
            n_asked = self._chance.randint(3, 12)
            self._commands.wait_until(
                lambda: self.web.n_asked() >= n_asked or running.has_ended()
            )
            self._kill(running)
        return start().wait()

    def drain(self) -> CrawlResult:
        """Fetch the queued pages, and read no sitemap."""
        return self._commands.crawl(folder=self._folder, **SETTINGS)

    def refresh(self, *, kills: bool = False, **settings: Any) -> CrawlResult:
        """Queue the pages of the next epoch, when all pages are due."""
        time.sleep(INTERVAL_SECS)
        given = {**SETTINGS, **settings}
        if kills:
            running = self._commands.start("refresh", folder=self._folder, **given)
            time.sleep(self._chance.uniform(0, 0.4))
            self._kill(running)
        result = self._commands.start("refresh", folder=self._folder, **given).wait()
        assert result.code == 0, result.stderr
        return result

    def _kill(self, running: RunningCrawl) -> None:
        self.n_kills += not running.has_ended()
        running.send(signal.SIGKILL)
        running.process.wait()


def asked_again(epoch: CrawlEpoch) -> list[str]:
    """Return the pages that were requested more than once in an epoch."""
    pages = epoch.pages()
    return sorted({url for url in pages if pages.count(url) > 1})


def check_delays(web: EpochWeb) -> None:
    """Check that no host got a request sooner than its delay allows.

    Responses are logged, perhaps late: five delays in a row count, not each.
    """
    for node in web.nodes:
        times = [one.at for one in web.requests(node) if one.target != "/robots.txt"]
        spans = [last - first for first, last in zip(times, times[5:], strict=False)]
        assert min(spans) >= 4 * DELAY_SECS


def last_asked(web: EpochWeb) -> dict[str, float]:
    """Return the time of the last request for each URL since the run began."""
    return {
        node.origin + one.target: one.at
        for node in web.nodes
        for one in web.requests(node)
        if "/sitemap" not in one.target and one.target != "/robots.txt"
    }


def check_schedule(last: dict[str, float], web: EpochWeb) -> None:
    """Check that no page was requested sooner than it was due.

    Answers are logged, which may be late.
    """
    for url, at in last_asked(web).items():
        assert at - last.get(url, 0) > INTERVAL_SECS / 2


def check_store(web: EpochWeb, epoch: CrawlEpoch) -> None:
    """Compare the store with the web, page by page."""
    truth = web.truth(epoch.at)
    listed = {url: truth.urls[url] for url in web.listed(epoch.at)}
    revisions = {url: page.revision(epoch.at) for url, page in listed.items()}
    there = {url: number for url, number in revisions.items() if number is not None}
    assert epoch.revisions == there


def run_epochs(
    commands: Commands, address: str, n_epochs: int, *, kill_every: int
) -> int:
    """Refresh epochs with kills in some; return the number of kills.

    Each is at least one, of the crawl: a refresh may end before its kill.
    """
    sites = (COMMON, COMMON | {"validators": (ValidatorBehaviour.NONE,)})
    with changing_web(address, *sites) as web:
        kept = RefreshedWeb(commands, web, chance=7)
        fixed = {"REFRESH_POLICY": "fixed", "REFRESH_INTERVAL_SECS": INTERVAL_SECS}
        first = web.run(kept.crawl)
        assert first.freshness.freshness == 1.0
        last = last_asked(web)
        for number in range(n_epochs):
            web.clock.advance(86_400)
            kills = number % kill_every == 0

            def step(kills: bool = kills) -> CrawlResult:
                kept.refresh(kills=kills, **fixed)
                return kept.crawl(kills=kills)

            epoch = web.run(step)
            check_delays(web)
            check_store(web, epoch)
            if not kills:
                assert asked_again(epoch) == []
                check_schedule(last, web)
            last = last_asked(web)
        return kept.n_kills


def test_stores_equal_the_web_after_epochs_with_kills(commands: Commands) -> None:
    """If refreshers and workers are killed, then each epoch's stores equal the web.

    No page is requested twice in an epoch, except for those held by a worker that was
    killed, and no host sooner than its delay allows.
    """
    assert run_epochs(commands, "127.96.2.1", 4, kill_every=2) >= 2


@pytest.mark.soak
def test_stores_equal_the_web_after_many_kills(commands: Commands) -> None:
    """If each refresher and worker of forty epochs is killed, then the same holds."""
    assert run_epochs(commands, "127.96.3.1", 40, kill_every=1) >= 40


@pytest.mark.in_turn(2, rooms=("analysis/refresh",))
def test_truthful_sitemaps_lead_to_changed_pages(commands: Commands) -> None:
    """If sitemaps are honest, then all changes are fetched, and little else.

    That is known after the first epochs. The requests are those of the real crawl.
    """
    pages = COMMON | {"n_pages": 60, "vanishing": 0.0, "births": 0.0}
    n_asked = n_changed = 0
    with changing_web("127.96.4.1", pages) as web:
        kept = RefreshedWeb(commands, web, chance=1)
        before = web.run(kept.crawl)
        for number in range(5):
            web.clock.advance(86_400)

            def step() -> CrawlResult:
                kept.crawl()
                kept.refresh()
                return kept.drain()

            epoch = web.run(step)
            truth = web.truth(epoch.at)
            known = before.stored  # a new page is no refresh
            changed = {
                url
                for url in known
                if truth.urls[url].next_change(before.at) <= epoch.at
            }
            again = [url for url in epoch.pages() if url in known]
            assert changed <= set(epoch.pages(200))
            check_store(web, epoch)
            if number > 1:
                n_asked += len(again)
                n_changed += len(changed)
            before = epoch
    assert n_changed > 30
    assert n_asked <= 1.1 * n_changed
    print(f"{n_asked} requests for {n_changed} changed pages")


def test_no_page_is_requested_sooner_than_it_is_due(
    commands: Commands, loopback: Loopback
) -> None:
    """If a refresher and workers go on, then pages wait as long as their schedule says.

    A page that fails waits longer each time. The server judges that, and the delay of
    the host, however many workers there are.
    """
    interval_secs, retry_secs = 2, 3
    site = AgingSite(loopback, "127.96.8.1")
    good = [site.says(f"/good/{n}", "here") for n in range(4)]
    bad = [site.fails(f"/bad/{n}", "500 Oh no") for n in range(3)]
    folder = commands.folder()
    given = {**SETTINGS, "CRAWL_ID": "linkeddata", "RETRY_TIMES": 0}
    commands.crawl([*good, *bad], folder=folder, **given)
    refresher = commands.start(
        *("refresh", "--follow"),
        folder=folder,
        REFRESH_EPOCH_SECS=1,
        REFRESH_POLICY="fixed",
        REFRESH_INTERVAL_SECS=interval_secs,
        REFRESH_RETRY_SECS=retry_secs,
    )

    def is_enough() -> bool:
        asked = Counter(map(site.at, site.server.targets))
        return all(asked[x] > 3 for x in good) and all(asked[x] > 2 for x in bad)

    end = time.monotonic() + 300
    while not is_enough():
        assert time.monotonic() < end
        crew = [commands.start_crawl(folder=folder, **given) for _ in range(2)]
        assert [each.wait().code for each in crew] == [0, 0]
        time.sleep(0.7)  # most of them find nothing that is due
    refresher.send(signal.SIGTERM)
    assert refresher.wait().code == 0
    times: dict[str, list[float]] = {}
    for request in site.server.requests:
        if request.target not in ("/robots.txt", "/.well-known/void"):
            times.setdefault(site.at(request.target), []).append(request.at)
    gaps = {url: [b - a for a, b in pairwise(at)] for url, at in times.items()}
    late = 0.5  # between the begin of a fetch and its arrival at the server
    for url in good:
        assert min(gaps[url]) >= interval_secs - late
    for url in bad:
        first, second, *_ = gaps[url]
        assert first >= retry_secs - late
        assert second >= 2 * retry_secs - late
    check_pauses([b.at - a.at for a, b in pairwise(site.server.requests)], DELAY_SECS)
