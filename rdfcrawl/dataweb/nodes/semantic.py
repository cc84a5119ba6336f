"""A site with a dataset that its Semantic Sitemap offers in several ways."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

import pyoxigraph as ox

from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.messages import (
    NOT_ACCEPTABLE,
    NOT_FOUND,
    NodeResponse,
    text_response,
)
from rdfcrawl.dataweb.negotiation import RDF_NEGOTIATOR
from rdfcrawl.dataweb.nodes.base import LABEL, RDF_TYPE, serialize, to_ntriples
from rdfcrawl.dataweb.nodes.semantic_sitemap import (
    DatasetElement,
    DatasetNames,
    DatasetPlace,
    write_semantic_sitemap,
)
from rdfcrawl.dataweb.nodes.site import (
    DAY,
    EPOCH,
    FRONT_PAGE,
    HTML,
    XML,
    ChangingSite,
    SiteOptions,
    pack,
    respond,
    w3c_date,
)
from rdfcrawl.dataweb.nodes.sparql import ENDPOINT_PATH, SparqlNode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from rdfcrawl.dataweb.messages import NodeRequest
    from rdfcrawl.dataweb.nodes.base import NodePlan, Statement

SITEMAP_PATH = "/sitemap.xml"
N_FRAGMENTS = 3
_URI = re.compile(r"/id/(0|[1-9][0-9]{0,8})\Z")
_FRAGMENT = re.compile(r"/dump-([0-9])\.nt\Z")


class DatasetWay(StrEnum):
    """How the data can be got, the least intrusive first."""

    DUMP = "dump"
    FRAGMENTS = "fragments"
    SPARQL = "sparql"
    PREFIX = "prefix"


class DumpKind(StrEnum):
    """Format of the complete dump."""

    NTRIPLES = "nt"
    NTRIPLES_GZ = "nt.gz"
    RDF_XML = "rdf"
    NQUADS_GZ = "nq.gz"  # the graph is the URI whose description it is


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticOptions(SiteOptions["SemanticNode"]):
    """Options of a site with a Semantic Sitemap.

    Attributes:
        n_uris: resources, `/id/0` and so on.
        ways: that the sitemap declares; the others are not there.
        broken: declared ways with status 500 (`SemanticNode.broken` may be set later).
        names: of which revision elements are.
        slicing: extent of the description of a URI: `subject`, `subject-object`, `cbd`,
            `scbd` or `msg`; empty is `cbd` and not declared.
        dump: format of the complete dump.
        dump_priority: of the own dump; None states none.
        mirrors: origins of other hosts that have the dump too, with priorities.
        endpoint_mirrors: the same for `/sparql`.
        n_samples: `sampleURI`s.
        samples_differ: descriptions of samples have a triple that the dump lacks, and
            lack one of it.
        graph_name: `sparqlGraphName`; the data are in this graph of the endpoint. `*`
            is written unchanged.
        claims: more datasets, declared only here: their dumps are on other hosts.
        claimed_prefix: prefix of another host that the first claim has.
        pages: `url` entries in addition to the datasets.
        mirrors_of: another site whose dump and endpoint this one has, as the first of
            its `mirrors`; its data are served, no own ones.
        confirms: a mirror's own sitemap says the same as that of `mirrors_of`.
        in_robots: robots.txt names the sitemap; otherwise it is only at its default
            URL.
    """

    kind: ClassVar[NodeKind] = NodeKind.SEMANTIC
    n_uris: int = 50
    ways: tuple[DatasetWay, ...] = tuple(DatasetWay)
    broken: tuple[DatasetWay, ...] = ()
    names: DatasetNames = DatasetNames.FIRST
    slicing: str = ""
    dump: DumpKind = DumpKind.NTRIPLES_GZ
    dump_priority: int | None = None
    mirrors: tuple[DatasetPlace, ...] = ()
    endpoint_mirrors: tuple[DatasetPlace, ...] = ()
    n_samples: int = 2
    samples_differ: bool = False
    graph_name: str = ""
    claims: tuple[str, ...] = ()
    claimed_prefix: str = ""
    pages: tuple[str, ...] = ()
    mirrors_of: SemanticNode | None = None
    confirms: bool = True
    in_robots: bool = True

    def build(self, plan: NodePlan) -> SemanticNode:
        """Make the node."""
        return SemanticNode(plan, self)


class SemanticNode(ChangingSite):
    """A dataset of `n_uris` resources, each linked to the next; every fifth has a part.

    A part is a blank node, so that descriptions by different slicings differ.
    """

    def __init__(self, plan: NodePlan, options: SemanticOptions) -> None:
        super().__init__(plan)
        self.options = options
        self.broken = set(options.broken)
        self.now: datetime = EPOCH
        self._revision = 0
        self._bodies: dict[str, bytes] = {}
        self._endpoint: _Endpoint | None = None

    # -- for tests -----------------------------------------------------------------

    @property
    def sitemap_url(self) -> str:
        """URL of the sitemap."""
        return self.origin + SITEMAP_PATH

    @property
    def dump_path(self) -> str:
        """Path of the complete dump, here and at its mirrors."""
        return f"/dump.{self.options.dump}"

    @property
    def dump_url(self) -> str:
        """URL of the node's complete dump."""
        return self.origin + self.dump_path

    @property
    def dataset_uri(self) -> str:
        """URI of the dataset, which does not resolve."""
        return f"{self.origin}/about#dataset"

    @property
    def fragment_urls(self) -> tuple[str, ...]:
        """URLs of the parts of the dump."""
        return tuple(f"{self.origin}/dump-{n}.nt" for n in range(N_FRAGMENTS))

    def uri(self, number: int) -> str:
        """Return the URI of a resource."""
        return f"{self.origin}/id/{number}"

    def samples(self) -> tuple[str, ...]:
        """Return the sample URIs."""
        count = min(self.options.n_samples, self.options.n_uris)
        return tuple(map(self.uri, range(count)))

    def description(self, number: int) -> list[Statement]:
        """Return the description of a URI, by the slicing of the site."""
        found = [*self._of_subject(number)]
        slicing = self.options.slicing or "cbd"
        if slicing == "subject":
            found = [one for one in found if not one[0].startswith("_:")]
        if slicing in ("subject-object", "scbd", "msg"):
            if number:
                found.append(self._link_to(number))
            if slicing == "subject-object":
                # The part's own triples lead back to the resource: it is their object.
                found = [
                    one for one in found if f"<{self.uri(number)}>" in (one[0], one[2])
                ]
        if self.options.samples_differ and self.uri(number) in self.samples():
            found = found[1:]
            found.append((f"<{self.uri(number)}>", LABEL, '"not in the dump"'))
        return found

    def revise(self) -> None:
        """Let a day pass, on which every label and `lastmod` change."""
        with self._lock:
            self.now += DAY
            self._revision += 1
            self._bodies.clear()
            self._endpoint = None

    def change(self, **arguments: Any) -> object:
        """Do `revise`."""
        self.revise(**arguments)
        return self._revision

    def iter_truth(self) -> Iterator[Statement]:
        """Yield all triples of the dataset; nothing for a mirror."""
        if self.options.mirrors_of is None:
            yield from self.statements()

    def statements(self) -> Iterator[Statement]:
        """Yield all triples of the dataset."""
        for number in range(self.options.n_uris):
            yield from self._of_subject(number)

    # -- for clients ---------------------------------------------------------------

    @property
    def robots(self) -> str:
        """The line of the sitemap in robots.txt, if any."""
        text = "User-agent: *\nDisallow:\n"
        if self.options.in_robots:
            text += f"Sitemap: {self.sitemap_url}\n"
        return text

    def respond_other(self, request: NodeRequest) -> NodeResponse:
        """Serve the sitemap, dumps, endpoint and resources."""
        path = request.target
        if path == "/":
            return respond(request, FRONT_PAGE, content_type=HTML)
        if path == SITEMAP_PATH:
            body = self._sitemap()
            return respond(request, body, content_type=XML, modified=self.now)
        if request.path == ENDPOINT_PATH:
            return self._respond_endpoint(request)
        main = self.options.mirrors_of
        if main is not None:
            return self._respond_mirror(request, main)
        return self._respond_file(request)

    def _respond_file(self, request: NodeRequest) -> NodeResponse:
        path = request.target
        if path == self.dump_path and self._has(DatasetWay.DUMP):
            return self.respond_dump(request, is_broken=DatasetWay.DUMP in self.broken)
        if (match := _FRAGMENT.match(path)) and self._has(DatasetWay.FRAGMENTS):
            if DatasetWay.FRAGMENTS in self.broken:
                return text_response(500)
            return self._respond_fragment(request, int(match[1]))
        if (match := _URI.match(path)) and self._has(DatasetWay.PREFIX):
            if DatasetWay.PREFIX in self.broken:
                return text_response(500)
            return self._respond_uri(request, int(match[1]))
        return NOT_FOUND

    def _respond_mirror(self, request: NodeRequest, main: SemanticNode) -> NodeResponse:
        if request.target == main.dump_path and self._has(DatasetWay.DUMP):
            return main.respond_dump(request, is_broken=DatasetWay.DUMP in self.broken)
        return NOT_FOUND

    def respond_dump(
        self, request: NodeRequest, *, is_broken: bool = False
    ) -> NodeResponse:
        """Serve the complete dump."""
        if is_broken:
            return text_response(500)
        with self._lock:
            body = self._bodies.get(self.dump_path)
            if body is None:
                body = self._bodies[self.dump_path] = self._write_dump()
        content_type = {
            DumpKind.NTRIPLES: "application/n-triples",
            DumpKind.RDF_XML: "application/rdf+xml",
        }.get(self.options.dump, "application/gzip")
        return respond(request, body, content_type=content_type, modified=self.now)

    def _respond_fragment(self, request: NodeRequest, number: int) -> NodeResponse:
        if number >= N_FRAGMENTS:
            return NOT_FOUND
        size = -(-self.options.n_uris // N_FRAGMENTS)
        end = min((number + 1) * size, self.options.n_uris)
        numbers = range(number * size, end)
        body = b"".join(to_ntriples(self._of_subject(one)) for one in numbers)
        media_type = "application/n-triples"
        return respond(request, body, content_type=media_type, modified=self.now)

    def _respond_uri(self, request: NodeRequest, number: int) -> NodeResponse:
        if number >= self.options.n_uris:
            return NOT_FOUND
        rdf_format = RDF_NEGOTIATOR.choose(request.accept)
        if rdf_format is None:
            return NOT_ACCEPTABLE
        body = serialize(self.description(number), rdf_format)
        media_type = rdf_format.media_type
        return respond(request, body, content_type=media_type, modified=self.now)

    def _respond_endpoint(self, request: NodeRequest) -> NodeResponse:
        if not self._has(DatasetWay.SPARQL):
            return NOT_FOUND
        if DatasetWay.SPARQL in self.broken:
            return text_response(500)
        main = self.options.mirrors_of or self
        return main.query(request)

    def query(self, request: NodeRequest) -> NodeResponse:
        """Respond to a request for the endpoint."""
        with self._lock:
            if self._endpoint is None:
                self._endpoint = _Endpoint(self)
            return self._endpoint.respond(request)

    # -- the sitemap -----------------------------------------------------------------

    def _has(self, way: DatasetWay) -> bool:
        return way in self.options.ways

    def _sitemap(self) -> bytes:
        main = self.options.mirrors_of
        if main is None:
            datasets = (self.element(), *self._claims())
        else:
            datasets = (main.element(),) if self.options.confirms else ()
        pages = self.options.pages
        return write_semantic_sitemap(datasets, pages, self.options.names)

    def element(self) -> DatasetElement:
        """Return the element of the dataset in the sitemap."""
        options, origin = self.options, self.origin
        dumps = [DatasetPlace(self.dump_url, options.dump_priority)]
        dumps += [
            DatasetPlace(one.url + self.dump_path, one.priority)
            for one in options.mirrors
        ]
        endpoints = [DatasetPlace(origin + ENDPOINT_PATH)]
        endpoints += [
            DatasetPlace(one.url + ENDPOINT_PATH, one.priority)
            for one in options.endpoint_mirrors
        ]
        return DatasetElement(
            label="Things & others",
            uri=self.dataset_uri,
            prefixes=(f"{origin}/id/",) if self._has(DatasetWay.PREFIX) else (),
            slicing=options.slicing,
            dumps=tuple(dumps) if self._has(DatasetWay.DUMP) else (),
            fragments=self.fragment_urls if self._has(DatasetWay.FRAGMENTS) else (),
            endpoints=tuple(endpoints) if self._has(DatasetWay.SPARQL) else (),
            graph_name=options.graph_name if self._has(DatasetWay.SPARQL) else "",
            samples=self.samples(),
            lastmod=w3c_date(self.now),
            changefreq="weekly",
        )

    def _claims(self) -> tuple[DatasetElement, ...]:
        return tuple(
            DatasetElement(
                label=f"Claim {position}",
                uri=f"{self.origin}/about#claim-{position}",
                prefixes=(self.options.claimed_prefix,) if position == 0 else (),
                dumps=(DatasetPlace(url),),
            )
            for position, url in enumerate(self.options.claims)
        )

    # -- the data --------------------------------------------------------------------

    def _of_subject(self, number: int) -> Iterator[Statement]:
        """Yield the Concise Bounded Description of a resource."""
        subject = f"<{self.uri(number)}>"
        label = f'"Thing {number}, revision {self._revision}"@en'
        yield subject, LABEL, label
        yield subject, RDF_TYPE, f"<{self.origin}/ontology/Thing>"
        if number + 1 < self.options.n_uris:
            yield self._link_to(number + 1)
        if number % 5 == 0:
            part = f"_:part{number}"
            yield subject, f"<{self.origin}/ontology/part>", part
            yield part, LABEL, f'"Part of thing {number}"'
            yield part, f"<{self.origin}/ontology/whole>", subject
        for position, link in enumerate(self.plan.links):
            if position % self.options.n_uris == number:
                yield subject, f"<{self.origin}/ontology/next>", f"<{link}>"

    def _link_to(self, number: int) -> Statement:
        predicate = f"<{self.origin}/ontology/next>"
        return f"<{self.uri(number - 1)}>", predicate, f"<{self.uri(number)}>"

    def _write_dump(self) -> bytes:
        match self.options.dump:
            case DumpKind.RDF_XML:
                return serialize(self.statements(), ox.RdfFormat.RDF_XML)
            case DumpKind.NQUADS_GZ:
                return pack(
                    b"".join(
                        f"{s} {p} {o} <{self.uri(number)}> .\n".encode()
                        for number in range(self.options.n_uris)
                        for s, p, o in self._of_subject(number)
                    )
                )
        body = to_ntriples(self.statements())
        return pack(body) if self.options.dump is DumpKind.NTRIPLES_GZ else body


class _Endpoint(SparqlNode):
    """The endpoint of the site: all of its data, in one graph."""

    def __init__(self, site: SemanticNode) -> None:
        super().__init__(site.plan, ())
        self._site = site
        name = site.options.graph_name
        if name not in ("", "*"):
            self.graph = name

    def iter_truth(self) -> Iterator[Statement]:
        """Yield the data of the site."""
        return self._site.statements()
