"""Later runs retry owed URLs: with refresh, several workers, and kills in between."""

from __future__ import annotations

import os
import signal
from collections import Counter
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.matrix.judging import judge, requests_in
from tests.matrix.running import SETTINGS, assert_costs_no_page
from tests.matrix.webs import NAMES, POSITIONS, heal, named, one_url, served
from tests.support.crawl_kills import worker_pids
from tests.support.crawl_names import scripted_names
from tests.support.processes import descendants

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.matrix.webs import Web
    from tests.support.crawl_fixtures import Commands

N_PAGES = 4
# A URL with one of these is owed: a later run retries it without an order.
OWED: Final = (
    *("status-429", "status-503", "status-500", "status-502", "status-504"),
    *("429-after-3", "503-after-garbage", "silent", "reset", "closed"),
    *("silent-in-headers", "silent-in-body", "closed-in-body", "trickle-head"),
    *("endless-103", "accept-reset", "accept-silent", "robots-503", "robots-silent"),
    *("moved-to-busy", "moved-to-silent", "port-robots-503"),
)
# Behaviours that concern most of a host; each at all positions.
SEVERE: Final = ("status-429", "status-503", "silent", "reset", "endless-103")
_REFRESH: Final[dict[str, Any]] = {
    "REFRESH_EPOCH_SECS": 1,
    "REFRESH_POLICY": "fixed",
    "REFRESH_INTERVAL_SECS": 0,
}


@contextmanager
def serving(web: Web, folder: Path) -> Iterator[Path]:
    """Serve a web, and have its names resolve; yield the log."""
    with served(web, folder) as log, scripted_names(folder, NAMES):
        yield log


def severe_web(prefix: str) -> Web:
    """Return a web of hosts with a bad URL at each position."""
    pairs = [(each, at) for each in named(*SEVERE) for at in POSITIONS]
    return one_url(pairs, N_PAGES, prefix)


def pages_in(web: Web, log: Path, skip: int = 0) -> Counter[tuple[str, str]]:
    """Return how often each good page was requested, by host and target."""
    good = {
        (host, "/" + u.split("/", 3)[3]) for host in web.good for u in web.good[host]
    }
    asked = [(host, target) for _, host, _, target in requests_in(log)[skip:]]
    return Counter(each for each in asked if each in good)


@pytest.mark.in_turn(2, rooms=("downloader", "frontier"))
def test_a_later_run_retries_owed_urls(commands: Commands, tmp_path: Path) -> None:
    """If URLs failed in a run, then the next run of the same command fetches them.

    It requests nothing again that was fetched, except seeds.
    """
    web = one_url([(each, "first") for each in named(*OWED)], N_PAGES, "127.117")
    given = {"seeds": f"@{web.seed_file(tmp_path / 'seeds.csv')}"}
    folder = commands.folder()
    with serving(web, tmp_path) as log:
        result = commands.start_crawl(folder=folder, arguments=given, **SETTINGS).wait()
        assert_costs_no_page(judge(web, log, result.folder))
        n_before = len(requests_in(log))
        heal(tmp_path)
        result = commands.start_crawl(folder=folder, arguments=given, **SETTINGS).wait()
        before = pages_in(web, log) - pages_in(web, log, n_before)
        again = pages_in(web, log, n_before) & before
        doors = [(host, spec) for host, spec in web.spec["hosts"].items()]
    assert result.code == 0, result.stderr
    owed = {
        url.split("#")[0]
        for host, spec in doors
        for url in _owed_urls(web, host, spec["bad"], spec["doors"])
    }
    assert sorted(owed - result.graphs) == []
    seeds = Counter({each: n for each, n in again.items() if each[1] == "/"})
    assert max(seeds.values()) == 1
    assert (again - seeds).total() <= 2, again


def _owed_urls(web: Web, host: str, bad: dict[str, str], doors: list[str]) -> set[str]:
    """Return the URLs of a host that the first run could not have."""
    if "/robots.txt" in bad:
        return {web.url(host, f"/p{n}") for n in range(1, N_PAGES + 1)}
    if not web.names[host].endswith("first"):
        return set()
    door = doors[-1]
    if door == "http" and web.names[host].startswith("moved"):
        return set()
    return {web.url(host, "/bad1", door)}


@pytest.mark.in_turn(2, rooms=("downloader", "frontier"))
def test_refresh_asks_for_all_pages(commands: Commands, tmp_path: Path) -> None:
    """If a page that is due misbehaves by then, all others of its host are fetched."""
    web = severe_web("127.118")
    given = {"seeds": f"@{web.seed_file(tmp_path / 'seeds.csv')}"}
    folder = commands.folder()
    settings = SETTINGS | _REFRESH
    with serving(web, tmp_path) as log:
        heal(tmp_path)
        result = commands.start_crawl(folder=folder, arguments=given, **settings).wait()
        assert result.code == 0, result.stderr
        (tmp_path / "spec.json.healed").unlink()
        n_before = len(requests_in(log))
        crawl_id = {"CRAWL_ID": "linkeddata"}
        queued = commands.start("refresh", folder=folder, **settings, **crawl_id).wait()
        assert queued.code == 0, queued.stderr
        result = commands.start_crawl(folder=folder, **settings).wait()
        asked = pages_in(web, log, n_before)
    assert result.code == 0, result.stderr
    wanted = pages_in_web(web)
    assert sorted(wanted - asked.keys()) == []
    assert asked.total() <= 1.2 * len(wanted)


def pages_in_web(web: Web) -> set[tuple[str, str]]:
    """Return all good pages as host and target."""
    return {
        (host, "/" + url.split("/", 3)[3])
        for host, urls in web.good.items()
        for url in urls
    }


@pytest.mark.in_turn(2, rooms=("downloader", "frontier"))
def test_kills_cost_no_page(commands: Commands, tmp_path: Path) -> None:
    """If workers are killed while URLs misbehave, then all other pages are fetched.

    First one of two is killed, and then all that there is; the next run goes on.
    """
    web = severe_web("127.119")
    seeds = web.seed_file(tmp_path / "seeds.csv")
    words = ("workers", "-n2", "linkeddata", f"-aseeds=@{seeds}")
    settings = SETTINGS | {"FRONTIER_LEASE_SECS": 2, "VISIT_MAX_DOCUMENTS": 3}
    folder = commands.folder()
    with serving(web, tmp_path) as log:
        crew = commands.start(*words, folder=folder, **settings)
        commands.wait_until(lambda: len(requests_in(log)) > 40)
        for pid in worker_pids(crew)[:1]:
            os.kill(pid, signal.SIGKILL)
        commands.wait_until(lambda: "died (-9)" in crew.stderr or crew.has_ended())
        commands.wait_until(lambda: len(requests_in(log)) > 80 or crew.has_ended())
        pids = [crew.process.pid, *descendants(crew.process.pid)]
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        crew.wait()
        result = commands.start(*words, folder=folder, **settings).wait()
        verdict = judge(web, log, result.folder)
    assert result.code == 0, result.stderr
    assert "died (-9)" in crew.stderr
    assert not verdict.missing, verdict.lacks
