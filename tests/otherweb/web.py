"""The full web: sites that one start leads to, and all their published data."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Self

import pyoxigraph as ox

from tests.otherweb.ckan_portal import CKAN_ROBOTS, CkanPortal, Portal
from tests.otherweb.linked_data_site import HashSite, NegotiatingSite, SeeOtherSite
from tests.otherweb.site import Answer, Request, Site
from tests.otherweb.sitemap_site import SemanticSite, SitemapSite
from tests.otherweb.sparql_service import (
    TABLE_CSV,
    TABLE_JSON,
    TABLE_XML,
    Habits,
    SparqlService,
)
from tests.otherweb.statements import HEAD, ODD_LITERALS, population, to_quad

if TYPE_CHECKING:
    from collections.abc import Iterator


class _NotePage(Site):
    """A host with one document, which links to services elsewhere."""

    def __init__(self, host: str, *services: SparqlService) -> None:
        super().__init__(host)
        self.note = self.url("/void.ttl")
        self._text = HEAD + "".join(
            f"<{self.note}#d{i}> a void:Dataset ; dct:title 'behind {service.root}' ;"
            f" void:sparqlEndpoint <{service.endpoint}> .\n"  # VoID 3.4
            for i, service in enumerate(services)
        )

    def published(self) -> set[ox.Triple]:
        """Return the description."""
        found = ox.parse(self._text, format=ox.RdfFormat.TURTLE)
        return {quad.triple for quad in found}

    def answer(self, request: Request) -> Answer:
        """Serve the note."""
        del request
        return Answer(200, "text/turtle", self._text.encode())


class OtherWeb:
    """All sites, each at a separate address; a context manager that serves them.

    Attributes:
        seed: where a crawl begins.
    """

    def __init__(self, size: int = 1) -> None:
        hosts = (f"127.77.0.{i}" for i in range(1, 100))
        self.hub = SeeOtherSite(next(hosts), n=30 * size)
        self.hashes = HashSite(next(hosts))
        self.negotiating = NegotiatingSite(next(hosts), n=24 * size)
        self.services = _make_services(hosts, size)
        self.note = _NotePage(
            next(hosts), self.services["terse"], self.services["posted"]
        )
        self.portals = _make_portals(hosts, size)
        self.mapped = SitemapSite(next(hosts), n=60 * size)
        self.semantic = SemanticSite(next(hosts), n=120 * size)
        self.hub.lead_to(
            [
                self.hashes.first,
                self.negotiating.first,
                self.services["named"].endpoint,
                self.services["unnamed"].endpoint,
                self.note.note,
                *(portal.front for portal in self.portals.values()),
                self.mapped.url("/about.ttl"),
                self.semantic.url("/about"),
            ]
        )
        self.seed = self.hub.start_url

    @property
    def sites(self) -> list[Site]:
        """All hosts."""
        return [
            self.hub,
            self.hashes,
            self.negotiating,
            *self.services.values(),
            self.note,
            *self.portals.values(),
            self.mapped,
            self.semantic,
        ]

    def truth(self) -> dict[str, set[ox.Triple]]:
        """Return the published statements, by the kind of their node."""
        services = {f"sparql {n}": s.published() for n, s in self.services.items()}
        described = {
            f"description {n}": set(s.description()) for n, s in self.services.items()
        }
        return {
            "303": self.hub.published(),
            "hash": self.hashes.published(),
            "negotiation": self.negotiating.published(),
            "void": self.note.published(),
            **services,
            **{name: found for name, found in described.items() if found},
            **{f"ckan {n}": p.published() for n, p in self.portals.items()},
            "sitemap": self.mapped.published(),
            "semantic sitemap": self.semantic.published(),
            "rdfa": self.mapped.published_as_rdfa(),
        }

    def asked_twice(self) -> dict[str, int]:
        """Return the requests that were sent more than once."""
        asked = Counter(
            f"{r.method} {site.url(r.target)} {r.body.decode()}".strip()
            for site in self.sites
            for r in site.requests
        )
        return {question: n for question, n in asked.items() if n > 1}

    def trespasses(self) -> list[str]:
        """Return the requests forbidden by robots.txt."""
        return [
            site.url(request.target)
            for site in self.sites
            for request in site.requests
            if _is_forbidden(site.robots, request.target)
        ]

    def __enter__(self) -> Self:
        """Serve."""
        for site in self.sites:
            site.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving."""
        for site in self.sites:
            with suppress(OSError):
                site.stop()


def _make_services(hosts: Iterator[str], size: int) -> dict[str, SparqlService]:
    def data(host: str, n: int, graphs: int, *, default: bool) -> Iterator[ox.Quad]:
        for i in range(graphs):
            graph = ox.NamedNode(f"http://{host}/graph/{i}")
            name = None if default and i == 0 else graph
            for triple in population(f"http://{host}/thing/{i}/", n // graphs, seed=i):
                yield to_quad(triple, name)

    odd = ox.NamedNode("http://odd.example/says")
    habits = {
        "named": (Habits(bare="named", most_rows=1000, union=True), 400, 3, False),
        "unnamed": (
            Habits(
                path="/ds/query",
                tables=(TABLE_XML,),
                graphs=("application/rdf+xml",),
                most_rows=1500,
                beyond="timeout",
                methods=("GET",),
            ),
            300,
            3,
            True,
        ),
        "terse": (
            Habits(
                path="/sparql/",
                bare="error",
                tables=(TABLE_JSON,),
                graphs=("application/n-triples",),
                most_rows=500,
                tells_cut=False,
            ),
            200,
            1,
            True,
        ),
        "posted": (
            Habits(
                path="/api/query",
                bare="error",
                tables=(TABLE_CSV, TABLE_XML),
                graphs=("application/ld+json",),
                relabels=True,
                methods=("POST",),
            ),
            80,
            2,
            False,
        ),
    }
    services = {}
    for name, (habit, n, graphs, default) in habits.items():
        host = next(hosts)
        service = SparqlService(
            host, data(host, n * size, graphs, default=default), habit
        )
        subject = ox.NamedNode(f"http://{host}/odd")
        service.store.extend(
            ox.Quad(subject, odd, literal, ox.NamedNode(f"http://{host}/graph/0"))
            for literal in ODD_LITERALS
            if not default
        )
        services[name] = service
    return services


def _make_portals(hosts: Iterator[str], size: int) -> dict[str, CkanPortal]:
    kinds = {
        "dcat": Portal(version="2.9.11", n_packages=40, dcat=True, robots=CKAN_ROBOTS),
        "plain": Portal(version="2.11.0", n_packages=50 * size),
        "listed": Portal(version="2.9.0", n_packages=15, searches=False),
        "folder": Portal(version="2.10.4", n_packages=12, folder="/opendata"),
    }
    return {name: CkanPortal(next(hosts), kind) for name, kind in kinds.items()}


def _is_forbidden(robots: str, target: str) -> bool:
    """Judge by the group for all agents (RFC 9309 2.2.2): the longest rule decides."""
    group = robots.partition("User-agent: *\n")[2].partition("\n\n")[0]
    best = (-1, True)
    for kind, pattern in re.findall(r"(?m)^(Allow|Disallow): *(\S+)$", group):
        expression = ".*".join(map(re.escape, pattern.split("*")))
        if re.match(expression, target):
            best = max(best, (len(pattern), kind == "Allow"))
    return not best[1]
