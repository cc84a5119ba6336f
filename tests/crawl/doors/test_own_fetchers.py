"""Schemes of users: results and failures of their fetchers, and their guards."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.settings import Settings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.pipelines.spider_options import SpiderOptions
from tests.support.bucket_fetcher import SETTINGS, Bucket
from tests.support.command_forks import scrapy
from tests.support.crawl_kills import worker_pids

if TYPE_CHECKING:
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

SAYS = "<> <urn:x:says> {} ."
LIMITS: dict[str, Any] = {
    "DOWNLOAD_MAXSIZE": 10_000,
    "DUMP_MAXSIZE": 1_000_000,
    "VISIT_SPOOL_BYTES": 4_000,
    "RETRY_TIMES": 1,
    "TRANSFER_FIRST_BYTE_SECS": 2.0,
    "TRANSFER_MIN_RATE_SECS": 0.4,
}


def linking(*urls: str) -> str:
    """Return a document with links."""
    return "".join(f"<> <urn:x:p> <{url}> .\n" for url in urls) + '<> <urn:x:q> "d" .'


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Bucket:
    """Return a bucket; `filled` puts the objects there."""
    return Bucket(tmp_path_factory.mktemp("bucket"))


@pytest.fixture(scope="module")
def server(loopback: Loopback) -> RawServer:
    """Return a host of the Web that would like to lead into the bucket."""
    there = "s3://bucket/secret"
    plain = linking(there, "s3://bucket/a.ttl").encode()
    server = loopback(
        {"/plain": loopback.response(plain), "/moved": loopback.redirect(there)}
    )
    links = f"<a href='{there}'>a</a><a href='secret'>b</a>"
    links += f"<a href='{server.url('/plain')}'>c</a>"
    page = f"<base href='s3://bucket/'>{links}".encode()
    server.pages["/page"] = loopback.response(page, "text/html")
    return server


@pytest.fixture(scope="module")
def crawl(commands: Commands, bucket: Bucket, server: RawServer) -> CrawlResult:
    """Return the result of a crawl of all of it."""
    bucket.put("s3://bucket/secret", SAYS.format('"secret"'))
    bucket.put("s3://bucket/a.ttl", SAYS.format('"a"'), etag='"1"')
    bucket.put("s3://bucket/dump.nt", "<urn:x:s> <urn:x:p> <urn:x:o> .\n", times=9999)
    failures: dict[str, dict[str, Any]] = {
        "big": {"text": "<urn:x:s> <urn:x:p> <urn:x:o> .\n", "times": 999},
        "short": {"text": SAYS.format(1), "length": 500},
        "flaky": {"text": SAYS.format(1), "raises": "bad_http", "failures": 1},
        "stalls": {"text": f"# {'x' * 2000}\n", "times": 9, "stalls_at": 2},
        "raises": {"raises": "encrypted"},
        "fails": {"raises": "KeyError"},
        "wrong": {"is_wrong": True},
        "late": {"raises": "TimeoutError"},
        "to-web": {"status": 302, "location": server.url("/plain?from=s3")},
        "to-own": {"status": 301, "location": "/a.ttl"},
        "to-other": {"status": 301, "location": "file:///etc/passwd"},
    }
    names = [*failures, "missing", "a.ttl", "dump.nt", "a.ttl?b=2&a=1"]
    names += ["x/b.ttl", "x/%62.ttl"]  # one, which is requested unchanged
    for name, reply in failures.items():
        bucket.put(f"s3://bucket/{name}", media_type="text/turtle", **reply)
    bucket.put("s3://dead/x", raises="OSError")
    bucket.put("s3://silent/x", secs=60)
    names += ["s3://dead/x", "s3://silent/x", "file:///etc/passwd"]
    bucket.put("s3://bucket/", linking(*names))
    return commands.crawl(
        ["s3://bucket", server.url("/page"), server.url("/moved")],
        arguments={"follow": "abox,hyperlink"},
        **bucket.settings(**LIMITS),
    )


def test_scheme_is_crawled_like_any_other(crawl: CrawlResult, bucket: Bucket) -> None:
    """If seeds and links are of a scheme of the user's, then they are crawled."""
    assert crawl.code == 4, crawl.stderr  # a fetcher fails, see below
    assert "s3://bucket/" in crawl.graphs
    assert crawl.about("s3://bucket/a.ttl") == {
        ("s3://bucket/a.ttl", "urn:x:says", '"a"')
    }
    assert len(crawl.about("s3://bucket/dump.nt")) == 1
    asked = bucket.asked()
    assert asked.count("s3://bucket/a.ttl") == 1
    assert len([each for each in asked if "/x/" in each]) == 1
    assert "s3://bucket/a.ttl?b=2&a=1" in asked
    assert "s3://bucket/robots.txt" not in asked
    assert (bucket.folder / "closed.txt").read_text() == "closed\n"
    statistics = crawl.statistics
    assert statistics["fetcher/s3/requests"] == len(asked)
    assert statistics["fetcher/s3/status/404"] == 3
    assert statistics["fetcher/s3/bytes"] > 32 * 9999


