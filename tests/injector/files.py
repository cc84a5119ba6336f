"""Sources that are a few files, and the statements of each."""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
import zipfile
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from rdfcrawl.dataweb.messages import GONE, NOT_FOUND
from rdfcrawl.dataweb.nodes.base import WebNode
from rdfcrawl.dataweb.nodes.site import DAY, EPOCH, respond
from tests.support.resourcesync_source import document, facts_of
from tests.support.sitemap_sites import dump_at, index, urlset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rdfcrawl.dataweb.messages import NodeRequest, NodeResponse
    from rdfcrawl.dataweb.nodes.base import NodePlan, Statement
    from tests.injector.judging import Triple, Truth

_SAYS: Final = "urn:x:says"
_find_number = re.compile("(?<=/p)[0-9]+").search
_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_VOID: Final = "http://rdfs.org/ns/void#"
_TREE: Final = "https://w3id.org/tree#"
_DCAT: Final = "http://www.w3.org/ns/dcat#"

Triples = frozenset["Triple"]


@dataclass(frozen=True, slots=True)
class SiteFile:
    """A file of a site.

    Attributes:
        body: its bytes.
        media_type: of them.
        graphs: the statements that a crawl stores of it, by graph.
        is_old: its date is that of the first version.
    """

    body: bytes
    media_type: str = "text/turtle"
    graphs: Mapping[str, Triples] = field(default_factory=dict)
    is_old: bool = False


SiteFiles = dict[str, SiteFile]


class FileNode(WebNode):
    """Serves files, with validators; those of earlier versions are gone."""

    def __init__(self, plan: NodePlan, files: SiteFiles, version: int) -> None:
        super().__init__(plan)
        self._files, self._version = files, version

    def respond(self, request: NodeRequest) -> NodeResponse:
        """Return a file."""
        file = self._files.get(request.target)
        if file is None:
            number = _find_number(request.target)
            return GONE if number and int(number[0]) < self._version else NOT_FOUND
        age = timedelta() if file.is_old else self._version * DAY
        kind = file.media_type
        return respond(request, file.body, content_type=kind, modified=EPOCH + age)

    def truth(self) -> Truth:
        """Return the statements of each graph."""
        return {
            graph: triples
            for file in self._files.values()
            for graph, triples in file.graphs.items()
        }

    def iter_truth(self) -> Iterator[Statement]:
        """Yield all of them."""
        for triples in self.truth().values():
            yield from triples


# -- documents -------------------------------------------------------------------------


def said(subject: str, version: int, n: int = 1) -> Triples:
    """Return the statements of a document in a version."""
    return frozenset(
        (f"{subject}#{k}" if k else subject, _SAYS, f'"{version}-{k}"')
        for k in range(n)
    )


def n_triples(triples: Triples) -> bytes:
    """Return statements as N-Triples, which is Turtle, too."""
    rows = (
        f"<{s}> <{p}> {o if o.startswith(chr(34)) else f'<{o}>'} .\n"
        for s, p, o in sorted(triples)
    )
    return "".join(rows).encode()


def rdf_xml(triples: Triples) -> bytes:
    """Return statements as RDF/XML."""
    rows = "".join(
        f'<rdf:Description rdf:about="{s}"><x:says>{json.loads(o)}</x:says>'
        "</rdf:Description>\n"
        for s, _, o in sorted(triples)
    )
    return f'<rdf:RDF xmlns:rdf="{_RDF}" xmlns:x="urn:x:">\n{rows}</rdf:RDF>'.encode()


def json_ld(triples: Triples) -> bytes:
    """Return statements as JSON-LD."""
    nodes = [{"@id": s, p: json.loads(o)} for s, p, o in sorted(triples)]
    return json.dumps(nodes, indent=1).encode()


def rdfa(triples: Triples) -> bytes:
    """Return statements as a page with RDFa."""
    rows = "".join(
        f'<p about="{s}" property="{p}">{json.loads(o)}</p>\n'
        for s, p, o in sorted(triples)
    )
    return f"<!DOCTYPE html><html><body>{rows}</body></html>".encode()


_WRITERS: Final[Mapping[str, Callable[[Triples], bytes]]] = {
    "text/turtle": n_triples,
    "application/rdf+xml": rdf_xml,
    "application/ld+json": json_ld,
    "text/html": rdfa,
    "application/gzip": lambda triples: gzip.compress(n_triples(triples), mtime=0),
}


def data(url: str, triples: Triples, media_type: str = "text/turtle") -> SiteFile:
    """Return a file of statements, which are stored in its graph."""
    return SiteFile(_WRITERS[media_type](triples), media_type, {url: triples})


def documents(origin: str, version: int, *paths: str, n: int = 2) -> SiteFiles:
    """Return documents, and with the last path one that is in this version only."""
    names = [*paths[:-1], paths[-1].format(version)]
    return {x: data(origin + x, said(origin + x, version, n)) for x in names}


