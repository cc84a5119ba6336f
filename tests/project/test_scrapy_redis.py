"""Spiders of scrapy-redis next to ours, in a project with a Redis that both use."""

from __future__ import annotations

import ast
import json
import pickle
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import redis
import scrapy_redis
from scrapy_redis.spiders import RedisMixin

from rdfcrawl.frontier.redis.embedded import find_server
from tests.support.page_tables import names
from tests.support.pages import read_page
from tests.support.project import ADDON, LAB
from tests.support.redis_fixtures import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import RawServer
    from tests.support.crawl_webs import Loopback
    from tests.support.project import Project
    from tests.support.project_fixtures import StartProject

is_setting = re.compile("[A-Z]+(?:_[A-Z]+)+").fullmatch
SPIDERS = """
    import scrapy
    from scrapy_redis.spiders import RedisSpider

    from rdfcrawl import FrontierSpider, LinkedDataSpider


    class Pages:
        def parse(self, response):
            form = response.request.body.decode()
            yield {"url": response.url, "form": form, "job": response.meta.get("job")}
            yield from response.follow_all(css="a")


    class Ordinary(Pages, RedisSpider):  # of scrapy-redis, as its users write it
        name = "ordinary"
        max_idle_time = 1
        redis_batch_size = 1
        custom_settings = {
            "SCHEDULER": "rdfcrawl.frontier.scheduler.FrontierScheduler",
            "ITEM_PIPELINES": {"scrapy_redis.pipelines.RedisPipeline": 300},
        }


    class Kept(Pages, scrapy.Spider):
        name = "kept"
        start_urls = ["SITE"]
        custom_settings = {
            "SCHEDULER": "rdfcrawl.frontier.scheduler.FrontierScheduler",
            "SCHEDULER_PERSIST": True,
            "CLOSESPIDER_ITEMCOUNT": 1,
            "CONCURRENT_REQUESTS": 1,
        }


    class Ours(Pages, FrontierSpider):
        name = "ours"
        redis_key = "to-%(name)s"
        redis_batch_size = 1
        max_idle_time = 1

        def make_request_from_data(self, data):
            raise AssertionError("not called")


    class Data(LinkedDataSpider):
        name = "data"
        custom_settings = {
            "ITEM_PIPELINES": {"scrapy_redis.pipelines.RedisPipeline": 950},
            "MAX_IDLE_TIME_BEFORE_CLOSE": 1,
            "REDIS_START_URLS_KEY": "%(name)s-scores",
            "REDIS_START_URLS_AS_ZSET": True,
        }
"""


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    """Yield a Redis of this module."""
    with tempfile.TemporaryDirectory(prefix="rc-") as folder:
        server = RedisServer(find_server(), Path(folder))
        server.start()
        yield server
        server.end()


@pytest.fixture(scope="module")
def site(loopback: Loopback) -> RawServer:
    """Return a host with pages that link to one another, and with data."""

    def page(*links: str) -> bytes:
        text = "".join(f"<a href='{link}'>x</a>" for link in links)
        return loopback.response(text.encode(), "text/html")

    turtle = loopback.response(b"<> <urn:p> 1 .")
    return loopback(
        {
            "/": page("/a", "/b"),
            "/a": page("/b", "/c"),
            "/b": page("/a", "/#top"),
            "/c": page("/"),
            "/data": turtle,
            "/more": turtle,
        }
    )


@pytest.fixture(scope="module")
def project(
    start_project: StartProject, server: RedisServer, site: RawServer
) -> Project:
    """Return a project with spiders of both packages and one Redis."""
    url = f'\nREDIS_URL = "{server.url}"\n'
    project = start_project("both", LAB + ADDON + url)
    project.write("spiders/both.py", SPIDERS.replace("SITE", site.url("/")))
    return project


@pytest.fixture
def client(server: RedisServer) -> Iterator[redis.Redis]:
    """Yield a client of the empty server."""
    with redis.Redis(unix_socket_path=str(server.socket)) as client:
        client.flushall()
        yield client


