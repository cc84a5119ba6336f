"""Which graphs the answers of sources are stored in: none writes into another's."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.endpoint import EndpointOptions
from rdfcrawl.rdf.graphs import GraphRule
from rdfcrawl.sources.sitemaps.semantic import Slicing, UriPrefix
from rdfcrawl.sources.sitemaps.slicing import slice_dump
from rdfcrawl.sources.sparql.settings import HarvestSettings
from rdfcrawl.sources.sparql.writing import GraphTerms
from rdfcrawl.stores.provenance.statements import GRAPH
from tests.support.ftp_servers import RealFtp
from tests.support.resourcesync_source import document, facts_of, time_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

VICTIM = "127.94.8.1"
# Names of graphs that only the crawl itself writes.
CRAWLS = (GRAPH, "URN:RDFCRAWL:provenance", "urn:rdfcrawl:document:00")
XML = "application/xml"


@dataclass
class Hostile:
    """Servers that claim the graphs of others.

    Attributes:
        victim: has one document, `/doc`.
    """

    loopback: Loopback
    victim: RawServer

    @property
    def graphs(self) -> tuple[str, ...]:
        """Names of graphs that no server may write."""
        return (self.victim.url("/doc"), "http://unknown.example/doc", *CRAWLS)

    def quads(self, by: str) -> str:
        """Return N-Quads in all of these graphs, and in none."""
        line = f'<urn:x:s> <urn:x:by> "{by}"'
        named = [f"{line} <{name}> ." for name in self.graphs]
        return "\n".join([f"{line} .", *named, ""])

    def trig(self, by: str) -> str:
        """Return the same as TriG."""
        line = f'<urn:x:s> <urn:x:by> "{by}"'
        return "\n".join(f"<{name}> {{ {line} }}" for name in self.graphs)

    def json_ld(self, by: str) -> str:
        """Return the same as JSON-LD."""
        node = {"@id": "urn:x:s", "urn:x:by": by}
        return json.dumps([{"@id": x, "@graph": [node]} for x in self.graphs])

    def trix(self, by: str) -> str:
        """Return the same as TriX."""
        triple = (
            "<triple><uri>urn:x:s</uri><uri>urn:x:by</uri>"
            f"<plainLiteral>{by}</plainLiteral></triple>"
        )
        graphs = "".join(
            f"<graph><uri>{name}</uri>{triple}</graph>" for name in self.graphs
        )
        return f'<TriX xmlns="http://www.w3.org/2004/03/trix/trix-1/">{graphs}</TriX>'

    def serve(self, number: int, pages: dict[str, tuple[str, str]]) -> RawServer:
        """Start a server with bodies and their media types; `{at}` is its origin."""
        server = self.loopback(host=f"127.94.8.{number}")
        for path, (body, media_type) in pages.items():
            text = body.replace("{at}", server.url("")).encode()
            server.pages[path] = self.loopback.response(text, media_type)
        return server


@pytest.fixture(scope="module")
def hostile(loopback: Loopback) -> Hostile:
    """Return a function that makes hostile servers."""
    victim = loopback(host=VICTIM)
    body = b'<> <urn:x:by> "victim" .'
    victim.pages["/doc"] = loopback.response(body)
    return Hostile(loopback, victim)


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    """Yield a server of endpoints."""
    with LocalWeb(first_address="127.95.0.1", n_hosts=4) as web:
        yield web


def endpoint_of(web: LocalWeb, hostile: Hostile, by: str) -> str:
    """Start an endpoint with hostile graphs; return its URL."""
    node = web.start(EndpointOptions(n_triples=20, has_system_graph=False))
    quads = hostile.quads(by).encode()
    node.store.extend(ox.parse(quads, format=ox.RdfFormat.N_QUADS))
    return node.endpoint_url


def graphs_by(result: CrawlResult, by: str) -> set[str]:
    """Return the graphs that have statements of a server."""
    return {g for _, p, o, g in result.quads if (p, o) == ("urn:x:by", f'"{by}"')}


def check(result: CrawlResult, hostile: Hostile) -> None:
    """Check that no document has written into graphs of others."""
    assert result.code == 0, result.stderr
    assert not result.graphs & {*hostile.graphs[1:]}
    written = result.about(hostile.graphs[0])
    assert {o for _, _, o in written} <= {'"victim"'}
    assert "DELETED" not in result.statuses(hostile.graphs[0])
    crawls = {g for g in result.graphs if g.lower().startswith("urn:rdfcrawl:")}
    assert crawls == set()


# -- documents of a Linked Data crawl --------------------------------------------------


PAGES = ("trig", "nquads", "json-ld", "trix")


@pytest.fixture(scope="module")
def linked(
    commands: Commands,
    hostile: Hostile,
    web: LocalWeb,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[CrawlResult, dict[str, str]]]:
    """Yield a crawl of hostile pages, dumps, an endpoint and FTP, and their origins."""
    pages = hostile.serve(
        2,
        {
            "/trig": (hostile.trig("trig"), "application/trig"),
            "/nquads": (hostile.quads("nquads"), "application/n-quads"),
            "/json-ld": (hostile.json_ld("json-ld"), "application/ld+json"),
            "/trix": (hostile.trix("trix"), "application/trix"),
        },
    )
    endpoint = endpoint_of(web, hostile, "endpoint")
    dumps = hostile.serve(
        3,
        {
            "/void": (
                "<#d> <http://rdfs.org/ns/void#dataDump> <{at}/void.nq> .",
                "text/turtle",
            ),
            "/void.nq": (hostile.quads("void"), "application/n-quads"),
            "/dcat": (
                "<#f> <http://www.w3.org/ns/dcat#downloadURL> <{at}/dcat.trig> .",
                "text/turtle",
            ),
            "/dcat.trig": (hostile.trig("dcat"), "application/trig"),
            "/link": (f"<> <urn:x:see> <{endpoint}> .", "text/turtle"),
        },
    )
    folder = tmp_path_factory.mktemp("ftp")
    (folder / "evil.nq").write_text(hostile.quads("ftp"))
    with RealFtp(folder, host="127.94.8.4") as ftp:
        seeds = [pages.url(f"/{name}") for name in PAGES]
        seeds += [dumps.url(x) for x in ("/void", "/dcat", "/link")]
        seeds += [ftp.url("evil.nq"), hostile.victim.url("/doc")]
        result = commands.crawl(seeds)
        origins = dict.fromkeys(PAGES, pages.url("/"))
        origins |= {"void": dumps.url("/"), "dcat": dumps.url("/")}
        origins |= {"ftp": ftp.url(), "endpoint": endpoint.removesuffix("sparql")}
        yield result, origins


@pytest.mark.parametrize("by", [*PAGES, "void", "dcat", "ftp", "endpoint"])
def test_linked_sources_write_into_their_own_graphs(
    linked: tuple[CrawlResult, dict[str, str]], hostile: Hostile, by: str
) -> None:
    """If a page, dump, file or endpoint names others' graphs, it keeps to its own."""
    result, origins = linked
    check(result, hostile)
    found = graphs_by(result, by)
    assert found
    assert {g for g in found if not g.startswith(origins[by])} == set()
    assert result.about(hostile.graphs[0])  # its own statements


