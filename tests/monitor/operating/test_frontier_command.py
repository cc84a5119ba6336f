"""`scrapy frontier` with real crawls on loopback."""

from __future__ import annotations

import signal
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from redis import Redis

from rdfcrawl.frontier.redis.embedded import ensure_server
from tests.conftest import LOOPBACK_NETS
from tests.support.crawl_webs import TreeWeb
from tests.support.operated_crawls import operate, told

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

CRAWL = {"CRAWL_ID": "linkeddata"}


@pytest.fixture(scope="module")
def finished(commands: Commands, loopback: Loopback) -> Path:
    """Return the folder of a crawl that is over."""
    web = TreeWeb(loopback, "127.0.73", n_hosts=1, n_docs=2, secs=0)
    folder = commands.folder()
    assert commands.crawl([web.seed], folder=folder).code == 0
    return folder


def test_hosts_are_paused_while_a_crawl_runs(
    commands: Commands, loopback: Loopback
) -> None:
    """If a host is paused in a running crawl, then it gets no request until resumed.

    The crawl does not end meanwhile, and says why; in the end all is there, once.
    """
    web = TreeWeb(loopback, "127.0.71", n_hosts=2, n_docs=20, secs=0.05)
    folder = commands.folder()
    running = commands.start_crawl([web.seed], folder=folder, VISIT_MAX_DOCUMENTS=2)
    commands.wait_until(lambda: web.asked().total() > 4)
    (paused,) = told(folder, "pause", "127.0.71.1", **CRAWL)
    assert paused["has_changed"]

    def n_queued(phase: str) -> int:
        return sum(x["n_queued"] for x in told(folder, "hosts", "--phase", phase))

    def rests() -> bool:
        (detail,) = told(folder, "host", "127.0.71.1")
        (status,) = told(folder, "status")
        return not detail["leases"] and status["counts"]["leased"] == 0

    commands.wait_until(lambda: n_queued("ready") == 0 and rests())
    n_asked = web.asked().total()
    assert n_queued("paused") > 0
    status = operate(folder, "status", **CRAWL).stdout
    assert "note: 1 host is paused: `frontier resume HOST` ends a pause" in status
    shown = operate(folder, "host", "http://127.0.71.1/0").stdout
    assert "next: never, until it is resumed" in shown
    assert not running.has_ended()
    assert web.asked().total() == n_asked
    again = operate(folder, "pause", "127.0.71.1").stdout
    assert again.startswith("127.0.71.1: was paused already, ")
    assert "resumed" in operate(folder, "resume", "127.0.71.1").stdout
    result = running.wait()
    assert result.code == 0, result.stderr
    assert result.graphs == web.documents
    assert set(web.asked().values()) == {1}


def test_crawl_that_does_not_run_is_reported(
    commands: Commands, loopback: Loopback
) -> None:
    """If a crawl was stopped, then its state is shown, and hosts are in their order."""
    web = TreeWeb(loopback, "127.0.72", n_hosts=3, n_docs=25, secs=0.05)
    folder = commands.folder()
    running = commands.start_crawl([web.seed], folder=folder)
    commands.wait_until(lambda: web.asked().total() > 5)
    running.send(signal.SIGINT)
    counts = running.wait().counts()
    (status,) = told(folder, "status")
    assert status["counts"]["queued"] == counts.queued
    assert [each["number"] for each in status["partitions"]] == list(range(16))
    lines = operate(folder, "status", "--partitions").stdout
    assert "no worker is running: start the crawl again to continue" in lines
    assert told(folder, "status", "--all") == [["linkeddata"]]
    queued = [each["n_queued"] for each in told(folder, "hosts", "--most", "2")]
    assert len(queued) == min(2, status["counts"]["hosts"])
    assert queued == sorted(queued, reverse=True)
    first = told(folder, "hosts", "--sort", "queue", "--reverse", "--most", "1")
    assert first[0]["n_queued"] <= min(queued)
    below = told(folder, "hosts", "--below", "127.0.72.1", "--sort", "name")
    assert [each["key"] for each in below] == ["127.0.72.1"]
    table = operate(folder, "hosts").stdout.splitlines()
    assert table[0].split()[:3] == ["host", "phase", "queued"]


