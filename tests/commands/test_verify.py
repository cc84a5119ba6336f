"""`scrapy verify`: differences between a crawl and the sources of its sites."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.endpoint import EndpointOptions
from rdfcrawl.dataweb.nodes.portal import PortalOptions
from rdfcrawl.dataweb.nodes.resourcesync import ResourceSyncOptions
from tests.conftest import LOOPBACK_NETS
from tests.support.command_forks import scrapy
from tests.support.described_sites import TurtleSite
from tests.support.oai_repositories import (
    OaiRepository,
    RepositoryItem,
    ServedRepository,
)
from tests.support.sitemap_sites import Site, dataset, urlset

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

Found = set[tuple[str, str]]
LASTING = ("tagged", "broken", "private")  # pages that never change


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    """Yield a server of sources."""
    with LocalWeb(first_address="127.81.77.1", n_hosts=4) as web:
        yield web


def run(
    folder: Path, site: str, *words: str, crawl: str
) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    settings = {
        "CRAWL_DIR": folder,
        "CRAWL_ID": crawl,
        "DOWNLOAD_DELAY": 0,
        "HOST_BACKOFF_SECS": 0.05,
        "GUARD_ALLOW_NETS": LOOPBACK_NETS,
        "GUARD_PORTS": "1-65535",
        "CONTACT_REQUIRED": False,
        "TDM_POLICY": "ignore",
    }
    given = [f"-s{name}={value}" for name, value in settings.items()]
    return scrapy("verify", site, *words, *given)


def verify(folder: Path, site: str, *words: str, crawl: str) -> dict[str, Any]:
    """Return the result, without differences in its exit code."""
    done = run(folder, site, "--json", *words, crawl=crawl)
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    has_some = any(source["documents"] for source in found["sources"])
    assert done.returncode == int(has_some), done.stderr
    return found


def differences(found: dict[str, Any]) -> dict[str, Found]:
    """Return the documents that are not equal and their verdicts, by kind of source."""
    by_kind: dict[str, Found] = {}
    for source in found["sources"]:
        for each in source["documents"]:
            some = by_kind.setdefault(source["kind"], set())
            some.add((each["url"], each["verdict"]))
    return by_kind


def snapshot(folder: Path) -> dict[str, bytes]:
    """Return the stored files of the crawls in a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for kind in ("quads", "provenance", "links", "decisions")
        for path in folder.glob(f"*/{kind}/*.gz")
    }


class PlantedSite(Site):
    """A site with a sitemap, a dataset and a page that only a link leads to."""

    def plant(self) -> None:
        """Serve the first state."""
        for name in ("same", "changed", "gone", "dropped", "moved", "other", "down"):
            self.page(f"/p/{name}")
        self.page("/l/same")
        self.page("/l/changed")
        self.page("/l/gone")
        tag, body = '"v1"', b"<> <urn:x:says> [ <urn:x:says> 'tagged' ] ."
        self.server.pages["/p/tagged"] = lambda request: (
            self._loopback.response(status="304 Not Modified", media_type="")
            if request.headers.get("if-none-match") == tag
            else self._loopback.response(body, ETag=tag)
        )
        self.server.pages["/p/broken"] = self._loopback.response(status="500 Down")
        self.put("/robots.txt", b"User-agent: *\nDisallow: /p/private", "text/plain")
        self.dump("first")
        self.list("same", "changed", "gone", "dropped", "moved", "other", "down")

    def dump(self, text: str) -> None:
        """Serve the dump."""
        line = f"<{self.at('/r/1')}> <urn:x:p> "
        lines = [f"{line}'{n}' .\n" for n in range(20_000)]  # more than 1 MiB
        body = "".join([*lines, f"{line}'{text}' .\n"]).encode()
        self.put("/dump.nt", body, "application/n-triples")

    def list(self, *names: str) -> None:
        """Serve the sitemap."""
        rows = [f"<loc>{self.at(f'/p/{name}')}</loc>" for name in (*names, *LASTING)]
        body = urlset(rows, extra=dataset(self, "dump.nt"))
        self.put("/sitemap.xml", body, "application/xml")

    def change(self) -> None:
        """Serve the second state."""
        self.page("/p/changed", "second")
        self.server.pages["/p/gone"] = self._loopback.response(status="410 Gone")
        self.page("/p/new")
        self.page("/p/target")
        self.server.pages["/p/moved"] = self._loopback.redirect(self.at("/p/target"))
        self.put("/p/other", b"<p>Nothing here.</p>", "text/html")
        self.server.pages["/p/down"] = self._loopback.response(status="500 Down")
        self.page("/l/changed", "second")
        self.server.pages["/l/gone"] = self._loopback.response(status="404 No")
        self.dump("second")
        self.list("same", "changed", "gone", "new", "moved", "other", "down")


