"""Sites of every kind of source, with the same differences planted in each.

The expected verdicts follow from the protocols and from `docs/reference/commands.md`.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import tarfile
import zipfile
from typing import TYPE_CHECKING, ClassVar, Final

import pyoxigraph as ox

from rdfcrawl.dataweb.nodes.endpoint import EndpointOptions
from rdfcrawl.uri import host_of
from tests.support.ckan_sites import CkanSite
from tests.support.oai_repositories import (
    OaiRepository,
    RepositoryItem,
    ServedRepository,
)
from tests.support.sitemap_sites import Site, dump_at, index, urlset

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rdfcrawl.dataweb.local import LocalWeb
    from tests.conftest import RawRequest, Step
    from tests.support.crawl_webs import Loopback

Found = set[tuple[str, str]]

DIFFERENCES: Final[Mapping[str, str]] = {
    "same": "equal",
    "statement": "stale",  # one has another value
    "lost": "stale",  # the site has one statement less
    "more": "stale",  # the site has one statement more
    "prose": "equal",  # only text or comments around the statements are others
    "labels": "equal",  # other labels of blank nodes
    "order": "equal",
    "format": "equal",  # the same statements in another format
    "removed": "surplus",  # 404, and still listed
    "gone": "surplus",  # 410
    "dropped": "surplus",  # no longer listed, and still there
    "added": "missing",
    "redirected": "stale",
    "empty": "unknown",
    "page": "unknown",  # of HTML in place of data, with status 200
    "image": "unknown",  # another media type
    "cut": "unknown",
    "down": "unknown",  # 500
    "closed": "unknown",  # no response
}
"""Names of documents, and the verdict on each after `PlantedSite.change`."""
_LONG: Final = {"long": "stale", "lengthy": "equal"}  # compared on disk
_UNLISTED: Final = {False: "added", True: "dropped"}  # before and after
_PAGE: Final = b"<!DOCTYPE html><html><title>Busy</title><p>Back soon.</html>"
_SAYS: Final = "urn:x:says"


def statements(url: str, name: str, *, is_later: bool) -> list[str]:
    """Return the statements of a document as N-Triples, without blank nodes."""
    more = "x" * 300_000 if name in _LONG else ""
    values = [f"{name} {n}{more}" for n in range(4)]
    if is_later and name in ("statement", "long"):
        values[1] = "other"
    if is_later and name == "lost":
        values.pop()
    if is_later and name == "more":
        values.append("new")
    return [f'<{url}#{n}> <{_SAYS}> "{value}" .\n' for n, value in enumerate(values)]


def n_triples(url: str, name: str, *, is_later: bool) -> bytes:
    """Return the content of a document."""
    some = statements(url, name, is_later=is_later)
    first, second = "az" if is_later and name == "labels" else "ba"
    if name not in _LONG:  # blank nodes are not compared on disk
        some += [
            f"<{url}> <urn:x:part> _:{first} .\n",
            f"_:{first} <urn:x:next> _:{second} .\n",
            f'_:{second} <{_SAYS}> "{name}" .\n',
        ]
    if is_later and name in ("order", "lengthy"):
        some.reverse()
    if is_later and name == "prose":
        some.insert(0, "# written again\n")
    return "".join(some).encode()


def rdf_xml(url: str, name: str) -> bytes:
    """Return the first content of a document as RDF/XML."""
    quads = ox.parse(n_triples(url, name, is_later=False), ox.RdfFormat.N_TRIPLES)
    written = ox.serialize(quads, format=ox.RdfFormat.RDF_XML)
    assert written is not None
    return written


class PlantedSite:
    """A site whose documents, named like the differences, have URLs of their own.

    Attributes:
        is_later: the differences are there.
        n_requests: since the last change.
    """

    kind: ClassVar[str]  # of the source, by `scrapy verify`
    media_type: ClassVar[str] = "text/turtle"
    names: ClassVar[tuple[str, ...]] = tuple(DIFFERENCES)
    others: ClassVar[Mapping[str, str]] = {}  # verdicts of this kind

    def __init__(self, loopback: Loopback, host: str) -> None:
        self._loopback = loopback
        self.is_later = False
        self.n_requests = 0
        self.server = loopback({"*": self._reply}, host=host)
        self.at = self.server.url
        self.origin = self.at("")
        self.site = host

    def seeds(self) -> list[tuple[str, str]]:
        """Return URLs and types, as in a table of seeds."""
        return [(self.at("/"), "sitemap")]

    def url(self, name: str) -> str:
        """Return the URL of a document."""
        return self.at(f"/d/{name}")

    def listed(self) -> list[str]:
        """Return the URLs of the listed documents."""
        return [self.url(x) for x in self.names if x != _UNLISTED[self.is_later]]

    def lists(self) -> dict[str, tuple[str, bytes]]:
        """Return media types and contents that lead to the documents, by target."""
        raise NotImplementedError

    def robots(self, sitemap: str = "/sitemap.xml") -> dict[str, tuple[str, bytes]]:
        """Return robots.txt."""
        return {"/robots.txt": ("text/plain", f"Sitemap: {self.at(sitemap)}".encode())}

    def body(self, name: str) -> bytes:
        """Return the present content of a document."""
        return n_triples(self.url(name), name, is_later=self.is_later)

    def expected(self) -> Found:
        """Return the documents with other verdicts than `equal`, and these."""
        verdicts = {**DIFFERENCES, **self.others}
        found = {(self.url(x), verdicts[x]) for x in self.names}
        return {each for each in found if each[1] != "equal"}

    def change(self) -> None:
        """Plant the differences."""
        self.is_later, self.n_requests = True, 0

    def _reply(self, request: RawRequest) -> bytes | list[Step]:
        self.n_requests += 1
        lists = self.lists()
        if request.target in lists:
            media_type, body = lists[request.target]
            return self._tagged(request, body, media_type)
        name = request.target.rpartition("/")[2].partition(".")[0]
        if self.at(request.target) not in map(self.url, self.names):
            if request.target.startswith("/moved/"):
                return self._loopback.response(self.body(name), self.media_type)
            return self._loopback.response(b"no", "text/plain", status="404 No")
        body, media_type = self.body(name), self.media_type
        if self.is_later and (found := self._failure(name, body)):
            return found
        if self.is_later and name == "format":
            body, media_type = rdf_xml(self.url(name), name), "application/rdf+xml"
        return self._tagged(request, body, media_type)

    def _tagged(self, request: RawRequest, body: bytes, media_type: str) -> bytes:
        tag = f'"{hashlib.sha256(body).hexdigest()[:8]}"'
        if request.headers.get("if-none-match") == tag:
            return b"HTTP/1.1 304 Same\r\n\r\n"
        return self._loopback.response(body, media_type, ETag=tag)

    def _failure(self, name: str, body: bytes) -> bytes | list[Step]:
        response = self._loopback.response(body, self.media_type)
        answers: dict[str, bytes | list[Step]] = {
            "removed": self._loopback.response(b"no", "text/plain", status="404 No"),
            "gone": self._loopback.response(b"no", "text/plain", status="410 Gone"),
            "redirected": self._loopback.redirect(f"/moved/{name}"),
            "empty": self._loopback.response(b"", self.media_type),
            "page": self._loopback.response(_PAGE, "text/html"),
            "image": self._loopback.response(
                b"\x89PNG\r\n\x1a\n" + bytes(8), "image/png"
            ),
            "down": self._loopback.response(b"no", "text/plain", status="500 Down"),
            "closed": [None],
            "cut": [response[: len(response) - len(body) // 2], None],
        }
        return answers.get(name, b"")


class PlantedPages(PlantedSite):
    """Pages of a sitemap."""

    kind = "sitemap"

    def lists(self) -> dict[str, tuple[str, bytes]]:
        """See `PlantedSite`."""
        return self.robots() | {
            "/sitemap.xml": ("application/xml", urlset(self.listed()))
        }


class PlantedIndex(PlantedSite):
    """Pages of two sitemaps of an index."""

    kind = "sitemap"

    def lists(self) -> dict[str, tuple[str, bytes]]:
        """See `PlantedSite`."""
        listed = self.listed()
        parts = {"/one.xml": listed[::2], "/two.xml": listed[1::2]}
        rows = index(f"<loc>{self.at(x)}</loc>" for x in parts)
        found = self.robots("/index.xml") | {"/index.xml": ("application/xml", rows)}
        return found | {x: ("application/xml", urlset(y)) for x, y in parts.items()}


class PlantedFeed(PlantedSite):
    """Pages of an Atom feed."""

    kind = "sitemap"

    def lists(self) -> dict[str, tuple[str, bytes]]:
        """See `PlantedSite`."""
        rows = "".join(f'<entry><link href="{x}"/></entry>' for x in self.listed())
        feed = f'<feed xmlns="http://www.w3.org/2005/Atom">{rows}</feed>'.encode()
        return self.robots("/feed") | {"/feed": ("application/atom+xml", feed)}


class PlantedDumps(PlantedSite):
    """A dataset of a Semantic Sitemap for each dump."""

    kind = "dataset"
    names = (*DIFFERENCES, *_LONG)
    others = _LONG
    media_type = "application/n-triples"

    def lists(self) -> dict[str, tuple[str, bytes]]:
        """See `PlantedSite`."""
        sets = "".join(
            f"<sc:dataset><sc:datasetURI>{url}/set</sc:datasetURI>{dump_at(url)}"
            "</sc:dataset>"
            for url in self.listed()
        )
        sitemap = ("application/xml", urlset([], sets))
        return self.robots() | {"/sitemap.xml": sitemap}


class PlantedParts(PlantedSite):
    """A dataset of a Semantic Sitemap, each dump of which is a part."""

    kind = "dataset"
    media_type = "application/n-triples"

    def lists(self) -> dict[str, tuple[str, bytes]]:
        """See `PlantedSite`."""
        sets = (
            f"<sc:dataset><sc:datasetURI>{self.at('/set')}</sc:datasetURI>"
            f"{''.join(map(dump_at, self.listed()))}</sc:dataset>"
        )
        sitemap = ("application/xml", urlset([], sets))
        return self.robots() | {"/sitemap.xml": sitemap}


class PlantedArchives(PlantedDumps):
    """A dataset of a Semantic Sitemap for each archive: gzip, tar and zip in turn."""

    media_type = "application/octet-stream"
    names = tuple(x for x in DIFFERENCES if x != "format")
    _forms: ClassVar = ("nt.gz", "tar.gz", "zip")

    def url(self, name: str) -> str:
        """See `PlantedSite`."""
        form = self._forms[list(DIFFERENCES).index(name) % 3]
        return self.at(f"/d/{name}.{form}")

    def body(self, name: str) -> bytes:
        """See `PlantedSite`."""
        content, form = super().body(name), self.url(name).rpartition(f"{name}.")[2]
        if form == "nt.gz":
            return gzip.compress(content, mtime=0)
        file = io.BytesIO()
        if form == "zip":
            with zipfile.ZipFile(file, "w") as archive:
                archive.writestr("data.nt", content)
        else:
            with tarfile.open(fileobj=file, mode="w:gz") as tar:
                member = tarfile.TarInfo("data.nt")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
        return file.getvalue()


class PlantedVoid(PlantedSite):
    """Datasets that `/.well-known/void` describes."""

    kind = "dataset"
    media_type = "application/n-triples"
    _place: ClassVar[str] = "/.well-known/void"

    def seeds(self) -> list[tuple[str, str]]:
        """See `PlantedSite`."""
        return [(self.at("/start"), "")]

    def lists(self) -> dict[str, tuple[str, bytes]]:
        """See `PlantedSite`."""
        rows = "".join(
            f"<{url}/set> a <http://rdfs.org/ns/void#Dataset> ;"
            f" <http://rdfs.org/ns/void#dataDump> <{url}> .\n"
            for url in self.listed()
        )
        start = ("text/turtle", f'<{self.at("/start")}> <{_SAYS}> "start" .'.encode())
        return {"/start": start, self._place: ("text/turtle", rows.encode())}

    def expected(self) -> Found:
        """See `PlantedSite`; the description itself has changed."""
        return super().expected() | {(self.at(self._place), "stale")}


class PlantedCatalog(PlantedVoid):
    """Datasets of a catalogue in DCAT."""

    _place: ClassVar[str] = "/catalog"

    def seeds(self) -> list[tuple[str, str]]:
        """See `PlantedSite`."""
        return [(self.at("/catalog"), "")]

    def lists(self) -> dict[str, tuple[str, bytes]]:
        """See `PlantedSite`."""
        dcat = "http://www.w3.org/ns/dcat#"
        rows = "".join(
            f"<{url}/set> a <{dcat}Dataset> ; <{dcat}distribution> <{url}/file> .\n"
            f"<{url}/file> <{dcat}downloadURL> <{url}> ;"
            f' <{dcat}mediaType> "application/n-triples" .\n'
            for url in self.listed()
        )
        return {"/catalog": ("text/turtle", rows.encode())}


class PlantedTree(PlantedSite):
    """A collection (TREE, LDES) whose first page leads to all others."""

    kind = "collection"

    def seeds(self) -> list[tuple[str, str]]:
        """See `PlantedSite`."""
        return [(self.at("/events"), "")]

    def lists(self) -> dict[str, tuple[str, bytes]]:
        """See `PlantedSite`."""
        tree, root = "https://w3id.org/tree#", self.at("/events")
        rows = "".join(
            f"<{root}> <{tree}relation> <{url}#relation> .\n"
            f"<{url}#relation> a <{tree}Relation> ; <{tree}node> <{url}> .\n"
            for url in self.listed()
        )
        rows += f"<{root}#all> a <https://w3id.org/ldes#EventStream> ; <{tree}view> "
        rows += f"<{root}> ."
        return {"/events": ("text/turtle", rows.encode())}

    def expected(self) -> Found:
        """See `PlantedSite`; the first page itself has changed."""
        return super().expected() | {(self.at("/events"), "stale")}


class PlantedLinks(PlantedSite):
    """Pages that are no source's."""

    kind = "linked pages"
    names = tuple(x for x in DIFFERENCES if x not in ("added", "dropped"))

    def seeds(self) -> list[tuple[str, str]]:
        """See `PlantedSite`."""
        return [(self.url(name), "") for name in self.names]

    def lists(self) -> dict[str, tuple[str, bytes]]:
        """See `PlantedSite`."""
        return {}


