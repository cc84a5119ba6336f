"""A failure of a part is named, and is not charged to what surrounds it."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

PARTS = "tests.support.failing_components"
GOOD = b"<urn:x:s> <urn:x:p> <urn:x:o> ."
_SEE_ALSO = "<http://www.w3.org/2000/01/rdf-schema#seeAlso>"
# The first script is repaired, the second one lacks its context.
_SCRIPTS = '{"@id": "urn:x:s", "urn:x:p": 1,}', '{"@context": "/missing", "name": "x"}'
_IN_PART = "".join(f'<script type="application/ld+json">{x}</script>' for x in _SCRIPTS)


@pytest.fixture(scope="module")
def site(loopback: Loopback) -> RawServer:
    """Return a site of two good documents, and others in each state of failure."""
    server = loopback(host="127.94.46.5")
    for path in ("/a", "/b"):
        server.pages[path] = loopback.response(GOOD)
    server.pages["/busy"] = loopback.response(
        b"", status="429 Later", Retry_After="3000"
    )
    hub = f"<urn:x:hub> {_SEE_ALSO} <{server.url('/in-part')}> ."
    server.pages["/hub"] = loopback.response(hub.encode())
    server.pages["/in-part"] = loopback.response(_IN_PART.encode(), "text/html")
    server.pages["/missing"] = loopback.response(b"", status="500 No")
    return server


def crawl(commands: Commands, site: RawServer, *paths: str, **more: Any) -> CrawlResult:
    """Crawl some documents of the site."""
    return commands.crawl([site.url(path) for path in paths], **more)


def own(*names: str, order: int = 990) -> str:
    """Return a setting with failing components."""
    return json.dumps({f"{PARTS}.{name}": order for name in names})


def line(result: CrawlResult, name: str) -> str:
    """Return a line of the summary."""
    (found,) = [x for x in result.stderr.splitlines() if x.startswith(f"{name} ")]
    return found


def test_components_that_fail_outside_of_documents_are_named(
    commands: Commands, site: RawServer
) -> None:
    """If handlers, callbacks and the closing of components raise, each is named.

    Other components are closed all the same.
    """
    result = crawl(
        commands,
        site,
        *("/a", "/b"),
        spider="failing",
        SPIDER_MODULES=PARTS,
        EXTENSIONS=own("FailingHandlers"),
        ITEM_PIPELINES=own("FailsWithItems"),
    )
    assert result.code == 4, result.stderr
    assert "; 10 parts of the crawler failed" in line(result, "outcome")
    said = line(result, "own faults")
    for name, n in {
        "FailingHandlers.engine_started": 1,
        "FailingHandlers.spider_opened": 1,
        "FailingHandlers.item_scraped": 2,
        "FailingHandlers.spider_idle": 1,
        "FailingHandlers.spider_closed": 1,
        "FailingHandlers.engine_stopped": 1,
        "FailsWithItems.process_item": 2,
        "FailsWithItems.close_spider": 1,
        "FailingSpider.parse_document": 1,
        "FailingSpider.closed": 1,
    }.items():
        assert f"{PARTS}.{name} {n} (KeyError(" in said
    seeds = [x for x in result.stderr.splitlines() if x.startswith(site.url("/"))]
    assert [x.split()[1] for x in seeds] == ["successful"] * 2


@pytest.mark.parametrize(
    ("part", "order", "code", "said"),
    [
        ("FullDisk", 350, 4, "pipelines 1 (OSError(28,"),
        ("ReturnsNothing", 990, 4, "TypeError('an item pipeline returned no item')"),
        (
            "ExitingPipeline",
            350,
            1,
            f"{PARTS}.ExitingPipeline.process_item ended the crawl: SystemExit(0)",
        ),
    ],
)
def test_a_pipeline_that_fails_says_nothing_about_the_machine(
    commands: Commands, site: RawServer, part: str, order: int, code: int, said: str
) -> None:
    """If a user's pipeline fails, then nothing pauses, and the code is ours."""
    result = crawl(commands, site, "/a", ITEM_PIPELINES=own(part, order=order))
    assert result.code == code, result.stderr
    assert said in result.stderr
    assert "requests pause" not in result.stderr


