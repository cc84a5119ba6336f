"""Portals of open data: `scrapy crawl ckan`, and those that a crawl comes upon."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.portal import PortalOptions
from rdfcrawl.stores.log.crawl_log import iter_latest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rdfcrawl.dataweb.nodes.portal import PortalNode
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

DATASET = "http://www.w3.org/ns/dcat#Dataset"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    """Yield a server of portals."""
    with LocalWeb(first_address="127.81.0.1", n_hosts=4) as web:
        yield web


def harvest(
    commands: Commands, portal: PortalNode, folder: Path | None = None, **given: Any
) -> CrawlResult:
    """Harvest one portal."""
    arguments = {"portals": portal.origin}
    own = ("organization", "group", "q", "fq", "harvest", "reset")
    arguments |= {name: given.pop(name) for name in own if name in given}
    return commands.crawl(arguments=arguments, spider="ckan", folder=folder, **given)


def datasets(result: CrawlResult) -> set[str]:
    """Return the documents that are datasets now."""
    return {
        graph
        for _, predicate, obj, graph in result.latest_quads
        if predicate == RDF_TYPE and obj == DATASET
    }


def pages(portal: PortalNode, names: set[str] | frozenset[str]) -> set[str]:
    """Return the documents of datasets, by their ids."""
    return {f"{portal.origin}/dataset/{name}" for name in names}


def test_every_dataset_is_a_document(commands: Commands, web: LocalWeb) -> None:
    """If a portal is harvested, then each dataset is a separate graph, once."""
    portal = web.start(PortalOptions(n_datasets=120))
    result = harvest(commands, portal)
    assert result.code == 0, result.stderr
    assert datasets(result) == pages(portal, set(portal.ids()))
    searches = [t for t in web.targets(portal) if "package_search" in t]
    assert len(searches) <= 5


def test_search_that_is_refused_is_done_without(
    commands: Commands, web: LocalWeb
) -> None:
    """If a portal refuses its search, then its datasets are listed and requested."""
    portal = web.start(PortalOptions(n_datasets=30, search="refused"))
    result = harvest(commands, portal)
    assert datasets(result) == pages(portal, set(portal.ids()))


def test_next_run_requests_changed_pages(commands: Commands, web: LocalWeb) -> None:
    """If a portal has changed, then the next run takes exactly the changes."""
    portal = web.start(PortalOptions(n_datasets=150))
    folder = commands.folder()
    harvest(commands, portal, folder)
    before = result_writes = harvest(commands, portal, folder).writes()
    web.forget()
    revision = portal.revise(changed=20, deleted=15, created=5)
    result = harvest(commands, portal, folder)
    assert datasets(result) == pages(portal, set(portal.ids()))
    written = result.writes() - before
    expected = pages(portal, revision.changed | revision.deleted | revision.created)
    assert expected <= set(written)
    assert len(set(written) - expected) <= 10, result_writes
    for url in pages(portal, revision.deleted):
        assert result.raw(url) == b""
    gone = {url for url in pages(portal, revision.deleted)
            if result.ask(f"<{url}> prov:wasInvalidatedBy ?x .")}  # fmt: skip
    assert gone == pages(portal, revision.deleted)


def test_portal_that_answers_nothing_has_not_deleted_everything(
    commands: Commands, web: LocalWeb
) -> None:
    """If almost all datasets are missing, then a later run that misses them deletes."""
    portal = web.start(PortalOptions(n_datasets=200))
    folder = commands.folder()
    harvest(commands, portal, folder)
    portal.revise(changed=0, deleted=190)
    result = harvest(commands, portal, folder)
    assert len(datasets(result)) == 200
    assert "copy_kept" in result.faults(f"{portal.origin}/")
    result = harvest(commands, portal, folder)
    assert datasets(result) == pages(portal, set(portal.ids()))


@pytest.mark.in_turn(2, rooms=("sources",))
@pytest.mark.parametrize(
    "options",
    [
        PortalOptions(n_datasets=40, search="refused", lists=False, rdf_every=0),
        PortalOptions(n_datasets=60, rows_cap=20, unavailable_every=3, rdf_every=0),
        PortalOptions(n_datasets=5, n_wide=4_000),
    ],
    ids=["no search, no list", "busy", "wide"],
)
def test_difficult_portals_are_read(
    commands: Commands, web: LocalWeb, options: PortalOptions
) -> None:
    """If a portal refuses, is busy or has a huge dataset, then all of it comes."""
    portal = web.start(options)
    result = harvest(commands, portal)
    assert result.code == 0, result.stderr
    assert datasets(result) == pages(portal, set(portal.ids()))
    assert result.peak_bytes < 400 * 2**20


@pytest.mark.in_turn(2, rooms=("sources",))
def test_part_of_a_portal_can_be_named(commands: Commands, web: LocalWeb) -> None:
    """If only a part is wanted, it comes; another part is another harvest.

    Datasets outside of the part are no deletions, and the part is complete.
    """
    portal = web.start(PortalOptions(n_datasets=20, rdf_every=0))
    content = portal.dataset(0)
    everything = pages(portal, set(portal.ids()))
    scopes = {
        "organization": content["organization"]["name"],
        "group": content["groups"][0]["name"],
        "q": f'name:"{content["name"]}"',
        "fq": f'name:"{content["name"]}"',
    }
    for name, value in scopes.items():
        folder = commands.folder()
        part = datasets(harvest(commands, portal, folder, **{name: value}))
        assert part < everything, name
        assert pages(portal, {portal.id_of(0)}) <= part, name
    assert datasets(harvest(commands, portal, folder, reset="fq")) == everything
    again = harvest(commands, portal, folder, fq=scopes["fq"], reset="fq")
    assert datasets(again) == everything


def test_key_is_sent_to_its_portal_alone(
    commands: Commands, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a portal has a key, then the others, and files, are requested without it."""
    first, second = (loopback(host="127.81.9.1") for _ in range(2))
    monkeypatch.setenv("CKAN_API_KEY", f"{first.url('')}=secret")
    for server in (first, second):
        dataset = {
            "id": "one",
            "name": "one",
            "metadata_modified": "2024-01-01T00:00:00",
            "state": "active",
            "resources": [{"url": server.url("/a.ttl"), "format": "TTL"}],
        }
        page = {"success": True, "result": {"count": 1, "results": [dataset]}}
        body = json.dumps(page).encode()
        server.pages["*"] = loopback.response(body, "application/json")
        server.pages["/robots.txt"] = loopback.response(b"", "text/plain")
        server.pages["/a.ttl"] = loopback.response(b'<> <urn:x:p> "a" .')
    portals = f"{first.url('/')},{second.url('/')}"
    commands.crawl(arguments={"portals": portals}, spider="ckan")
    for server in (first, second):
        sent = {
            (request.target.partition("?")[0], request.headers.get("authorization"))
            for request in server.requests
        }
        key = "secret" if server is first else None
        assert ("/api/3/action/package_search", key) in sent
        assert ("/a.ttl", None) in sent
        assert {each for path, each in sent if "/api/" not in path} == {None}
    assert not [r for r in second.requests if r.headers.get("authorization")]


