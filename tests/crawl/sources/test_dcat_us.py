"""Catalogs of DCAT-US: `data.json` as a seed, and of sites that a crawl comes upon."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

DCAT = "http://www.w3.org/ns/dcat#"
TITLE = "http://purl.org/dc/terms/title"
SCHEMA = "https://project-open-data.cio.gov/v1.1/schema"
NOT_ASKED = {"/robots.txt"}


def catalog(*datasets: Any) -> bytes:
    """Return a catalog, as the schema shows it."""
    value = {
        "@context": f"{SCHEMA}/catalog.jsonld",
        "@type": "dcat:Catalog",
        "conformsTo": SCHEMA,
        "dataset": list(datasets),
    }
    return json.dumps(value).encode()


def dataset(site: RawServer, name: str, *files: tuple[str, str]) -> dict[str, Any]:
    """Return a dataset with files: path and media type of each."""
    return {
        "@type": "dcat:Dataset",
        "title": name,
        "identifier": site.url(f"/{name}"),
        "accessLevel": "public",
        "distribution": [
            {
                "@type": "dcat:Distribution",
                "downloadURL": site.url(path),
                "mediaType": media_type,
            }
            for path, media_type in files
        ],
    }


def put_files(loopback: Loopback, site: RawServer, *paths: str) -> None:
    """Serve files of one statement, which names their path."""
    for path in paths:
        body = f'<{site.url(path)}> <urn:x:says> "{path}" .\n'.encode()
        site.pages[path] = loopback.response(body, "application/n-triples")


def titles(result: CrawlResult, graph: str) -> set[str]:
    """Return the titles in a graph."""
    quads = result.latest_quads
    return {o.strip('"') for _, p, o, g in quads if p == TITLE and g == graph}


def said(result: CrawlResult) -> set[str]:
    """Return the paths of the files that were read."""
    return {o.strip('"') for _, p, o, _ in result.latest_quads if p == "urn:x:says"}


def test_catalog_is_read_and_its_files_fetched(
    commands: Commands, loopback: Loopback
) -> None:
    """If a seed is a catalog, then its datasets are described, and RDF is read."""
    site = loopback(host="127.94.40.1")
    put_files(loopback, site, "/a.nt", "/b.nt")
    body = catalog(
        dataset(site, "a", ("/a.nt", "application/n-triples"), ("/a.csv", "text/csv")),
        "no dataset",
        dataset(site, "b", ("/b.nt", "application/n-triples")),
    )
    # served as many portals do: with a byte order mark and a comment
    body = b"\xef\xbb\xbf// made by a tool\n" + body
    site.pages["/list"] = loopback.response(body, "text/plain")
    result = commands.crawl([site.url("/list")], arguments={"follow": "none,dataset"})
    assert result.code == 0, result.stderr
    assert titles(result, site.url("/list")) == {"a", "b"}
    assert set(site.targets) - NOT_ASKED == {"/list", "/a.nt", "/b.nt"}
    assert said(result) == {"/a.nt", "/b.nt"}
    assert set(result.faults(site.url("/list"))) == {"repaired", "syntax"}


def test_next_run_reads_the_catalog_of_a_site_again(
    commands: Commands, loopback: Loopback
) -> None:
    """If `harvest` has `dcat-us`, then `data.json` is read in each run."""
    site, bare = loopback(host="127.94.40.2"), loopback(host="127.94.40.3")
    put_files(loopback, site, "/", "/a.nt", "/b.nt", "/c.nt")
    put_files(loopback, bare, "/")
    a, b, c = (
        dataset(site, x, (f"/{x}.nt", "application/n-triples")) for x in ("a", "b", "c")
    )
    site.pages["/data.json"] = loopback.response(catalog(a, b), "application/json")
    folder = commands.folder()
    given: dict[str, Any] = {
        "arguments": {"harvest": "dcat-us", "follow": "none,dataset"},
        "folder": folder,
    }
    seeds = [site.url("/"), bare.url("/")]
    result = commands.crawl(seeds, **given)
    assert bare.targets.count("/data.json") == 1
    assert result.faults(bare.url("/data.json")) == []
    assert titles(result, site.url("/data.json")) == {"a", "b"}
    c["contactPoint"] = {"fn": "C", "hasEmail": "c@h.example"}  # repaired
    site.pages["/data.json"] = loopback.response(catalog(b, c), "application/json")
    site.pages["/a.nt"] = loopback.response(b"", status="404 Not Found")
    result = commands.crawl(seeds, **given)
    assert result.code == 0, result.stderr
    assert titles(result, site.url("/data.json")) == {"b", "c"}
    assert said(result) == {"/", "/b.nt", "/c.nt"}
    assert result.faults(site.url("/data.json")) == ["repaired"]


def test_damaged_catalog_keeps_the_good_copy(
    commands: Commands, loopback: Loopback
) -> None:
    """If `data.json` is an error page in a later run, then its datasets stay."""
    site = loopback(host="127.94.40.4")
    put_files(loopback, site, "/", "/a.nt")
    body = catalog(dataset(site, "a", ("/a.nt", "application/n-triples")))
    site.pages["/data.json"] = loopback.response(body, "application/json")
    folder = commands.folder()
    arguments = {"harvest": "dcat-us", "follow": "none,dataset"}
    commands.crawl([site.url("/")], arguments=arguments, folder=folder)
    site.pages["/data.json"] = loopback.response(b"down", status="500 Broken")
    result = commands.crawl([site.url("/")], arguments=arguments, folder=folder)
    assert titles(result, site.url("/data.json")) == {"a"}
    assert said(result) == {"/", "/a.nt"}


def test_file_with_another_date_is_requested(
    commands: Commands, loopback: Loopback
) -> None:
    """If the date of a dataset changes, then the next run requests its files."""
    site = loopback(host="127.94.40.9")
    names = ("dated", "same", "part")
    put_files(loopback, site, "/", *(f"/{x}.nt" for x in names))
    folder = commands.folder()

    def crawl(date: str) -> set[str]:
        files = {x: (f"/{x}.nt", "application/n-triples") for x in names}
        datasets = {x: dataset(site, x, file) for x, file in files.items()}
        datasets["dated"]["modified"] = date
        datasets["same"]["modified"] = "2020"
        datasets["part"]["distribution"][0]["modified"] = date
        body = catalog(*datasets.values())
        site.pages["/data.json"] = loopback.response(body, "application/json")
        site.requests.clear()
        given = {"harvest": "dcat-us"}
        commands.crawl([site.url("/")], arguments=given, folder=folder)
        return {x for x in names if f"/{x}.nt" in site.targets}

    assert crawl("2020-01-01") == set(names)
    assert crawl("2020-02-01") == {"dated", "part"}
    assert crawl("2020-02-01") == {"dated", "part"}  # equal in spite of the date
    assert crawl("2020-02-01") == set()
