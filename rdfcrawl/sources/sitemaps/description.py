"""Entries of sitemaps as RDF, and datasets of Semantic Sitemaps as VoID and DCAT.

| of a dataset | statements |
|---|---|
| itself | `void:Dataset`, `dcat:Dataset`; `rc:declaredBy` the sitemap |
| `datasetLabel` | `dcterms:title` |
| dumps, fragments | `void:dataDump`; `dcat:distribution` with `dcat:downloadURL`, `rc:mirrorPriority`, and `rc:partOfDump` true for a part |
| endpoints | `void:sparqlEndpoint`; `dcat:accessService`, a `dcat:DataService` |
| `sparqlGraphName` | `rc:sparqlGraph`; `rc:allSparqlGraphs` true for `*` |
| `linkedDataPrefix` | `void:uriSpace`; `rc:linkedData` with `rc:slicing` if it has one |
| `sampleURI` | `void:exampleResource` |
| `lastmod`, `changefreq` | `dcterms:modified`, `rc:changefreq`, `dcterms:accrualPeriodicity` |

`rc:` is `urn:rdfcrawl:vocab#`.

Source: "Describing Linked Datasets with the VoID Vocabulary" (2011-03-03), DCAT 3.
"""  # noqa: E501  # rows of a table

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

from rdfcrawl.core.namespaces import DCAT, DCTERMS, RC, RDF_TYPE, SCHEMA, VOID, XHV, XSD
from rdfcrawl.core.times import parse_point
from rdfcrawl.rdf.graphs import CRAWL_NAMES, graph_iri, is_crawls
from rdfcrawl.rdf.terms import blank, iri, literal, statement
from rdfcrawl.sources.sitemaps.entry import EntryExtension, SitemapEntry, name_of
from rdfcrawl.sources.sitemaps.semantic import ALL_GRAPHS, DataLocation, SitemapDataset

_OWN_NAME: Final = f"{CRAWL_NAMES}dataset:"
_FREQUENCIES = "http://publications.europa.eu/resource/authority/frequency/"
_EU_FREQUENCY: Final = {
    "always": "UPDATE_CONT",
    "hourly": "HOURLY",
    "daily": "DAILY",
    "weekly": "WEEKLY",
    "monthly": "MONTHLY",
    "yearly": "ANNUAL",
    "never": "NEVER",
}


def dataset_iri(dataset: SitemapDataset, sitemap: str) -> str:
    """Return the URI of a dataset, or a name from its sitemap and a stable property.

    The property is the first of prefixes and places, so the name is stable while others
    come and go. A label describes; several datasets may have the same one.
    """
    if dataset.uri and not is_crawls(dataset.uri):
        return dataset.uri
    places = (*dataset.dumps, *dataset.endpoints, *dataset.fragments)
    urls = [*(x.url for x in dataset.prefixes), *(x.url for x in places)]
    first = urls[0] if urls else str(dataset.position)
    digest = blake2b(f"{sitemap}\n{first}".encode(), digest_size=16).hexdigest()
    return _OWN_NAME + digest


def is_own_name(name: str) -> bool:
    """Return whether a name is from `dataset_iri`."""
    return name.startswith(_OWN_NAME)


def describe_dataset(dataset: SitemapDataset, *, sitemap: str) -> Iterator[str]:
    """Yield the description of a dataset, as lines of N-Quads.

    The lines may have invalid terms: check them with `rdf.checking.iter_checked`.
    """
    return _Describer(dataset, sitemap).lines()


