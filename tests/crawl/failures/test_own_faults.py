"""Faults of code that runs here are not faults of the documents."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.core.errors import Reason
from tests.support.failing_parts import EXTRACTORS, HARVESTERS, MEDIA_TYPE, PIPELINES

if TYPE_CHECKING:
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

SETTINGS: dict[str, Any] = {
    "EXTRACTORS": json.dumps(EXTRACTORS),
    "ITEM_PIPELINES": json.dumps(PIPELINES),
    "HARVESTERS": json.dumps(HARVESTERS),
}
# Path -> the reason of its fault; none for those that no document can cause.
OWN = {
    "/raise": Reason.PARSE_CRASH,
    "/missing": Reason.NOT_INSTALLED,
    "/die": Reason.PARSE_CRASH,
    "/pipeline": None,
    "/harvester": Reason.INTERNAL,
}
OF_PAGE = {"/hungry": Reason.TOO_LARGE}


@pytest.fixture(scope="module")
def site(loopback: Loopback) -> RawServer:
    """Return a site whose documents make parts of the crawler fail, but one."""
    server = loopback(host="127.94.31.5")
    rdfa = '<p about="urn:x:s" property="urn:x:p">{}</p>'
    for path in (*OWN, *OF_PAGE, "/good"):
        media_type = MEDIA_TYPE if path == "/harvester" else "text/html"
        body = rdfa.format(path.strip("/")).encode()
        server.pages[path] = loopback.response(body, media_type)
    return server


@pytest.fixture(scope="module")
def crawl(commands: Commands, site: RawServer) -> CrawlResult:
    """Return a crawl of the site."""
    urls = [site.url(path) for path in (*OWN, *OF_PAGE, "/good")]
    return commands.crawl(urls, arguments={"follow": "none"}, **SETTINGS)


def test_own_faults_change_the_exit_code(crawl: CrawlResult, site: RawServer) -> None:
    """If parts of the crawler fail, then the crawl ends with a specific code."""
    assert crawl.code == 4, crawl.stderr
    for path, reason in {**OWN, **OF_PAGE}.items():
        if reason is not None:
            assert crawl.faults(site.url(path)) == [reason], path
    assert crawl.faults(site.url("/good")) == []


def test_own_faults_are_counted_by_the_part_that_failed(crawl: CrawlResult) -> None:
    """If parts of the crawler fail, then documents are counted by part, and only so."""
    parts = {
        name.removeprefix("own_fault/part/"): n
        for name, n in crawl.statistics.items()
        if name.startswith("own_fault/part/")
    }
    expected = dict.fromkeys(
        ("raising", "missing", "HTML", "pipelines", "harvester"), 1
    )
    assert parts == expected
    assert crawl.statistics["own_fault/documents"] == len(OWN)


def test_summary_has_an_example_of_each_own_fault(crawl: CrawlResult) -> None:
    """If parts of the crawler fail, then a line of the summary says which, and why."""
    (line,) = [x for x in crawl.stderr.splitlines() if x.startswith("own faults")]
    assert f"{len(OWN)} documents" in line
    for said in (
        "raising 1 (ValueError('raised'))",
        "missing 1 (No module named 'no_such_library')",
        "HTML 1 (ended by SIGABRT: last words",
        "pipelines 1 (KeyError('in the pipeline'))",
        "harvester 1 (ZeroDivisionError('in the harvester'))",
    ):
        assert said in line


def test_log_has_the_output_of_a_process_before_its_death(
    crawl: CrawlResult, site: RawServer
) -> None:
    """If a reading process dies, then the log has its last words, made harmless."""
    said = "reading process: ended by SIGABRT"
    (line,) = [x for x in crawl.stderr.splitlines() if said in x]
    assert site.url("/die") in line
    assert "last words \\x1b[2J" in line
    assert len(line) < 5000
    assert "\x1b[2J" not in crawl.stderr


def test_statements_next_to_an_own_fault_are_kept(
    crawl: CrawlResult, site: RawServer
) -> None:
    """If an extractor fails, then its statements before and those of others stay."""
    for path in ("/raise", "/missing", "/hungry"):
        objects = {o for _, _, o in crawl.about(site.url(path))}
        assert objects == {"urn:x:before", f'"{path.strip("/")}"'}


def test_documents_are_requested_again_after_a_repair(
    commands: Commands, site: RawServer, crawl: CrawlResult
) -> None:
    """If the parts are mended, then retry=failed reads these documents, no others."""
    n_before = len(site.targets)
    folder = crawl.folder.parent
    again = commands.crawl(
        folder=folder, arguments={"follow": "none", "retry": "failed"}
    )
    assert again.code == 0, again.stderr
    assert sorted(set(site.targets[n_before:]) - {"/robots.txt"}) == sorted(OWN)
    assert "own faults" not in again.stderr


def test_several_workers_sum_up_their_own_faults(
    commands: Commands, site: RawServer
) -> None:
    """If several workers meet own faults, then summary and exit code have them all."""
    urls = ",".join(site.url(path) for path in ("/raise", "/missing", "/good"))
    words = ("workers", "-n2", "linkeddata", f"-aseeds={urls}", "-afollow=none")
    result = commands.start(*words, **SETTINGS, OWN_FAULT_EXIT_CODE=9).wait()
    assert result.code == 9, result.stderr
    (line,) = [x for x in result.stderr.splitlines() if x.startswith("own faults")]
    assert "missing 1 (No module named 'no_such_library')" in line
    assert "raising 1 (ValueError('raised'))" in line


@pytest.mark.parametrize(
    ("setting", "part", "code", "said"),
    [
        (
            "DOWNLOADER_MIDDLEWARES",
            "RaisingMiddleware",
            4,
            "middlewares 1 (IgnoreRequest('no visit://127.94.31.5/'))",
        ),
        (
            "EXTENSIONS",
            "RaisingExtension",
            1,
            "the crawl stops: RaisingExtension.keep raised KeyError('in the extension'",
        ),
    ],
)
def test_the_part_that_failed_is_named(
    commands: Commands, site: RawServer, setting: str, part: str, code: int, said: str
) -> None:
    """If a component of users fails, then it is named, not the part behind it."""
    parts: dict[str, Any] = {
        setting: json.dumps({f"tests.support.failing_parts.{part}": 500})
    }
    result = commands.crawl(
        [site.url("/good")],
        arguments={"follow": "none"},
        FRONTIER_LEASE_SECS=1,
        **parts,
    )
    assert result.code == code, result.stderr
    assert said in result.stderr