@pytest.mark.in_turn(2, rooms=("commands",))
def test_check_finds_nothing_while_a_crawl_runs(
    commands: Commands, loopback: Loopback
) -> None:
    """If workers run, then a check in a loop has no false alarm."""
    web = TreeWeb(loopback, "127.0.74", n_hosts=6, n_docs=40, secs=0.02)
    folder = commands.folder()
    running = [
        commands.start_crawl([web.seed], folder=folder, FRONTIER_COMMIT_SECS=0.05)
    ]
    commands.wait_until(lambda: web.asked().total() > 0)
    running.append(commands.start_crawl([], folder=folder, FRONTIER_COMMIT_SECS=0.05))
    n_checks = 0
    while not any(each.has_ended() for each in running):
        done = operate(folder, "check", **CRAWL)
        assert done.returncode == 0, done.stdout
        n_checks += 1
    assert n_checks > 0
    assert [each.wait().code for each in running] == [0, 0]
    assert operate(folder, "check").stdout.endswith("partitions: 0 damages\n")


def test_damage_is_reported_and_repaired(finished: Path) -> None:
    """If a counter is off, then `check` says so with exit code 1, and mends it."""
    with closing(ensure_server(finished / "linkeddata" / "frontier")) as server:
        with Redis.from_url(server.url) as redis:
            redis.hincrby("rc:{linkeddata/0}:cnt", "done", 1)
        found = operate(finished, "check", **CRAWL)
        assert found.returncode == 1
        assert found.stdout.startswith("counter: partition 0: sum is a counter with")
        mended = operate(finished, "check", "--repair", **CRAWL)
        assert mended.returncode == 0, mended.stdout
        assert mended.stdout.endswith("1 repaired, 0 left\n")


@pytest.mark.in_turn(2, rooms=("commands",))
def test_uris_are_found_and_added(commands: Commands, loopback: Loopback) -> None:
    """If a URI is searched, then its state is found; an added one is crawled.

    It extends the scope like a seed. A URI that the guard refuses is reported.
    """
    web = TreeWeb(loopback, "127.0.75", n_hosts=1, n_docs=30, secs=0.05)
    other = loopback({"/new": loopback.response(b"<> <urn:x:p> <#o> .")})
    folder = commands.folder()
    given = {"scope": "host"}
    running = commands.start_crawl([web.seed], folder=folder, arguments=given)
    commands.wait_until(lambda: web.asked().total() > 4)
    running.send(signal.SIGINT)
    counts = running.wait().counts()
    assert counts.queued > 0
    (host,) = told(folder, "host", "127.0.75.1", "--most", "9")
    for n, (band, url) in enumerate(host["head"]):
        (found,) = told(folder, "uri", url)
        assert (found["place"], found["band"]) == ("queued", band)
        assert found["n_before"] == n
    assert told(folder, "uri", web.seed)[0]["place"] == "done"
    new = other.url("/new")
    assert told(folder, "uri", new)[0]["place"] == "unknown"
    allowed = {"GUARD_ALLOW_NETS": LOOPBACK_NETS, "GUARD_PORTS": "1-65535"}
    refused = operate(folder, "add", new)
    assert refused.returncode == 2
    assert new in refused.stderr
    assert "no URL" not in operate(folder, "uri", "mailto:x").stdout
    added = [told(folder, "add", new, **allowed)[0]["fate"] for _ in range(2)]
    assert added == ["queued", "seen before"]
    wrong = operate(folder, "add", new, "--spider", "other", **allowed)
    assert "--spider other: the spiders of this crawl are linkeddata" in wrong.stderr
    assert operate(folder, "check").returncode == 0
    result = commands.crawl([], folder=folder)
    assert result.graphs == web.documents | {new}
    assert set(web.asked().values()) == {1}


