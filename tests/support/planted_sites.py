"""Sites whose documents have URLs, with the same differences planted in each.

The expected verdicts follow from the protocols and from `docs/reference/commands.md`.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zipfile
from typing import TYPE_CHECKING, ClassVar, Final

import pyoxigraph as ox

from tests.support.sitemap_sites import dump_at, index, urlset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.conftest import RawRequest, Step
    from tests.support.crawl_webs import Loopback

Found = set[tuple[str, str]]

DIFFERENCES: Final[Mapping[str, str]] = {
    "same": "equal",
    "statement": "stale",  # one has another value
    "lost": "stale",  # the site has one statement less
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
    "cut": "unknown",
    "down": "unknown",  # 500
    "closed": "unknown",  # no response
}
"""Names of documents, and the verdict on each after `PlantedSite.change`."""
_LONG: Final = {"long": "stale", "lengthy": "equal"}  # compared on disk
UNLISTED: Final = {False: "added", True: "dropped"}  # before and after
PAGE: Final = b"<!DOCTYPE html><html><title>Busy</title><p>Back soon.</html>"
SAYS: Final = "urn:x:says"


def statements(url: str, name: str, *, is_later: bool) -> list[str]:
    """Return the statements of a document as N-Triples, without blank nodes."""
    more = "x" * 300_000 if name in _LONG else ""
    values = [f"{name} {n}{more}" for n in range(4)]
    if is_later and name in ("statement", "long"):
        values[1] = "other"
    if is_later and name == "lost":
        values.pop()
    return [f'<{url}#{n}> <{SAYS}> "{value}" .\n' for n, value in enumerate(values)]


def n_triples(url: str, name: str, *, is_later: bool) -> bytes:
    """Return the content of a document."""
    some = statements(url, name, is_later=is_later)
    first, second = "az" if is_later and name == "labels" else "ba"
    if name not in _LONG:  # blank nodes are not compared on disk
        some += [
            f"<{url}> <urn:x:part> _:{first} .\n",
            f"_:{first} <urn:x:next> _:{second} .\n",
            f'_:{second} <{SAYS}> "{name}" .\n',
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
        return [self.url(x) for x in self.names if x != UNLISTED[self.is_later]]

    def lists(self) -> dict[str, tuple[str, bytes]]:
        """Return media types and contents that lead to the documents, by target."""
        return {}

    def robots(self, sitemap: str = "/sitemap.xml") -> dict[str, tuple[str, bytes]]:
        """Return robots.txt."""
        return {"/robots.txt": ("text/plain", f"Sitemap: {self.at(sitemap)}".encode())}

    def body(self, name: str) -> bytes:
        """Return the present content of a document."""
        return n_triples(self.url(name), name, is_later=self.is_later)

    def expected(self) -> Found:
        """Return the documents with other verdicts than `equal`, and these."""
        found = {(self.url(x), self._verdict(x)) for x in self.names}
        return {each for each in found if each[1] not in ("", "equal")}

    def _verdict(self, name: str) -> str:
        return self.others.get(name) or DIFFERENCES.get(name, "")

    @property
    def n_equal(self) -> int:
        """Number of documents of this kind of source that stay equal."""
        return [self._verdict(name) for name in self.names].count("equal")

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
            "page": self._loopback.response(PAGE, "text/html"),
            "down": self._loopback.response(b"no", "text/plain", status="500 Down"),
            "closed": [None],
            "cut": [response[: len(response) - len(body) // 2], None],
        }
        return answers.get(name, b"")


class PlantedPages(PlantedSite):
    """Pages of a sitemap; two of them are never read, which is no difference."""

    kind = "sitemap"
    names: ClassVar[tuple[str, ...]] = (*DIFFERENCES, "private", "broken")

    def robots(self, sitemap: str = "/sitemap.xml") -> dict[str, tuple[str, bytes]]:
        """See `PlantedSite`."""
        rules = f"User-agent: *\nDisallow: /d/private\nSitemap: {self.at(sitemap)}"
        return {"/robots.txt": ("text/plain", rules.encode())}

    def _reply(self, request: RawRequest) -> bytes | list[Step]:
        if request.target == "/d/broken":
            self.n_requests += 1
            return self._loopback.response(b"no", "text/plain", status="500 Down")
        return super()._reply(request)

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
    names = tuple(DIFFERENCES)
    others: ClassVar = {}
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


class PlantedGraphs(PlantedDumps):
    """A dataset of a Semantic Sitemap for each dump, which has several graphs.

    Of a dump that has changed, the graphs are named that have.
    """

    media_type = "application/n-quads"
    names = tuple(DIFFERENCES)
    others: ClassVar = {}
    _changed: ClassVar = ("statement", "lost")

    def graph(self, name: str, number: int) -> str:
        """Return the name of a graph: 0 has the difference, 1 is always the same."""
        return self.at(f"/g/{name}/{number}")

    def lists(self) -> dict[str, tuple[str, bytes]]:
        """See `PlantedSite`."""
        found = super().lists()
        media_type, body = found["/sitemap.xml"]
        prefix = f"<sc:linkedDataPrefix>{self.at('/g/')}</sc:linkedDataPrefix>"
        body = body.replace(b"<sc:dataDump", prefix.encode() + b"<sc:dataDump")
        return found | {"/sitemap.xml": (media_type, body)}

    def body(self, name: str) -> bytes:
        """See `PlantedSite`."""
        lines = super().body(name).decode().splitlines()
        graphs = [self.graph(name, 2 + self.is_later)] if name == "lost" else []
        quads = [x[:-1] + f"<{self.graph(name, 0)}> ." for x in lines if x[0] != "#"]
        others = (self.graph(name, 1), *graphs)
        quads += (f'<{x}> <{SAYS}> "{name}" <{x}> .' for x in others)
        return "\n".join(quads).encode()

    def expected(self) -> Found:
        """See `PlantedSite`."""
        found = super().expected() - {(self.url(x), "stale") for x in self._changed}
        found |= {(self.graph(x, 0), "stale") for x in self._changed}
        lost, new = self.graph("lost", 2), self.graph("lost", 3)
        return found | {(lost, "surplus"), (new, "missing")}

    @property
    def n_equal(self) -> int:
        """See `PlantedSite`; of each changed dump, one graph is the same."""
        return super().n_equal + len(self._changed)

    def _reply(self, request: RawRequest) -> bytes | list[Step]:
        if self.is_later and request.target == "/d/format":
            body = self.body("format")
            quads = ox.parse(body, ox.RdfFormat.N_QUADS)
            self.n_requests += 1
            trig = ox.serialize(quads, format=ox.RdfFormat.TRIG)
            return self._loopback.response(trig or b"", "application/trig")
        return super()._reply(request)


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
        start = ("text/turtle", f'<{self.at("/start")}> <{SAYS}> "start" .'.encode())
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

    A redirect does not change the name of a resource.
    """

    kind = "resourcesync"
    others: ClassVar = {"redirected": "equal"}

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
