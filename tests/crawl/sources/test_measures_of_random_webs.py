"""Measures of crawls of webs that change by chance, compared with a judge.

More seeds: `python -m tests.crawl.sources.test_measures_of_random_webs 10 20`.
"""

from __future__ import annotations

import json
import random
import signal
import sys
from functools import partial
from itertools import count
from operator import attrgetter, itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.analysis.report.making import report_crawl
from rdfcrawl.analysis.report.writing import iter_json
from rdfcrawl.analysis.urldb.building import build
from rdfcrawl.analysis.urldb.rank_building import rank
from rdfcrawl.core.namespaces import PROV, RC, RDF, SQUIRREL
from rdfcrawl.stores.reading import iter_marked, iter_quads
from rdfcrawl.uri import NormalForm
from tests.analysis.report.test_report_truth import requests
from tests.support.crawl_fixtures import Commands
from tests.support.crawl_webs import Loopback
from tests.support.judged_requests import SeenRequest, unix_ms
from tests.support.later_commands import DAY_SECS
from tests.support.measure_judge import CLASSES, WebMeasures
from tests.support.random_web import RandomWeb, normal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.crawl_fixtures import CrawlResult, RunningCrawl

    Compared = Iterator[tuple[str, tuple[Any, Any]]]

ARGUMENTS = {"follow": "abox,hyperlink", "harvest": "sitemap", "scope": "any"}
QUICK: dict[str, Any] = {"FRONTIER_LEASE_SECS": 1, "FRONTIER_COMMIT_SECS": 0.1}
REFRESH: dict[str, Any] = {
    "REFRESH_POLICY": "fixed",
    "REFRESH_INTERVAL_SECS": 0,
    "REFRESH_EPOCH_SECS": DAY_SECS,
    "REFRESH_RETRY_SECS": 0,
}
KINDS = "same", "refresh", "ping", "failed", "kill", "sites", "workers"