@pytest.mark.in_turn(2, rooms=("sources",))
@pytest.mark.parametrize(
    ("n_datasets", "changed", "deleted"),
    [
        (1_000, 40, 25),
        pytest.param(20_000, 500, 300, marks=pytest.mark.soak),
    ],
)
def test_large_portal_is_read_in_flat_memory(
    commands: Commands, web: LocalWeb, n_datasets: int, changed: int, deleted: int
) -> None:
    """If a large portal changed, then the next run fetches that, in few requests."""
    portal = web.start(PortalOptions(n_datasets=n_datasets, rdf_every=0))
    folder = commands.folder()
    result = commands.start_crawl(
        arguments={"portals": portal.origin}, spider="ckan", folder=folder
    ).wait(900)
    assert len(web.targets(portal)) <= n_datasets / 90 + 10
    assert result.peak_bytes < 220 * 2**20
    first = result.writes()
    assert set(first) >= pages(portal, set(portal.ids()))
    web.forget()
    revision = portal.revise(changed=changed, deleted=deleted)
    result = harvest(commands, portal, folder)
    assert len(web.targets(portal)) <= (changed + deleted) / 15 + n_datasets / 5000 + 10
    written = set(result.writes() - first)
    expected = pages(portal, revision.changed | revision.deleted)
    assert expected <= written
    assert len(written - expected) <= 10
    latest = iter_latest(result.folder / "quads")
    there = {piece.graph for piece in latest if piece.quads}
    assert written - there == pages(portal, revision.deleted)
    assert result.peak_bytes < 220 * 2**20


@pytest.mark.parametrize(
    ("setting", "spider", "is_read"),
    [
        ("discovered", "ckan", True),
        ("always", "ckan", False),
        ("discovered", "linkeddata", False),
        ("never", "linkeddata", True),
    ],
)
def test_robots_of_a_portal_are_obeyed_as_the_setting_says(
    commands: Commands, web: LocalWeb, setting: str, spider: str, *, is_read: bool
) -> None:
    """If robots.txt forbids the API, then `CKAN_ROBOTS` decides for which portals."""
    portal = web.start(PortalOptions(n_datasets=5, forbids_api=True))
    if spider == "ckan":
        result = harvest(commands, portal, CKAN_ROBOTS=setting)
    else:
        result = commands.crawl([f"{portal.origin}/"], CKAN_ROBOTS=setting)
    asked = any("/api/3/" in target for target in web.targets(portal))
    assert asked is is_read
    assert bool(datasets(result)) is is_read


def test_urls_lost_with_their_worker_are_requested_again(
    commands: Commands, web: LocalWeb
) -> None:
    """If a worker dies before a page is safe, the page is not taken for old."""
    import signal
    import time

    portal = web.start(PortalOptions(n_datasets=30, rdf_every=0))
    folder = commands.folder()
    running = commands.start_crawl(
        arguments={"portals": portal.origin},
        spider="ckan",
        folder=folder,
        FRONTIER_LEASE_SECS=2,
        FRONTIER_COMMIT_SECS=60,
    )
    commands.wait_until(lambda: any("_search" in t for t in web.targets(portal)))
    time.sleep(0.7)  # it is read, and waits for the commit
    running.send(signal.SIGKILL)
    running.process.wait()
    result = harvest(commands, portal, folder, FRONTIER_LEASE_SECS=2)
    assert datasets(result) == pages(portal, set(portal.ids()))


def test_killed_harvest_goes_on_where_it_was(commands: Commands, web: LocalWeb) -> None:
    """If a harvest is killed, then the next one has every dataset, and none is lost."""
    import signal

    portal = web.start(PortalOptions(n_datasets=200, rows_cap=10))
    folder = commands.folder()
    running = commands.start_crawl(
        arguments={"portals": portal.origin},
        spider="ckan",
        folder=folder,
        FRONTIER_LEASE_SECS=2,
    )
    commands.wait_until(lambda: len(web.targets(portal)) > 8)
    running.send(signal.SIGKILL)
    running.process.wait()
    result = harvest(commands, portal, folder, FRONTIER_LEASE_SECS=2)
    assert datasets(result) == pages(portal, set(portal.ids()))
