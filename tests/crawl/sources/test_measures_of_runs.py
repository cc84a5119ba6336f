"""Measures of a crawl after each kind of later run, compared with a judge."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rdfcrawl.analysis.ranking.table import open_ranks
from rdfcrawl.analysis.report.making import report_crawl
from rdfcrawl.analysis.urldb.building import build
from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.analysis.urldb.facts import FactReader
from rdfcrawl.analysis.urldb.rank_building import rank
from rdfcrawl.core.records import RankScore
from rdfcrawl.uri import NormalForm, fingerprint
from tests.analysis.report.test_report_truth import requests
from tests.crawl.sources.test_refresh import refresh
from tests.support.measured_web import MeasuredWeb, Request, RequestMeasures

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

ARGUMENTS = {"follow": "abox,hyperlink", "harvest": "sitemap", "scope": "any"}
SLOW: dict[str, Any] = {
    "DOWNLOAD_DELAY": 0.1,
    "FRONTIER_COMMIT_SECS": 0.1,
    "FRONTIER_LEASE_SECS": 1,
}
OTHER = "of the other site"
RULES = "/robots.txt", "/sitemap.xml"  # of any site


class LaterRuns:
    """One crawl of a web, run after run; each is compared with the judge."""

    def __init__(self, commands: Commands, web: MeasuredWeb) -> None:
        self.commands, self.web = commands, web
        self.folder = commands.folder()
        self.seeds = web.at("/"), web.at("/lone")
        self.requests: list[Request] = []
        self.known: dict[str, tuple[Any, ...]] = {}

    def run(self, **arguments: str) -> CrawlResult:
        """Run the crawl in the present step."""
        self.web.serve()
        begin_ms = round(time.time() * 1000) - 1
        given = ARGUMENTS | arguments
        result = self.commands.crawl(
            self.seeds, folder=self.folder, arguments=given, FRONTIER_LEASE_SECS=1
        )
        assert result.code == 0, result.stderr
        for url, ms, status in requests(result):
            is_page = "/.well-known/" not in url and not url.endswith(RULES)
            if ms >= begin_ms and is_page:
                is_by_ping = url.endswith("/late.xml")
                answer = self.web.answer_of(url)
                self.requests.append(Request(url, ms, status, answer, is_by_ping))
        return result

    def refresh(self) -> None:
        """Queue all pages."""
        queued = refresh(self.commands, self.folder, REFRESH_RETRY_SECS=0)
        assert queued.code == 0, queued.stderr

    def ping(self) -> None:
        """Ping a sitemap that robots.txt does not name."""
        sitemap = self.web.at("/late.xml")
        assert self.commands.start("ping", sitemap, folder=self.folder).wait().code == 0

    def kill(self) -> None:
        """Kill a run with its pages queued, some of which were requested."""
        self.refresh()
        n_asked = len(self.web.servers[0].targets)
        running = self.commands.start_crawl(
            self.seeds, folder=self.folder, arguments=ARGUMENTS, **SLOW
        )
        self.commands.wait_until(lambda: len(self.web.servers[0].targets) > n_asked + 3)
        running.send(signal.SIGKILL)
        running.wait()

    def check(self) -> None:
        """Compare the report with the judge; nothing that was known has changed."""
        root = self.folder / "linkeddata"
        self.check_sets(root)
        rank(root)
        judge = RequestMeasures(self.web, self.seeds, self.requests)
        tables = {
            item.key: item.rows
            for section in report_crawl(root).sections
            for item in section.items
            if hasattr(item, "rows")
        }
        assert set(self.known) == judge.sets()["seen"][0]
        assert [list(row[1:5]) for row in tables["sizes"]] == judge.sizes()
        delta, *first = judge.first_seen()
        row = tables["first-seen"][0]
        assert (row[2], *row[4:]) == (delta, *first)
        shares = judge.by_ping()
        for row, is_first in zip(
            tables["figure-7-shares"], (True, False), strict=False
        ):
            counts = [each.numerator for each in row[1:]]
            assert counts == [shares[is_first, is_by] for is_by in (True, False)]
        assert tables["mirrors"][0][1:3] == judge.mirrored()
        self.check_lastmod(tables, judge.lastmod())
        ranks = open_ranks(root)
        assert ranks is not None
        for url, number in judge.inlinks().items():
            assert ranks.score(fingerprint(url), RankScore.INLINKS) == number, url

    def check_lastmod(
        self, tables: dict[str, Any], groups: dict[str, list[int]]
    ) -> None:
        """Compare the accuracy of dates, of each group, and the freshness of copies."""
        total = [sum(each) for each in zip(*groups.values(), strict=True)]
        site = urlsplit(self.web.at("/")).hostname
        found = {
            row[1]: [*row[2:6], row[8]]
            for row in tables["lastmod-groups"]
            if row[0] == site
        }
        wanted = {
            self.web.at("/dated.xml"): groups["dated"],
            "undated": groups["undated"],
        }
        assert found == {name: row for name, row in wanted.items() if row[0]}
        for row in tables["lastmod"]:
            if row[0] == site:
                own = [x - y for x, y in zip(total, groups[OTHER], strict=True)]
                assert [*row[1:5], row[9]] == own
                assert row[8].denominator == groups["dated"][2]
        copies = tables["copies"][0]
        assert [copies[n] for n in (1, 2, 6)] == [total[0], total[2], total[4]]

    def check_sets(self, root: Path) -> None:
        """Compare the facts of all URLs with those of the last time."""
        build(root, NormalForm())
        with UrlDatabase(root) as database:
            found = {
                each.url: (
                    *(each.first_listed_ms, each.first_linked_ms, each.is_linked),
                    each.is_crawled,
                )
                for each in FactReader(database).uris()
            }
        for url, before in self.known.items():
            for one, other in zip(before, found[url], strict=True):
                assert one in (None, False, other), (url, before, found[url])
        self.known = found


def test_measures_after_each_kind_of_run(
    commands: Commands, loopback: Loopback
) -> None:
    """If a crawl runs again in any way, then its measures are those of the judge.

    Seeds, redirects, duplicates and orders of parameters count as before. The text of
    pages changes while their statements stay or are in another order, and the other way
    around. A ping changes nothing about pages that were known.
    """
    runs = LaterRuns(commands, MeasuredWeb(loopback, "127.96.41.1", "127.96.41.2"))
    runs.run()
    runs.check()
    runs.web.step = 1
    runs.refresh()
    runs.ping()
    runs.run()
    runs.check()
    runs.web.step = 4
    runs.refresh()
    result = runs.run(retry="failed")
    runs.check()
    assert result.statuses(runs.web.at("/data"))[-1] == "UNCHANGED"
    runs.kill()
    runs.run()
    runs.check_sets(runs.folder / "linkeddata")
