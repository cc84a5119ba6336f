"""Crawls that are shown ways into the networks that they run in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import pytest

from rdfcrawl.core.errors import Reason
from tests.conftest import RawServers
from tests.support.crawl_names import scripted_names
from tests.support.ftp_servers import OddFtp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import RawServer, Reply
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

LAB = "127.0.80.0/24"  # stands for the public internet; all else of loopback is inside
INSIDE = "127.0.81.1"
LD = "application/ld+json"
TEXT = "text/plain"
QUAD = b"<> <urn:x:p> <urn:x:o> ."
HOSTS = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f.1",
    "0177.0.0.1",
    "127.0.0.1.",
    "0.0.0.0",
    "localhost",
    "LOCALHOST.",
    "①②⑦.0.0.1",
    "me:pw@127.0.0.1",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "inside.example",
    "rebound.example",
]
FAR = ["10.0.0.1", "169.254.169.254", "100.64.0.1", "192.168.1.1", "[fd00:ec2::254]"]


class Inside:
    """Servers on one port of every inside address, and their requests."""

    def __init__(self, loopback: Loopback) -> None:
        first = loopback(host="127.0.0.1")
        self.port = first.port
        hosts = [INSIDE, "::1"]
        self.servers = [first, *(loopback(host=h, port=self.port) for h in hosts)]
        for server in self.servers:
            server.pages["*"] = loopback.response(QUAD)
        self.ftp = OddFtp(files={"/a.nt": QUAD}, host=INSIDE)

    def url(self, path: str, host: str = INSIDE) -> str:
        """Return the URL of a path."""
        return f"http://{host}:{self.port}/{path}"

    @property
    def asked(self) -> list[str]:
        """Their requests; a connection without a request counts, too."""
        found = [t for server in self.servers for t in server.targets]
        n = sum(server.n_connections for server in self.servers)
        return [*found, *(["connection"] * (n - len(found))), *self.ftp.commands]


@pytest.fixture(scope="module")
def inside(loopback: Loopback) -> Iterator[Inside]:
    """Yield servers that no request may reach."""
    inside = Inside(loopback)
    with inside.ftp:
        yield inside


def pages_of_ways(inside: Inside) -> dict[str, Reply]:
    """Return pages of a public host that lead inside, one by one."""
    response, redirect = RawServers.response, RawServers.redirect
    url, ftp = inside.url, inside.ftp.url("a.nt")
    links = [url(f"link-{n}", host) for n, host in enumerate(HOSTS)]
    links += [f"http://{host}/far" for host in FAR]
    body = "".join(f"<> <urn:x:p> <{link}> .\n" for link in [*links, ftp])
    context = json.dumps({"@context": url("context"), "@id": "urn:x:s"})
    alternate = json.dumps({"@context": "/context", "@id": "urn:x:s"})
    void = (
        "@prefix void: <http://rdfs.org/ns/void#> . @prefix dcat:"
        " <http://www.w3.org/ns/dcat#> .\n"
        f"<#a> a void:Dataset ; void:dataDump <{url('dump.nt')}> .\n"
        f"<#b> a void:Dataset ; void:sparqlEndpoint <{url('sparql')}> .\n"
        f"<#c> a dcat:Distribution ; dcat:downloadURL <{url('dcat.nt')}> ;"
        f" dcat:accessURL <{url('access')}> .\n"
    )
    header = f'<{url("header")}>; rel="alternate"; type="text/turtle"'
    html = f'<!DOCTYPE html><base href="{url("base/")}"><link rel=alternate type='
    html += 'text/turtle href="data"><p about="#s" rel="urn:x:p" href="rdfa">a'
    return {
        "/links": response(body.encode()),
        "/301": redirect(url("301"), "301 X"),
        "/302": redirect(url("302", "localhost"), "302 X"),
        "/303": redirect(url("303", "[::1]"), "303 X"),
        "/307": redirect(url("307", "0x7f.1"), "307 X"),
        "/308": redirect(ftp, "308 X"),
        "/dump.nt": redirect(url("dump-2.nt"), "302 X"),
        "/context.jsonld": response(context.encode(), LD),
        "/moved.jsonld": response(alternate.encode(), LD),
        "/context": redirect(url("context-2"), "302 X"),
        "/void.ttl": response(void.encode()),
        "/header": response(b"<!DOCTYPE html><title>a", "text/html", Link=header),
        "/page": response(html.encode(), "text/html"),
        "/good": response(QUAD),
    }


def sources_of_ways(inside: Inside, public: RawServer) -> None:
    """Add sources that lead inside to a public host."""
    response, url = RawServers.response, inside.url
    ns = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    resync = f'{ns} xmlns:rs="http://www.openarchives.org/rs/terms/"'
    xml = "application/xml"
    public.pages |= {
        "/sitemap.xml": response(
            f"<sitemapindex {ns}><sitemap><loc>{url('sitemap')}</loc></sitemap>"
            f"<sitemap><loc>{public.url('/urls.xml')}</loc></sitemap>"
            "</sitemapindex>".encode(),
            xml,
        ),
        "/urls.xml": response(
            f"<urlset {ns}><url><loc>{url('listed')}</loc></url></urlset>".encode(), xml
        ),
        "/capabilities.xml": response(
            f'<urlset {resync}><rs:md capability="capabilitylist"/><url><loc>'
            f'{url("resources.xml")}</loc><rs:md capability="resourcelist"/>'
            "</url></urlset>".encode(),
            xml,
        ),
        "/sparql": RawServers.redirect(url("sparql-2"), "307 X"),
        "/api/3/action/status_show": RawServers.redirect(url("ckan"), "302 X"),
        "/api/3/action/package_search": RawServers.redirect(url("ckan"), "302 X"),
        "/robots.txt": response(f"Sitemap: {url('from-robots')}".encode(), TEXT),
    }


class Shown(NamedTuple):
    """A crawl that was shown all ways inside."""

    public: RawServer
    result: CrawlResult


@pytest.fixture(scope="module", params=["own", "scrapy"])
def shown(
    request: pytest.FixtureRequest,
    commands: Commands,
    loopback: Loopback,
    inside: Inside,
) -> Shown:
    """Return a crawl by our own requests, and one by Scrapy's."""
    n = 1 + (request.param == "scrapy")
    public = loopback(pages_of_ways(inside), host=f"127.0.80.{n}")
    sources_of_ways(inside, public)
    robots = loopback(host=f"127.0.80.{n + 10}")
    robots.pages["/robots.txt"] = loopback.redirect(inside.url("robots"), "302 X")
    robots.pages["/a"] = loopback.response(QUAD)
    # The first address of this one is public, and not for long.
    rebound = loopback(
        {"*": [loopback.response(QUAD), None]}, host=public.host, port=inside.port
    )
    mixed = f"http://mixed.example:{public.port}/good"
    host = public.host
    names = {
        "inside.example": [[INSIDE]],
        "mixed.example": [[INSIDE, host, "127.0.0.1"]],
        "rebound.example": [[rebound.host], [INSIDE]],
    }
    folder = commands.folder()
    table = ["uri,type", *(f"{public.url(path)}," for path in public.pages)]
    table += [f"{mixed},", f"{robots.url('/a')},"]
    table += [
        f"{public.url(path)},{kind}"
        for path, kind in (
            ("/sitemap.xml", "sitemap"),
            ("/capabilities.xml", "resourcesync"),
            ("/sparql", "sparql"),
            ("/", "ckan"),
            ("/robots.txt", "sitemap"),
        )
    ]
    (folder / "seeds.csv").write_text("\n".join(table))
    with scripted_names(folder, names):
        result = commands.crawl(
            folder=folder,
            arguments={
                "seeds": f"@{folder / 'seeds.csv'}",
                "harvest": "all",
                "follow": "abox,hyperlink",
            },
            GUARD_ALLOW_NETS=LAB,
            FETCH_WITH_SCRAPY=request.param == "scrapy",
        )
    return Shown(public, result)