class RandomRuns:
    """A crawl of a web, run after run in ways drawn by chance, a day apart."""

    settings = QUICK

    def __init__(self, commands: Commands, web: RandomWeb, seed: int) -> None:
        self.commands, self.web = commands, web
        self.chance = random.Random(seed)
        self.folder = commands.folder()
        self.root = self.folder / "linkeddata"
        self.requests: list[SeenRequest] = []
        self._pinged: set[str] = set()
        self._wait(-commands.ahead_secs)

    def _wait(self, secs: int) -> None:
        self.commands.ahead_secs += secs
        self.web.ahead_secs = self.commands.ahead_secs

    def start(self, **arguments: str) -> RunningCrawl:
        """Start a crawl from the seeds."""
        given = ARGUMENTS | arguments
        return self.commands.start_crawl(
            self.web.seeds, folder=self.folder, arguments=given, **self.settings
        )

    def crawl(self, *, kills: bool = False, **arguments: str) -> None:
        """Crawl from the seeds to the end."""
        if kills:
            self.kill_worker()
        self.note(self.start(**arguments).wait())

    def kill_worker(self) -> None:
        """Start a crawl, and kill it after some requests."""
        n_asked = self.n_asked() + self.chance.randint(1, 12)
        self.kill(self.start(), lambda: self.n_asked() > n_asked)

    def kill(self, running: RunningCrawl, is_time: Callable[[], bool]) -> None:
        """Kill a command at some time, or let it end before."""
        self.commands.wait_until(lambda: is_time() or running.has_ended())
        running.send(signal.SIGKILL)
        running.process.wait()

    def n_asked(self) -> int:
        """Return how many requests the servers got."""
        return sum(len(server.targets) for server in self.web.servers)

    def note(self, result: CrawlResult) -> None:
        """Note the requests of the last run."""
        assert result.code == 0, result.stderr
        last_ms = self.requests[-1].ms if self.requests else 0
        ends, asked = ends_of(result), set[str]()
        pinged, answers = frozenset(self._pinged), dict(self.web.answers)
        for spelled, ms, status in requests(result):
            url = normal(spelled)
            is_guess = url.endswith("/sitemap.xml") or "/.well-known/" in url
            if ms > last_ms and not is_guess and not url.endswith("/robots.txt"):
                end = normal(ends.get((spelled, ms), spelled))
                seen = SeenRequest(url, ms, status, answers, end, asked, pinged)
                self.requests.append(seen)
                asked |= {url, *(each.url for each in seen.hops())}
        self._note_lost(result.folder, asked, pinged)
        self._pinged.clear()

    def _note_lost(self, root: Path, asked: set[str], pinged: frozenset[str]) -> None:
        """Note what a killed worker has read, if it could not note the request."""
        answers = dict(self.web.answers)
        known = {(normal(x.last_url), x.ms) for x in self.requests}
        for url, ms in sorted(logged_documents(root) - known, key=itemgetter(1)):
            assert self.web.was_asked(url, ms), url
            lost = SeenRequest(url, ms, 200, answers, url, asked, pinged, is_lost=True)
            self.requests.append(lost)
        self.requests.sort(key=attrgetter("ms"))

    def next_day(self) -> None:
        """Let the web change for a day."""
        self._wait(DAY_SECS)
        self.web.evolve()

    def step(self, kind: str) -> None:
        """Let the web change, and crawl it again."""
        self.next_day()
        match kind:
            case "same":
                self.crawl()
            case "failed":
                self.crawl(retry="failed")
            case "refresh" | "kill":
                self.refresh()
                self.crawl(kills=kind == "kill")
            case "ping":
                for each in self.web.unnamed:
                    self.commands.start("ping", each, folder=self.folder).wait()
                    self._pinged.add(each)
                self.crawl()
            case "sites":
                given = ARGUMENTS | {"sites": ",".join(self.web.roots)}
                self._run("crawl", "sitemap", **given)
            case "workers":
                self.refresh()
                seeds = {"seeds": ",".join(self.web.seeds)}
                self._run("workers", "-n2", "linkeddata", **ARGUMENTS | seeds)

    def _run(self, *words: str, **arguments: str) -> None:
        given = [f"-a{name}={value}" for name, value in arguments.items()]
        settings = {"folder": self.folder, "CRAWL_ID": "linkeddata", **self.settings}
        self.note(self.commands.start(*words, *given, **settings).wait())

    def start_refresh(self, **settings: Any) -> RunningCrawl:
        """Start to queue pages."""
        given = REFRESH | settings
        return self.commands.start("refresh", folder=self.folder, **given)

    def refresh(self, **settings: Any) -> None:
        """Queue the pages of the day, all by default."""
        queued = self.start_refresh(**settings).wait()
        assert queued.code == 0, queued.stderr

    def check(self) -> None:
        """Compare all tables with the judge."""
        build(self.root, NormalForm())
        rank(self.root)
        judge = WebMeasures(self.web.seeds, self.requests)
        tables = tables_of(self.root)
        found = dict(compared(tables, judge))
        wrong = {name: pair for name, pair in found.items() if pair[0] != pair[1]}
        assert not wrong, "\n".join(
            f"{name}: {ours} is {right}" for name, (ours, right) in wrong.items()
        )


def logged_documents(root: Path) -> set[tuple[str, int]]:
    """Return the URL and the time of each document with statements or links."""
    found, last = set(), None
    for folder in ("quads", "links"):
        for mark, lines in iter_marked(iter_quads(root / folder)):
            if mark:
                last = normal(mark[1].decode()), int(mark[2])
            elif last and lines:
                found.add(last)
    return found


def ends_of(result: CrawlResult) -> dict[tuple[str, int], str]:
    """Return the last URL of each request that was redirected, by URL and begin."""
    rows: Any = result.provenance.query(
        f"PREFIX rdf: <{RDF}> SELECT ?url ?begun ?end {{ GRAPH ?g {{"
        f" ?a <{SQUIRREL}crawled> ?url ; <{PROV}startedAtTime> ?begun ;"
        f" <{RC}redirects>/rdf:rest* [ rdf:first ?end ; rdf:rest rdf:nil ] }} }}"
    )
    return {
        (row["url"].value, unix_ms(row["begun"].value)): row["end"].value
        for row in rows
    }