class PlantedResources(PlantedSite):
    """A source of ResourceSync with a list of resources.

    What is no RDF is described, and a redirect does not change the name of a resource.
    """

    kind = "resourcesync"
    others: ClassVar = {"image": "stale", "redirected": "equal"}

    def seeds(self) -> list[tuple[str, str]]:
        """See `PlantedSite`."""
        return [(self.at("/"), "resourcesync")]

    def lists(self) -> dict[str, tuple[str, bytes]]:
        """See `PlantedSite`."""
        places = {
            "/.well-known/resourcesync": ("description", "/capabilities.xml"),
            "/capabilities.xml": ("capabilitylist", "/resources.xml"),
        }
        found = {}
        for target, (capability, child) in places.items():
            below = "resourcelist" if child == "/resources.xml" else "capabilitylist"
            row = f'<url><loc>{self.at(child)}</loc><rs:md capability="{below}"/></url>'
            found[target] = self._list(capability, row)
        day = f"2024-01-0{1 + self.is_later}"
        rows = "".join(
            f"<url><loc>{url}</loc><lastmod>{day}</lastmod></url>"
            for url in self.listed()
        )
        at = f' at="{day}T00:00:00Z"'
        return found | {"/resources.xml": self._list("resourcelist", rows, at)}

    @staticmethod
    def _list(capability: str, rows: str, more: str = "") -> tuple[str, bytes]:
        names = (
            'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
            ' xmlns:rs="http://www.openarchives.org/rs/terms/"'
        )
        mark = f'<rs:md capability="{capability}"{more}/>'
        return "application/xml", f"<urlset {names}>{mark}{rows}</urlset>".encode()


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
            if name != _UNLISTED[self.is_later]
            for line in statements(self.url(name), name, is_later=self.is_later)
        ]
        return lines[::-1] if self.is_later else lines

    def expected(self) -> Found:
        """See `PlantedSite`."""
        return {(self.at("/changed.nt"), "stale")}


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
    names: ClassVar = ("same", "statement", "lost", "more", "labels", "dropped")

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

    def change(self) -> None:
        """See `PlantedSite`."""
        self._node.store.clear()

    def expected(self) -> Found:
        """See `PlantedSite`."""
        return {(self._graph(name), "unknown") for name in self.names}


class PlantedRepository(ServedRepository):
    """A repository of OAI-PMH."""

    kind: ClassVar[str] = "repository"

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
        line = f'<{self.url(name, path)}> <{_SAYS}> "{text}" .\n'
        self._sites[name].put(path, line.encode())
        dump = f'<{self.url("www", "/one")}> <{_SAYS}> "{text}" .\n'
        self._sites["files"].put("/one.nt", dump.encode(), "application/n-triples")

    def _fill(self, text: str) -> None:
        graph, says = ox.NamedNode(self._graph), ox.NamedNode(_SAYS)
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