def test_graphs_of_an_endpoint_stay_apart(
    linked: tuple[CrawlResult, dict[str, str]], hostile: Hostile
) -> None:
    """If an endpoint's graphs are not its own, each has a name of the endpoint's."""
    result, origins = linked
    found = graphs_by(result, "endpoint")
    assert len(found) == len(hostile.graphs) + 1
    named = f"{origins['endpoint']}sparql#graph=http%3A%2F%2Funknown.example%2Fdoc"
    assert named in found
    assert result.statistics["fault/foreign_graph"] > 0


# -- sources that the operator names ---------------------------------------------------


def test_endpoint_that_is_named_writes_no_graphs_of_the_crawl(
    commands: Commands, hostile: Hostile, web: LocalWeb
) -> None:
    """If an endpoint is named, its graphs keep their names, except the crawl's own."""
    endpoint = endpoint_of(web, hostile, "named")
    arguments = {"endpoints": endpoint, "follow": "none"}
    result = commands.crawl(arguments=arguments, spider="sparql")
    assert result.code == 0, result.stderr
    found = graphs_by(result, "named")
    assert {*hostile.graphs[:2], f"{endpoint}#default"} <= found
    assert not found & {*CRAWLS}
    assert len(found) == len(hostile.graphs) + 1


def test_endpoint_that_is_named_is_harvested_once(
    commands: Commands, hostile: Hostile, web: LocalWeb
) -> None:
    """If a page leads to an endpoint that was named, then it is not come upon."""
    endpoint = endpoint_of(web, hostile, "once")
    page = hostile.serve(
        9, {"/": (f"<> <http://rdfs.org/ns/void#sparqlEndpoint> <{endpoint}> .", "")}
    )
    arguments = {"endpoints": endpoint, "seeds": page.url("/"), "follow": "none"}
    result = commands.crawl(arguments=arguments, spider="sparql")
    assert result.code == 0, result.stderr
    assert hostile.graphs[0] in graphs_by(result, "once")
    assert not any("#graph=http" in g for g in graphs_by(result, "once"))


