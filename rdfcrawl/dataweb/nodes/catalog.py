"""A site that describes its datasets in VoID, DCAT and schema.org."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

import pyoxigraph as ox

from rdfcrawl.core.namespaces import DCAT, DCTERMS, MEDIA_TYPES, VOID
from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.messages import NOT_FOUND, NodeResponse
from rdfcrawl.dataweb.nodes.base import LABEL, RDF_TYPE, serialize, to_ntriples
from rdfcrawl.dataweb.nodes.site import (
    EPOCH,
    HTML,
    TURTLE,
    ChangingSite,
    SiteOptions,
    pack,
    respond,
)
from rdfcrawl.dataweb.nodes.sparql import ENDPOINT_PATH, SparqlNode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.dataweb.messages import NodeRequest
    from rdfcrawl.dataweb.nodes.base import NodePlan, Statement

WELL_KNOWN_VOID = "/.well-known/void"
CATALOG_PATH, PAGE_PATH = "/catalog.ttl", "/datasets.html"
_DATA = re.compile(r"/data/([a-z-]+)(?:/([0-9]{1,6})|\.(nt\.gz|nt|ttl))\Z")
_QUERY = re.compile(r"/sparql/([a-z-]+)\Z")


class DatasetOffer(StrEnum):
    """How one dataset is described, and nowhere else."""

    VOID_DUMP = "void-dump"  # void:dataDump
    VOID_SUBSET = "void-subset"  # a void:subset with a void:dataDump
    VOID_ROOT = "void-root"  # void:rootResource, from which all is linked
    VOID_SPACE = "void-space"  # void:uriSpace with void:exampleResource, and a dump
    VOID_SPARQL = "void-sparql"  # void:sparqlEndpoint
    DCAT_DOWNLOAD = "dcat-download"  # dcat:downloadURL
    DCAT_ACCESS = "dcat-access"  # dcat:accessURL
    DCAT_SERVICE = "dcat-service"  # dcat:accessService, dcat:endpointURL
    SCHEMA_ORG = "schema-org"  # schema:contentUrl, in a page
    ALL = "all"  # in each of the documents, by dump, endpoint and root


_BY_SPARQL = (DatasetOffer.VOID_SPARQL, DatasetOffer.DCAT_SERVICE, DatasetOffer.ALL)
_BY_LINKS = (DatasetOffer.VOID_ROOT, DatasetOffer.VOID_SPACE, DatasetOffer.ALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogOptions(SiteOptions["CatalogNode"]):
    """Options of a site with described datasets.

    Attributes:
        n_resources: of each dataset.
        offers: one dataset of each.
        has_well_known: `/.well-known/void` is there; otherwise only `/void.ttl`.
        links_pages: the front page links to catalogue and descriptions.
    """

    kind: ClassVar[NodeKind] = NodeKind.CATALOG
    n_resources: int = 10
    offers: tuple[DatasetOffer, ...] = tuple(DatasetOffer)
    has_well_known: bool = True
    links_pages: bool = True

    def build(self, plan: NodePlan) -> CatalogNode:
        """Make the node."""
        return CatalogNode(plan, self)


class CatalogNode(ChangingSite):
    """Dataset NAME has resources `/data/NAME/K` and a dump `/data/NAME.nt.gz`.

    Only the ways stated in its offer exist: all others answer 404.
    """

    def __init__(self, plan: NodePlan, options: CatalogOptions) -> None:
        super().__init__(plan)
        self.options = options
        self._endpoints: dict[DatasetOffer, _Endpoint] = {}

    # -- for tests -----------------------------------------------------------------

    @property
    def void_url(self) -> str:
        """URL of the VoID description."""
        return self.origin + (
            WELL_KNOWN_VOID if self.options.has_well_known else "/void.ttl"
        )

    @property
    def catalog_url(self) -> str:
        """URL of the DCAT catalogue."""
        return self.origin + CATALOG_PATH

    def dump_url(self, offer: DatasetOffer) -> str:
        """Return the URL of a dataset's dump."""
        return f"{self.origin}/data/{offer}.nt.gz"

    def endpoint_url(self, offer: DatasetOffer) -> str:
        """Return the URL of a dataset's endpoint."""
        return f"{self.origin}{ENDPOINT_PATH}/{offer}"

    def dataset(self, offer: DatasetOffer) -> list[Statement]:
        """Return the triples of one dataset."""
        numbers = range(self.options.n_resources)
        return [one for number in numbers for one in self._resource(offer, number)]

    def iter_truth(self) -> Iterator[Statement]:
        """Yield the triples of all datasets, without their descriptions."""
        for offer in self.options.offers:
            yield from self.dataset(offer)

    # -- for clients ---------------------------------------------------------------

    def respond_other(self, request: NodeRequest) -> NodeResponse:
        """Respond to requests for descriptions, dumps, resources and endpoints."""
        path = request.path
        if path == self.void_url.removeprefix(self.origin):
            return self._respond_rdf(request, self._void())
        if path == CATALOG_PATH:
            return self._respond_rdf(request, self._catalog())
        if path in ("/", PAGE_PATH):
            body = self._front_page() if path == "/" else self._page()
            return respond(request, body, content_type=HTML, modified=EPOCH)
        match = _QUERY.match(path)
        if match and match[1] in self.options.offers and match[1] in _BY_SPARQL:
            return self._query(request, DatasetOffer(match[1]))
        match = _DATA.match(request.target)
        if match and match[1] in self.options.offers:
            return self._respond_data(request, DatasetOffer(match[1]), match)
        return NOT_FOUND

    def _respond_data(
        self, request: NodeRequest, offer: DatasetOffer, match: re.Match[str]
    ) -> NodeResponse:
        if match[2]:
            number = int(match[2])
            if offer not in _BY_LINKS or number >= self.options.n_resources:
                return NOT_FOUND
            body = to_ntriples(self._resource(offer, number))
            return respond(request, body, content_type=TURTLE, modified=EPOCH)
        if match[3] != "nt.gz" or offer in (
            DatasetOffer.VOID_ROOT,
            DatasetOffer.VOID_SPARQL,
            DatasetOffer.DCAT_SERVICE,
        ):
            return NOT_FOUND
        body = pack(to_ntriples(self.dataset(offer)))
        return respond(request, body, content_type="application/gzip", modified=EPOCH)

    def _query(self, request: NodeRequest, offer: DatasetOffer) -> NodeResponse:
        if offer not in self._endpoints:
            self._endpoints[offer] = _Endpoint(self, offer)
        target = ENDPOINT_PATH + request.target.removeprefix(f"{ENDPOINT_PATH}/{offer}")
        same = type(request)(
            request.method,
            target,
            request.accept,
            request.content_type,
            request.body,
            request.fields,
        )
        return self._endpoints[offer].respond(same)

    def _respond_rdf(
        self, request: NodeRequest, statements: Iterator[Statement]
    ) -> NodeResponse:
        body = serialize(statements, ox.RdfFormat.TURTLE)
        return respond(request, body, content_type=TURTLE, modified=EPOCH)

    # -- descriptions ----------------------------------------------------------------

    def _has(self, *offers: DatasetOffer) -> bool:
        return any(one in self.options.offers for one in offers)

    def _uri(self, offer: DatasetOffer) -> str:
        return f"<{self.origin}/about#{offer}>"

    def _void(self) -> Iterator[Statement]:
        for offer in self.options.offers:
            dataset = self._uri(offer)
            if not offer.startswith("void") and offer is not DatasetOffer.ALL:
                continue
            yield dataset, RDF_TYPE, f"<{VOID}Dataset>"
            holder = dataset
            if offer is DatasetOffer.VOID_SUBSET:
                holder = self._uri(offer)[:-1] + "-part>"
                yield dataset, f"<{VOID}subset>", holder
            if offer in (
                DatasetOffer.VOID_DUMP,
                DatasetOffer.VOID_SUBSET,
                DatasetOffer.ALL,
            ):
                yield holder, f"<{VOID}dataDump>", f"<{self.dump_url(offer)}>"
            if offer in (DatasetOffer.VOID_ROOT, DatasetOffer.ALL):
                yield dataset, f"<{VOID}rootResource>", self._iri(offer, 0)
            if offer is DatasetOffer.VOID_SPACE:
                yield dataset, f"<{VOID}uriSpace>", f'"{self.origin}/data/{offer}/"'
                yield dataset, f"<{VOID}exampleResource>", self._iri(offer, 0)
                yield dataset, f"<{VOID}dataDump>", f"<{self.dump_url(offer)}>"
            if offer in (DatasetOffer.VOID_SPARQL, DatasetOffer.ALL):
                yield (
                    dataset,
                    f"<{VOID}sparqlEndpoint>",
                    f"<{self.endpoint_url(offer)}>",
                )

    def _catalog(self) -> Iterator[Statement]:
        catalog = f"<{self.catalog_url}>"
        yield catalog, RDF_TYPE, f"<{DCAT}Catalog>"
        for offer in self.options.offers:
            if not offer.startswith("dcat") and offer is not DatasetOffer.ALL:
                continue
            dataset, distribution = self._uri(offer), f"_:{offer}"
            yield catalog, f"<{DCAT}dataset>", dataset
            yield dataset, RDF_TYPE, f"<{DCAT}Dataset>"
            yield dataset, f"<{DCAT}distribution>", distribution
            yield distribution, RDF_TYPE, f"<{DCAT}Distribution>"
            dump = f"<{self.dump_url(offer)}>"
            if offer is DatasetOffer.DCAT_ACCESS:
                yield distribution, f"<{DCAT}accessURL>", dump
            elif offer is DatasetOffer.DCAT_SERVICE:
                service, url = f"_:{offer}-service", self.endpoint_url(offer)
                yield distribution, f"<{DCAT}accessService>", service
                yield service, RDF_TYPE, f"<{DCAT}DataService>"
                yield service, f"<{DCAT}endpointURL>", f"<{url}>"
                protocol = "<http://www.w3.org/TR/sparql11-protocol/>"
                yield service, f"<{DCTERMS}conformsTo>", protocol
            else:
                yield distribution, f"<{DCAT}downloadURL>", dump
                gzip = f"<{MEDIA_TYPES}application/gzip>"
                yield distribution, f"<{DCAT}compressFormat>", gzip

    def _page(self) -> bytes:
        graph = [
            {
                "@type": "Dataset",
                "@id": self._uri(offer)[1:-1],
                "name": f"Dataset {offer}",
                "distribution": {
                    "@type": "DataDownload",
                    "encodingFormat": "application/n-triples",
                    "contentUrl": self.dump_url(offer),
                },
            }
            for offer in (DatasetOffer.SCHEMA_ORG, DatasetOffer.ALL)
            if offer in self.options.offers
        ]
        value = json.dumps({"@context": "https://schema.org/", "@graph": graph})
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            "<title>Datasets</title>"
            f'<script type="application/ld+json">{value}</script></head>'
            "<body><p>Datasets.</p></body></html>\n"
        ).encode()

    def _front_page(self) -> bytes:
        links = ""
        if self.options.links_pages:
            links = (
                f'<link rel="alternate" type="{TURTLE}" href="{CATALOG_PATH}">'
                f'<link rel="describedby" type="{TURTLE}" href="{self.void_url}">'
            )
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>A site</title>{links}</head>"
            f'<body><a href="{PAGE_PATH}">Datasets</a></body></html>\n'
        ).encode()

    # -- the data --------------------------------------------------------------------

    def _iri(self, offer: DatasetOffer, number: int) -> str:
        return f"<{self.origin}/data/{offer}/{number}>"

    def _resource(self, offer: DatasetOffer, number: int) -> Iterator[Statement]:
        subject = self._iri(offer, number)
        yield subject, LABEL, f'"Resource {number} of {offer}"@en'
        if number + 1 < self.options.n_resources:
            following = self._iri(offer, number + 1)
            yield subject, f"<{self.origin}/ontology#next>", following
        if offer is self.options.offers[0]:
            n_resources = self.options.n_resources
            for link in self.plan.links[number::n_resources]:
                yield subject, f"<{self.origin}/ontology#next>", f"<{link}>"


class _Endpoint(SparqlNode):
    """The endpoint of one dataset."""

    def __init__(self, site: CatalogNode, offer: DatasetOffer) -> None:
        super().__init__(site.plan, ())
        self._site, self._offer = site, offer

    def iter_truth(self) -> Iterator[Statement]:
        """Yield the data of the dataset."""
        yield from self._site.dataset(self._offer)