def test_planted_differences_of_a_site_are_found(
    commands: Commands, loopback: Loopback
) -> None:
    """If a site with sitemap, dataset and links differs, exactly that is named.

    The crawl is not changed, and pages with validators are requested conditionally.
    """
    site = PlantedSite(loopback, "127.20.77.1")
    site.plant()
    folder = commands.folder()
    site.crawl(commands, folder=folder, CRAWL_ID="both")
    seeds = [site.at(f"/l/{name}") for name in ("same", "changed", "gone")]
    commands.crawl(seeds, folder=folder, CRAWL_ID="both")
    stored = snapshot(folder)
    found = verify(folder, "127.20.77.1", crawl="both")
    assert differences(found) == {}
    assert sum(source["equal"] for source in found["sources"]) == 12
    site.change()
    found = verify(folder, site.at("/"), crawl="both")
    planted = {
        *(("changed", "stale"), ("gone", "surplus"), ("new", "missing")),
        *(("dropped", "surplus"), ("moved", "stale"), ("other", "stale")),
        ("down", "unknown"),
    }
    assert differences(found) == {
        "sitemap": {(site.at(f"/p/{name}"), verdict) for name, verdict in planted},
        "dataset": {(site.at("/dump.nt"), "stale")},
        "linked pages": {
            (site.at("/l/changed"), "stale"),
            (site.at("/l/gone"), "surplus"),
        },
    }
    assert snapshot(folder) == stored
    table = run(folder, "127.20.77.1", "--sample", "2", crawl="both")
    assert table.returncode == 1
    assert "missing: " + site.at("/p/new") in table.stdout


def test_planted_differences_of_a_portal_are_found(
    commands: Commands, web: LocalWeb
) -> None:
    """If datasets of a portal were changed, deleted and created, these are named."""
    portal = web.start(PortalOptions(n_datasets=30, rdf_every=2))
    folder = commands.folder()
    arguments = {"portals": portal.origin}
    commands.crawl(arguments=arguments, spider="ckan", folder=folder)
    portal.revise(changed=3, deleted=3, created=2)
    commands.crawl(arguments=arguments, spider="ckan", folder=folder)
    assert differences(verify(folder, portal.origin, crawl="ckan")) == {}
    revision = portal.revise(changed=8, deleted=4, created=8, seed=2)
    kinds = {
        "stale": revision.changed,
        "surplus": revision.deleted,
        "missing": revision.created,
    }
    found = differences(verify(folder, portal.origin, crawl="ckan"))
    expected = set()
    for kind, names in kinds.items():
        for name in names:
            number = int(name[-12:], 16)  # each second dataset has a file
            expected.add((f"{portal.origin}/dataset/{name}", kind))
            if number % 2 == 0:
                expected.add((f"{portal.origin}/files/{number}/0.ttl", kind))
    assert found == {"portal": expected}


def test_planted_differences_of_a_mirror_are_found(
    commands: Commands, web: LocalWeb
) -> None:
    """If resources of a ResourceSync source have changed, these are named."""
    source = web.start(ResourceSyncOptions(n_resources=12))
    folder = commands.folder()
    arguments = {"sources": source.origin}
    commands.crawl(arguments=arguments, spider="resourcesync", folder=folder)
    source.evolve(4, seed=2)
    commands.crawl(arguments=arguments, spider="resourcesync", folder=folder)
    found = verify(folder, source.origin, crawl="resourcesync")
    assert differences(found) == {}
    before = source.state()
    source.evolve(14, seed=3)
    after = source.state()
    expected = {(url, "surplus") for url in before.keys() - after.keys()}
    expected |= {(url, "missing") for url in after.keys() - before.keys()}
    expected |= {
        (url, "stale")
        for url in before.keys() & after.keys()
        if before[url] != after[url]
    }
    assert {verdict for _, verdict in expected} == {"surplus", "missing", "stale"}
    found = verify(folder, source.origin, crawl="resourcesync")
    assert differences(found) == {"resourcesync": expected}


