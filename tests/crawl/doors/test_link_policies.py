"""Classes of users that choose among links: the example of the docs, and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.records import Document
from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.endpoint import EndpointOptions
from rdfcrawl.pipelines.spider_options import SpiderOptions

if TYPE_CHECKING:
    from rdfcrawl.dataweb.nodes.endpoint import EndpointNode
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback


class EvenLinks:
    """Follows URLs that end in an even digit."""

    def choose(self, _document: Document, urls: list[str]) -> list[str]:
        """Return those URLs."""
        return [url for url in urls if url[-1] in "02468"]


def test_policy_of_the_user_chooses_links(
    commands: Commands, loopback: Loopback
) -> None:
    """If a class of the user's chooses links, then only these are followed."""
    server = loopback({"/": loopback.response(b"<> <urn:x:p> <1>, <2>, <3>, <4> .")})
    for n in range(1, 5):
        server.pages[f"/{n}"] = loopback.response(b"<> <urn:x:p> 1 .")
    name = f"{__name__}.EvenLinks"
    result = commands.crawl([server.url("/")], LINK_POLICY_CLASS=name)
    assert result.code == 0, result.stderr
    assert {x for x in server.targets if x != "/robots.txt"} == {"/", "/2", "/4"}


@pytest.mark.parametrize("path", ["nowhere.to.be.Found", "json.JSONDecoder"])
def test_wrong_policy_is_reported(path: str) -> None:
    """If `LINK_POLICY_CLASS` has a wrong class, then the setting is named."""
    with pytest.raises(ConfigError, match="LINK_POLICY_CLASS"):
        SpiderOptions.from_settings(Settings({"LINK_POLICY_CLASS": path}), "x")


class NoLinks:
    """Follows nothing."""

    def choose(self, _document: Document, _urls: list[str]) -> list[str]:
        """Return no URL."""
        return []


def test_policy_chooses_links_of_endpoints(commands: Commands) -> None:
    """If an endpoint is harvested, then links in its statements are chosen from."""
    with LocalWeb(first_address="127.83.0.1", n_hosts=1) as web:
        node: EndpointNode = web.start(EndpointOptions(n_triples=30))
        result = commands.crawl(
            arguments={"endpoints": node.endpoint_url, "follow": "object"},
            spider="sparql",
            LINK_POLICY_CLASS=f"{__name__}.NoLinks",
        )
    assert result.code == 0, result.stderr
    assert "'document/status/successful'" in result.stderr
    # Its one link leads to a host that is not there.
    assert "'document/status/failed'" not in result.stderr