@pytest.mark.parametrize("words", [("explain",), ("frontier", "uri")])
def test_operator_asks_for_a_uri_of_the_scheme(
    crawl: CrawlResult, bucket: Bucket, words: tuple[str, ...]
) -> None:
    """If an operator names a URI of an own scheme, then the crawl knows the URI."""
    given = {"CRAWL_DIR": crawl.folder.parent, "CRAWL_ID": crawl.folder.name}
    settings = [f"-s{k}={v}" for k, v in {**bucket.settings(), **given}.items()]
    known = scrapy(*words, "s3://bucket/x/%62.ttl", *settings)
    assert ("fetched" if words == ("explain",) else "done") in known.stdout
    other = scrapy(*words, "file:///etc/passwd", *settings)
    assert "scheme 'file' is not crawled" in other.stdout + other.stderr


def test_pages_of_the_web_do_not_lead_there(
    crawl: CrawlResult, bucket: Bucket, server: RawServer
) -> None:
    """If a page links to a scheme of the user's, then the link is not followed."""
    assert not [each for each in bucket.asked() if "secret" in each]
    assert crawl.faults(server.url("/page")) == ["bad_uri"]
    assert crawl.faults(server.url("/moved")) == ["redirect_bad_target"]
    assert (
        server.url("/plain") in crawl.graphs
    )  # the links of the page are allowed, too


@pytest.mark.parametrize(
    ("name", "reasons"),
    [
        ("big", ["syntax", "too_large"]),
        ("short", ["truncated_body"]),
        ("flaky", []),
        ("stalls", ["timeout"]),
        ("raises", ["encrypted"]),
        ("fails", ["internal"]),
        ("wrong", ["internal"]),
        ("late", ["timeout"]),
        ("missing", ["not_found"]),
        ("to-web", []),
        ("to-own", []),
        ("to-other", ["redirect_bad_target"]),
    ],
)
def test_failures_are_named(crawl: CrawlResult, name: str, reasons: list[str]) -> None:
    """If a fetcher fails, then the document has a fault, and the crawl goes on."""
    assert crawl.faults(f"s3://bucket/{name}") == reasons


def test_failures_are_bounded(
    crawl: CrawlResult, bucket: Bucket, server: RawServer
) -> None:
    """If objects fail, then they are tried again, cut off, or led elsewhere."""
    asked = bucket.asked()
    assert asked.count("s3://bucket/flaky") == 2
    assert asked.count("s3://bucket/raises") == 1
    assert crawl.about("s3://bucket/flaky")
    assert crawl.about("s3://bucket/short")
    assert crawl.faults("s3://dead/x") == ["unreachable"]
    assert crawl.faults("s3://silent/x") == ["timeout"]
    assert "/plain?from=s3" in server.targets
    assert crawl.stderr.count("the fetcher failed") == 1
    assert "'fault/internal': 2" in crawl.stderr
    assert "own faults    2 documents: BucketFetcher 2 (" in crawl.stderr
    assert crawl.details("s3://bucket/fails") == ["BucketFetcher: KeyError('failure')"]