def _listed(origin: str, name: str, body: bytes, found: SiteFiles) -> SiteFiles:
    """Return files with a sitemap, which robots.txt names."""
    kind = "application/atom+xml" if name == "/feed" else "application/xml"
    robots = f"Sitemap: {origin}{name}\n".encode()
    return {
        "/robots.txt": SiteFile(robots, "text/plain", is_old=True),
        name: SiteFile(body, kind),
        **found,
    }


def entry(url: str, version: int) -> str:
    """Return the entry of a page that changed in a version."""
    return f"<loc>{url}</loc><lastmod>2024-01-0{version}</lastmod>"


# -- sitemaps --------------------------------------------------------------------------


def pages(origin: str, version: int) -> SiteFiles:
    """Return a sitemap of pages in several formats."""
    found = documents(origin, version, "/turtle", "/p{}", n=4)
    for place, kind in enumerate(
        ("application/rdf+xml", "application/ld+json", "text/html")
    ):
        url = f"{origin}/{place}"
        found[f"/{place}"] = data(url, said(url, version, 4), kind)
    body = urlset(entry(origin + x, version) for x in found)
    return _listed(origin, "/sitemap.xml", body, found)


def sitemap_index(origin: str, version: int) -> SiteFiles:
    """Return an index of two sitemaps."""
    found = documents(origin, version, "/one/a", "/two/b", "/two/p{}")
    parts = {
        f"{x}.xml": SiteFile(
            urlset(entry(origin + y, version) for y in found if y.startswith(x)),
            "application/xml",
        )
        for x in ("/one", "/two")
    }
    body = index(f"<loc>{origin}{x}</loc>" for x in parts)
    return _listed(origin, "/index.xml", body, found | parts)


def feed(origin: str, version: int) -> SiteFiles:
    """Return an Atom feed in place of a sitemap."""
    found = documents(origin, version, "/a", "/b", "/p{}")
    rows = "".join(
        f'<entry><link href="{origin}{x}"/><updated>2024-01-0{version}T00:00:00Z'
        "</updated></entry>"
        for x in found
    )
    body = f'<feed xmlns="http://www.w3.org/2005/Atom">{rows}</feed>'.encode()
    return _listed(origin, "/feed", body, found)


# -- datasets --------------------------------------------------------------------------


def _datasets(origin: str, found: SiteFiles, *groups: str) -> SiteFiles:
    """Return files with a Semantic Sitemap of datasets, each of some elements."""
    rows = "".join(
        f"<sc:dataset><sc:datasetURI>{origin}/set{n}</sc:datasetURI>{group}"
        "</sc:dataset>"
        for n, group in enumerate(groups)
    )
    return _listed(origin, "/sitemap.xml", urlset([], rows), found)


def dumps(origin: str, version: int) -> SiteFiles:
    """Return datasets with dumps of two formats, in parts, and one that is new."""
    found = documents(origin, version, "/nt", "/part1", "/part2", "/p{}", n=30)
    url = f"{origin}/xml"
    found["/xml"] = data(url, said(url, version, 30), "application/rdf+xml")
    parts = dump_at(f"{origin}/part1") + dump_at(f"{origin}/part2")
    alone = (dump_at(origin + x) for x in found if not x.startswith("/part"))
    return _datasets(origin, found, parts, *alone)


def packed_dump(origin: str, version: int) -> SiteFiles:
    """Return a compressed dump, which is read in a process of its own."""
    url = f"{origin}/gz"
    found = {"/gz": data(url, said(url, version, 30), "application/gzip")}
    return _datasets(origin, found, dump_at(url))


def mirrors(origin: str, version: int) -> SiteFiles:
    """Return a dataset with a dump and another one for its failure."""
    triples = said(f"{origin}/x", version, 30)
    found = {
        "/main": data(f"{origin}/main", triples),
        "/backup": SiteFile(n_triples(triples)),
    }
    places = "".join(
        f'<sc:dataDumpLocation priority="{n}">{origin}{x}</sc:dataDumpLocation>'
        for x, n in (("/main", 5), ("/backup", 0))
    )
    return _datasets(origin, found, places)


def archives(origin: str, version: int) -> SiteFiles:
    """Return archives of files that are named by URIs, and quads, below prefixes."""
    found, groups = {}, []
    for name, (write, kind) in _ARCHIVES.items():
        prefix = f"{origin}{name.partition('.')[0]}/"
        graphs = {x: said(x, version, 3) for x in (f"{prefix}a", f"{prefix}{version}")}
        found[name] = SiteFile(write(graphs), kind, graphs)
        of = f"<sc:linkedDataPrefix>{prefix}</sc:linkedDataPrefix>"
        groups.append(of + dump_at(origin + name))
    return _datasets(origin, found, *groups)


