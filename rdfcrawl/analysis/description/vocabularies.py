"""Write descriptions as Turtle: VoID and DCAT.

Source: DCAT version 3, W3C Recommendation of 22 August 2024. All properties that are
mandatory in DCAT-AP 3.0 are included.
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias
from urllib.parse import quote

from rdfcrawl.analysis.description.table import STANDARD_ERROR, Cardinality
from rdfcrawl.core.formats import FORMATS
from rdfcrawl.core.messages import counted
from rdfcrawl.core.namespaces import (
    DCAT,
    DCTERMS,
    FOAF,
    MEDIA_TYPES,
    RC,
    SPDX,
    VOID,
    XSD,
)
from rdfcrawl.core.times import second_text
from rdfcrawl.rdf.terms import iri as resource
from rdfcrawl.rdf.terms import literal as text
from rdfcrawl.uri.hosts import origin_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from rdfcrawl.analysis.description.figures import DatasetFigures, Ranking

# Predicate and object, as Turtle.
Properties: TypeAlias = "Iterable[tuple[str, str]]"

_PREFIXES: Final = {
    "dcat": DCAT,
    "dcterms": DCTERMS,
    "foaf": FOAF,
    "rc": RC,
    "spdx": SPDX,
    "void": VOID,
    "xsd": XSD,
}
PREFIXES: Final = "".join(
    f"@prefix {prefix}: <{namespace}> .\n" for prefix, namespace in _PREFIXES.items()
)
_FEATURE = "<http://www.w3.org/ns/formats/N-Quads>"
_SLASHES = 3  # in the shortest space: all IRIs of a host


def node(subject: str, properties: Properties) -> str:
    """Return a node with its properties; consecutive equal predicates are grouped."""
    return f"\n{subject} {_listed(properties, '    ')} .\n"


def blank(properties: Properties) -> str:
    """Return an anonymous blank node, as an object."""
    return f"[ {' ; '.join(f'{name} {value}' for name, value in properties)} ]"


def _listed(properties: Properties, indent: str) -> str:
    groups = groupby(properties, itemgetter(0))
    return f" ;\n{indent}".join(
        f"{name} " + f" ,\n{indent}    ".join(value for _, value in values)
        for name, values in groups
    )


def moment(unix_ms: int) -> str:
    """Return a time, in seconds.

    >>> moment(0)
    '"1970-01-01T00:00:00Z"^^xsd:dateTime'
    """
    return f'"{second_text(unix_ms)}"^^xsd:dateTime'


class DescribedCrawl(NamedTuple):
    """The described crawl, and the IRIs of its parts as terms of Turtle.

    Attributes:
        log: name of its log.
        title: of the crawl, for people: its `CRAWL_ID`.
        publisher: who publishes the description, for people.
    """

    log: str
    title: str
    publisher: str

    @property
    def dataset(self) -> str:
        """The dataset of the crawl."""
        return resource(f"urn:rdfcrawl:crawl:{self.log}")

    @property
    def catalog(self) -> str:
        """The catalogue of the crawl and its hosts."""
        return resource(f"urn:rdfcrawl:crawl:{self.log}:catalog")

    @property
    def agent(self) -> str:
        """The publisher."""
        return resource(f"urn:rdfcrawl:crawl:{self.log}:publisher")

    def host(self, name: str) -> str:
        """Return the dataset of a host."""
        return resource(f"urn:rdfcrawl:crawl:{self.log}:host:{quote(name, safe=':')}")


def describe_document(crawl: DescribedCrawl) -> str:
    """Return the statements about the description itself."""
    return node(
        "<>",
        [
            ("a", "void:DatasetDescription"),
            ("dcterms:title", text(f"Description of the crawl {crawl.title}")),
            ("foaf:primaryTopic", crawl.dataset),
        ],
    )


def describe_all(
    crawl: DescribedCrawl,
    figures: DatasetFigures,
    *,
    n_hosts: int,
    n_linksets: int,
    dumps: Iterable[str],
) -> str:
    """Return the description of the crawl.

    Args:
        crawl: the described crawl.
        figures: of all hosts.
        n_hosts: number of all hosts.
        n_linksets: number of all linksets of all hosts.
        dumps: files with the statements, relative to the description.
    """
    return node(
        crawl.dataset,
        [
            ("a", "void:Dataset"),
            ("dcterms:title", text(f"Crawl {crawl.title}")),
            ("void:feature", _FEATURE),
            *(("void:dataDump", resource(dump)) for dump in dumps),
            ("rc:hosts", str(n_hosts)),
            ("rc:linksets", str(n_linksets)),
            *_figures(figures),
        ],
    )


def describe_host(
    crawl: DescribedCrawl, figures: DatasetFigures, described: Container[str]
) -> str:
    """Return the description of one host.

    Args:
        crawl: the described crawl.
        figures: of the host.
        described: hosts that have a description.
    """
    name = crawl.host(figures.host)
    targets = dict.fromkeys(item.about.split("\t")[0] for item in figures.links.items)
    others = "".join(
        node(crawl.host(target), [("a", "void:Dataset"), _title(target)])
        for target in targets
        if target not in described
    )
    properties = [
        ("a", "void:Dataset"),
        _title(figures.host),
        *_figures(figures),
        *_licences(figures),
        *_linksets(crawl, figures),
    ]
    part = node(crawl.dataset, [("void:subset", name)])
    return part + node(name, properties) + others


def _title(host: str) -> tuple[str, str]:
    return "dcterms:title", text(host)


def _figures(figures: DatasetFigures) -> Iterator[tuple[str, str]]:
    counts = {
        "void:documents": Cardinality(figures.n_documents),
        "void:triples": Cardinality(figures.n_triples),
        "void:entities": figures.entities,
        "void:distinctSubjects": figures.subjects,
        "void:distinctObjects": figures.objects,
        "void:classes": Cardinality(figures.classes.n_all),
        "void:properties": Cardinality(figures.properties.n_all),
    }
    if space := uri_space(figures.space):
        yield "void:uriSpace", text(space)
    for name, (number, _) in counts.items():
        yield name, str(number)
    yield from _estimated([name for name, count in counts.items() if not count[1]])
    rankings = figures.classes, figures.properties, figures.vocabularies, figures.links
    if any(ranking.is_cut for ranking in rankings):
        yield "rc:listsAtMost", str(figures.size)
    for namespace, _ in figures.vocabularies.items:
        yield "void:vocabulary", resource(namespace)
    yield from _class_partitions(figures.classes)
    for about, number in figures.properties.items:
        partition = [("void:property", about), ("void:triples", str(number))]
        yield "void:propertyPartition", blank(partition)


def _class_partitions(classes: Ranking[Cardinality]) -> Iterator[tuple[str, str]]:
    for about, (number, is_exact) in classes.items:
        partition = [("void:class", about), ("void:entities", str(number))]
        partition += _estimated([] if is_exact else ["void:entities"])
        yield "void:classPartition", blank(partition)


def _estimated(names: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the names of estimated figures, and the standard error."""
    for name in names:
        yield "rc:estimated", name
    if names:
        yield "rc:standardError", f"{STANDARD_ERROR:.4f}"