def test_web_may_lead_there_if_it_is_said_so(
    commands: Commands, bucket: Bucket, crawl: CrawlResult, server: RawServer
) -> None:
    """If `FETCH_SCHEMES_FROM_WEB` names the scheme, then pages lead there by links."""
    assert crawl.code == 4
    n_before = len(bucket.asked())
    result = commands.crawl(
        [server.url("/plain"), server.url("/moved")],
        **bucket.settings(FETCH_SCHEMES_FROM_WEB="s3"),
    )
    asked = bucket.asked()[n_before:]
    assert sorted(asked) == ["s3://bucket/a.ttl", "s3://bucket/secret"]
    assert result.faults(server.url("/moved")) == ["redirect_bad_target"]


def test_later_run_asks_whether_it_has_changed(
    commands: Commands, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """If a sitemap was read before, then its validator is sent, and 304 suffices."""
    bucket = Bucket(tmp_path_factory.mktemp("sitemap"))
    page = bucket.put("s3://bucket/a.ttl", SAYS.format('"a"'))
    entries = f"<url><loc>{page}</loc></url><url><loc>s3://other/b</loc></url>"
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    site = bucket.put(
        "s3://bucket/sitemap.xml",
        f'<urlset xmlns="{space}">{entries}</urlset>',
        media_type="application/xml",
        etag='"7"',
    )
    folder = commands.folder()
    for _ in range(2):
        result = commands.crawl(
            spider="sitemap",
            folder=folder,
            arguments={"sites": site},
            **bucket.settings(),
        )
        assert result.code == 0, result.stderr
    assert bucket.asked() == [site, page, f'{site} "7"']
    assert result.statistics["fetcher/s3/status/304"] == 1
    assert page in result.graphs


def test_killed_workers_lose_nothing(
    commands: Commands, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """If a worker of two is killed in the middle, then all is fetched and stored."""
    bucket = Bucket(tmp_path_factory.mktemp("killed"))
    urls = [f"s3://b{n % 4}/{n}" for n in range(80)]
    for n, url in enumerate(urls):
        links = [urls[2 * n + k] for k in (1, 2) if 2 * n + k < len(urls)]
        bucket.put(url, linking(*links), secs=0.05)
    crew = commands.start(
        *("workers", "-n2", "linkeddata", f"-aseeds={urls[0]}"), **bucket.settings()
    )
    commands.wait_until(lambda: len(bucket.asked()) > 20 or crew.has_ended())
    os.kill(worker_pids(crew)[0], signal.SIGKILL)
    result = crew.wait()
    assert result.code == 0, result.stderr
    assert "died (-9)" in result.stderr
    assert result.graphs == set(urls)
    assert set(bucket.asked()) == set(urls)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"FETCH_SCHEMES": {"S 3": "json.JSONDecoder"}}, "'S 3': must be the scheme"),
        ({"FETCH_SCHEMES": {"http": "json.JSONDecoder"}}, "none of ftp, ftps, http"),
        ({"FETCH_SCHEMES": {"s3": "nowhere.to.be.Found"}}, "No module named 'nowhere'"),
        ({"FETCH_SCHEMES": {"s3": "json.JSONDecoder"}}, "has no method `fetch`"),
        ({"FETCH_SCHEMES": "s3"}, "must be a dictionary"),
        ({"FETCH_SCHEMES_FROM_WEB": ["s3"]}, "FETCH_SCHEMES has no 's3'"),
    ],
)
def test_wrong_settings_are_reported(settings: dict[str, Any], told: str) -> None:
    """If a scheme or class is wrong, then one line names the setting and says why."""
    with pytest.raises(ConfigError, match="FETCH_SCHEMES") as raised:
        SpiderOptions.from_settings(Settings(settings), "x")
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("settings", "seed", "told"),
    [
        ({}, "s3://bucket/", "argument seeds: s3://bucket/: scheme 's3' is not"),
        (SETTINGS, "s3://bucket/", "FETCH_SCHEMES: 's3': BucketFetcher: KeyError"),
    ],
)
def test_crawl_does_not_begin(
    commands: Commands, settings: dict[str, Any], seed: str, told: str
) -> None:
    """If a scheme is unknown, or its class fails, one line says so at the start."""
    result = commands.crawl(arguments={"seeds": seed}, **settings)
    assert result.code != 0
    assert told in result.stderr
    assert "Traceback" not in result.stderr
