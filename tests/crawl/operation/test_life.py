"""Crawls that are stopped, killed, continued and fed while they run."""

from __future__ import annotations

import json
import resource
import signal
from typing import TYPE_CHECKING, Any

import pytest
from redis import Redis

from rdfcrawl.frontier.queue.frontier_client import StateCounts
from rdfcrawl.frontier.redis.embedded import socket_path
from tests.support.crawl_webs import TreeWeb

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

N_HOSTS, N_DOCS = 6, 25


def all_done(web: TreeWeb) -> StateCounts:
    """Return the counters of a finished crawl of a web."""
    n = len(web.documents)
    return StateCounts(done=n, seen=n, hosts=N_HOSTS)


def test_same_command_of_a_finished_crawl_looks_at_its_seeds(
    commands: Commands, loopback: Loopback
) -> None:
    """If a crawl is finished, then the same command requests its seeds alone again."""
    web = TreeWeb(loopback, "127.0.31", n_hosts=2, n_docs=3, secs=0)
    folder = commands.folder()
    first = commands.crawl([web.seed], folder=folder)
    assert first.graphs == web.documents
    again = commands.crawl([web.seed], folder=folder)
    assert (first.code, again.code) == (0, 0)
    assert web.asked() == dict.fromkeys(web.documents, 1) | {web.seed: 2}
    assert again.quads == first.quads
    assert again.statistics["document/seen"] == 1


def test_command_without_urls_names_its_argument(
    commands: Commands, loopback: Loopback
) -> None:
    """If no URL is given, then the summary names the argument of the spider."""
    empty = commands.crawl(spider="sitemap")
    assert "nothing to crawl: give -a sites=URL or -a sites=@FILE" in empty.stderr
    web = TreeWeb(loopback, "127.0.32", n_hosts=1, n_docs=1, secs=0)
    folder = commands.folder()
    commands.crawl(spider="sitemap", arguments={"sites": web.seed}, folder=folder)
    later = commands.crawl(spider="sitemap", folder=folder)
    assert "nothing was queued: give -a sites=URL or -a sites=@FILE" in later.stderr


def test_garbage_is_collected_while_a_crawl_runs(
    commands: Commands, loopback: Loopback
) -> None:
    """If a crawl has begun, then the collector is on, which is off until then."""
    web = TreeWeb(loopback, "127.0.30", n_hosts=2, n_docs=3, secs=0)
    watch = json.dumps({"tests.support.collector_watch.CollectorWatch": 950})
    result = commands.crawl([web.seed], ITEM_PIPELINES=watch)
    assert result.statistics["watched/collecting"] == len(web.documents)


