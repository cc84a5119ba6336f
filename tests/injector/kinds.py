"""Kinds of sources: each has responses by target, and their truth, in two versions.

In the second version some documents are changed, one is new and one is gone (404).
"""

from __future__ import annotations

import gzip
import json
from hashlib import md5
from typing import ClassVar, Final

from tests.injector.sites import ScriptedReply
from tests.support.sitemap_sites import dump_at, index, urlset

Triple = tuple[str, str, str]
Truth = dict[str, frozenset[Triple]]

_SAYS: Final = "urn:x:says"
_VOID: Final = "http://rdfs.org/ns/void#"
_TREE: Final = "https://w3id.org/tree#"
_DCAT: Final = "http://www.w3.org/ns/dcat#"


def said(subject: str, version: int, n: int = 1) -> frozenset[Triple]:
    """Return the statements of a document in a version."""
    return frozenset(
        (f"{subject}#{k}" if k else subject, _SAYS, f'"{version}-{k}"')
        for k in range(n)
    )


def n_triples(triples: frozenset[Triple]) -> bytes:
    """Return statements as N-Triples, which is Turtle, too."""
    rows = (
        f"<{s}> <{p}> {o if o.startswith(chr(34)) else f'<{o}>'} .\n"
        for s, p, o in sorted(triples)
    )
    return "".join(rows).encode()


def rdf_xml(triples: frozenset[Triple]) -> bytes:
    """Return statements as RDF/XML."""
    rows = "".join(
        f'<rdf:Description rdf:about="{s}"><x:says>{json.loads(o)}</x:says>'
        "</rdf:Description>\n"
        for s, _, o in sorted(triples)
    )
    rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    return f'<rdf:RDF xmlns:rdf="{rdf}" xmlns:x="urn:x:">\n{rows}</rdf:RDF>'.encode()


def json_ld(triples: frozenset[Triple]) -> bytes:
    """Return statements as JSON-LD."""
    nodes = [{"@id": s, p: json.loads(o)} for s, p, o in sorted(triples)]
    return json.dumps(nodes, indent=1).encode()


def rdfa(triples: frozenset[Triple]) -> bytes:
    """Return statements as a page with RDFa."""
    rows = "".join(
        f'<p about="{s}" property="{p}">{json.loads(o)}</p>\n'
        for s, p, o in sorted(triples)
    )
    return f"<!DOCTYPE html><html><body>{rows}</body></html>".encode()


def entry(url: str, version: int) -> str:
    """Return the entry of a page that changed in a version."""
    return f"<loc>{url}</loc><lastmod>2024-01-0{version}</lastmod>"


class SourceKind:
    """A kind of source.

    Attributes:
        name: for messages.
        spider: that crawls it.
        argument: of the spider, for the sites; with `seed`, which is a target.
    """

    name: ClassVar[str]
    spider: ClassVar[str] = "sitemap"
    argument: ClassVar[str] = "sites"
    seed: ClassVar[str] = "/"

    def answers(self, origin: str, version: int) -> dict[str, ScriptedReply]:
        """Return the right responses by target."""
        raise NotImplementedError

    def answer(self, origin: str, version: int, target: str) -> ScriptedReply | None:
        """Return the right response for a target; None if it is missing (404)."""
        return self.answers(origin, version).get(target)

    def truth(self, origin: str, version: int) -> Truth:
        """Return the statements of each graph with data."""
        raise NotImplementedError

    def targets(self) -> list[str]:
        """Return the targets that are answered with faults, one at a time."""
        return list(self.answers("", 1) | self.answers("", 2))


def _robots(origin: str, *sitemaps: str) -> ScriptedReply:
    lines = "".join(f"Sitemap: {origin}{sitemap}\n" for sitemap in sitemaps)
    return ScriptedReply(body=lines.encode(), media_type="text/plain", version=1)


def _xml(body: bytes) -> ScriptedReply:
    return ScriptedReply(body=body, media_type="application/xml")


class SitemapPages(SourceKind):
    """A sitemap of pages in several formats."""

    name = "pages"
    _formats: ClassVar = {
        "/turtle": (n_triples, "text/turtle"),
        "/xml": (rdf_xml, "application/rdf+xml"),
        "/json": (json_ld, "application/ld+json"),
        "/rdfa": (rdfa, "text/html"),
    }

    def answers(self, origin: str, version: int) -> dict[str, ScriptedReply]:
        """See `SourceKind`."""
        truth = self.truth(origin, version)
        found = {"/robots.txt": _robots(origin, "/sitemap.xml")}
        rows = [entry(f"{origin}{path}", version) for path in self._formats]
        rows += [entry(url, version) for url in truth if url.endswith(("old", "new"))]
        found["/sitemap.xml"] = _xml(urlset(rows))
        for path, (write, media_type) in self._formats.items():
            body = write(truth[f"{origin}{path}"])
            found[path] = ScriptedReply(body=body, media_type=media_type)
        extra = "/old" if version == 1 else "/new"
        found[extra] = ScriptedReply(body=n_triples(truth[f"{origin}{extra}"]))
        return found

    def truth(self, origin: str, version: int) -> Truth:
        """See `SourceKind`."""
        paths = [*self._formats, "/old" if version == 1 else "/new"]
        return {f"{origin}{x}": said(f"{origin}{x}", version, 4) for x in paths}