@pytest.mark.in_turn(2, rooms=("commands",))
def test_given_up_uris_are_listed_queued_again_and_dropped(
    commands: Commands,
) -> None:
    """If a host fails, then its URIs are listed, queued again, and dropped."""
    urls = {"http://127.0.77.1:9/a", "http://127.0.77.1:9/b"}
    folder = commands.folder()
    commands.crawl(sorted(urls), folder=folder)
    listed = told(folder, "dead", "list", "--failed")
    assert {each["url"] for each in listed} == urls
    assert told(folder, "uri", min(urls))[0]["place"] == "failed"
    assert told(folder, "dead", "retry", "--failed") == [{"queued again": 2}]
    assert operate(folder, "check").returncode == 0
    commands.crawl([], folder=folder)
    assert operate(folder, "dead", "drop", "--failed").stdout == "2 dropped\n"
    assert told(folder, "dead", "list", "--failed") == []
    assert told(folder, "dead", "list") == []
    assert operate(folder, "check").returncode == 0
    wrong = operate(folder, "dead", "bury")
    assert "frontier dead: 'bury': must be list, retry or drop" in wrong.stderr


def test_forgotten_crawl_restarts(commands: Commands, loopback: Loopback) -> None:
    """If a crawl is forgotten, then its frontier is gone, but no stored document."""
    web = TreeWeb(loopback, "127.0.76", n_hosts=1, n_docs=6, secs=0.1)
    folder = commands.folder()
    running = commands.start_crawl([web.seed], folder=folder)
    commands.wait_until(lambda: web.asked().total() > 1)
    refused = operate(folder, "forget", "linkeddata")
    assert refused.returncode == 2
    assert "CRAWL linkeddata: workers are running, or died" in refused.stderr
    result = running.wait()
    wrong = operate(folder, "forget", "other")
    assert "CRAWL other: settings name crawl linkeddata" in wrong.stderr
    assert "is deleted" in operate(folder, "forget", "linkeddata").stdout
    assert "no crawl of this name is in Redis" in operate(folder, "status").stderr
    assert result.graphs == web.documents


WRONG = {
    "no action": ([], "frontier: choose an action: status"),
    "export -": (["export", "-"], "frontier export: -: name a file"),
    "unknown": (["shrink"], "frontier shrink: no such action; choose one of status"),
    "metrics of": (["exporter", "x"], "frontier exporter: type: frontier exporter"),
    "no host": (["pause"], "frontier pause: type: frontier pause HOST"),
    "sort": (["hosts", "--sort", "age"], "--sort 'age': must be one of queue, delay"),
    "phase": (["hosts", "--phase", "mad"], "--phase 'mad': must be one of paused"),
    "delay": (["set-delay", "a.b", "-1"], "SECS '-1': must be 0 to 86400, or default"),
    "budget": (["set-budget", "a.b", "1e9"], "URIS '1e9': must be 0 (no limit) to"),
    "host": (["host", "a b"], "host 'a b': not a host"),
    "unknown host": (["drop", "no.example"], "no.example: not in the frontier"),
    "most": (["hosts", "--most", "0"], "--most 0: must be 1 to 100000"),
}


@pytest.mark.parametrize(("words", "line"), WRONG.values(), ids=WRONG)
def test_wrong_words_are_named_in_one_line(
    finished: Path, words: list[str], line: str
) -> None:
    """If a word is wrong, then one line names it, and the exit code is 2."""
    done = operate(finished, *words)
    assert done.returncode == 2, done.stdout
    assert line in done.stderr
    assert done.stderr.count("\n") == 1
    assert not done.stdout


def test_crawls_that_do_not_exist_are_not_begun(finished: Path) -> None:
    """If there is no such crawl, then one line says which there are; none is made."""
    missing = operate(finished, "status", CRAWL_ID="other")
    assert missing.returncode == 2
    assert "CRAWL_ID=other: no crawl of this name has begun" in missing.stderr
    (finished / "empty" / "frontier").mkdir(parents=True)
    begun = operate(finished, "status", CRAWL_ID="empty")
    assert begun.returncode == 2
    assert "CRAWL_ID=empty: no crawl of this name is in Redis; it has none" in (
        begun.stderr
    )
    several = operate(finished, "status")
    assert "say -s CRAWL_ID=NAME; there are empty, linkeddata" in several.stderr