class _Describer:
    def __init__(self, dataset: SitemapDataset, sitemap: str) -> None:
        self._dataset, self._sitemap = dataset, sitemap
        self._name = dataset_iri(dataset, sitemap)
        self._subject = iri(self._name)

    def lines(self) -> Iterator[str]:
        yield self._line(RDF_TYPE, iri(VOID + "Dataset"))
        yield self._line(RDF_TYPE, iri(DCAT + "Dataset"))
        yield self._line(RC + "declaredBy", iri(graph_iri(self._sitemap)))
        yield from self._about()
        yield from self._dumps()
        yield from self._endpoints()
        yield from self._linked_data()

    def _about(self) -> Iterator[str]:
        dataset = self._dataset
        if dataset.label:
            label = literal(dataset.label, language=dataset.language)
            yield self._line(DCTERMS + "title", label)
        if point := parse_point(dataset.lastmod):
            modified = literal(point.text, datatype=point.datatype)
            yield self._line(DCTERMS + "modified", modified)
        if dataset.changefreq is not None:
            yield self._line(RC + "changefreq", literal(dataset.changefreq))
            frequency = _FREQUENCIES + _EU_FREQUENCY[dataset.changefreq]
            yield self._line(DCTERMS + "accrualPeriodicity", iri(frequency))
        for other in dataset.others:
            for name, text in other.values:
                term = RC + name_of(f"{other.kind}/{name}")
                yield self._line(term, literal(text))

    def _dumps(self) -> Iterator[str]:
        dataset = self._dataset
        are_parts = not dataset.are_mirrors and len(dataset.dumps) > 1
        for kind, places in (("dump", dataset.dumps), ("fragment", dataset.fragments)):
            for place in places:
                yield self._line(VOID + "dataDump", iri(graph_iri(place.url)))
                yield from self._distribution(place, "downloadURL")
                if kind == "fragment" or are_parts:
                    yield self._line(RC + "partOfDump", _TRUE, self._node(place.url))

    def _endpoints(self) -> Iterator[str]:
        for place in self._dataset.endpoints:
            endpoint, node = iri(graph_iri(place.url)), self._node(place.url)
            service = self._node(f"service {place.url}")
            yield self._line(VOID + "sparqlEndpoint", endpoint)
            yield from self._distribution(place, "accessURL")
            yield self._line(DCAT + "accessService", service, node)
            yield self._line(RDF_TYPE, iri(DCAT + "DataService"), service)
            yield self._line(DCAT + "endpointURL", endpoint, service)
            yield self._line(DCAT + "servesDataset", self._subject, service)
            if place.slicing is not None:
                yield self._line(RC + "slicing", literal(place.slicing), service)
        for graph in self._dataset.graphs:
            if graph == ALL_GRAPHS:
                yield self._line(RC + "allSparqlGraphs", _TRUE)
            else:
                yield self._line(RC + "sparqlGraph", iri(graph))

    def _linked_data(self) -> Iterator[str]:
        for prefix in self._dataset.prefixes:
            yield self._line(VOID + "uriSpace", literal(prefix.iri))
            if prefix.slicing is not None:
                node = self._node(f"prefix {prefix.iri}")
                yield self._line(RC + "linkedData", node)
                yield self._line(VOID + "uriSpace", literal(prefix.iri), node)
                yield self._line(RC + "slicing", literal(prefix.slicing), node)
        for sample in self._dataset.samples:
            yield self._line(VOID + "exampleResource", iri(sample))

    def _distribution(self, place: DataLocation, address: str) -> Iterator[str]:
        node = self._node(place.url)
        yield self._line(DCAT + "distribution", node)
        yield self._line(RDF_TYPE, iri(DCAT + "Distribution"), node)
        yield self._line(DCAT + address, iri(graph_iri(place.url)), node)
        if place.priority != 1:
            priority = literal(str(place.priority), datatype=XSD + "integer")
            yield self._line(RC + "mirrorPriority", priority, node)

    def _node(self, key: str) -> str:
        """Return a blank node with a stable label."""
        digest = blake2b(f"{self._name}\n{key}".encode(), digest_size=12).hexdigest()
        return blank(digest)

    def _line(self, predicate: str, obj: str, subject: str = "") -> str:
        return statement(subject or self._subject, iri(predicate), obj)


_TRUE = literal("true", datatype=XSD + "boolean")


_IMAGE: Final = {
    "caption": "caption",
    "title": "name",
    "geo_location": "contentLocation",
    "license": "license",
}
_VIDEO: Final = {
    "thumbnail_loc": "thumbnailUrl",
    "title": "name",
    "description": "description",
    "content_loc": "contentUrl",
    "player_loc": "embedUrl",
    "duration": "duration",
    "expiration_date": "expires",
    "rating": "contentRating",
    "view_count": "interactionCount",
    "publication_date": "uploadDate",
    "family_friendly": "isFamilyFriendly",
    "requires_subscription": "requiresSubscription",
    "uploader": "author",
    "tag": "keywords",
    "category": "genre",
}
_NEWS: Final = {
    "title": "headline",
    "publication/name": "publisher",
    "publication/language": "inLanguage",
    "publication_date": "datePublished",
    "genres": "genre",
    "keywords": "keywords",
}
_URL_NAMES = ("loc", "license", "thumbnail_loc", "content_loc", "player_loc")