def tables_of(root: Path) -> dict[str, Any]:
    """Return the tables and figures of a report by key; tables by their first cell."""
    report = json.loads("".join(iter_json(report_crawl(root))))
    items = [x for y in report["sections"] for x in y["items"]]
    return {
        each["key"]: each["series"]
        if "series" in each
        else {
            row[0]: dict(zip(map(str, each["columns"]), row, strict=True))
            for row in each["rows"]
        }
        for each in items
    }


def ratio(cell: dict[str, Any]) -> tuple[float, float]:
    """Return numerator and denominator."""
    return cell["numerator"], cell["denominator"]


def compared(tables: dict[str, Any], judge: WebMeasures) -> Compared:
    """Yield the name of each measure, and its value in the report and of the judge."""
    sizes = judge.sizes()
    for way, row in tables["sizes"].items():
        ours = tuple(row[x] for x in ("seen", "crawled", "distinct", "useful"))
        yield f"sizes {way}", (ours, sizes[way])
    for site in judge.sites():
        yield from compared_coverage(tables["coverage"].get(site), judge, site)
        yield from compared_site(tables, judge, site)
    yield from compared_site(tables, judge, "")
    yield from compared_usage(tables, judge)
    classes = judge.missed_classes()
    for name in CLASSES:
        share = ratio(tables["table-2"][name]["share"])
        yield f"table 2 {name}", (share, (classes[name], classes.total()))
    mirrors = tables.get("mirrors", {}).items()
    found = {(url, row["URLs"], row["sites"]) for url, row in mirrors}
    yield "mirrors", (found, judge.mirrors())
    shares = judge.by_ping()
    for row, is_first in zip(
        tables["figure-7-shares"].values(), (True, False), strict=False
    ):
        cells = [row[x]["numerator"] for x in ("with ping", "without ping")]
        right = [shares[is_first, x] for x in (True, False)]
        yield f"figure 7 {is_first}", (cells, right)
    listed, linked, both = judge.days()
    for series, days in zip(tables["figure-2"], (listed, linked), strict=True):
        points = {each["x"]: each["n"] for each in series["points"]}
        yield f"figure 2 {series['name']}", (points, dict(days))
    (series,) = tables["figure-6"]
    pairs = {(each["x"], each["y"]): each["n"] for each in series["points"]}
    yield "figure 6", (pairs, dict(both))


def compared_usage(tables: dict[str, Any], judge: WebMeasures) -> Compared:
    """Yield the formats of sitemaps, and the metadata of their entries."""
    formats = {x: int(ratio(row["share"])[0]) for x, row in tables["table-1"].items()}
    yield "table 1", (formats, dict(judge.formats()))
    n, *values = judge.usage()
    names = "lastmod", "changefreq", "priority"
    found = [ratio(tables["usage"][f"listings with {x}"]["value"]) for x in names]
    yield "usage", (found, [(x, n) for x in values])


def compared_coverage(row: dict[str, Any], judge: WebMeasures, site: str) -> Compared:
    """Yield the measures of coverage of a site."""
    sizes = judge.sizes(site)
    seen, crawled, unique, indexed = sizes["all"]
    seen_s, crawled_s, unique_s, indexed_s = sizes["in sitemaps"]
    seen_d, crawled_d, unique_d, _ = sizes["by links"]
    yield f"seen {site}", (row["URLs seen"], seen)
    for name, pair in (
        ("coverage (1)", (crawled_s, crawled)),
        ("unique coverage (2)", (unique_s, unique)),
        ("index coverage (3)", (indexed_s, indexed)),
        ("signal to noise (5)", (unique, seen)),
        ("the same of sitemaps", (unique_s, seen_s)),
        ("the same of links", (unique_d, seen_d)),
        ("efficiency of sitemaps", (unique_s, crawled_s)),
        ("efficiency of links", (unique_d, crawled_d)),
    ):
        yield f"{name} {site}", (ratio(row[name]), pair)
    share = row["PageRank coverage (4)"]["value"]
    wanted = judge.pagerank_share(site)
    is_right = wanted == share or share == pytest.approx(wanted, abs=1e-5)
    yield f"PageRank {site}", (share, share if is_right else wanted)