def test_sitemaps_write_into_their_own_graphs(
    commands: Commands, hostile: Hostile
) -> None:
    """If a sitemap and its dataset's dump name others' graphs, both keep to theirs."""
    victim = hostile.graphs[0]
    sitemap = (
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
        ' xmlns:sc="http://sw.deri.org/2007/07/sitemapextension/scschema.xsd">'
        f"<url><loc>{victim}</loc><priority>1</priority></url>"
        "<sc:dataset><sc:datasetLabel>evil</sc:datasetLabel>"
        f"<sc:datasetURI>{{name}}</sc:datasetURI>"
        "<sc:linkedDataPrefix>{at}/id/</sc:linkedDataPrefix>"
        "<sc:sampleURI>{at}/id/a</sc:sampleURI>"
        "<sc:dataDumpLocation>{at}/dump.nq</sc:dataDumpLocation></sc:dataset></urlset>"
    )
    servers = [
        hostile.serve(
            5 + n,
            {
                "/robots.txt": ("Sitemap: {at}/sitemap.xml\n", "text/plain"),
                "/sitemap.xml": (sitemap.replace("{name}", name), XML),
                "/dump.nq": (hostile.quads(f"semantic{n}"), "application/n-quads"),
                "/id/a": ('<> <urn:x:says> "a" .', "text/turtle"),
            },
        )
        for n, name in enumerate((victim, GRAPH))
    ]
    sites = ",".join(server.url("/") for server in servers)
    result = commands.crawl(arguments={"sites": sites}, spider="sitemap")
    assert result.code == 0, result.stderr
    for n, server in enumerate(servers):
        found = graphs_by(result, f"semantic{n}")
        assert found
        assert {g for g in found if not g.startswith(server.url("/"))} == set()
    compared = {g for _, p, _, g in result.quads if p.endswith("notInDump")}
    assert len(compared) == 2
    assert not any(g.startswith((victim, GRAPH)) for g in compared)
    assert result.about(victim) == set()
    assert not result.graphs & {*hostile.graphs}


@pytest.mark.parametrize("is_named", [True, False])
def test_resources_write_into_their_own_graphs(
    commands: Commands, hostile: Hostile, *, is_named: bool
) -> None:
    """If a source of ResourceSync has others' resources and graphs, these are kept.

    One that was come upon has no say in the sites that the operator has named.
    """
    page = '<html><head><link rel="resourcesync" href="/source"></head></html>'
    server = hostile.serve(7, {"/": (page, "text/html")})
    at = server.url
    data = hostile.quads("resourcesync").encode()
    facts = {"type": "application/n-quads"} | facts_of(data)
    entries = [
        (at("/own.nq"), {"path": "/a.nq"} | facts, ""),
        (hostile.graphs[0], {"path": "/b.nq"} | facts, ""),
        (GRAPH, {"path": "/c.nq"} | facts, ""),
    ]
    manifest = {"capability": "resourcedump-manifest", "at": time_of(1)}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("manifest.xml", document(manifest, entries, up=at("/caps")))
        for name in "abc":
            archive.writestr(f"{name}.nq", data)
    gone = {"change": "deleted", "datetime": time_of(5)}
    documents = {
        "/source": document(
            {"capability": "description"},
            [(at("/caps"), {"capability": "capabilitylist"}, "")],
            up="",
        ),
        "/caps": document(
            {"capability": "capabilitylist"},
            [
                (at("/dump.xml"), {"capability": "resourcedump"}, ""),
                (at("/changes.xml"), {"capability": "changelist"}, ""),
            ],
            up=at("/source"),
        ),
        "/dump.xml": document(
            {"capability": "resourcedump", "at": time_of(1)},
            [(at("/dump.zip"), {"type": "application/zip"}, "")],
            up=at("/caps"),
        ),
        "/changes.xml": document(
            {"capability": "changelist", "from": time_of(1)},
            [(hostile.graphs[0], gone, ""), (at("/gone.nq"), gone, "")],
            up=at("/caps"),
        ),
    }
    for path, body in documents.items():
        server.pages[path] = hostile.loopback.response(body, XML)
    zipped = hostile.loopback.response(packed.getvalue(), "application/zip")
    server.pages["/dump.zip"] = zipped
    arguments = {"sources": at("/caps")}
    if not is_named:
        arguments = {"sources": hostile.victim.url("/"), "seeds": at("/")}
        arguments["harvest"] = "resourcesync"
    result = commands.crawl(arguments=arguments, spider="resourcesync")
    check(result, hostile)
    assert graphs_by(result, "resourcesync") == {at("/own.nq")}


