"""Dumps that Semantic Sitemaps name, instead of the pages of a site."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from tests.support.sitemap_sites import Site, dataset, dump_at, urlset

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback


# -- Semantic Sitemaps -----------------------------------------------------------------


def test_dump_costs_a_handful_of_requests(
    commands: Commands, loopback: Loopback
) -> None:
    """If a site of 10,000 URIs offers a dump, then its pages are not crawled."""
    site = Site(loopback, "127.20.5.1")
    resources = [site.at(f"/r/{n}") for n in range(10_000)]
    statements = "".join(f"<{r}> <urn:x:next> <{r}0> .\n" for r in resources)
    site.put("/dump.nt.gz", gzip.compress(statements.encode()))
    site.robots(site.at("/sitemap.xml"))
    site.put("/sitemap.xml", urlset(resources, dataset(site, "dump.nt.gz")))
    result = site.crawl(commands)
    assert sorted(site.asked()) == ["/dataset", "/dump.nt.gz", "/sitemap.xml"]
    assert len(site.server.targets) <= 6  # with robots.txt, twice, and VoID
    assert len(result.about(site.at("/dump.nt.gz"))) == 10_000


def test_next_way_is_taken_when_one_fails(
    commands: Commands, loopback: Loopback
) -> None:
    """If neither dump nor mirror is available, then the pages are crawled."""
    site = Site(loopback, "127.20.5.2")
    pages = [site.page(f"/r/{n}") for n in range(3)]
    mirrors = "".join(
        f'<sc:dataDumpLocation priority="{n}">{site.at(f"/{n}.nt")}'
        "</sc:dataDumpLocation>"
        for n in (0, 5)
    )
    site.robots(site.at("/sitemap.xml"))
    samples = "".join(f"<sc:sampleURI>{page}</sc:sampleURI>" for page in pages)
    extra = dataset(site, extra=mirrors + samples)
    site.put("/sitemap.xml", urlset([], extra))
    result = site.crawl(commands)
    dumps = [target for target in site.asked() if target.endswith(".nt")]
    assert dumps == ["/5.nt", "/0.nt"]
    assert set(pages) <= result.graphs


@pytest.mark.parametrize("is_confirmed", [True, False], ids=["confirmed", "denied"])
def test_dump_elsewhere_needs_the_word_of_its_host(
    commands: Commands, loopback: Loopback, *, is_confirmed: bool
) -> None:
    """If a dump is on another host, then it is taken if that host says the same."""
    number = 1 if is_confirmed else 2
    site, other = (Site(loopback, f"127.20.6.{number}{n}") for n in (1, 2))
    other.put("/dump.nt", f"<{site.at('/r/1')}> <urn:x:p> <urn:x:o> .\n".encode())
    extra = dataset(site, extra=dump_at(other.at("/dump.nt")))
    site.robots(site.at("/sitemap.xml"))
    site.put("/sitemap.xml", urlset([], extra))
    other.robots(other.at("/own.xml"))
    other.put("/own.xml", urlset([], extra if is_confirmed else ""))
    result = site.crawl(commands)
    assert (other.at("/dump.nt") in result.graphs) is is_confirmed
    faults = {fault for url in (site.at("/sitemap.xml"), other.at("/own.xml"))
              for fault in result.faults(url)}  # fmt: skip
    assert ("unconfirmed_claim" in faults) is not is_confirmed


def test_dump_can_be_cut_into_the_descriptions_of_its_resources(
    commands: Commands, loopback: Loopback
) -> None:
    """If `slice=1` is given, then each resource of a dump has a separate graph."""
    site = Site(loopback, "127.20.7.1")
    lines = [
        f"<{site.at('/r/1')}> <urn:x:next> <{site.at('/r/2')}> .",
        f"<{site.at('/r/1')}> <urn:x:has> _:part .",
        '_:part <urn:x:says> "of the first" .',
        f"<{site.at('/r/2')}#me> <urn:x:next> <{site.at('/r/1')}> .",
        "<urn:x:elsewhere> <urn:x:next> <urn:x:elsewhere> .",
    ]
    site.put("/dump.nt", "\n".join(lines).encode())
    site.robots(site.at("/sitemap.xml"))
    site.put("/sitemap.xml", urlset([], dataset(site, "dump.nt")))
    result = commands.crawl(
        arguments={"sites": site.at("/"), "slice": 1}, spider="sitemap"
    )
    assert len(result.about(site.at("/r/1"))) == 3
    assert len(result.about(site.at("/r/2"))) == 1
    assert result.about(site.at("/dump.nt")) == set()


def test_samples_are_compared_with_the_dump(
    commands: Commands, loopback: Loopback
) -> None:
    """If a sample says other things than the dump, then both sides are reported."""
    site = Site(loopback, "127.20.7.2")
    same, other = site.page("/r/1"), site.page("/r/2", "new")
    dump = f'<{same}> <urn:x:says> "/r/1" .\n<{other}> <urn:x:says> "old" .\n'
    site.put("/dump.nt", dump.encode())
    samples = "".join(f"<sc:sampleURI>{x}</sc:sampleURI>" for x in (same, other))
    site.robots(site.at("/sitemap.xml"))
    site.put("/sitemap.xml", urlset([], dataset(site, "dump.nt", extra=samples)))
    result = site.crawl(commands)
    urls = (site.at("/dump.nt"), same, other)
    faults = [fault for url in urls for fault in result.faults(url)]
    assert faults == ["sample_differs"]
    reported = {
        (subject, predicate.rpartition("#")[2], text)
        for subject, predicate, text, _ in result.quads
        if predicate.endswith(("#notInDump", "#notInSample"))
    }
    assert {(subject, side) for subject, side, _ in reported} == {
        (other, "notInDump"),
        (other, "notInSample"),
    }