class SitemapIndex(SourceKind):
    """An index of two sitemaps."""

    name = "index"

    def answers(self, origin: str, version: int) -> dict[str, ScriptedReply]:
        """See `SourceKind`."""
        found = {"/robots.txt": _robots(origin, "/index.xml")}
        parts = ("/one.xml", "/two.xml")
        found["/index.xml"] = _xml(index(f"<loc>{origin}{x}</loc>" for x in parts))
        truth = self.truth(origin, version)
        for part in parts:
            urls = [url for url in truth if f"{part[1:4]}/" in url]
            found[part] = _xml(urlset(entry(url, version) for url in urls))
        for url, triples in truth.items():
            found[url.removeprefix(origin)] = ScriptedReply(body=n_triples(triples))
        return found

    def truth(self, origin: str, version: int) -> Truth:
        """See `SourceKind`."""
        paths = ("/one/a", "/two/b", "/two/old" if version == 1 else "/two/new")
        return {f"{origin}{x}": said(f"{origin}{x}", version, 2) for x in paths}


class FeedPages(SourceKind):
    """An Atom feed in place of a sitemap."""

    name = "feed"

    def answers(self, origin: str, version: int) -> dict[str, ScriptedReply]:
        """See `SourceKind`."""
        truth = self.truth(origin, version)
        rows = "".join(
            f'<entry><link href="{url}"/><updated>2024-01-0{version}T00:00:00Z'
            "</updated></entry>"
            for url in truth
        )
        feed = f'<feed xmlns="http://www.w3.org/2005/Atom">{rows}</feed>'.encode()
        return {
            "/robots.txt": _robots(origin, "/feed"),
            "/feed": ScriptedReply(body=feed, media_type="application/atom+xml"),
            **{
                url.removeprefix(origin): ScriptedReply(body=n_triples(triples))
                for url, triples in truth.items()
            },
        }

    def truth(self, origin: str, version: int) -> Truth:
        """See `SourceKind`."""
        paths = ("/a", "/b", "/old" if version == 1 else "/new")
        return {f"{origin}{x}": said(f"{origin}{x}", version, 2) for x in paths}


class DumpFiles(SourceKind):
    """Datasets of a Semantic Sitemap, with dumps of several forms."""

    name = "dumps"
    _forms: ClassVar = {
        "/d/nt": ("application/n-triples", n_triples),
        "/d/xml": ("application/rdf+xml", rdf_xml),
        "/parts/1": ("text/turtle", n_triples),
        "/parts/2": ("text/turtle", n_triples),
    }

    def answers(self, origin: str, version: int) -> dict[str, ScriptedReply]:
        """See `SourceKind`."""
        found = {"/robots.txt": _robots(origin, "/sitemap.xml")}
        groups = [["/d/nt"], ["/d/xml"], ["/parts/1", "/parts/2"]]
        datasets = "".join(
            f"<sc:dataset><sc:datasetURI>{origin}/set{n}</sc:datasetURI>"
            f"{''.join(dump_at(origin + x) for x in group)}</sc:dataset>"
            for n, group in enumerate(groups)
        )
        found["/sitemap.xml"] = _xml(urlset([], datasets))
        truth = self.truth(origin, version)
        for path, (media_type, write) in self._forms.items():
            body = write(truth[f"{origin}{path}"])
            found[path] = ScriptedReply(body=body, media_type=media_type)
        return found

    def truth(self, origin: str, version: int) -> Truth:
        """See `SourceKind`."""
        return {f"{origin}{x}": said(f"{origin}{x}", version, 30) for x in self._forms}


class PackedDump(SourceKind):
    """A dataset with a compressed dump, which is read in a process of its own."""

    name = "packed"

    def answers(self, origin: str, version: int) -> dict[str, ScriptedReply]:
        """See `SourceKind`."""
        ((url, triples),) = self.truth(origin, version).items()
        sets = f"<sc:dataset><sc:datasetURI>{origin}/set</sc:datasetURI>{dump_at(url)}"
        body = gzip.compress(n_triples(triples), mtime=0)
        return {
            "/robots.txt": _robots(origin, "/sitemap.xml"),
            "/sitemap.xml": _xml(urlset([], f"{sets}</sc:dataset>")),
            "/gz": ScriptedReply(body=body, media_type="application/gzip"),
        }

    def truth(self, origin: str, version: int) -> Truth:
        """See `SourceKind`."""
        return {f"{origin}/gz": said(f"{origin}/gz", version, 30)}

    def targets(self) -> list[str]:
        """See `SourceKind`; `DumpFiles` has the others."""
        return ["/gz"]


