"""Sites whose sitemaps begin to lie, refreshed epoch after epoch by the real crawl."""

from __future__ import annotations

import random
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.analysis.refresh.trust import judge_site
from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.analysis.urldb.facts import FactReader
from tests.crawl.sources.test_refresh import AgingSite
from tests.crawl.sources.test_revisits import entry, said
from tests.support.sitemap_sites import urlset

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

N_PAGES = 40
N_TRUTHFUL, N_LYING = 4, 10  # epochs
# Share of the pages that change in an epoch. Of many changes, a lastmod by chance would
# be right as often as not.
LIES = {
    "always new": 0.3,
    "never new": 0.3,
    "rewritten each epoch": 0.3,
    "new by chance": 0.15,
}
SETTINGS: dict[str, Any] = {
    "CRAWL_ID": "sitemap",
    "REVISITS": "refresh",
    "REFRESH_POLICY": "posterior",
    "REFRESH_EPOCH_SECS": 1,
    # More than there are pages: the fallback requests all of them.
    "REFRESH_HOST_BUDGET": 60,
}


def stamp() -> str:
    """Return the present time as sitemaps write it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class LyingSite(AgingSite):
    """A site whose pages change, and whose sitemap is honest, until it lies.

    Attributes:
        revisions: of each page, how often it has changed.
        changed: pages that have changed since the last epoch.
        lie: how the sitemap lies; empty: it does not.
    """

    def __init__(
        self, loopback: Loopback, host: str, share: float, *, seed: int
    ) -> None:
        super().__init__(loopback, host)
        self._dice, self._share = random.Random(seed), share
        self.lie = ""
        self.revisions = dict.fromkeys(range(N_PAGES), 0)
        self._lastmods = dict.fromkeys(range(N_PAGES), stamp())
        self.changed: set[str] = set()
        for number in self.revisions:
            self._serve(number)
        self._list()

    def _serve(self, number: int) -> str:
        return self.says(f"/page/{number}", f"{number} {self.revisions[number]}")

    def _list(self) -> None:
        rows = [entry(self.at(f"/page/{n}"), x) for n, x in self._lastmods.items()]
        body = urlset(rows)
        if self.lie == "always new":  # the time of the request

            def reply(_: object) -> bytes:
                dated = [entry(self.at(f"/page/{n}"), stamp()) for n in self.revisions]
                return self._loopback.response(urlset(dated), "application/xml")

            self.server.pages["/sitemap.xml"] = reply
        else:
            self.put("/sitemap.xml", body, "application/xml")

    def step(self) -> None:
        """Let some pages change, and the sitemap state or hide it."""
        changed = [n for n in self.revisions if self._dice.random() < self._share]
        self.changed = set()
        for number in changed:
            self.revisions[number] += 1
            self.changed.add(self._serve(number))
        now = stamp()
        for number in self.revisions:
            is_told = {
                "": number in changed,
                "rewritten each epoch": True,
                "new by chance": self._dice.random() < 0.5,
            }
            if is_told.get(self.lie, False):
                self._lastmods[number] = now
        self._list()

    @property
    def truth(self) -> dict[str, str]:
        """The present content of each page."""
        return {
            self.at(f"/page/{number}"): f"{number} {revision}"
            for number, revision in self.revisions.items()
        }


class LyingWeb:
    """A site for each way to lie, in one crawl."""

    def __init__(self, commands: Commands, loopback: Loopback) -> None:
        self._commands = commands
        self._folder = commands.folder()
        self.sites = {
            lie: LyingSite(loopback, f"127.96.6.{n}", share, seed=n)
            for n, (lie, share) in enumerate(LIES.items(), start=1)
        }

    def crawl(self) -> CrawlResult:
        """Read the sitemaps; fetch the pages that were never fetched."""
        fronts = ",".join(site.at("/") for site in self.sites.values())
        return self._commands.crawl(
            arguments={"sites": fronts},
            spider="sitemap",
            folder=self._folder,
            **SETTINGS,
        )

    def epoch(self) -> dict[str, set[str]]:
        """Let pages change, refresh; return the pages requested because of lies."""
        for site in self.sites.values():
            site.step()
        self.crawl()
        before = {lie: len(site.asked()) for lie, site in self.sites.items()}
        time.sleep(1 - time.time() % 1)
        told = self._commands.start("refresh", folder=self._folder, **SETTINGS).wait()
        assert told.code == 0, told.stderr
        self.result = self._commands.crawl(folder=self._folder, **SETTINGS)
        return {
            lie: {site.at(path) for path in site.asked()[before[lie] :]}
            for lie, site in self.sites.items()
        }

    def truth(self) -> dict[str, str]:
        """Return the present content of each page of all sites."""
        return {
            url: text
            for site in self.sites.values()
            for url, text in site.truth.items()
        }

    def trusted(self) -> set[str]:
        """Return the ways to lie of the sites that a refresh would trust now."""
        return {lie for lie, site in self.sites.items() if self._is_trusted(site)}

    def _is_trusted(self, site: LyingSite) -> bool:
        root: Path = self._folder / "sitemap"
        host = site.server.host
        now_ms = round(time.time() * 1000)
        with UrlDatabase(root) as database:
            reader = FactReader(database)
            pages = [x for x in database.of_host(host, host) if not x.is_sitemap]
            return judge_site(map(reader.facts_of, pages), now_ms).dated.is_trusted


@pytest.mark.in_turn(3, rooms=("analysis/refresh",))
def test_lies_are_found_out_within_ten_epochs(
    commands: Commands, loopback: Loopback
) -> None:
    """If a sitemap that was truthful lies, then soon no fetch depends on it.

    While it was truthful, changed pages were fetched, and hardly any others; and once
    the lie is found out all changes are fetched again.
    """
    web = LyingWeb(commands, loopback)
    web.crawl()
    for number in range(N_TRUTHFUL):
        asked = web.epoch()
        if number > 1:  # before, there is too little to trust in
            for lie, site in web.sites.items():
                assert site.changed <= asked[lie]
                assert len(asked[lie]) <= len(site.changed) + 3
    assert said(web.result) == web.truth()
    for lie, site in web.sites.items():
        site.lie = lie
    lasted: dict[str, int] = {}
    for number in range(1, N_LYING + 1):
        asked = web.epoch()
        for lie, site in web.sites.items():
            if lie in lasted:
                assert site.changed <= asked[lie]
        for lie in web.sites.keys() - web.trusted() - lasted.keys():
            lasted[lie] = number
        if len(lasted) == len(LIES) and max(lasted.values()) < number:
            break
    print(f"epochs until a lie was found out: {lasted}")
    assert lasted.keys() == set(LIES)
    assert said(web.result) == web.truth()