def test_planted_differences_of_an_endpoint_are_found(
    commands: Commands, web: LocalWeb
) -> None:
    """If a statement of an endpoint has changed, then its graph is named."""
    options = EndpointOptions(n_triples=200, n_named=3, row_cap=60, has_default=False)
    node = web.start(options)
    folder = commands.folder()
    url = node.endpoint_url
    for n_changed in (3, 0):
        commands.crawl(arguments={"endpoints": url}, spider="sparql", folder=folder)
        node.revise(changed=n_changed)
    assert differences(verify(folder, url, crawl="sparql")) == {}
    before = set(node.quads())
    node.revise(changed=1)
    (graph,) = {str(quad.graph_name)[1:-1] for quad in before - set(node.quads())}
    found = verify(folder, url, crawl="sparql")
    assert differences(found) == {"endpoint": {(graph, "stale")}}


def test_planted_differences_of_a_repository_are_found(commands: Commands) -> None:
    """If records of a repository have changed, these are named."""
    repository, folder = OaiRepository(), commands.folder()
    stamp = "2025-0{}-01T00:00:00Z"
    repository.put(
        *(RepositoryItem(f"{n}", stamp.format(n), f"title {n}") for n in range(1, 6))
    )
    with ServedRepository(repository, "127.94.77.1"):
        arguments = {"repositories": repository.base}
        commands.crawl(arguments=arguments, spider="oaipmh", folder=folder)
        found = verify(folder, repository.base, crawl="oaipmh")
        assert differences(found) == {}
        repository.put(
            RepositoryItem("2", stamp.format(7), "another title"),
            RepositoryItem("3", stamp.format(8), is_deleted=True),
            RepositoryItem("6", stamp.format(9), "title 6"),
        )
        found = verify(folder, repository.base, crawl="oaipmh")
    verdicts = {"2": "stale", "3": "surplus", "6": "missing"}
    expected = {(repository.record_of(x), y) for x, y in verdicts.items()}
    assert differences(found) == {"repository": expected}


def test_planted_differences_of_described_datasets_are_found(
    commands: Commands, loopback: Loopback
) -> None:
    """If a dataset that a page describes has changed, or is new, these are named.

    A page that describes datasets is requested in any case.
    """
    site, folder = TurtleSite(loopback, "127.20.77.3"), commands.folder()
    dumps = [site.put(f"/{n}.ttl", f'<#r> x:says "{n}" .') for n in (1, 2, 3)]
    rows = [f"<#d{n}> a void:Dataset ; void:dataDump </{n}.ttl> ." for n in (1, 2, 3)]
    seed = site.put("/void", "".join(rows[:2]), ETag='"first"')
    commands.crawl([seed], folder=folder)
    found = verify(folder, seed, crawl="linkeddata")
    assert differences(found) == {}
    site.put("/void", "".join(rows[1:]))
    site.put("/2.ttl", '<#r> x:says "other" .')
    found = verify(folder, seed, "--sample", "1", crawl="linkeddata")
    assert differences(found) == {
        "linked pages": {(seed, "stale")},
        "dataset": {
            (dumps[0], "surplus"),
            (dumps[1], "stale"),
            (dumps[2], "missing"),
        },
    }


def test_wrong_usage_is_one_line(commands: Commands, loopback: Loopback) -> None:
    """If the crawl has nothing of a site, or none is given, then one line says so."""
    site = Site(loopback, "127.20.77.2")
    folder = commands.folder()
    commands.crawl([site.page("/p")], folder=folder)
    for words in (["other.example"], ["one.example", "two.example"]):
        done = run(folder, *words, crawl="linkeddata")
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