def describe_entry(entry: SitemapEntry, *, sitemap: str) -> Iterator[str]:
    """Yield the statements of an entry, as lines of N-Quads.

    The lines may have invalid terms: check them with `rdf.checking.iter_checked`.
    `sitemap` is its URL.
    """
    page = iri(graph_iri(entry.url))
    lists = "listsSitemap" if entry.is_sitemap else "lists"
    yield _line(iri(graph_iri(sitemap)), RC + lists, page)
    if entry.lastmod is not None:
        point = literal(entry.lastmod.text, datatype=entry.lastmod.datatype)
        yield _line(page, DCTERMS + "modified", point)
    if entry.changefreq is not None:
        yield _line(page, RC + "changefreq", literal(entry.changefreq))
    if entry.priority is not None:
        # A decimal has no exponent (XML Schema 2, 3.2.3).
        number = f"{entry.priority:.6f}".rstrip("0").ljust(3, "0")
        yield _line(page, RC + "priority", literal(number, datatype=XSD + "decimal"))
    for index, extension in enumerate(entry.extensions):
        # Labels by position, so that equal sitemaps give equal statements.
        label = blank(f"{entry.position}.{index}")
        yield from _extension(extension, page, label)


def _line(subject: str, predicate: str, obj: str) -> str:
    return statement(subject, iri(predicate), obj)


def _extension(extension: EntryExtension, page: str, node: str) -> Iterator[str]:
    match extension.kind:
        case "image":
            url = _url(extension.value("loc"))
            node = url if url.startswith("<") else node
            yield _line(page, SCHEMA + "image", node)
            yield from _values(extension, node, "ImageObject", _IMAGE)
        case "video":
            yield _line(page, SCHEMA + "video", node)
            yield from _values(extension, node, "VideoObject", _VIDEO)
        case "news":
            yield from _values(extension, page, "NewsArticle", _NEWS)
        case "link" if extension.value("@href"):
            other = _url(extension.value("@href"))
            relation = (extension.value("@rel") or "alternate").lower()
            is_known = relation == "alternate"
            yield _line(page, XHV + relation if is_known else RC + "link", other)
            language = extension.value("@hreflang")
            has_language = language and language.lower() != "x-default"
            if has_language and other.startswith("<"):
                yield _line(other, DCTERMS + "language", literal(language))
        case "title":
            yield _line(page, DCTERMS + "title", literal(extension.value("")))
        case "enclosure" | "content" | "thumbnail" if extension.value("@url"):
            media = _url(extension.value("@url"))
            yield _line(page, SCHEMA + "associatedMedia", media)
            media_type = extension.value("@type")
            if media_type and media.startswith("<"):
                yield _line(media, SCHEMA + "encodingFormat", literal(media_type))
        case _:
            yield _line(page, RC + "extension", node)
            yield _line(node, RC + "extensionName", literal(extension.kind))
            yield from _values(extension, node, "", {})


def _values(
    extension: EntryExtension, subject: str, kind: str, terms: dict[str, str]
) -> Iterator[str]:
    if kind:
        yield _line(subject, RDF_TYPE, iri(SCHEMA + kind))
    for name, text in extension.values:
        if name == "loc" and subject == _url(text):
            continue
        obj = _url(text) if name in _URL_NAMES else literal(text)
        if name == "duration" and text.isdecimal():
            obj = literal(f"PT{int(text[:9])}S", datatype=XSD + "duration")
        term = terms.get(name)
        yield _line(subject, SCHEMA + term if term else RC + name_of(name), obj)


def _url(text: str) -> str:
    """Return an absolute URL as an IRI, other text as a literal."""
    is_absolute = text.lower().startswith(("http://", "https://"))
    return iri(graph_iri(text)) if is_absolute else literal(text)