def test_no_inside_address_is_connected_to(shown: Shown, inside: Inside) -> None:
    """If a crawl is shown forty ways inside, then it takes none of them."""
    assert shown.result.code == 0, shown.result.stderr
    assert inside.asked == []


def test_public_hosts_are_fetched(shown: Shown) -> None:
    """If a host is public, then it is crawled, with any public address."""
    good = shown.public.url("/good")
    assert shown.result.about(good)
    mixed = good.replace(shown.public.host, "mixed.example")
    assert shown.result.statuses(mixed) == ["SUCCESSFUL"]


@pytest.mark.parametrize("host", [*HOSTS[:15], "inside.example", *FAR])
def test_refusal_is_kept(shown: Shown, inside: Inside, host: str) -> None:
    """If a link leads inside, then its fault says so, and is counted."""
    from rdfcrawl.uri import requestable

    if host in FAR:
        url = f"http://{host}/far"
    else:
        url = requestable(inside.url(f"link-{HOSTS.index(host)}", host))
    is_name = host == "inside.example"
    reason = Reason.DNS_BLOCKED if is_name else Reason.GUARD_BLOCKED
    assert shown.result.faults(url) == [reason]
    assert "GUARD_ALLOW_NETS" in shown.result.details(url)[0]


@pytest.mark.parametrize("path", ["301", "302", "303", "307"])
def test_redirect_is_not_followed(shown: Shown, inside: Inside, path: str) -> None:
    """If a public page redirects inside, then its target has the fault."""
    hosts = {"302": "localhost", "303": "[::1]", "307": "127.0.0.1"}
    target = inside.url(path, hosts.get(path, INSIDE))
    assert shown.result.statuses(shown.public.url(f"/{path}")) == ["REDIRECTED"]
    assert shown.result.faults(target) == [Reason.GUARD_BLOCKED]


