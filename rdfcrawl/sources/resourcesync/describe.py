"""Describe resources and documents of a source as RDF.

The terms are of DCAT, Dublin Core, SPDX and PROV; other attributes keep their names in
the namespace of ResourceSync, and links their registered relations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rdfcrawl.core.namespaces import (
    DCAT,
    DCTERMS,
    MEDIA_TYPES,
    PROV,
    RDF_TYPE,
    RELATIONS,
    RESOURCESYNC,
    SPDX,
    XSD,
)
from rdfcrawl.core.source_tasks import ResourceChange
from rdfcrawl.core.times import parse_point, text_of
from rdfcrawl.rdf import terms
from rdfcrawl.sources.resourcesync.documents import (
    DocumentHeading,
    ResourceEntry,
    RsLink,
)
from rdfcrawl.sources.resourcesync.fixity import ExpectedBytes
from rdfcrawl.sources.resourcesync.mirror import StatedResource

_IS_MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+").fullmatch
_IS_TOKEN = re.compile(r"[a-z][a-z0-9.-]*", re.IGNORECASE).fullmatch
_HAS_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:\S+", re.IGNORECASE).fullmatch


def describe(
    version: StatedResource, *, entry: ResourceEntry | None = None
) -> Iterator[str]:
    """Yield the description of a resource and its links: unchecked N-Quads.

    A tombstone has the time of the deletion.
    """
    subject = terms.iri(version.uri)
    if not version.is_snapshot:
        yield _line(
            subject, RESOURCESYNC + "change", terms.literal(version.change.value)
        )
        if version.as_of_us is not None:
            predicate = RESOURCESYNC + "datetime"
            if version.change is ResourceChange.DELETED:
                predicate = PROV + "invalidatedAtTime"
            yield _line(subject, predicate, _time(text_of(version.as_of_us)))
    if version.modified_us is not None:
        modified = entry.lastmod if entry is not None else text_of(version.modified_us)
        yield _line(subject, DCTERMS + "modified", _time(modified))
    if _IS_MEDIA_TYPE(version.media_type):
        yield _line(
            subject, DCAT + "mediaType", terms.iri(MEDIA_TYPES + version.media_type)
        )
    if version.encoding:
        yield _line(subject, RESOURCESYNC + "encoding", terms.literal(version.encoding))
    yield from _fixity(version.fixity, version.uri, subject)
    if entry is not None:
        yield from _links(entry.links, subject)


def describe_document(heading: DocumentHeading) -> Iterator[str]:
    """Yield the description of a document: unchecked N-Quads."""
    subject = terms.iri(heading.url)
    facts = heading.facts
    if facts.capability is not None:
        yield _line(
            subject, RESOURCESYNC + "capability", terms.literal(facts.capability.value)
        )
    for name in ("at", "completed", "from", "until"):
        time = facts.time(name)
        if time:
            yield _line(subject, RESOURCESYNC + name, _time(time))
    yield from _links(heading.links, subject)


def _line(subject: str, predicate: str, obj: str) -> str:
    return terms.statement(subject, terms.iri(predicate), obj)


def _links(links: tuple[RsLink, ...], subject: str) -> Iterator[str]:
    for link in links:
        if predicate := _predicate(link):
            yield _line(subject, predicate, terms.iri(link.url))


def _fixity(fixity: ExpectedBytes, uri: str, subject: str) -> Iterator[str]:
    if fixity.length is not None:
        length = terms.literal(str(fixity.length), datatype=XSD + "nonNegativeInteger")
        yield _line(subject, DCAT + "byteSize", length)
    for name, digest in fixity.digests:
        node = terms.blank(f"{name} {uri}")
        value = terms.literal(digest.hex(), datatype=XSD + "hexBinary")
        yield _line(subject, SPDX + "checksum", node)
        yield _line(node, RDF_TYPE, terms.iri(SPDX + "Checksum"))
        algorithm = terms.iri(f"{SPDX}checksumAlgorithm_{name}")
        yield _line(node, SPDX + "algorithm", algorithm)
        yield _line(node, SPDX + "checksumValue", value)


def _predicate(link: RsLink) -> str:
    """Return the relation of a link as an IRI; empty if invalid."""
    if _HAS_SCHEME(link.rel):
        return link.rel
    return RELATIONS + link.rel.lower() if _IS_TOKEN(link.rel) else ""


def _time(text: str) -> str:
    """Return a time as a literal with the datatype of its precision."""
    point = parse_point(text)
    if point is None:
        return terms.literal(text)
    return terms.literal(point.text, datatype=point.datatype)
