"""The resources of a dataset, as distributions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.messages import counted
from rdfcrawl.core.namespaces import DCAT, DCTERMS, SPDX
from rdfcrawl.rdf import terms
from rdfcrawl.sources.ckan import vocabularies
from rdfcrawl.sources.ckan.api import path_segment
from rdfcrawl.sources.ckan.fields import (
    RESOURCE_FIELDS,
    SERVICE_FIELDS,
    TYPE,
    DatasetWriter,
    ValueShape,
    iter_fields,
)
from rdfcrawl.sources.ckan.places import iter_retention
from rdfcrawl.sources.ckan.values import PackageFields, iter_objects

_ALGORITHM: Final = f"{SPDX}checksumAlgorithm_"
_ALGORITHMS: Final = vocabularies.parse_pairs(
    "md2 md4 md5 md6 sha1 sha224 sha256 sha384 sha512 sha3_256 sha3_384 sha3_512"
    " blake2b256 blake2b384 blake2b512 adler32"
)
_LENGTHS: Final = {32: "md5", 40: "sha1", 64: "sha256", 96: "sha384", 128: "sha512"}


def iter_distributions(
    resources: Any, dataset: str, page: str, writer: DatasetWriter
) -> Iterator[str]:
    """Yield the statements about the resources of a dataset, in their order.

    `page` is the URL of the dataset's page, below which resources have their pages. An
    invalid resource is counted as `BAD_TERM`.
    """
    if not isinstance(resources, list):
        if resources is not None:
            writer.log.note(Reason.BAD_TERM, f"not resources: {resources!r:.200}")
        return
    most = writer.limits.resources
    if len(resources) > most:
        n_more = len(resources) - most
        writer.log.note(Reason.TOO_MANY_ENTRIES, counted(n_more, "resource"), n_more)
    nodes: set[str] = {dataset}
    for one in resources[:most]:
        if not isinstance(one, dict):
            writer.log.note(Reason.BAD_TERM, f"not a resource: {one!r:.200}")
        elif one.get("state") != "deleted":
            yield from _distribution(one, dataset, page, writer, nodes)


def _distribution(
    resource: Mapping[str, Any],
    dataset: str,
    page: str,
    writer: DatasetWriter,
    nodes: set[str],
) -> Iterator[str]:
    fields = PackageFields(resource)
    own_id = fields.text("id")
    own_page = f"{page}/resource/{path_segment(own_id)}" if own_id else ""
    node = writer.node(fields.get("uri"), own_page)
    if node in nodes:  # two resources with one IRI are still two
        node = writer.node(own_page)
    if node in nodes:
        node = writer.new_blank()
    nodes.add(node)
    yield terms.statement(dataset, f"<{DCAT}distribution>", node)
    yield terms.statement(node, TYPE, f"<{DCAT}Distribution>")
    yield from _urls(fields, node, writer)
    yield from _formats(fields, node, writer)
    yield from iter_fields(fields, RESOURCE_FIELDS, node, writer)
    yield from _checksum(fields, node, writer)
    yield from _services(fields, node, writer)
    yield from iter_retention(fields, node, writer)


def _urls(fields: PackageFields, node: str, writer: DatasetWriter) -> Iterator[str]:
    """Yield the access URL, by default `url`, and the download URL.

    DCAT-AP 3.0, "access URL": mandatory, so a lone download URL is used for both.
    """
    url, download = fields.text("url"), fields.text("download_url")
    access = fields.text("access_url") or url or download
    if fields.text("url_type") == "upload" and url and not download:
        download = url  # the portal hosts the file
    for text, name in ((access, "accessURL"), (download, "downloadURL")):
        if text:
            term = writer.term(text, ValueShape.IRI)
            yield terms.statement(node, f"<{DCAT}{name}>", term)


def _formats(fields: PackageFields, node: str, writer: DatasetWriter) -> Iterator[str]:
    file_format, media_type = fields.text("format"), fields.text("mimetype")
    if vocabularies.media_type(file_format) and not media_type:
        file_format, media_type = "", file_format
    if file_format == media_type:
        file_format = ""
    for text, predicate, shape in (
        (media_type, f"{DCAT}mediaType", ValueShape.MEDIA_TYPE),
        (file_format, f"{DCTERMS}format", ValueShape.FILE_TYPE),
    ):
        for term, lines in writer.iter_objects(text, shape):
            yield terms.statement(node, f"<{predicate}>", term)
            yield from lines


def _checksum(fields: PackageFields, node: str, writer: DatasetWriter) -> Iterator[str]:
    value = fields.text("hash")
    if not value:
        return
    algorithm = fields.text("hash_algorithm", "checksum_algorithm")
    prefix, colon, rest = value.partition(":")
    if colon and not algorithm and vocabularies.word_of(prefix) in _ALGORITHMS:
        algorithm, value = prefix, rest.strip()
    checksum = writer.new_blank()
    yield terms.statement(node, f"<{SPDX}checksum>", checksum)
    yield terms.statement(checksum, TYPE, f"<{SPDX}Checksum>")
    term = writer.hex_binary(value)
    yield terms.statement(checksum, f"<{SPDX}checksumValue>", term)
    known = _ALGORITHMS.get(vocabularies.word_of(algorithm))
    if not algorithm and "hexBinary" in term:
        known = _LENGTHS.get(len(value))
    if known:
        term = f"<{_ALGORITHM}{known}>"
    else:
        term = writer.iri(algorithm) or (algorithm and writer.literal(algorithm))
    if term:
        yield terms.statement(checksum, f"<{SPDX}algorithm>", term)


def _services(fields: PackageFields, node: str, writer: DatasetWriter) -> Iterator[str]:
    for one in iter_objects(fields.get("access_services")):
        service = writer.node(one.get("uri"))
        yield terms.statement(node, f"<{DCAT}accessService>", service)
        yield terms.statement(service, TYPE, f"<{DCAT}DataService>")
        yield from iter_fields(PackageFields(one), SERVICE_FIELDS, service, writer)
