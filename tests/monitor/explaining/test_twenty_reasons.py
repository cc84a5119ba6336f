"""One crawl with every possible fate of a URI, and its explanations."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from rdfcrawl.core.errors import Decision
from rdfcrawl.core.records import Document
from rdfcrawl.frontier.redis.embedded import ensure_server
from rdfcrawl.monitor.explaining.explanation import explain
from rdfcrawl.monitor.explaining.values import Verdict
from tests.crawl.operation.test_decisions import decisions_of
from tests.support.command_forks import scrapy
from tests.support.crawl_names import scripted_names
from tests.support.sitemap_sites import urlset

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rdfcrawl.monitor.explaining.values import UriExplanation
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

N_COPIES, N_OF_BUDGET, N_HOSTS = 4, 30, 11
OUTSIDE = "http://outside.example/x"
TRAP = "www.site/" + "a/b/" * 5
SHELL = "http://www.site.example:22/x"
BAD = "http://bad.site.example:99999/"
NET = "127.0.28"
HOSTS = (
    *(
        "www.site",
        "budget.site",
        "robots.site",
        "left.site",
        "slow.site",
        "copies.site",
    ),
    *("guarded.site", "nowhere.site", "www.foreign", "www.other", "www.crowd"),
    *(f"h{n}.crowd" for n in range(N_HOSTS)),
)
ALLOW = "^[^?]*$|[?]wanted|[?]a="
DENY = "/private"
PREFIXES = "@prefix void: <http://rdfs.org/ns/void#> . @prefix x: <urn:x:> .\n"
CATALOGUE = """@prefix dcat: <http://www.w3.org/ns/dcat#> .
<#d> a dcat:Dataset ; dcat:distribution
  [ dcat:downloadURL </table.csv> ; dcat:mediaType "text/csv" ] .