def test_ftp_gets_no_request(shown: Shown, inside: Inside) -> None:
    """If a link or a redirect leads to FTP inside, then it is refused."""
    assert shown.result.faults(inside.ftp.url("a.nt")) == [Reason.GUARD_BLOCKED]


@pytest.mark.parametrize(
    "path", ["dump.nt", "dump-2.nt", "sparql", "dcat.nt", "from-robots"]
)
def test_data_of_datasets_are_not_fetched(
    shown: Shown, inside: Inside, path: str
) -> None:
    """If a description names data inside, then they have the fault."""
    assert Reason.GUARD_BLOCKED in shown.result.faults(inside.url(path))


@pytest.mark.parametrize("path", ["/context.jsonld", "/moved.jsonld"])
def test_contexts_are_not_fetched(shown: Shown, path: str) -> None:
    """If a document names a context inside, then that is its fault."""
    url = shown.public.url(path)
    assert shown.result.faults(url) == [Reason.REMOTE_CONTEXT]
    assert "guard_blocked" in shown.result.details(url)[0]


def test_refusals_are_counted(shown: Shown) -> None:
    """If connections are refused, then the statistics say how many, and why."""
    counted = shown.result.statistics
    assert counted["fault/guard_blocked"] > 30
    assert counted["guard/loopback"] > 10
    assert counted["guard/private"] >= 3
    assert counted["guard/link_local"] >= 1


@pytest.mark.parametrize("obeys", [True, False])
def test_redirect_within_a_key_is_judged(
    commands: Commands, loopback: Loopback, inside: Inside, obeys: bool
) -> None:
    """If hosts of one domain are visited together, then each is judged by itself."""
    public = loopback(host="127.0.80.21")
    intranet = f"http://intranet.a.example:{inside.port}/secret"
    public.pages["/a"] = loopback.redirect(intranet)
    public.pages["/b"] = loopback.response(QUAD)
    host = f"http://www.a.example:{public.port}"
    names = {"www.a.example": [[public.host]], "intranet.a.example": [[INSIDE]]}
    folder = commands.folder()
    with scripted_names(folder, names):
        result = commands.crawl(
            [f"{host}/a", f"{host}/b"],
            folder=folder,
            POLITENESS_KEY="domain",
            ROBOTSTXT_OBEY=obeys,
            GUARD_ALLOW_NETS=LAB,
        )
    assert result.code == 0, result.stderr
    assert result.faults(f"{host}/a") == [Reason.DNS_BLOCKED]
    assert result.graphs == {f"{host}/b"}
    assert inside.asked == []


def test_refused_host_is_not_waited_for(
    commands: Commands, loopback: Loopback, inside: Inside
) -> None:
    """If a host is refused, then its first page and all others are, without delay."""
    links = [inside.url(f"many-{n}") for n in range(15)]
    body = "".join(f"<> <urn:x:p> <{link}> .\n" for link in links)
    public = loopback({"/": loopback.response(body.encode())}, host="127.0.80.22")
    result = commands.crawl(
        [public.url("/")],
        GUARD_ALLOW_NETS=LAB,
        ROBOTSTXT_OBEY=False,
        DOWNLOAD_DELAY=60,
        VISIT_WINDOW_SECS=3600,
    )
    assert result.code == 0
    assert all(result.faults(link) == [Reason.GUARD_BLOCKED] for link in links)
    assert result.statistics["guard/loopback"] == 2


