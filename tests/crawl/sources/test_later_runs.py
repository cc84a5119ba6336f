"""What later runs of a crawl leave alone: the README has it among what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.endpoint import EndpointOptions
from tests.crawl.sources.test_sitemap import Site, urlset

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback


def test_dumps_are_fetched_once(commands: Commands, loopback: Loopback) -> None:
    """If a dump has changed, or failed, then a later run does not ask for it."""
    site = Site(loopback, "127.20.8.12")
    dumps = ["/good.nt", "/bad.nt"]
    datasets = "".join(
        f"<sc:dataset><sc:dataDumpLocation>{site.at(dump)}</sc:dataDumpLocation>"
        "</sc:dataset>"
        for dump in dumps
    )
    line = "<urn:x:s> <urn:x:p> <urn:x:o{}> .\n"
    site.put("/good.nt", line.format(1).encode(), "application/n-triples")
    site.put("/sitemap.xml", urlset([], datasets))
    folder = commands.folder()
    site.crawl(commands, folder=folder)
    assert sorted(set(site.asked()) & set(dumps)) == sorted(dumps)
    n_asked = len(site.asked())
    for dump in dumps:
        site.put(dump, line.format(2).encode(), "application/n-triples")
    site.put("/sitemap.xml", urlset([site.page("/page/1")], datasets))
    site.crawl(commands, folder=folder)
    assert site.asked()[n_asked:] == ["/sitemap.xml", "/page/1"]


def test_endpoint_that_was_come_upon(commands: Commands) -> None:
    """If a crawl came upon an endpoint, then a later run does not ask it again."""
    with LocalWeb(first_address="127.81.8.21", n_hosts=1) as web:
        node = web.start(EndpointOptions(n_triples=50, blank_share=0))
        folder = commands.folder()
        first = commands.crawl([node.endpoint_url], folder=folder)
        assert first.code == 0, first.stderr
        n_asked = len(web.targets(node))
        assert n_asked > 3
        again = commands.crawl([node.endpoint_url], folder=folder)
        assert again.code == 0, again.stderr
        assert len(web.targets(node)) == n_asked