def names_in_the_package() -> set[str]:
    """Return the settings that the modules of scrapy-redis name."""
    found: set[str] = set()
    for path in Path(scrapy_redis.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {node.value} if is_setting(node.value) else set()
    return found


def test_page_has_every_setting_of_the_package() -> None:
    """If scrapy-redis reads a setting or an attribute, then our page has a row."""
    page = read_page("scrapy-redis.md")
    assert names(page, "setting") == names_in_the_package()
    attributes = {
        name
        for name, value in vars(RedisMixin).items()
        if not callable(value) and not name.startswith("__")
    }
    assert names(page, "attribute of a spider") == attributes


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ("STATS_CLASS=scrapy_redis.stats.RedisStatsCollector", "takes numbers alone"),
        ("MAX_IDLE_TIME_BEFORE_CLOSE=soon", "BEFORE_CLOSE='soon': must be"),
        ("REDIS_START_URLS_KEY=%(spider)s", "'%(spider)s': must be a key of Redis"),
        ("REDIS_ENCODING=none", "REDIS_ENCODING='none': no such encoding"),
        ('REDIS_PARAMS={"redis_cls": "redis.None"}', "REDIS_PARAMS: 'redis_cls': "),
        ("REDIS_ITEMS_SERIALIZER=a.b", "REDIS_ITEMS_SERIALIZER: 'a.b': No module"),
        ("SCHEDULER_FLUSH_ON_START=1", "SCHEDULER_FLUSH_ON_START"),
        ("DUPEFILTER_CLASS=scrapy_redis.dupefilter.RFPDupeFilter", "DUPEFILTER_CLASS"),
    ],
    ids=["stats", "idle", "key", "encoding", "class", "serializer", "flush", "filter"],
)
def test_wrong_and_refused_settings_are_one_line(
    project: Project, setting: str, line: str
) -> None:
    """If a setting is wrong or has no effect, then one line of the log says so."""
    done = project.run("crawl", "data", f"-s{setting}")
    is_refused = "SCHEDULER" not in setting and "DUPE" not in setting
    assert (done.code, "Traceback" in done.stderr) == (2 * is_refused, False)
    assert line in done.stderr


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ("REDIS_URL=redis://127.0.0.1:1", "REDIS_URL=redis://127.0.0.1:1: Error 111"),
        ("SCHEDULER_QUEUE_CLASS=none", "SCHEDULER_QUEUE_CLASS: Error loading object"),
        (
            "DUPEFILTER_CLASS=scrapy.Spider",
            "DUPEFILTER_CLASS, SCHEDULER_PERSIST: type object",
        ),
    ],
    ids=["away", "queue", "filter"],
)
def test_scheduler_of_an_ordinary_spider_is_wrong(
    project: Project, setting: str, line: str
) -> None:
    """If scrapy-redis fails for an ordinary spider, then a line names the setting."""
    done = project.run("crawl", "kept", f"-s{setting}")
    assert (done.code, "Traceback" in done.stderr) == (2, False)
    assert line in done.stderr.splitlines()[-1]


def items(client: redis.Redis, key: str) -> list[dict[str, Any]]:
    """Return the items that a RedisPipeline has written."""
    return [json.loads(each) for each in client.lrange(key, 0, -1)]


def test_redis_spider_runs_under_our_scheduler(
    project: Project, client: redis.Redis, site: RawServer
) -> None:
    """If a RedisSpider runs under FrontierScheduler, then its queue is in Redis."""
    client.lpush("ordinary:start_urls", json.dumps({"url": site.url("/")}))
    done = project.run("crawl", "ordinary")
    assert done.code == 0, done.stderr
    pages = Counter(item["url"] for item in items(client, "ordinary:items"))
    # scrapy-redis does not filter pushed URLs: "/" comes once more as a link.
    expected = {site.url(path): 1 for path in ("/a", "/b", "/c")}
    assert pages == expected | {site.url("/"): 2}
    assert "'scheduler/dequeued/redis': 5" in done.stderr
    assert "scheduler/dequeued/memory" not in done.stderr
    assert client.keys("ordinary:*") == [b"ordinary:items"], "flushed without PERSIST"


def test_ordinary_requests_go_on_in_the_next_process(
    project: Project, client: redis.Redis, site: RawServer
) -> None:
    """If a spider with SCHEDULER_PERSIST is stopped, then the next one goes on."""
    first = project.run("crawl", "kept", "-O", "first.jl")
    assert first.code == 0, first.stderr
    assert client.zcard("kept:requests"), "in the queue of scrapy-redis"
    assert client.scard("kept:dupefilter")
    second = project.run(
        "crawl", "kept", "-O", "second.jl", "-sCLOSESPIDER_ITEMCOUNT=0"
    )
    assert second.code == 0, second.stderr
    assert "Resuming crawl" in second.stderr
    found = [
        each["url"] for name in ("first.jl", "second.jl") for each in project.feed(name)
    ]
    assert set(found) == {site.url(path) for path in ("/", "/a", "/b", "/c")}
    in_memory = project.run("crawl", "kept", "-sREDIS_URL=", "-O", "third.jl")
    assert "scheduler/dequeued/memory" in in_memory.stderr, "no Redis is named"