def _zip(graphs: Truth) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for url, triples in graphs.items():
            archive.writestr(zipfile.ZipInfo(quote(url, safe="")), rdf_xml(triples))
    return out.getvalue()


def _tar(graphs: Truth) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for url, triples in graphs.items():
            body = rdf_xml(triples)
            member = tarfile.TarInfo(quote(url, safe=""))
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    return gzip.compress(out.getvalue(), mtime=0)


def _quads(graphs: Truth) -> bytes:
    lines = (
        line.replace(" .", f" <{url}> .")
        for url, triples in graphs.items()
        for line in n_triples(triples).decode().splitlines(keepends=True)
    )
    return gzip.compress("".join(lines).encode(), mtime=0)


_ARCHIVES: Final = {
    "/z.zip": (_zip, "application/zip"),
    "/t.tar.gz": (_tar, "application/x-gzip"),
    "/q.nq.gz": (_quads, "application/octet-stream"),
}


def described_dumps(origin: str, version: int) -> SiteFiles:
    """Return datasets that the VoID and DCAT of a site describe."""
    void = frozenset(
        {
            (f"{origin}/set", f"{_RDF}type", f"{_VOID}Dataset"),
            (f"{origin}/set", f"{_VOID}dataDump", f"{origin}/one.nt"),
            (f"{origin}/other", f"{_RDF}type", f"{_DCAT}Dataset"),
            (f"{origin}/other", f"{_DCAT}distribution", f"{origin}/other#nt"),
            (f"{origin}/other#nt", f"{_DCAT}downloadURL", f"{origin}/p{version}.nt"),
        }
    )
    found = documents(origin, version, "/one.nt", "/p{}.nt", n=30)
    url = f"{origin}/.well-known/void"
    found["/.well-known/void"] = data(url, void)
    found["/page"] = data(f"{origin}/page", said(f"{origin}/page", 1))
    body = urlset([entry(f"{origin}/page", 1)])
    return _listed(origin, "/sitemap.xml", body, found)


def sliced_dump(origin: str, version: int) -> SiteFiles:
    """Return a dump of resources, which are pages, too."""
    found = documents(origin, version, "/r/1", "/r/2", "/r/{}00", n=1)
    graphs = {url: x for file in found.values() for url, x in file.graphs.items()}
    body = n_triples(frozenset().union(*graphs.values()))
    found["/dump.nt"] = SiteFile(body, "application/n-triples")
    prefix = f"<sc:linkedDataPrefix>{origin}/r/</sc:linkedDataPrefix>"
    return _datasets(origin, found, prefix + dump_at(f"{origin}/dump.nt"))


# -- others ----------------------------------------------------------------------------


def linked_pages(origin: str, version: int) -> SiteFiles:
    """Return pages that the front page links to."""
    found = documents(origin, version, "/a", "/b", "/p{}")
    links = frozenset((f"{origin}/", "urn:x:to", origin + x) for x in found)
    return {"/": data(f"{origin}/", links), **found}


def tree(origin: str, version: int) -> SiteFiles:
    """Return a collection of three pages (TREE), of which the last one grows."""
    urls = [f"{origin}/c{n}" for n in range(1, 4)]
    found = {}
    for url, following in zip(urls, [*urls[1:], ""], strict=True):
        member = (f"{origin}/all", f"{_TREE}member", f"{url}#1")
        links = {(f"{origin}/all", f"{_TREE}view", urls[0]), member}
        if following:
            links.add((url, f"{_TREE}relation", f"{url}#next"))
            links.add((f"{url}#next", f"{_TREE}node", following))
        found[url.removeprefix(origin)] = data(url, said(url, version, 3) | links)
    return found


def resource_list(origin: str, version: int) -> SiteFiles:
    """Return a list of resources (ResourceSync), and the description of the set."""
    found = documents(origin, version, "/a", "/b", "/p{}", n=4)
    facts = [(origin + x, facts_of(file.body), "") for x, file in found.items()]
    listed = "resourcelist", "/resources.xml"
    offered = "capabilitylist", "/capabilities.xml"
    day = f"2024-01-0{version}T00:00:00Z"
    up = f"{origin}/capabilities.xml"
    about = f"{origin}/about{version % 2}"
    for capability, path, entries in (
        (*listed, facts),
        (*offered, [(f"{origin}/resources.xml", {"capability": listed[0]}, "")]),
        (
            "description",
            "/.well-known/resourcesync",
            [(up, {"capability": offered[0]}, "")],
        ),
    ):
        md = {"capability": capability}
        if capability == listed[0]:
            md["at"] = day
        found[path] = SiteFile(document(md, entries, up=up), "application/xml")
    link = f'<rs:ln rel="describedby" href="{about}"/>'.encode()
    body = found["/capabilities.xml"].body.replace(b"<url>", link + b"<url>", 1)
    found["/capabilities.xml"] = SiteFile(body, "application/xml")
    found[f"/about{version % 2}"] = data(about, said(about, version))
    return found
