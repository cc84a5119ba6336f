"""The page of a running crawl: its stream, its figures, and failures."""

from __future__ import annotations

import re
import signal
import socket
from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError

import pytest

from rdfcrawl.monitor.page.event_streams import MOST_STREAMS
from tests.support.crawl_webs import TreeWeb
from tests.support.exporting import open_directly, samples, total
from tests.support.page_browser import serve_page
from tests.support.page_json import events, moment, read_page_json

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands, RunningCrawl
    from tests.support.crawl_webs import Loopback
    from tests.support.redis_fixtures import RedisServer

pytestmark = pytest.mark.service


def url_of(running: RunningCrawl, commands: Commands) -> str:
    """Return the URL that a crawl with `--page` prints, without `/`."""
    found: list[str] = []

    def is_told() -> bool:
        assert not running.has_ended(), running.stderr
        found[:] = re.findall(r"^page +(http://\S+)/$", running.stderr, re.MULTILINE)
        return bool(found)

    commands.wait_until(is_told)
    return found[0]


def is_served(url: str) -> bool:
    """Return whether a server listens at a URL."""
    port = int(url.rpartition(":")[2])
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.in_turn(2, rooms=("launch",))
def test_crawl_with_page_serves_it_until_its_end(
    commands: Commands, loopback: Loopback
) -> None:
    """If a crawl has `--page`, then that shows it go on, and ends with it."""
    web = TreeWeb(loopback, "127.96.1", n_hosts=2, n_docs=500, secs=0.1)
    folder = commands.folder()
    (folder / "seeds.txt").write_text(f"{web.seed}\n")
    running = commands.start(
        *("crawl", "linkeddata", "--page", f"-aseeds=@{folder}/seeds.txt"),
        folder=folder,
        FRONTIER_COMMIT_SECS=0.1,
        VISIT_MAX_DOCUMENTS=4,
    )
    url = url_of(running, commands)
    commands.wait_until(lambda: moment(url)["n_documents"] > 3)
    with events(url) as told:
        first, *_, last = islice(told, 3)
    assert first["state"] == "running"
    assert first["sentence"].startswith("The crawl is running: ")
    assert last["taken_secs"] > first["taken_secs"]
    assert last["counts"]["done"] >= first["counts"]["done"]
    (worker,) = last["workers"]
    assert worker["state"] == "at work"
    running.send(signal.SIGINT)
    ended = running.wait()
    assert "page          ended; to see it again: scrapy page -s CRAWL_DIR=" in (
        ended.stderr
    )
    assert not is_served(url)
    # Nothing of the page keeps the server of the frontier.
    assert ended.counts().done > 3


def test_page_of_a_killed_crawl_ends(commands: Commands, loopback: Loopback) -> None:
    """If a crawl with `--page` is killed, then its page ends, too."""
    web = TreeWeb(loopback, "127.96.2", n_hosts=1, n_docs=500, secs=0.2)
    running = commands.start("crawl", "linkeddata", "--page", f"-aseeds={web.seed}")
    url = url_of(running, commands)
    commands.wait_until(lambda: moment(url)["counts"])
    running.send(signal.SIGKILL)
    running.wait()
    commands.wait_until(lambda: not is_served(url))


def test_page_follows_restarts_of_redis_and_of_the_crawl(
    commands: Commands, loopback: Loopback, lasting_server: RedisServer
) -> None:
    """If Redis restarts, or a crawl restarts, then the page shows the new state."""
    server = loopback()
    server.pages["*"] = loopback.response(b"<> <urn:x:p> <b> .")
    redis: dict[str, Any] = {"REDIS_URL": lasting_server.url, "CRAWL_ID": "linkeddata"}
    result = commands.crawl([server.url("/a")], **redis)
    folder = result.folder.parent
    url = serve_page(commands, folder, **redis)
    assert moment(url)["state"] == "finished"
    assert moment(url)["counts"]["done"] == 2
    lasting_server.end()
    commands.wait_until(lambda: moment(url)["state"] == "away")
    assert moment(url)["why_away"].startswith("R")
    assert sum(read_page_json(f"{url}/")["history"]["n_documents"]) > 0
    lasting_server.start()
    commands.wait_until(lambda: moment(url)["state"] == "finished")
    anew = {"fresh": 1}
    server.pages["*"] = loopback.response(b"<> <urn:x:p> <urn:x:q> .")
    commands.crawl(
        [server.url("/a")],
        folder=folder,
        arguments=anew,
        FRONTIER_PARTITIONS=3,
        **redis,
    )
    commands.wait_until(lambda: (moment(url)["counts"] or {}).get("done") == 1)
    commands.wait_until(
        lambda: read_page_json(f"{url}/")["history"]["n_documents"] == [1]
    )
    found = samples(f"{url}/metrics")
    assert total(found, "rdfcrawl_frontier_requests", state="done") == 1


def test_streams_are_bounded_and_faults_have_examples(
    commands: Commands, loopback: Loopback
) -> None:
    """If too many watch, then further ones are refused; faults lead to documents."""
    server = loopback({"/a": loopback.response(b"<> <urn:x:p> <b> .")})
    result = commands.crawl([server.url("/a")])
    url = serve_page(commands, result.folder.parent)
    with ExitStack() as stack:
        for _ in range(MOST_STREAMS):
            told = stack.enter_context(events(url))
            assert next(told)["faults"] == [{"reason": "not_found", "n": 1}]
        with pytest.raises(HTTPError, match="503") as refused:
            open_directly(f"{url}/events")
        refused.value.close()
    commands.wait_until(
        lambda: (
            read_page_json(f"{url}/faults")["counts"]
            == [{"reason": "not_found", "n": 1}]
        )
    )
    found = read_page_json(f"{url}/faults?reason=not_found")
    assert [each["uri"] for each in found["examples"]] == [server.url("/b")]
    assert found["examples"][0]["http_status"] == 404
    with pytest.raises(HTTPError, match="404") as unknown:
        read_page_json(f"{url}/faults?reason=%3Cb%3E")
    unknown.value.close()


def test_next_free_port_is_taken(commands: Commands, loopback: Loopback) -> None:
    """If the usual port is taken, then the page listens at another one, and says so."""
    web = TreeWeb(loopback, "127.96.3", n_hosts=1, n_docs=500, secs=0.2)
    words = "crawl", "linkeddata", "--page", f"-aseeds={web.seed}"
    crawls = [commands.start(*words) for _ in range(2)]
    urls = {url_of(each, commands) for each in crawls}
    for each in crawls:
        each.send(signal.SIGKILL)
        each.wait()
    assert len(urls) == 2
    assert all(6824 <= int(url.rpartition(":")[2]) < 6844 for url in urls)