def test_name_that_turns_inside_is_refused(
    commands: Commands, loopback: Loopback
) -> None:
    """If a name has another address the next time, then that is judged, too.

    Each port of a name has a separate lookup.
    """
    public = loopback(host="127.0.80.23")
    inside = loopback({"*": loopback.response(QUAD)}, host=INSIDE)
    context = f"http://turned.example:{inside.port}/c"
    document = {"@context": context, "@id": "urn:x:s"}
    public.pages["/a"] = loopback.response(json.dumps(document).encode(), LD)
    url = f"http://turned.example:{public.port}/a"
    folder = commands.folder()
    with scripted_names(folder, {"turned.example": [[public.host], [INSIDE]]}):
        result = commands.crawl([url], folder=folder, GUARD_ALLOW_NETS=LAB)
    assert public.targets == ["/robots.txt", "/a"]
    assert result.faults(url) == [Reason.REMOTE_CONTEXT]
    assert "turned.example (127.0.81.1) is a loopback" in result.details(url)[0]
    assert inside.n_connections == 0


@pytest.mark.parametrize("with_scrapy", [False, True])
@pytest.mark.parametrize("obeys", [False, True])
def test_name_that_was_lied_about_is_looked_up_again(
    commands: Commands, loopback: Loopback, obeys: bool, with_scrapy: bool
) -> None:
    """If a name service gives a forbidden address once, then nothing is lost."""
    paths = [f"/{n}" for n in range(5)]
    lied = loopback(dict.fromkeys(paths, loopback.response(QUAD)), host="127.0.80.26")
    urls = [f"http://lied.example:{lied.port}{path}" for path in paths]
    body = "".join(f"<> <urn:x:p> <{url}> .\n" for url in urls)
    public = loopback({"/": loopback.response(body.encode())}, host="127.0.80.27")
    names = {"lied.example": [["169.254.169.254"], [lied.host]]}
    folder = commands.folder()
    with scripted_names(folder, names):
        result = commands.crawl(
            [public.url("/")],
            folder=folder,
            GUARD_ALLOW_NETS=LAB,
            ROBOTSTXT_OBEY=obeys,
            FETCH_WITH_SCRAPY=with_scrapy,
        )
    assert result.statistics["guard/link_local"] == 1
    assert result.graphs == {public.url("/"), *urls}


SPIDER = """
import scrapy

class Plain(scrapy.Spider):
    name = "plain"

    async def start(self):
        yield scrapy.Request(self.url)

    def parse(self, response):
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link)
        yield {"url": response.url}
"""


@pytest.mark.parametrize("resolver", ["CachingThreaded", "CachingHostname"])
def test_public_address_behind_a_private_one_is_found(
    commands: Commands, loopback: Loopback, inside: Inside, resolver: str
) -> None:
    """If Scrapy fetches, then by the public address of a name, wherever that stands."""
    public = loopback({"/a": loopback.response(QUAD)}, host="127.0.80.25")
    names = {"mixed.example": [["127.0.0.1", "::1", INSIDE, public.host]]}
    url, folder = f"http://mixed.example:{public.port}/a", commands.folder()
    with scripted_names(folder, names):
        result = commands.crawl(
            [url],
            folder=folder,
            GUARD_ALLOW_NETS=LAB,
            FETCH_WITH_SCRAPY=True,
            TWISTED_DNS_RESOLVER=f"scrapy.resolver.{resolver}Resolver",
        )
    assert result.graphs == {url}
    assert inside.asked == []


def test_ordinary_spiders_are_guarded(
    commands: Commands, loopback: Loopback, inside: Inside, tmp_path: Path
) -> None:
    """If a spider is none of ours, then its links and redirects are judged as well."""
    links = [inside.url("x", host) for host in ("127.1", "0x7f.1", "localhost")]
    links += ["/moved", "/b"]
    body = "".join(f'<a href="{link}">a</a>' for link in links).encode()
    public = loopback(
        {
            "/": loopback.response(body, "text/html"),
            "/b": loopback.response(b"b", "text/html"),
            "/moved": loopback.redirect(inside.url("moved")),
        },
        host="127.0.80.24",
    )
    (tmp_path / "plain.py").write_text(SPIDER)
    script = str(tmp_path / "plain.py")
    result = commands.start(
        *("runspider", script, f"-aurl={public.url('/')}"), GUARD_ALLOW_NETS=LAB
    ).wait()
    assert result.statistics["item_scraped_count"] == 2
    assert result.statistics["guard/loopback"] >= 4
    assert "Traceback" not in result.stderr
    assert inside.asked == []
