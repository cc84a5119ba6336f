"""Crawls that an attacker could use to scan a third host, or to flood it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import Reason
from tests.support.crawl_names import scripted_names

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

QUAD = b"<> <urn:x:p> <urn:x:o> ."
SERVICES = [1, 21, 22, 23, 25, 53, 110, 139, 143, 445, 465, 587, 873, 993, 1023]
DEFAULT_PORTS = "80,443,1024-65535"


def linking(loopback: Loopback, host: str, links: list[str]) -> str:
    """Serve a document with links; return its URL."""
    body = "".join(f"<> <urn:x:p> <{link}> .\n" for link in links)
    return loopback({"/": loopback.response(body.encode())}, host=host).url("/")


@pytest.mark.parametrize("with_scrapy", [False, True])
def test_ports_of_other_services_get_no_request(
    commands: Commands, loopback: Loopback, with_scrapy: bool
) -> None:
    """If links have the ports of mail, shells and the like, then they are refused."""
    links = [f"http://127.0.84.2:{port}/" for port in SERVICES]
    links += ["ftp://127.0.84.2:25/", "ftp://127.0.84.2:22/"]
    seed = linking(loopback, "127.0.84.1", links)
    result = commands.crawl(
        [seed], GUARD_PORTS=DEFAULT_PORTS, FETCH_WITH_SCRAPY=with_scrapy
    )
    assert result.code == 0
    for link in links:
        assert result.faults(link) == [Reason.GUARD_BLOCKED]
        assert "GUARD_PORTS" in result.details(link)[0]
    assert result.statistics["guard/port"] >= len(links)


@pytest.mark.parametrize("with_scrapy", [False, True])
def test_scan_of_a_host_ends(
    commands: Commands, loopback: Loopback, with_scrapy: bool
) -> None:
    """If links have ever more ports of one address, then few of them are requested.

    The names differ, so that each is a separate host to the frontier.
    """
    n = 2 + with_scrapy
    scanned = [loopback(host=f"127.0.85.{n}") for _ in range(12)]
    for server in scanned:
        server.pages["/a"] = loopback.response(QUAD)
    links = [
        f"http://{i}.scan.example:{server.port}/a" for i, server in enumerate(scanned)
    ]
    names = {f"{i}.scan.example": [[scanned[0].host]] for i in range(len(links))}
    seed = linking(loopback, "127.0.85.1", links)
    folder = commands.folder()
    with scripted_names(folder, names):
        result = commands.crawl(
            [seed], folder=folder, GUARD_MAX_PORTS=4, FETCH_WITH_SCRAPY=with_scrapy
        )
    assert result.code == 0
    assert sum(server.n_connections > 0 for server in scanned) == 4
    refused = [link for link in links if result.faults(link) == [Reason.GUARD_BLOCKED]]
    assert len(refused) == 8
    assert all("GUARD_MAX_PORTS" in result.details(link)[0] for link in refused)
    assert result.statistics["guard/port_scan"] >= 8


def test_sitemap_does_not_flood_another_host(
    commands: Commands, loopback: Loopback
) -> None:
    """If a sitemap lists pages of a host that does not name it, none is requested."""
    victim = loopback({"*": loopback.response(QUAD)}, host="127.0.86.2")
    victim.pages["/robots.txt"] = loopback.response(b"User-agent: *", "text/plain")
    ns = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    urls = "".join(f"<url><loc>{victim.url(f'/{n}')}</loc></url>" for n in range(500))
    attacker = loopback(host="127.0.86.1")
    sitemaps = "".join(f"Sitemap: {attacker.url(f'/{n}.xml')}\n" for n in range(3))
    attacker.pages["/robots.txt"] = loopback.response(sitemaps.encode(), "text/plain")
    for n in range(3):
        attacker.pages[f"/{n}.xml"] = loopback.response(
            f"<urlset {ns}>{urls}</urlset>".encode(), "application/xml"
        )
    result = commands.crawl(
        arguments={"sites": attacker.url("/"), "harvest": "all"}, spider="sitemap"
    )
    assert result.code == 0
    assert set(victim.targets) == {"/robots.txt"}
    assert len(victim.targets) <= 2
    assert result.statistics["fault/cross_site"]


def test_descriptions_do_not_flood_another_host(
    commands: Commands, loopback: Loopback
) -> None:
    """If many descriptions call a host an endpoint, then it gets few queries each."""
    victim = loopback({"*": loopback.response(b"no", "text/plain")}, host="127.0.87.2")
    void = "@prefix void: <http://rdfs.org/ns/void#> .\n"
    void += "".join(
        f"<#{n}> a void:Dataset ; void:sparqlEndpoint <{victim.url('/q')}> ;"
        f" void:dataDump <{victim.url('/d.nt')}> .\n"
        for n in range(20)
    )
    pages = {f"/{n}": loopback.response(void.encode()) for n in range(10)}
    attacker = loopback(pages, host="127.0.87.1")
    result = commands.crawl(
        [attacker.url(target) for target in pages], arguments={"follow": "abox"}
    )
    assert result.code == 0
    # The size of a request is of no account: a query has a few hundred bytes.
    assert len(victim.targets) <= 10, victim.targets
