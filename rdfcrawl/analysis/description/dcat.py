"""Describe a crawl and its hosts by the Data Catalog Vocabulary.

Source: DCAT version 3, W3C Recommendation of 22 August 2024. All properties that are
mandatory in DCAT-AP 3.0 are included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rdfcrawl.analysis.description.turtle import blank, moment, node, resource, text
from rdfcrawl.analysis.description.void import uri_space
from rdfcrawl.core.counting import counted
from rdfcrawl.core.formats import FORMATS
from rdfcrawl.core.namespaces import MEDIA_TYPES
from rdfcrawl.uri.hosts import origin_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfcrawl.analysis.description.figures import DatasetFigures
    from rdfcrawl.analysis.description.names import DescribedCrawl


class DescribedFile(NamedTuple):
    """A file with statements of the crawl.

    Attributes:
        href: its path, relative to the description, percent-encoded.
        media_type: of its content.
        compression: media type of the compression; empty if uncompressed.
        n_bytes: its length.
        sha256: its checksum in hexadecimal digits; empty if the file may still grow.
    """

    href: str
    media_type: str
    compression: str
    n_bytes: int
    sha256: str = ""


def describe_catalog(
    crawl: DescribedCrawl,
    figures: DatasetFigures,
    files: Iterable[DescribedFile],
    *,
    n_hosts: int,
) -> str:
    """Return the catalogue, its publisher, and the dataset of the crawl."""
    about = [
        ("dcterms:description", text(_description(figures, n_hosts))),
        *_times(figures),
    ]
    title = f"Crawl {crawl.title}"
    catalog = [
        ("a", "dcat:Catalog"),
        ("dcterms:title", text(f"{title} and its hosts")),
        *about,
        ("dcterms:publisher", crawl.agent),
        ("dcat:dataset", crawl.dataset),
    ]
    agent = [("a", "foaf:Agent"), ("foaf:name", text(crawl.publisher))]
    dataset = [
        ("a", "dcat:Dataset"),
        ("dcterms:title", text(title)),
        *about,
        *(("dcat:distribution", blank(_of_file(file))) for file in files),
    ]
    named = (crawl.catalog, catalog), (crawl.agent, agent), (crawl.dataset, dataset)
    return "".join(node(name, properties) for name, properties in named)


def describe_host_dataset(crawl: DescribedCrawl, figures: DatasetFigures) -> str:
    """Return the dataset of one host, as an entry of the catalogue."""
    name = crawl.host(figures.host)
    place = _place(figures)
    entry = node(crawl.catalog, [("dcat:dataset", name)])
    return entry + node(
        name,
        [
            ("a", "dcat:Dataset"),
            ("dcterms:title", text(figures.host)),
            ("dcterms:description", text(_description(figures))),
            *_times(figures),
            ("dcterms:isPartOf", crawl.dataset),
            *([("dcat:landingPage", resource(place))] if place else []),
            *_licence(figures),
            *_publisher(figures),
            *(_as_published(figures, place) if place else []),
        ],
    )


def _description(figures: DatasetFigures, n_hosts: int | None = None) -> str:
    hosts = "" if n_hosts is None else f" of {counted(n_hosts, 'host')}"
    return (
        f"{counted(figures.n_triples, 'statement')} in"
        f" {counted(figures.n_documents, 'document')}{hosts}, as crawled"
    )


def _times(figures: DatasetFigures) -> Iterator[tuple[str, str]]:
    if figures.n_documents:
        yield "dcterms:issued", moment(figures.first_ms)
        yield "dcterms:modified", moment(figures.last_ms)


def _of_file(file: DescribedFile) -> Iterator[tuple[str, str]]:
    yield "a", "dcat:Distribution"
    yield "dcterms:title", text(file.href)
    yield "dcat:accessURL", resource(file.href)
    yield "dcat:downloadURL", resource(file.href)
    yield "dcat:mediaType", resource(MEDIA_TYPES + file.media_type)
    if file.compression:
        yield "dcat:compressFormat", resource(MEDIA_TYPES + file.compression)
    yield "dcat:byteSize", f'"{file.n_bytes}"^^xsd:nonNegativeInteger'
    if file.sha256:
        checksum = [
            ("a", "spdx:Checksum"),
            ("spdx:algorithm", "spdx:checksumAlgorithm_sha256"),
            ("spdx:checksumValue", f'"{file.sha256}"^^xsd:hexBinary'),
        ]
        yield "spdx:checksum", blank(checksum)


def _place(figures: DatasetFigures) -> str:
    """Return the front page of a host; empty if unknown."""
    space = uri_space(figures.place)
    return f"{origin_of(space)}/" if space else ""


def _licence(figures: DatasetFigures) -> Iterator[tuple[str, str]]:
    """Yield the licence, if there is exactly one."""
    if figures.licences.n_all == 1:
        yield "dcterms:license", figures.licences.items[0].about


def _publisher(figures: DatasetFigures) -> Iterator[tuple[str, str]]:
    """Yield the publisher, if there is exactly one."""
    if figures.publishers.n_all != 1:
        return
    iri, name = figures.publishers.items[0].about.split("\t")
    agent = [("a", "foaf:Agent"), ("foaf:name", name or text(iri[1:-1]))]
    if iri:
        agent.append(("foaf:page", iri))
    yield "dcterms:publisher", blank(agent)


def _as_published(figures: DatasetFigures, place: str) -> Iterator[tuple[str, str]]:
    """Yield a distribution for each format in which the host publishes documents."""
    for name, _ in figures.formats.items:
        media_type = _MEDIA_TYPES.get(name)
        distribution = [
            ("a", "dcat:Distribution"),
            ("dcterms:title", text(name)),
            ("dcat:accessURL", resource(place)),
        ]
        if media_type:
            media_type_iri = resource(MEDIA_TYPES + media_type)
            distribution.append(("dcat:mediaType", media_type_iri))
        yield "dcat:distribution", blank(distribution)


_MEDIA_TYPES = {each.name: each.media_types[0] for each in FORMATS if each.media_types}