def _licences(figures: DatasetFigures) -> Iterator[tuple[str, str]]:
    """Yield the documents under each licence, as parts of a host's dataset."""
    for about, number in figures.licences.items:
        yield (
            "void:subset",
            blank(
                [
                    ("a", "void:Dataset"),
                    ("dcterms:license", about),
                    ("void:documents", str(number)),
                ]
            ),
        )


def _linksets(
    crawl: DescribedCrawl, figures: DatasetFigures
) -> Iterator[tuple[str, str]]:
    for about, number in figures.links.items:
        target, predicate = about.split("\t")
        linkset = [
            ("a", "void:Linkset"),
            ("void:subjectsTarget", crawl.host(figures.host)),
            ("void:objectsTarget", crawl.host(target)),
            ("void:linkPredicate", predicate),
            ("void:triples", str(number)),
        ]
        yield "void:subset", blank(linkset)


def uri_space(prefix: str) -> str:
    """Return the common prefix of IRIs up to a separator; empty if it is too short.

    >>> uri_space("http://e.example/people/a"), uri_space("http://e.ex")
    ('http://e.example/people/', '')
    """
    space = prefix[: max(prefix.rfind("/"), prefix.rfind("#")) + 1]
    return space if space.count("/") >= _SLASHES else ""


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
