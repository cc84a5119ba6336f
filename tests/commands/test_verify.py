"""`scrapy verify`: differences between a crawl and the sources of its sites."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from redis import Redis

from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.resourcesync import ResourceSyncOptions
from rdfcrawl.frontier.redis.embedded import ensure_server
from rdfcrawl.uri import host_of
from tests.conftest import LOOPBACK_NETS
from tests.support.command_forks import scrapy
from tests.support.crawl_names import scripted_names
from tests.support.lost_lists import LostCollection, LostRobots, LostSitemap, LostVoid
from tests.support.planted_datasets import (
    PlantedDataJson,
    PlantedDatasetEndpoint,
    PlantedMirrors,
)
from tests.support.planted_services import (
    ManyHosts,
    PlantedEmptyEndpoint,
    PlantedEndpoint,
    PlantedPortal,
    PlantedRepository,
    PlantedSlices,
)
from tests.support.planted_sites import (
    DIFFERENCES,
    PlantedArchives,
    PlantedCatalog,
    PlantedDumps,
    PlantedFeed,
    PlantedGraphs,
    PlantedIndex,
    PlantedLinks,
    PlantedPages,
    PlantedParts,
    PlantedResources,
    PlantedTree,
    PlantedVoid,
)

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import RawRequest
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback
    from tests.support.planted_sites import Found

_SITES = (
    *(PlantedPages, PlantedIndex, PlantedFeed, PlantedDumps, PlantedParts),
    *(PlantedArchives, PlantedVoid, PlantedCatalog, PlantedTree, PlantedLinks),
    *(PlantedResources, PlantedPortal, PlantedGraphs),
    *(PlantedMirrors, PlantedDataJson),
    *(LostSitemap, LostRobots, LostVoid, LostCollection),
)


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    """Yield a server of sources."""
    with LocalWeb(first_address="127.81.77.1", n_hosts=5) as web:
        yield web


def run(
    folder: Path, *words: str, crawl: str = "linkeddata"
) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    settings = {
        "CRAWL_DIR": folder,
        "CRAWL_ID": crawl,
        "DOWNLOAD_DELAY": 0,
        "HOST_BACKOFF_SECS": 0.05,
        "RETRY_TIMES": 0,
        "FAILED_EXIT_CODE": 1,  # a page that fails is a result here
        "GUARD_ALLOW_NETS": LOOPBACK_NETS,
        "GUARD_PORTS": "1-65535",
        "CONTACT_REQUIRED": False,
        "TDM_POLICY": "ignore",
    }
    given = [f"-s{name}={value}" for name, value in settings.items()]
    return scrapy("verify", *words, *given)


def verify(folder: Path, *words: str, **more: str) -> list[dict[str, Any]]:
    """Return the results, without differences in the exit code."""
    done = run(folder, "--json", *words, **more)
    assert done.returncode in (0, 1), done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    has_some = any(source["documents"] for x in found for source in x["sources"])
    assert done.returncode == int(has_some), done.stderr
    return found


def differences(found: dict[str, Any]) -> Found:
    """Return the documents of a site that are not equal, and their verdicts."""
    documents = [x for source in found["sources"] for x in source["documents"]]
    different = {(x["url"], x["verdict"]) for x in documents}
    assert len(different) == len(documents)  # each is in one source
    return different


def contents(folder: Path) -> dict[str, Any]:
    """Return the files of a crawl, without results, and the keys of its Redis."""
    root = folder / "linkeddata"
    found: dict[str, Any] = {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.relative_to(root).parts[0] not in _OF_SERVERS
    }
    with (
        closing(ensure_server(root / "frontier")) as server,
        Redis.from_url(server.url) as redis,
    ):
        # Tickets of claims expire by themselves.
        keys = [key for key in redis.scan_iter() if redis.ttl(key) == -1]
        assert keys
        return found | {f"key {key!r}": _value(redis, key) for key in keys}


_OF_SERVERS = ("frontier", "verified")


def _value(redis: Redis, key: Any) -> Any:
    """Return a value in a form that does not depend on the order of a hash."""
    read: dict[Any, Any] = {
        b"string": redis.get,
        b"hash": redis.hgetall,
        b"set": redis.smembers,
        b"zset": lambda key: redis.zrange(key, 0, -1, withscores=True),
        b"list": lambda key: redis.lrange(key, 0, -1),
        b"stream": redis.xrange,
    }
    return read[redis.type(key)](key)


class PlantedCrawl(NamedTuple):
    """A crawl of sites of all kinds of sources, in which differences were planted.

    Attributes:
        sites: as they are now.
        folder: of the crawl.
    """

    sites: list[Any]
    folder: Path


@pytest.fixture(scope="module")
def planted(
    commands: Commands, loopback: Loopback, web: LocalWeb
) -> Iterator[PlantedCrawl]:
    """Yield a crawl of sites that have changed since."""
    sites: list[Any] = [
        kind(loopback, f"127.20.{77 + n}.1") for n, kind in enumerate(_SITES)
    ]
    sites += [PlantedEndpoint(web), PlantedEmptyEndpoint(web)]
    sites.append(of_dataset := PlantedDatasetEndpoint(loopback, web, "127.20.98.1"))
    with PlantedRepository("127.94.77.1") as repository:
        sites.append(repository)
        folder = commands.folder()
        table = folder / "seeds.csv"
        seeds = [seed for site in sites for seed in site.seeds()]
        table.write_text("uri,type\n" + "".join(f"{x},{y}\n" for x, y in seeds))
        trust = host_of(of_dataset.endpoint)
        arguments = {"seeds": f"@{table}", "harvest": "void,dcat", "trust": trust}
        for _ in range(2):  # the second finds everything unchanged
            result = commands.crawl(
                folder=folder, arguments=arguments, RETRY_TIMES=0, FACTS=False
            )
            assert result.code == 0, result.stderr[-3000:]
        for site in sites:
            site.change()
        yield PlantedCrawl(sites, folder)


@pytest.mark.in_turn(2, rooms=("sources",))
def test_each_planted_difference_is_found_in_each_kind_of_source(
    planted: PlantedCrawl,
) -> None:
    """If the documents of a site differ, exactly these are named, with their verdicts.

    Nothing of the crawl changes.
    """
    sites, folder = planted
    assert len([x for x in DIFFERENCES.values() if x != "equal"]) == 12
    stored = contents(folder)
    words = [site.site for site in sites]
    for site, found in zip(sites, verify(folder, *words, "--all"), strict=True):
        assert differences(found) == site.expected(), type(site).__name__
        n_equal = sum(x["equal"] for x in found["sources"] if x["kind"] == site.kind)
        assert n_equal == site.n_equal, type(site).__name__
        assert found["full"]
    assert contents(folder) == stored


def test_a_sample_names_only_requested_documents(
    planted: PlantedCrawl,
) -> None:
    """If only a sample is requested, the differences are among those of all documents.

    The lists are read completely, and the rest is counted.
    """
    sites, folder = planted.sites, planted.folder
    some = [s for s in sites if type(s) in (PlantedPages, PlantedTree, PlantedLinks)]
    before = [site.n_requests for site in some]
    words = [site.site for site in some]
    found = verify(folder, "--sample", "3", "--seed", "2", *words)
    for site, n_before, result in zip(some, before, found, strict=True):
        certain = {each for each in site.expected() if each[1] == "missing"}
        assert certain <= differences(result) <= site.expected()
        (source,) = [x for x in result["sources"] if x["kind"] == site.kind]
        assert source["unsampled"] >= len(site.names) - 8
        assert site.n_requests - n_before <= 8
    pages = some[0]
    n_before = pages.n_requests
    table = run(folder, pages.site)
    assert table.returncode == 1
    n_requests = pages.n_requests - n_before
    assert table.stdout.endswith(f" compared by {n_requests} requests\n")
    assert "/d/private" not in pages.server.targets
    assert f"missing: {pages.url('added')} (its source lists it)" in table.stdout
    assert table.stdout.splitlines()[0].split()[:5] == [
        "equal",
        "stale",
        "surplus",
        "missing",
        "unknown",
    ]


def test_a_site_has_its_sources_on_other_hosts(
    commands: Commands, loopback: Loopback, web: LocalWeb
) -> None:
    """If sources of a site are on other hosts, they are verified as its sources.

    Hosts that the site only links to are not.
    """
    hosts, folder = ManyHosts(loopback, web), commands.folder()
    with scripted_names(folder, hosts.names()):
        arguments = {"harvest": "all", "trust": "*.example"}
        seeds = [hosts.url("apex", "/")]
        result = commands.crawl(seeds, folder=folder, arguments=arguments)
        assert result.code == 0, result.stderr[-3000:]
        hosts.change()
        own, other = verify(folder, hosts.url("www", "/"), "other.example")
    assert differences(own) == hosts.expected()
    assert differences(other) == {(hosts.url("other", "/x"), "stale")}
    assert {"sitemap", "dataset", "endpoint", "linked pages"} == {
        x["kind"] for x in own["sources"] if x["documents"]
    }


def test_differences_of_slices_are_found(
    commands: Commands, loopback: Loopback
) -> None:
    """If a dump that is cut into slices has changed, then it is named."""
    site, folder = PlantedSlices(loopback, "127.20.76.1"), commands.folder()
    arguments = {"sites": site.at("/"), "slice": "1"}
    commands.crawl(arguments=arguments, spider="sitemap", folder=folder)
    site.change()
    address = site.at("/any").removeprefix("http://")  # with its port
    (found,) = verify(folder, address, crawl="sitemap")
    assert differences(found) == site.expected()


def test_differences_of_a_mirror_that_has_followed_changes_are_found(
    commands: Commands, web: LocalWeb
) -> None:
    """If resources of a ResourceSync source have changed, these are named.

    So they are if the place that the protocol names for its description has none.
    """
    options = ResourceSyncOptions(n_resources=12, has_dumps=False, found_by=("html",))
    source = web.start(options)
    folder = commands.folder()
    arguments = {"sources": source.origin}
    for seed in (2, 3):
        commands.crawl(arguments=arguments, spider="resourcesync", folder=folder)
        before = source.state()
        source.evolve(14, seed=seed)
    after = source.state()
    expected = {(url, "surplus") for url in before.keys() - after.keys()}
    expected |= {(url, "missing") for url in after.keys() - before.keys()}
    expected |= {
        (url, "stale")
        for url in before.keys() & after.keys()
        if before[url] != after[url]
    }
    assert {verdict for _, verdict in expected} == {"surplus", "missing", "stale"}
    (found,) = verify(folder, source.origin, crawl="resourcesync")
    assert differences(found) == expected


def test_a_page_whose_statements_are_damaged_is_missing(
    commands: Commands, loopback: Loopback
) -> None:
    """If a disk damages the statements of a page, it is missing, also after 304."""
    page = loopback.response(b"<> <urn:x:p> 1 .", ETag='"1"')

    def respond(request: RawRequest) -> bytes:
        is_known = "if-none-match" in request.headers
        return b"HTTP/1.1 304 Same\r\n\r\n" if is_known else page

    site = loopback({"/a": respond, "/b": respond})
    folder = commands.folder()
    for n in "ab":
        commands.crawl([site.url(f"/{n}")], folder=folder)
    (first, _) = sorted(folder.rglob("quads/*.nq.gz"), key=lambda x: x.stat().st_mtime)
    first.write_bytes(first.read_bytes()[:20] + bytes(60))
    for _ in range(2):
        (found,) = verify(folder, site.url("/"))
        assert differences(found) == {(site.url("/a"), "missing")}
        commands.crawl([site.url("/a")], folder=folder)
    assert site.targets.count("/a") == 5


def test_wrong_usage_is_one_line(planted: PlantedCrawl) -> None:
    """If a site is none, the crawl has nothing of it, or none is given, a line says so.

    International names are found by the form that the DNS has.
    """
    for words, line in (
        ([], "give at least one site"),
        (["other.example"], "other.example: the crawl in "),
        (["m\u00fcller.example"], "xn--mller-kva.example: the crawl in "),
        (["a b"], "host 'a b': not a host"),
    ):
        done = run(planted.folder, *words)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert line in done.stderr
