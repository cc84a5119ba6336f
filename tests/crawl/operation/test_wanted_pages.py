"""Crawls with `want`: pages of forms that yield come first, others last or not."""

from __future__ import annotations

import gzip
import signal
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.core.namespaces import RDF_TYPE
from rdfcrawl.stores.log.decisions import read_decisions
from tests.otherweb.wanted_sites import (
    WantedBlog,
    WantedPortal,
    WantedShop,
    WantedSite,
)
from tests.support.command_forks import scrapy
from tests.support.operated_crawls import operate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands, CrawlResult

N = 160
ARGUMENTS = {"scope": "host", "follow": "abox,hyperlink", "want": "schema:Product"}
FEW: dict[str, Any] = {
    "WANT_TRIES": 4,
    "VISIT_MAX_DOCUMENTS": 10,
}  # as the sites are small


@pytest.fixture
def shop() -> Iterator[WantedShop]:
    """Yield a shop, served."""
    site = WantedShop("127.77.3.1", N)
    site.start()
    yield site
    site.stop()


def wanted_of(result: CrawlResult, name: str = "Product") -> set[str]:
    """Return the documents with things of a class, in any spelling."""
    return {g for _, p, o, g in result.quads if p == RDF_TYPE and o.endswith(name)}


def products_of(shop: WantedShop) -> set[str]:
    """Return the URLs of all products."""
    return {shop.url(f"/p/{i}") for i in range(N)}


def pictures_of(shop: WantedShop) -> list[str]:
    """Return the pictures that were requested."""
    targets = [request.target for request in shop.requests]
    return [each for each in targets if each.startswith("/picture/")]


def explained(result: CrawlResult, url: str) -> str:
    """Return the output of `scrapy explain`."""
    folder = result.folder
    given = (f"-sCRAWL_DIR={folder.parent}", f"-sCRAWL_ID={folder.name}")
    return scrapy("explain", url, *given, "-sGUARD_ALLOW_NETS=127.0.0.0/8").stdout


def test_pictures_of_a_shop_are_left_out(commands: Commands, shop: WantedShop) -> None:
    """If products are wanted, then all of them are fetched, and few pictures.

    The summary and `explain` say so, and `retry=unlikely` requests the others; the same
    command does not.
    """
    folder = commands.folder()
    result = commands.crawl([shop.url()], folder=folder, arguments=ARGUMENTS, **FEW)
    assert result.code == 0, result.stderr
    assert wanted_of(result) == products_of(shop)
    pictures = set(pictures_of(shop))
    assert 4 <= len(pictures) <= 20
    n_left = N - len(pictures)
    form = f"{shop.root.removeprefix('http://')}/picture/#"
    line = f"{n_left} URLs not requested, of forms that led to nothing wanted ({form}"
    assert line in result.stderr
    assert "-a retry=unlikely requests them" in result.stderr
    assert f"{N} statements in {N} documents" in result.stderr
    left = next(i for i in range(N) if f"/picture/{i}" not in pictures)
    told = explained(result, shop.url(f"/picture/{left}"))
    assert "pages of its form of URL led to nothing that the crawl wants" in told
    assert "not requested: unlikely (form /picture/#), as a link of" in told
    assert operate(folder, "check", CRAWL_ID="linkeddata").returncode == 0

    again = commands.crawl([shop.url()], folder=folder, arguments=ARGUMENTS, **FEW)
    assert again.code == 0, again.stderr
    assert set(pictures_of(shop)) == pictures
    more = ARGUMENTS | {"retry": "unlikely"}
    last = commands.crawl([shop.url()], folder=folder, arguments=more, **FEW)
    assert last.code == 0, last.stderr
    assert f"queued {n_left} URIs again" in last.stderr
    assert set(pictures_of(shop)) == {f"/picture/{i}" for i in range(N)}
    assert "URLs not requested" not in last.stderr