def test_a_subclass_of_a_component_replaces_it(
    commands: Commands, site: RawServer
) -> None:
    """If a project has a subclass of a component, then that does not run as well."""
    folder = commands.folder()
    words = f"-aseeds={site.url('/a')},{site.url('/b')}", "-O", str(folder / "x.jsonl")
    result = commands.start(
        *("crawl", "linkeddata", *words),
        folder=folder,
        ITEM_PIPELINES=own("OwnStore", order=500),
        EXTENSIONS=own("OwnFeeds"),
    ).wait()
    assert result.code == 0, result.stderr
    assert line(result, "quads").split()[1] == "2"
    assert len((folder / "x.jsonl").read_text().splitlines()) == 2


def test_a_disk_that_is_full_at_first_is_not_written_to(
    commands: Commands, site: RawServer
) -> None:
    """If the disk is full when the crawl begins, then it requests nothing."""
    n_before = len(site.targets)
    running = commands.start_crawl([site.url("/a")], DISK_MIN_FREE_BYTES=2**52)
    commands.wait_until(lambda: "requests pause" in running.stderr)
    running.send(signal.SIGTERM)
    assert running.wait().code == 1
    assert len(site.targets) == n_before


def test_visits_that_were_not_stored_need_not_wait_for_their_leases(
    commands: Commands, site: RawServer
) -> None:
    """If the stores refuse the last visits, then these are queued at the end."""
    extensions = json.dumps({"tests.support.failing_parts.RaisingExtension": 500})
    result = crawl(commands, site, "/a", EXTENSIONS=extensions)
    assert result.code == 1, result.stderr
    counts = result.counts()
    assert (counts.queued, counts.leased) == (1, 0)


def test_each_seed_is_counted_and_each_fault_of_a_page(
    commands: Commands, site: RawServer
) -> None:
    """If a seed waits, it has not succeeded; a lacking context is not a first fault."""
    first = crawl(commands, site, "/hub", "/busy")
    assert first.code == 0, first.stderr
    expected = "finished; 1 of 2 seeds failed; 1 URI is owed"
    assert line(first, "outcome").partition(" ")[2].strip() == expected
    assert "host_busy: status 429" in first.stderr
    n_before = len(site.targets)
    crawl(commands, site, "/hub", "/busy", folder=first.folder.parent)
    assert "/in-part" in site.targets[n_before:]


def test_a_list_that_was_not_read_to_its_end_is_incomplete(
    commands: Commands, loopback: Loopback
) -> None:
    """If a page of a list, or a list of several, is missing, the outcome says so."""
    server = loopback(host="127.94.46.6")
    rows = [
        {
            "id": f"{day}",
            "name": f"{day}",
            "state": "active",
            "metadata_modified": f"2025-01-0{day}T00:00:00",
        }
        for day in (1, 2)
    ]
    found = {"success": True, "result": {"count": 9, "results": [*rows, "no dataset"]}}
    search = "/api/3/action/package_search?rows=100&start=0"
    first = f"{search}&sort=metadata_modified+asc%2C+id+asc"
    server.pages[first] = loopback.response(
        json.dumps(found).encode(), "application/json"
    )
    listing = (
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
        ' xmlns:rs="http://www.openarchives.org/rs/terms/">'
        '<rs:md capability="{}"/><url><loc>{}</loc><rs:md capability="{}"/></url>'
        "</urlset>"
    )
    parts = "description", "capabilitylist", "resourcelist"
    paths = "/.well-known/resourcesync", "/capabilities.xml", "/missing.xml"
    for n in range(2):
        body = listing.format(parts[n], server.url(paths[n + 1]), parts[n + 1])
        server.pages[paths[n]] = loopback.response(body.encode(), "application/xml")
    index = (
        '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap>'
        f"<loc>{server.url('/child.xml')}</loc></sitemap></sitemapindex>"
    )
    server.pages["/sitemap.xml"] = loopback.response(index.encode(), "application/xml")
    server.pages["/child.xml"] = loopback.response(b"<html>No</html>", "text/html")
    arguments = {"ckan": "portals", "resourcesync": "sources", "sitemap": "sites"}
    for spider, name in arguments.items():
        result = commands.crawl(arguments={name: server.url("/")}, spider=spider)
        assert result.code == 0, result.stderr
        assert "finished; 1 source is incomplete" in line(result, "outcome"), spider
        assert "not read" in line(result, "incomplete"), spider
        if spider == "ckan":
            assert "1 row is no dataset" in result.details(server.url("/"))