def test_pushed_urls_reach_spiders_of_ours(
    project: Project, client: redis.Redis, site: RawServer
) -> None:
    """If a spider of ours has redis_key and max_idle_time, it takes pushed URLs."""
    message = {"url": site.url("/b"), "method": "POST", "k": "v", "meta": {"job": 7}}
    wrong = {"url": site.url("/"), "meta": "x", "k": 1}
    client.sadd("to-ours", site.url("/c"), json.dumps(message), json.dumps(wrong))
    done = project.run("crawl", "ours", "-O", "ours.jl")
    assert done.code == 0, done.stderr
    assert {each["url"] for each in project.feed("ours.jl")} == {
        site.url(path) for path in ("/", "/a", "/b", "/c")
    }
    jobs = [(each["form"], each["job"]) for each in project.feed("ours.jl")]
    assert jobs.count(("k=v", 7)) == 1, "as in scrapy-redis"
    assert done.stderr.count(f"to-ours: {site.url('/')!r}: ") == 1
    assert "make_request_from_data of spider ours has no effect" in done.stderr
    assert not client.exists("to-ours")
    assert done.secs > 1


def test_keys_that_are_not_read_are_named(
    project: Project, client: redis.Redis
) -> None:
    """If a key of URLs is not that of the spider, or no list, then a line says so."""
    client.set("to-ours", "http://a.example/")
    setting = "-sREDIS_START_URLS_KEY=others"
    done = project.run("crawl", "ours", setting, "-sMAX_IDLE_TIME_BEFORE_CLOSE=1")
    line = "REDIS_START_URLS_KEY has no effect on spider ours: its redis_key is"
    assert done.stderr.count(line) == 1, done.stderr
    assert done.stderr.count("to-ours: not read: string, not a list") == 1


def test_documents_reach_the_pipeline_of_scrapy_redis(
    project: Project, client: redis.Redis, site: RawServer
) -> None:
    """If RedisPipeline stands after our pipelines, then it has a row per document."""
    scores = {site.url("/data"): 1, site.url("/more"): 9}
    client.zadd("data-scores", scores)
    client.zadd("data-scores", {json.dumps({"url": site.url("/data"), "k": 1}): 2})
    done = project.run("crawl", "data", crawl_id="data")
    assert done.code == 0, done.stderr
    found = items(client, "data:items")
    assert {each["url"] for each in found} == set(scores)
    assert done.stderr.count("data-scores: k: no effect: documents are requested") == 1
    assert {each["quads"] for each in found} == {1}
    assert done.graphs == set(scores)


class _Code:
    """Runs code when it is unpickled without care."""

    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("run",)


# Cut, empty, of other types, and with values that no request can have.
_DAMAGED = (
    *(b"", b"\x80\x05garbage", b"\x80\x04K\x01.", b"{}"),
    pickle.dumps({"url": 5}),
    pickle.dumps({"url": "no url"}),
    pickle.dumps({"url": "http://e/", "headers": [1]}),
    pickle.dumps({"url": "http://e/", "encoding": "none", "body": "\xe9"}),
)


def test_queue_of_scrapy_redis_moves_to_the_frontier(
    project: Project, client: redis.Redis, site: RawServer
) -> None:
    """If a queue of scrapy-redis is imported, then a spider of ours crawls it."""
    done = project.run("crawl", "kept")
    assert done.code == 0, done.stderr
    n_queued = client.zcard("kept:requests")
    assert n_queued
    begun = project.run("crawl", "ours")
    assert begun.code == 0, begun.stderr
    words = ("frontier", "import", "kept:requests", "-sCRAWL_ID=ours")
    moved = project.run(*words)
    assert moved.code == 0, moved.stderr
    assert f"requests: {n_queued} queued, 0 seen before" in moved.stderr
    assert f"0 queued, {n_queued} seen before" in project.run(*words).stderr
    after = project.run("crawl", "ours", "-O", "moved.jl")
    assert after.code == 0, after.stderr
    found = {each["url"] for each in project.feed("moved.jl")}
    assert {site.url(path) for path in ("/a", "/b", "/c")} <= found
    bad = [pickle.dumps({"url": "http://e/", "meta": _Code()}), *_DAMAGED]
    client.zadd("kept:requests", {entry: n for n, entry in enumerate(bad, -len(bad))})
    refused = project.run(*words)
    assert (refused.code, "run" in refused.stderr.split()) == (1, False)
    assert f"0 queued, {n_queued} seen before, {len(bad)} refused: " in refused.stderr
    assert "it names builtins.print" in refused.stderr
    wrong = project.run(*words, "-sSCHEDULER_SERIALIZER=none")
    assert (wrong.code, "Traceback" in wrong.stderr) == (2, False)
    assert "SCHEDULER_SERIALIZER=none: No module named 'none'" in wrong.stderr