def test_a_killed_crawl_continues(commands: Commands, shop: WantedShop) -> None:
    """If a crawl is killed, then the same command finds all, and few pictures more."""
    folder = commands.folder()
    quick = FEW | {"FRONTIER_LEASE_SECS": 2, "FRONTIER_COMMIT_SECS": 0.1}
    running = commands.start_crawl(
        [shop.url()], folder=folder, arguments=ARGUMENTS, **quick
    )
    commands.wait_until(lambda: len(shop.requests) > N // 2)
    running.send(signal.SIGKILL)
    running.wait()
    result = commands.crawl([shop.url()], folder=folder, arguments=ARGUMENTS, **quick)
    assert result.code == 0, result.stderr
    assert wanted_of(result) == products_of(shop)
    assert len(set(pictures_of(shop))) <= 30
    assert operate(folder, "check", CRAWL_ID="linkeddata").returncode == 0


def test_workers_share_their_counts(commands: Commands, shop: WantedShop) -> None:
    """If two workers share a crawl, then they judge forms together."""
    given = [f"-a{name}={value}" for name, value in ARGUMENTS.items()]
    result = commands.start(
        *("workers", "-n2", "linkeddata", f"-aseeds={shop.url()}", *given), **FEW
    ).wait()
    assert result.code == 0, result.stderr
    assert wanted_of(result) == products_of(shop)
    assert len(pictures_of(shop)) <= 20


@pytest.mark.parametrize(
    ("kind", "name", "share"),
    [(WantedPortal, "dcat#Dataset", 0.6), (WantedBlog, "BlogPosting", 0.6)],
)
def test_pages_around_the_wanted_ones_are_left_out(
    commands: Commands, kind: type[WantedSite], name: str, share: float
) -> None:
    """If lists lead to the wanted pages, then all are found, by fewer requests."""
    site = kind("127.77.3.2", 100)
    site.start()
    try:
        arguments = ARGUMENTS | {"want": kind.wanted}
        result = commands.crawl([site.url()], arguments=arguments, **FEW)
    finally:
        site.stop()
    assert result.code == 0, result.stderr
    said = {t for t, page in site.pages.items() if name in page().body.decode("latin1")}
    assert len(wanted_of(result, name)) >= 100
    assert {site.url(x) for x in said if "ttl" not in x} <= wanted_of(result, name)
    assert len(site.requests) < share * len(site.pages)
    logs = [*(result.folder / "decisions").glob("*.gz")]
    content = b"".join(gzip.decompress(path.read_bytes()) for path in logs)
    last = [x for x in read_decisions(content) if x.reason == "unlikely_last"]
    assert last or kind is not WantedBlog
    for each in last[:1]:
        assert "queued last: unlikely_last (form /" in explained(result, each.uri)


def test_forms_that_turn_out_well_come_back(commands: Commands) -> None:
    """If a form leads to wanted pages after its tries, then all of it is fetched."""
    site = WantedSite("127.77.3.3")
    product = {"@context": "http://schema.org", "@type": "Product"}
    site.add("/", *(f"/d/{i}" for i in range(30)), said=product)
    for i in range(30):
        site.add(f"/d/{i}", f"/c/{i}")
        site.add(f"/c/{i}", f"/p/{i}")
        site.add(f"/p/{i}", said=product)
    site.start()
    try:
        result = commands.crawl([site.url()], arguments=ARGUMENTS, **FEW)
    finally:
        site.stop()
    assert result.code == 0, result.stderr
    assert "queued again, as their forms lead to wanted statements" in result.stderr
    products = {site.url(f"/p/{i}") for i in range(30)}
    assert wanted_of(result) == products | {site.url()}


def test_wrong_values_are_refused(commands: Commands, tmp_path: Path) -> None:
    """If `want` has a wrong value, then the crawl does not begin, and says why."""
    shapes = tmp_path / "shapes.ttl"
    shapes.write_text("@prefix sh: <http://www.w3.org/ns/shacl#> . [] a sh:NodeShape .")
    for value, text in {
        "shop:Product": "argument want=shop:Product: ",
        str(shapes): "must be SHACL shapes with targets",
    }.items():
        result = commands.crawl(arguments={"want": value, "seeds": "http://a.example/"})
        assert result.code != 0
        assert text in result.stderr
    both = {"want": "schema:Product", "schedule": "domain", "quota": 5}
    result = commands.crawl(arguments=both | {"seeds": "http://a.example/"})
    assert "argument want: not with schedule=domain" in result.stderr
