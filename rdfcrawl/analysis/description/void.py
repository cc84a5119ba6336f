"""Describe a crawl and its hosts by the Vocabulary of Interlinked Datasets.

Source: "Describing Linked Datasets with the VoID Vocabulary", W3C Interest Group Note
of 3 March 2011.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.analysis.description.distinct import STANDARD_ERROR, Cardinality
from rdfcrawl.analysis.description.turtle import blank, node, resource, text

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from rdfcrawl.analysis.description.figures import DatasetFigures, Ranking
    from rdfcrawl.analysis.description.names import DescribedCrawl

_FEATURE = "<http://www.w3.org/ns/formats/N-Quads>"
_SLASHES = 3  # in the shortest space: all IRIs of a host


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