def compared_site(tables: dict[str, Any], judge: WebMeasures, site: str) -> Compared:
    """Yield further measures of a site, or of all."""
    name = site or "all sites"
    if row := tables["census"].get(name):
        yield f"census {name}", (tuple(row.values())[1:], judge.census(site))
    if row := tables["listed-outcomes"].get(name):
        counts = {x: n for x, n in list(row.items())[1:-1] if n}
        yield f"outcomes {name}", (counts, dict(judge.listed_outcomes(site)))
    n_both, delta, *first = judge.first_seen(site)
    if row := tables["first-seen"].get(name):
        ours = tuple(x for x in row.values() if not isinstance(x, dict))[1:]
        yield f"first seen {name}", (ours, (n_both, delta, *first))
    copies = judge.copies(site)
    if row := tables["copies"].get(name):
        fresh = row["time fresh (days)"]
        ours = (
            *(row["refetches"], row["content changed"]),
            *(
                row["mean age, s"]["numerator"],
                *(days * 86_400 for days in ratio(fresh)),
                row["statements changed"],
            ),
        )
        # All times are halves of milliseconds.
        ours = tuple(round(x, 4) for x in ours)
        yield f"copies {name}", (ours, tuple(round(x, 4) for x in copies))
    else:
        yield f"copies {name}", (0, copies[0])
    if not site:
        return
    if row := tables["lastmod"].get(name):
        names = "refetches", "claimed", "content changed", "both", "statements changed"
        ours = (*(row[x] for x in names), ratio(row["changed with a date"])[0])
        yield f"lastmod {name}", (ours, judge.lastmod(site))
    n_files, n_again, n_same = judge.sitemaps(site)
    row = tables["sitemaps"].get(name)
    ours = (
        (row["sitemaps"], row["reread"], ratio(row["log-like"])[0]) if row else (0,) * 3
    )
    yield f"sitemaps {name}", (ours, (n_files, n_again, n_same))


def run_web(
    commands: Commands, loopback: Loopback, seed: int, kinds: list[str]
) -> None:
    """Crawl a web of a seed, and check after each run."""
    third = seed % 200 + 1
    web = RandomWeb(loopback, [f"127.98.{third}.{n}" for n in (1, 2, 3)], seed)
    runs = RandomRuns(commands, web, seed)
    runs.crawl()
    runs.check()
    for kind in kinds:
        runs.step(kind)
        runs.check()


@pytest.mark.in_turn(2, rooms=("analysis",))
@pytest.mark.parametrize("seed", [1, 2])
def test_measures_are_those_of_the_judge(
    commands: Commands, loopback: Loopback, seed: int
) -> None:
    """If a web changes and is crawled by chance, then all measures are right."""
    kinds = random.Random(seed).sample(KINDS, 3)
    run_web(commands, loopback, seed, kinds)


def main(first: int, end: int, n_runs: int = 3) -> None:
    """Crawl webs of seeds from a first one on; print those that fail."""
    for seed in range(first, end):
        kinds = random.Random(seed).choices(KINDS, k=n_runs)
        with TemporaryDirectory() as parent, Loopback() as servers:
            folders = (Path(mkdtemp(dir=parent)) for _ in count())
            commands = Commands(partial(next, folders))
            try:
                run_web(commands, servers, seed, kinds)
                result = "all measures are right"
            except AssertionError as error:
                result = str(error)
            finally:
                commands.stop()
        sys.stdout.write(f"seed {seed}, runs {kinds}: {result}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
