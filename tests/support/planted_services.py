"""Portals, endpoints, repositories and slices with planted differences.

See `planted_sites`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

import pyoxigraph as ox

from rdfcrawl.dataweb.nodes.endpoint import EndpointOptions
from rdfcrawl.uri import host_of
from tests.support.ckan_sites import CkanSite
from tests.support.oai_repositories import (
    OaiRepository,
    RepositoryItem,
    ServedRepository,
)
from tests.support.planted_sites import (
    DIFFERENCES,
    SAYS,
    UNLISTED,
    Found,
    PlantedSite,
    n_triples,
    statements,
)
from tests.support.sitemap_sites import Site, dump_at, urlset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdfcrawl.dataweb.local import LocalWeb
    from tests.support.crawl_webs import Loopback


class PlantedSlices(PlantedSite):
    """Two dumps that are cut into descriptions; of one, only the order changes."""

    kind = "dataset"
    _dumps: ClassVar = {
        "/changed.nt": ("same", "statement", "lost", "dropped", "added"),
        "/sorted.nt": ("order",),
    }

    def lists(self) -> dict[str, tuple[str, bytes]]:
        """See `PlantedSite`."""
        sets = "".join(
            f"<sc:dataset><sc:datasetURI>{self.at(path)}/set</sc:datasetURI>"
            f"<sc:linkedDataPrefix>{self.at('/d/')}</sc:linkedDataPrefix>"
            f"{dump_at(self.at(path))}"
            "<sc:sliceFormat>subject</sc:sliceFormat></sc:dataset>"
            for path in self._dumps
        )
        sitemap = ("application/xml", urlset([], sets))
        return {**self.robots(), "/sitemap.xml": sitemap} | {
            path: ("application/n-triples", "".join(self._lines(names)).encode())
            for path, names in self._dumps.items()
        }

    def _lines(self, names: Iterable[str]) -> list[str]:
        lines = [
            re.sub("#[0-9]", "", line, count=1)
            for name in names
            if name != UNLISTED[self.is_later]
            for line in statements(self.url(name), name, is_later=self.is_later)
        ]
        return lines[::-1] if self.is_later else lines

    def expected(self) -> Found:
        """See `PlantedSite`."""
        names = self._dumps["/changed.nt"][1:]
        return {(self.url(name), DIFFERENCES[name]) for name in names}


class PlantedPortal(CkanSite):
    """A portal whose datasets have a file each."""

    kind: ClassVar[str] = "portal"

    def __init__(self, loopback: Loopback, host: str) -> None:
        super().__init__(loopback, host)
        self.site, self.files = (
            host,
            _PortalFiles(loopback, host.removesuffix("1") + "2"),
        )
        for name in self.files.names:
            if name != "added":
                self.dataset(name, {"url": self.files.url(name)})
        self.dataset("title", {"url": self.files.url("same")})

    def seeds(self) -> list[tuple[str, str]]:
        """See `PlantedSite`."""
        return [(self.at("/"), "ckan")]

    def change(self) -> None:
        """See `PlantedSite`."""
        self.files.change()
        del self.packages["dropped"]
        self.dataset("added", {"url": self.files.url("added")})
        self.dataset("title", {"url": self.files.url("same")}, title="another")

    @property
    def n_equal(self) -> int:
        """See `PlantedSite`; all datasets but three."""
        return len(self.files.names) - 2 + self.files.n_equal

    def expected(self) -> Found:
        """See `PlantedSite`."""
        pages = {"dropped": "surplus", "added": "missing", "title": "stale"}
        found = {(self.at(f"/dataset/{x}"), verdict) for x, verdict in pages.items()}
        return found | self.files.expected()


class _PortalFiles(PlantedSite):
    """The files of a portal, on another host."""

    media_type = "application/n-triples"

    def lists(self) -> dict[str, tuple[str, bytes]]:
        """See `PlantedSite`."""
        return {}


class PlantedEndpoint:
    """An endpoint with a graph for each difference that a graph can have."""

    kind: ClassVar[str] = "endpoint"
    names: ClassVar = ("same", "statement", "lost", "labels", "dropped")
    n_equal = 2

    def __init__(self, web: LocalWeb) -> None:
        options = EndpointOptions(n_triples=0, n_named=0, has_default=False)
        self._node = web.start(options)
        self.site = self._node.endpoint_url
        self._fill(self.names)

    def _fill(self, names: Iterable[str], *, is_later: bool = False) -> None:
        for name in names:
            graph = ox.NamedNode(self._graph(name))
            content = n_triples(graph.value, name, is_later=is_later)
            for quad in ox.parse(
                content, ox.RdfFormat.N_TRIPLES, rename_blank_nodes=True
            ):
                self._node.store.add(
                    ox.Quad(quad.subject, quad.predicate, quad.object, graph)
                )

    def _graph(self, name: str) -> str:
        return f"{self._node.origin}/graph/{name}"

    def seeds(self) -> list[tuple[str, str]]:
        """See `PlantedSite`."""
        return [(self._node.endpoint_url, "sparql")]

    def change(self) -> None:
        """See `PlantedSite`."""
        self._node.store.clear()
        kept = [name for name in self.names if name != "dropped"]
        self._fill([*kept, "added"], is_later=True)

    def expected(self) -> Found:
        """See `PlantedSite`."""
        found = {(self._graph(x), DIFFERENCES[x]) for x in (*self.names, "added")}
        return {each for each in found if each[1] != "equal"}


class PlantedEmptyEndpoint(PlantedEndpoint):
    """An endpoint that is being loaded again, and has nothing meanwhile."""

    n_equal = 0

    def change(self) -> None:
        """See `PlantedSite`."""
        self._node.store.clear()

    def expected(self) -> Found:
        """See `PlantedSite`."""
        return {(self._graph(name), "unknown") for name in self.names}


class PlantedRepository(ServedRepository):
    """A repository of OAI-PMH."""

    kind: ClassVar[str] = "repository"
    n_equal = 1

    def __init__(self, host: str) -> None:
        self._items = OaiRepository()
        super().__init__(self._items, host)
        self.site = host
        for n, name in enumerate(("same", "statement", "gone", "dropped"), 1):
            self._put(name, n)

    def _put(self, name: str, month: int, title: str = "") -> None:
        stamp = f"2025-0{month}-01T00:00:00Z"
        item = RepositoryItem(name, stamp, title or name, is_deleted=title == "gone")
        self._items.put(item)

    def seeds(self) -> list[tuple[str, str]]:
        """See `PlantedSite`."""
        return [(self._items.base, "oaipmh")]

    def change(self) -> None:
        """See `PlantedSite`."""
        self._put("statement", 7, "another")
        self._put("gone", 8, "gone")
        self._put("added", 9)
        del self._items.items["dropped"]

    def expected(self) -> Found:
        """See `PlantedSite`."""
        names = ("statement", "gone", "dropped", "added")
        return {(self._items.record_of(x), DIFFERENCES[x]) for x in names}


class ManyHosts:
    """A site with its sources on several hosts, and a host that it links to."""

    _hosts: ClassVar = {
        "apex": "site.example",
        "www": "www.site.example",
        "maps": "maps.example",
        "new": "new.example",
        "files": "files.example",
        "other": "other.example",
    }
    _data: ClassVar = "data.site.example"

    def __init__(self, loopback: Loopback, web: LocalWeb) -> None:
        self._loopback = loopback
        self._sites = {
            name: Site(loopback, f"127.20.75.{n}")
            for n, name in enumerate(self._hosts, 1)
        }
        self._node = web.start(
            EndpointOptions(n_triples=0, n_named=0, has_default=False, describes=False)
        )
        self._endpoint = self._node.endpoint_url.replace(self._address(), self._data)
        self._graph = self._endpoint.replace("/sparql", "/graph")
        self._fill("first")
        self._serve_lists()

    def _address(self) -> str:
        return host_of(self._node.origin)

    def names(self) -> dict[str, list[list[str]]]:
        """Return the addresses of the hosts, for `scripted_names`."""
        found = {
            host: [[host_of(self._sites[name].at("/"))]]
            for name, host in self._hosts.items()
        }
        return found | {self._data: [[self._address()]]}

    def url(self, name: str, path: str) -> str:
        """Return a URL on a host."""
        own = self._sites[name].at(path)
        return own.replace(host_of(own), self._hosts[name], 1)

    def _serve_lists(self) -> None:
        void = "http://rdfs.org/ns/void#"
        sites, url = self._sites, self.url
        sites["apex"].server.pages["/"] = self._loopback.redirect(url("www", "/"))
        home = f"<> <urn:x:see> <{url('www', '/old')}>, <{url('other', '/x')}> ."
        sites["www"].put("/", home.encode())
        sites["www"].robots(url("maps", "/map.xml"))
        pages = [url("www", x) for x in ("/p/same", "/p/stale", "/p/gone", "/p/moved")]
        sites["maps"].put("/map.xml", urlset(pages), "application/xml")
        moved = self._loopback.redirect(url("new", "/moved"))
        sites["www"].server.pages["/p/moved"] = moved
        sets = (
            f"<{url('www', '/one')}> a <{void}Dataset> ;"
            f" <{void}dataDump> <{url('files', '/one.nt')}> .\n"
            f"<{url('www', '/two')}> a <{void}Dataset> ;"
            f" <{void}sparqlEndpoint> <{self._endpoint}> .\n"
        )
        sites["www"].put("/.well-known/void", sets.encode())
        for name, path in self._pages():
            self._page(name, path, "first")

    @staticmethod
    def _pages() -> list[tuple[str, str]]:
        found = [("www", f"/p/{x}") for x in ("same", "stale", "gone")]
        return [*found, *(("www", "/old"), ("other", "/x"), ("new", "/moved"))]

    def _page(self, name: str, path: str, text: str) -> None:
        line = f'<{self.url(name, path)}> <{SAYS}> "{text}" .\n'
        self._sites[name].put(path, line.encode())
        dump = f'<{self.url("www", "/one")}> <{SAYS}> "{text}" .\n'
        self._sites["files"].put("/one.nt", dump.encode(), "application/n-triples")

    def _fill(self, text: str) -> None:
        graph, says = ox.NamedNode(self._graph), ox.NamedNode(SAYS)
        self._node.store.clear()
        self._node.store.add(ox.Quad(graph, says, ox.Literal(text), graph))

    def change(self) -> None:
        """Change a document of each host."""
        for name, path in self._pages():
            if path != "/p/same":
                self._page(name, path, "second")
        gone = self._loopback.response(b"no", "text/plain", status="404 No")
        self._sites["www"].server.pages["/p/gone"] = gone
        self._fill("second")

    def expected(self) -> Found:
        """Return the documents of the site that are not equal, and their verdicts."""
        stale = {("www", "/p/stale"), ("www", "/p/moved"), ("www", "/old")}
        stale.add(("files", "/one.nt"))
        found = {(self.url(*each), "stale") for each in stale}
        gone = (self.url("www", "/p/gone"), "surplus")
        return found | {gone, (self._graph, "stale")}