class DescribedDumps(SourceKind):
    """Datasets that the VoID and DCAT of a site describe."""

    name = "void"

    def answers(self, origin: str, version: int) -> dict[str, ScriptedReply]:
        """See `SourceKind`."""
        truth = self.truth(origin, version)
        found = {
            "/robots.txt": _robots(origin, "/sitemap.xml"),
            "/sitemap.xml": _xml(urlset([entry(f"{origin}/page", 1)])),
        }
        for url, triples in truth.items():
            found[url.removeprefix(origin)] = ScriptedReply(body=n_triples(triples))
        return found

    def truth(self, origin: str, version: int) -> Truth:
        """See `SourceKind`."""
        rdf_type = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
        void = {
            (f"{origin}/set", rdf_type, f"{_VOID}Dataset"),
            (f"{origin}/set", f"{_VOID}dataDump", f"{origin}/one.nt"),
            (f"{origin}/other", rdf_type, f"{_DCAT}Dataset"),
            (f"{origin}/other", f"{_DCAT}distribution", f"{origin}/other#nt"),
            (f"{origin}/other#nt", f"{_DCAT}downloadURL", f"{origin}/two.nt"),
        }
        files = {
            f"{origin}/{x}": said(f"{origin}/{x}", version, 30)
            for x in ("one.nt", "two.nt")
        }
        return {
            f"{origin}/page": said(f"{origin}/page", 1),
            f"{origin}/.well-known/void": frozenset(void),
            **files,
        }


class TreePages(SourceKind):
    """A collection of three pages (TREE), of which the last one grows."""

    name = "tree"
    spider = "linkeddata"
    argument = "seeds"
    seed = "/c1"

    def answers(self, origin: str, version: int) -> dict[str, ScriptedReply]:
        """See `SourceKind`."""
        truth = self.truth(origin, version)
        return {
            url.removeprefix(origin): ScriptedReply(body=n_triples(triples))
            for url, triples in truth.items()
        }

    def truth(self, origin: str, version: int) -> Truth:
        """See `SourceKind`."""
        pages = [f"{origin}/c{n}" for n in range(1, 4)]
        truth: Truth = {}
        for page, following in zip(pages, [*pages[1:], ""], strict=True):
            member = (f"{origin}/all", f"{_TREE}member", f"{page}#1")
            links = {(f"{origin}/all", f"{_TREE}view", pages[0]), member}
            if following:
                links.add((page, f"{_TREE}relation", f"{page}#next"))
                links.add((f"{page}#next", f"{_TREE}node", following))
            truth[page] = said(page, version, 3) | links
        return truth


class ResourceList(SourceKind):
    """A source of ResourceSync with a list of resources."""

    name = "resourcesync"
    spider = "resourcesync"
    argument = "sources"

    def answers(self, origin: str, version: int) -> dict[str, ScriptedReply]:
        """See `SourceKind`."""
        found = {
            url.removeprefix(origin): ScriptedReply(body=n_triples(triples))
            for url, triples in self.truth(origin, version).items()
        }
        rows = "".join(
            f"<url><loc>{origin}{target}</loc><lastmod>2024-01-0{version}</lastmod>"
            f'<rs:md hash="md5:{md5(answer.body).hexdigest()}"'
            f' length="{len(answer.body)}"/></url>'
            for target, answer in found.items()
        )
        lists = {
            "/.well-known/resourcesync": ("description", "/capabilities.xml"),
            "/capabilities.xml": ("capabilitylist", "/resources.xml"),
        }
        for target, (capability, child) in lists.items():
            below = "resourcelist" if child == "/resources.xml" else "capabilitylist"
            row = f'<url><loc>{origin}{child}</loc><rs:md capability="{below}"/></url>'
            found[target] = _xml(_listing(capability, row))
        found["/resources.xml"] = _xml(_listing("resourcelist", rows, version))
        return found

    def truth(self, origin: str, version: int) -> Truth:
        """See `SourceKind`."""
        paths = ("/a", "/b", "/old" if version == 1 else "/new")
        return {f"{origin}{x}": said(f"{origin}{x}", version, 4) for x in paths}


def _listing(capability: str, rows: str, version: int = 1) -> bytes:
    names = (
        'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
        ' xmlns:rs="http://www.openarchives.org/rs/terms/"'
    )
    at = f' at="2024-01-0{version}T00:00:00Z"' if capability == "resourcelist" else ""
    mark = f'<rs:md capability="{capability}"{at}/>'
    return f"<urlset {names}>{mark}{rows}</urlset>".encode()


KINDS: Final = (
    SitemapPages,
    SitemapIndex,
    FeedPages,
    DumpFiles,
    PackedDump,
    DescribedDumps,
)
OTHERS: Final = (TreePages, ResourceList)