class TestInterrupted:
    """A crawl that gets Ctrl-C, and is continued."""

    def test_stops_cleanly_and_goes_on(
        self, commands: Commands, loopback: Loopback
    ) -> None:
        """If a crawl gets SIGINT, then it gives back the rest; nothing is repeated."""
        web = TreeWeb(loopback, "127.0.32", n_hosts=N_HOSTS, n_docs=N_DOCS, secs=0.05)
        running = commands.start_crawl([web.seed])
        commands.wait_until(lambda: web.asked().total() > N_DOCS)
        running.send(signal.SIGINT)
        first = running.wait()
        assert first.code == 1
        assert "Traceback" not in first.stderr, first.stderr
        counts = first.counts()
        assert counts.leased == 0
        assert counts.queued > 0
        assert counts.done == len(first.graphs) == web.asked().total()

        second = commands.crawl([web.seed], folder=first.folder.parent)
        assert second.code == 0
        assert second.graphs == web.documents
        assert set(web.asked().values()) == {1}
        assert second.counts() == all_done(web)

    @pytest.mark.parametrize("phase", ["Spider opened", "frontier in unix:"])
    def test_while_it_begins_ends_as_any_other(
        self, commands: Commands, loopback: Loopback, phase: str
    ) -> None:
        """If SIGINT comes while the crawl is joined, then it sums up and leaves it."""
        web = TreeWeb(loopback, "127.0.53", n_hosts=2, n_docs=3, secs=0.05)
        running = commands.start_crawl([web.seed])
        commands.wait_until(lambda: phase in running.stderr)
        running.send(signal.SIGINT)
        first = running.wait()
        assert first.code == 1
        assert "Traceback" not in first.stderr, first.stderr
        summary = first.stderr.partition("\noutcome")[2]
        assert "shutdown" in summary.splitlines()[0], first.stderr
        assert first.counts().leased == 0

    def test_before_it_begins_is_one_line(
        self, commands: Commands, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """If SIGINT comes during the imports, then there is one line, no traceback."""
        monkeypatch.setenv("SLOW_SPIDERS", "1")
        modules = "tests.support.slow_spiders,rdfcrawl.spiders"
        running = commands.start_crawl(["http://127.0.0.1:9/"], SPIDER_MODULES=modules)
        commands.wait_until(lambda: "slow to import" in running.stderr)
        running.send(signal.SIGINT)
        result = running.wait()
        assert result.stderr.count("scrapy: interrupted before it had begun") == 1
        assert "Traceback" not in result.stderr, result.stderr
        assert result.code == -signal.SIGINT


class TestKilled:
    """A crawl whose only worker is killed, and that is started again."""

    def test_loses_nothing(self, commands: Commands, loopback: Loopback) -> None:
        """If a worker is killed, then the next run stores all, each document once."""
        web = TreeWeb(loopback, "127.0.33", n_hosts=N_HOSTS, n_docs=N_DOCS, secs=0.15)
        settings: dict[str, Any] = {
            "FRONTIER_LEASE_SECS": 2,
            "FRONTIER_COMMIT_SECS": 0.3,
        }
        running = commands.start_crawl([web.seed], **settings)
        commands.wait_until(lambda: web.asked().total() > 2 * N_DOCS)
        running.send(signal.SIGKILL)
        killed = running.wait()
        assert killed.code == -signal.SIGKILL
        counts = killed.counts()
        assert counts.leased > 0
        assert counts.done > 0

        second = commands.crawl([], folder=killed.folder.parent, **settings)
        assert second.code == 0, second.stderr
        assert second.graphs == web.documents
        assert len(second.latest_quads) == len(second.quads)
        assert second.counts() == all_done(web)
        assert set(web.asked().values()) <= {1, 2}


@pytest.mark.parametrize("is_interrupted", [True, False])
def test_documents_refused_by_the_disk_are_not_done(
    commands: Commands, loopback: Loopback, *, is_interrupted: bool
) -> None:
    """If stores accept nothing, then the crawl stops with their documents undone."""
    body = loopback.response(b"<> <urn:x:p> <#o> .")
    server = loopback({"/quick": body, "/slow": [2.0, body]})
    urls = {server.url(target) for target in ("/quick", "/slow")}
    settings: dict[str, Any] = {"FRONTIER_LEASE_SECS": 2, "FRONTIER_COMMIT_SECS": 60}
    running = commands.start_crawl(sorted(urls), **settings)
    commands.wait_until(lambda: "/slow" in server.targets)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (0, hard))
    if is_interrupted:
        running.send(signal.SIGINT)
    first = running.wait()
    assert first.code != 0
    assert first.graphs == set()
    assert first.counts().done == 0

    second = commands.crawl([], folder=first.folder.parent, **settings)
    assert second.code == 0, second.stderr
    assert second.graphs == urls
    assert second.counts() == StateCounts(done=2, seen=2, hosts=1)


def test_seeds_are_taken_while_the_crawl_runs(
    commands: Commands, loopback: Loopback
) -> None:
    """If seeds are pushed to `<CRAWL_ID>:start_urls`, then the crawl takes them."""
    body = loopback.response(b"<> <urn:x:p> <#o> .")
    targets = ("/first", "/list", "/set", "/zset")
    server = loopback(dict.fromkeys(targets, body))
    name = "fed:start_urls"
    running = commands.start_crawl(
        [server.url("/first")],
        CRAWL_ID="fed",
        SCHEDULER_IDLE_BEFORE_CLOSE=5,
        FRONTIER_LEASE_SECS=2,
    )
    commands.wait_until(lambda: "/first" in server.targets)
    with Redis(unix_socket_path=str(socket_path(running.folder / "frontier"))) as redis:
        redis.lpush(name, server.url("/list"), "no URL at all")
        commands.wait_until(lambda: not redis.exists(name))
        redis.sadd(name, json.dumps({"url": server.url("/set"), "meta": {"a": 1}}))
        commands.wait_until(lambda: not redis.exists(name))
        redis.zadd(name, {server.url("/zset"): 7})
        commands.wait_until(lambda: not redis.exists(name))
    result = running.wait()
    assert result.code == 0
    assert result.graphs == {server.url(target) for target in targets}
    assert "no URL at all" in result.stderr


def test_fresh_is_refused_while_workers_run(
    commands: Commands, loopback: Loopback
) -> None:
    """If workers of a crawl run, then a fresh start is refused in one line."""
    server = loopback({"/slow": [60.0, loopback.response(b"<> <urn:x:p> 1 .")]})
    running = commands.start_crawl([server.url("/slow")])
    commands.wait_until(lambda: "/slow" in server.targets)
    fresh = commands.crawl(folder=running.folder.parent, arguments={"fresh": 1})
    running.send(signal.SIGKILL)
    running.wait()
    assert fresh.code == 2
    assert "scrapy: argument fresh=1: workers of the crawl are running" in fresh.stderr
    assert "Traceback" not in fresh.stderr
    assert fresh.counts().seen == 1