def test_portals_write_into_their_own_graphs(
    commands: Commands, hostile: Hostile
) -> None:
    """If a portal's datasets have others' names, their graphs are the portal's."""
    packages = [
        {
            "id": name,
            "name": name,
            "uri": name,
            "title": "ckan",
            "extras": [{"key": "uri", "value": name}],
            "resources": [{"id": "r", "url": "{at}/dump.nq", "format": "N-Quads"}],
            "metadata_modified": "2020-01-01T00:00:00.000000",
            "state": "active",
            "type": "dataset",
        }
        for name in (*hostile.graphs, f"../../../{hostile.graphs[0]}")
    ]
    found = {"count": len(packages), "results": packages}
    answer = json.dumps({"success": True, "result": found})
    server = hostile.serve(
        8,
        {
            "*": (answer, "application/json"),
            "/dump.nq": (hostile.quads("ckan dump"), "application/n-quads"),
            "/robots.txt": ("", "text/plain"),
        },
    )
    result = commands.crawl(arguments={"portals": server.url("/")}, spider="ckan")
    check(result, hostile)
    titles = {g for _, p, _, g in result.quads if p == "http://purl.org/dc/terms/title"}
    titles |= graphs_by(result, "ckan dump")
    assert len(titles) > len(packages) / 2
    assert {g for g in titles if not g.startswith(server.url("/"))} == set()


# -- the rule --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "is_own", "is_admitted_if_named"),
    [
        ("http://a.example/other", True, True),
        ("http://A.example:80/x", True, True),
        ("https://a.example/x", False, True),
        ("http://a.example:8080/x", False, True),
        ("http://a.example@b.example/x", False, True),
        ("http://a.example.org/", False, True),
        ("urn:x:graph", False, True),
        ("urn:rdfcrawl:provenance", False, False),
        ("Urn:RdfCrawl:provenance", False, False),
        ("urn:rdfcrawl:document:0", False, False),
    ],
)
def test_who_may_write_a_graph(
    name: str, *, is_own: bool, is_admitted_if_named: bool
) -> None:
    """If a graph is not of the answer's origin, then only named sources write it."""
    url = "http://a.example/sparql"
    assert GraphRule(url).admits(name) is is_own
    assert GraphRule(url, "named").admits(name) is is_admitted_if_named


def test_prefix_that_is_the_begin_of_another_host_slices_nothing_of_it() -> None:
    """If a prefix ends within a host's name, then other hosts have no descriptions."""
    names = ("http://a.example/x", "http://a.example.org/x", "http://a.example@b.org/x")
    lines = "".join(f'<{name}> <urn:x:p> "1" .\n' for name in names).encode()
    log = FaultLog()
    prefix = UriPrefix("http://a.example", "http://a.example/")
    found = slice_dump([lines], [prefix], slicing=Slicing.CBD, log=log)
    assert [each.url for each in found] == ["http://a.example/x"]
    assert log.count(Reason.FOREIGN_GRAPH) == 2


def test_default_graph_of_an_endpoint_keeps_its_name() -> None:
    """If an endpoint was come upon, then its default graph keeps the name it has."""
    default = "http://a.example/sparql#default"
    settings = HarvestSettings(default_graph=default, trust="same-origin")
    terms = GraphTerms("http://a.example/sparql", settings, FaultLog())
    assert terms.graph("").term == f"<{default}>"
    assert terms.graph("http://a.example/g").term == "<http://a.example/g>"