"""


class ChosenLinks:
    """A policy of a user, which has no wish for some."""

    def choose(self, _document: Document, urls: list[str]) -> list[str]:
        """Return all but those."""
        return [url for url in urls if "unchosen" not in url]


def uri_of(servers: dict[str, RawServer], place: str) -> str:
    """Return the URI of `host/path`, or a URI unchanged."""
    if place.startswith("http:"):
        return place
    host, _, path = place.partition("/")
    return servers[host].url(f"/{path}")


@dataclass(frozen=True)
class FinishedCrawl:
    """A finished crawl.

    Attributes:
        servers: by host.
        folder: `CRAWL_DIR/<CRAWL_ID>`.
    """

    servers: dict[str, RawServer]
    folder: Path

    def uri(self, place: str) -> str:
        """Return the URI of `host/path`, or a URI unchanged."""
        return uri_of(self.servers, place)

    def left_out(self, host: str, paths: list[str]) -> str:
        """Return a URI of a host that was not requested."""
        asked = self.servers[host].targets
        return next(self.servers[host].url(x) for x in paths if x not in asked)

    def explain(self, uri: str) -> UriExplanation:
        """Return the explanation of a URI."""
        settings = Settings(
            {
                "CRAWL_DIR": str(self.folder.parent),
                "CRAWL_ID": self.folder.name,
                "GUARD_ALLOW_NETS": f"{NET}.0/24",
                "GUARD_PORTS": "1-65535",
            }
        )
        return asyncio.run(explain(settings, uri))


class PreparedWeb:
    """Sites that have something for each fate."""

    def __init__(self, loopback: Loopback) -> None:
        self._loopback = loopback
        self.servers = {
            host: loopback(host=f"{NET}.{n}") for n, host in enumerate(HOSTS, start=1)
        }
        for host, server in self.servers.items():
            server.host = f"{host}.example"
        self.put_pages()
        self.put_sources()

    def at(self, place: str) -> str:
        """Return the URI of `host/path`."""
        return uri_of(self.servers, place)

    def put(self, place: str, *links: str, more: str = "") -> str:
        """Serve a document with links; return its URI."""
        objects = ", ".join(f"<{self.at(x)}>" for x in links) or '"nothing"'
        text = f"{PREFIXES}<> x:p {objects} .\n{more}"
        return self.serve(place, self._loopback.response(text.encode()))

    def serve(self, place: str, answer: bytes) -> str:
        """Serve an answer; return its URI."""
        host, _, path = place.partition("/")
        self.servers[host].pages[f"/{path}"] = answer
        return self.at(place)

    def text(self, place: str, text: str, media_type: str = "text/plain") -> None:
        """Serve a text."""
        self.serve(place, self._loopback.response(text.encode(), media_type))

    def put_pages(self) -> None:
        """Serve the targets of ordinary links."""
        response = self._loopback.response
        links = [
            *("www.site/fine", "www.site/gone", "www.site/lost", "www.site/moved"),
            *("www.site/broken", "www.site/loop", "www.site/kept", "www.site/away"),
            *("www.site/nofollow", "www.site/void", "www.site/catalogue"),
            *("www.site/private/x", "www.site/x?unwanted", "www.site/unchosen"),
            *(TRAP, "robots.site/secret", "left.site/x", "www.site/photo.jpg"),
            *("guarded.site/x", "nowhere.site/x", "slow.site/x", "www.other/x"),
            *("budget.site/", "copies.site/0", OUTSIDE, SHELL, BAD),
        ]
        unlooked = f"<{self.at('www.site/about')}> x:p 1 ."  # `follow` has no subjects
        self.put("www.site/", *links, more=unlooked)
        self.put("www.site/fine", "www.site/f%69ne", "www.site/deep1")
        self.put("www.site/deep1", "www.site/deep2")
        self.put("www.site/deep2", "www.site/deep3")
        self.serve("www.site/gone", response(status="410 Gone"))
        self.serve("www.site/moved", self._loopback.redirect(self.at("www.site/new")))
        self.put("www.site/new")
        self.serve("www.site/away", self._loopback.redirect(OUTSIDE + "/redirected"))
        self.serve("www.site/loop", self._loopback.redirect(self.at("www.site/loop")))
        self.text("www.site/broken", "<> <urn:x:p> .", "text/turtle")
        self.serve("www.site/kept", response(b"<> <urn:x:p> 1 .", X_Robots_Tag="noai"))
        page = f"<> <urn:x:p> <{self.at('www.site/not-vouched')}> .".encode()
        self.serve("www.site/nofollow", response(page, X_Robots_Tag="nofollow"))
        self.text("robots.site/robots.txt", "User-agent: *\nDisallow: /secret\n")
        self.text("slow.site/robots.txt", "User-agent: *\nCrawl-delay: 90000\n")
        self.put("budget.site/", *(f"budget.site/{n}" for n in range(N_OF_BUDGET + 9)))
        for n in range(N_OF_BUDGET + 9):
            self.put(f"budget.site/{n}")
        for n in range(N_COPIES):
            more = f"copies.site/{n + 1}", f"copies.site/of{n}"
            anchors = "".join(f"<a href='{self.at(x)}'></a>" for x in more)
            page = f"<!doctype html><p>The same on each page.{anchors}".encode()
            self.serve(f"copies.site/{n}", response(page, "text/html"))
        crowd = [f"h{n}.crowd/x" for n in range(N_HOSTS)]
        for place in crowd:
            self.put(place)
        self.put("www.crowd/", *crowd)
        self.put("www.foreign/mine")

    def put_sources(self) -> None:
        """Serve datasets and a sitemap."""
        about = "<#d> a void:Dataset ; void:dataDump </dump.ttl> ;"
        about += f' void:uriSpace "{self.at("www.site/data/")}" .'
        self.put("www.site/void", "www.site/data/one", more=about)
        self.put("www.site/dump.ttl")
        self.put("www.site/data/one")
        self.text("www.site/catalogue", CATALOGUE, "text/turtle")
        listed = [
            *("www.site/listed", "www.site/private/listed", "www.foreign/mine"),
            *("http://elsewhere.example/listed", "www.foreign/private/listed"),
        ]
        self.put("www.site/listed")
        body = urlset([self.at(x) for x in listed])
        named = f"Sitemap: {self.at('www.site/sitemap.xml')}\n"
        self.text("www.site/robots.txt", named)
        self.serve("www.site/sitemap.xml", self._loopback.response(body, "text/xml"))


@pytest.fixture(scope="module")
def fates(
    commands: Commands, loopback: Loopback, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FinishedCrawl]:
    """Yield the crawl, with its frontier."""
    folder = tmp_path_factory.mktemp("fates")
    web = PreparedWeb(loopback)
    names = {f"{host}.example": [[f"{NET}.{n}"]] for n, host in enumerate(HOSTS, 1)}
    unknown = {"nowhere.site.example": ["EAI_NONAME"]}
    refused = {"guarded.site.example": [["10.1.2.3"]]}
    files = {"allow": ALLOW, "deny": DENY, "leave": "left.site.example"}
    for name, text in files.items():
        (folder / name).write_text(f"{text}\n")
    seeds = [web.at("www.site/"), web.at("www.crowd/"), web.at("www.foreign/")]
    other = web.at("www.other/")
    with ExitStack() as stack:
        stack.enter_context(scripted_names(folder, {**names, **unknown, **refused}))
        result = commands.crawl(
            [*seeds, other],
            arguments={
                "scope": "domain",
                "domains": "site.example,foreign.example,crowd.example",
                "allow": folder / "allow",
                "deny": folder / "deny",
                "depth": 3,
                "follow": "object,dataset,hyperlink",
                "max_per_host": N_OF_BUDGET,
                "max_hosts_per_domain": 8,
                "harvest": "sitemap",
            },
            CRAWL_ID="fates",
            LEAVE_HOSTS=folder / "leave",
            LINK_POLICY_CLASS=f"{__name__}.ChosenLinks",
            TRAP_COPIES_PER_HOST=1,
            GUARD_ALLOW_NETS=f"{NET}.0/24",
            GUARD_PORTS="1024-65535",
            XROBOTS_POLICY="respect",
        )
        assert result.code == 0, result.stderr
        stack.enter_context(closing(ensure_server(result.folder / "frontier")))
        yield FinishedCrawl(web.servers, result.folder)


# URI -> verdict, and the one reason that decided
REASONS = {
    # turned away when they were found
    OUTSIDE: ("not queued", "out_of_scope"),
    OUTSIDE + "/redirected": ("not queued", "out_of_scope"),
    "www.other/x": ("not queued", "other_domain"),
    "www.site/x?unwanted": ("not queued", "not_allowed"),
    "www.site/private/x": ("not queued", "denied"),
    "left.site/x": ("not queued", "host_left"),
    "www.site/deep3": ("not queued", "too_deep"),
    TRAP: ("not queued", "url_trap"),
    "www.site/photo.jpg": ("not queued", "ignored_extension"),
    "copies.site/of1": ("not queued", "of_copy"),
    "www.site/not-vouched": ("not queued", "nofollow"),
    "www.site/unchosen": ("not queued", "not_chosen"),
    "www.site/data/one": ("not queued", "covered"),
    "www.site/table.csv": ("not queued", "no_rdf"),
    BAD: ("no URI", "bad_uri"),
    # turned away by a sitemap
    "www.foreign/mine": ("not queued", "cross_site"),
    "http://elsewhere.example/listed": ("not queued", "out_of_scope"),
    "www.foreign/private/listed": ("not queued", "denied"),
    "www.site/private/listed": ("not queued", "denied"),
    # queued, and not requested
    "robots.site/secret": ("refused", "robots_disallowed"),
    SHELL: ("refused", "guard_blocked"),
    "slow.site/x": ("refused", "crawl_delay_too_long"),
    "nowhere.site/x": ("given up", "dns"),
    "guarded.site/x": ("given up", "dns_blocked"),
    # requested
    "www.site/lost": ("fetched", "not_found"),
    "www.site/gone": ("fetched", "gone"),
    "www.site/loop": ("fetched", "redirect_loop"),
    "www.site/away": ("fetched", "not_wanted"),
    "www.site/broken": ("fetched", "bad_term"),
    "www.site/fine": ("fetched", ""),
    "www.site/listed": ("fetched", ""),
    "www.site/f%69ne": ("fetched", ""),
    "www.site/new": ("redirected to", ""),
    # neither
    "www.site/about": ("never seen", ""),
    "www.site/never": ("never seen", ""),
}


def reason_of(found: UriExplanation) -> str:
    """Return the reason that decided about a URI; empty if there is none."""
    if found.verdict in (Verdict.NOT_QUEUED, Verdict.NO_URI):
        return str(
            found.decisions[-1].reason if found.decisions else found.rules[0].refusal
        )
    faults = found.fetches[-1].faults if found.fetches else ()
    return faults[-1].reason if faults else ""


@pytest.mark.parametrize("place", REASONS)
def test_reason_is_right(fates: FinishedCrawl, place: str) -> None:
    """If a URI has met a fate, then the verdict and the reason are those."""
    found = fates.explain(fates.uri(place))
    assert (found.verdict, reason_of(found)) == REASONS[place]


def test_budgets_are_reasons(fates: FinishedCrawl) -> None:
    """If a host or a domain has all that it may, then that is the reason for others."""
    paths = [f"/{n}" for n in range(N_OF_BUDGET + 9)]
    found = fates.explain(fates.left_out("budget.site", paths))
    assert (found.verdict, reason_of(found)) == ("not queued", "host_budget")
    crowd = [f"h{n}.crowd" for n in range(N_HOSTS)]
    left = next(host for host in crowd if not fates.servers[host].targets)
    found = fates.explain(fates.uri(f"{left}/x"))
    assert (found.verdict, reason_of(found)) == ("not queued", "domain_budget")


def test_other_spelling_is_a_reason(fates: FinishedCrawl) -> None:
    """If a URI was seen in another spelling, then the log names the duplicate."""
    found = fates.explain(fates.uri("www.site/f%69ne"))
    assert [each.reason for each in found.decisions] == [Decision.DUPLICATE]
    assert fates.uri("www.site/fine") in found.spellings


def test_way_leads_through_the_source(fates: FinishedCrawl) -> None:
    """If a sitemap lists a URI that is turned away, then the way leads there."""
    found = fates.explain(fates.uri("www.foreign/mine"))
    assert found.way[0].uri == fates.uri("www.site/sitemap.xml")


def test_each_decision_is_prepared(fates: FinishedCrawl) -> None:
    """If all fates are explained, then every kind of decision was among them.

    Without `want`, no page is unlikely; `test_wanted_pages.py` has such crawls.
    """
    logged = {each.reason for each in decisions_of(fates.folder)}
    wanted = {Decision.UNLIKELY, Decision.UNLIKELY_LAST}
    assert logged == {str(each) for each in Decision if each not in wanted}


@pytest.mark.parametrize(
    "place", ["www.foreign/mine", "robots.site/secret", "nowhere.site/x"]
)
def test_command_names_verdict_and_reason(fates: FinishedCrawl, place: str) -> None:
    """If the command is run, then the result is the same."""
    folder = fates.folder
    done = scrapy(
        *("explain", "--json", fates.uri(place), f"-sCRAWL_DIR={folder.parent}"),
        *("-sCRAWL_ID=fates", f"-sGUARD_ALLOW_NETS={NET}.0/24"),
    )
    found = json.loads(done.stdout)
    assert found["verdict"] == REASONS[place][0]
    assert REASONS[place][1] in done.stdout
