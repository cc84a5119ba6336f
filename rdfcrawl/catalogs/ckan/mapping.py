"""A dataset of CKAN as DCAT-AP: the statements of one document.

Properties come from the table in `fields`; here are those that are more than one
value: licence, keywords, groups, series, relationships.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.catalogs.ckan import vocabularies
from rdfcrawl.catalogs.ckan.agents import iter_agents
from rdfcrawl.catalogs.ckan.distributions import iter_distributions
from rdfcrawl.catalogs.ckan.fields import DATASET_FIELDS, RELATIONSHIPS
from rdfcrawl.catalogs.ckan.places import iter_spatial, iter_temporal
from rdfcrawl.catalogs.ckan.values import (
    PackageFields,
    is_translated,
    iter_objects,
    iter_texts,
    iter_values,
    text_of,
)
from rdfcrawl.catalogs.ckan.writing import (
    TYPE,
    DatasetWriter,
    MappingLimits,
    iter_fields,
    only_terms,
)
from rdfcrawl.errors import Reason
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.namespaces import DCAT, DCTERMS, RDFS, SKOS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rdfcrawl.catalogs.ckan.api import PortalAddress
    from rdfcrawl.faultlog import FaultLog

DEFAULT_MAPPING_LIMITS: Final = MappingLimits()

# Types of entries of well-known extensions that describe something else
_NO_DATASETS: Final = frozenset({"harvest", "showcase", "application"})


def document_url(package: Mapping[str, Any], portal: PortalAddress) -> str:
    """Return the URL of a dataset's page by its id: what its graph is to be named.

    Empty if the dataset has neither id nor name.
    """
    name = text_of(package.get("id")) or text_of(package.get("name"))
    return portal.page("dataset", name) if name else ""


def iter_statements(
    package: Mapping[str, Any],
    portal: PortalAddress,
    log: FaultLog,
    *,
    limits: MappingLimits = DEFAULT_MAPPING_LIMITS,
) -> Iterator[str]:
    """Yield the lines of a dataset, without graph, for `checking.iter_checked`.

    The dataset is named by its `uri` if it has one, as in the DCAT that the portal
    itself would give, else by `document_url`; a distribution by its `uri`, else by
    its page below that URL. Texts without language are plain literals.

    Args:
        package: of `package_show` or `package_search`, of any version of CKAN.
        portal: that the dataset is of.
        log: takes `BAD_TERM` for each value that is not what its field is for (it
            becomes a literal, or is left out), `REPAIRED` for IRIs with characters
            escaped, `LITERAL_TOO_LONG` and `TOO_MANY_ENTRIES`.
        limits: bounds.
    """
    page = document_url(package, portal)
    fields = PackageFields(package)
    if not page or fields.text("type") in _NO_DATASETS:
        return
    writer = DatasetWriter(log, limits)
    dataset = writer.node(package.get("uri"), fields.get("uri"), page)
    yield from only_terms(_iter_dataset(fields, dataset, page, portal, writer))


def _iter_dataset(
    fields: PackageFields,
    dataset: str,
    page: str,
    portal: PortalAddress,
    writer: DatasetWriter,
) -> Iterator[str]:
    is_series = fields.text("type") == "dataset_series"
    kind = "DatasetSeries" if is_series else "Dataset"
    yield terms.statement(dataset, TYPE, f"<{DCAT}{kind}>")
    catalogue = writer.iri(f"{portal.url}/")
    if catalogue:
        yield terms.statement(catalogue, f"<{DCAT}dataset>", dataset)
    yield from iter_fields(fields, DATASET_FIELDS, dataset, writer)
    yield from _licence(fields, dataset, writer)
    yield from _keywords(fields, dataset, writer)
    yield from _groups(fields, dataset, portal, writer)
    yield from iter_agents(fields, dataset, portal, writer)
    yield from iter_spatial(fields, dataset, writer)
    yield from iter_temporal(fields, dataset, writer)
    yield from _relations(fields, dataset, portal, writer)
    yield from iter_distributions(fields.get("resources"), dataset, page, writer)


def _licence(
    fields: PackageFields, dataset: str, writer: DatasetWriter
) -> Iterator[str]:
    """Yield the licence: a URL, an id and a title, any of which may be absent."""
    url, own_id = fields.get("license_url"), fields.text("license_id")
    title = fields.text("license_title")
    other = fields.text("license", "licence")
    known = vocabularies.licence(own_id)
    node = (
        writer.iri(url)
        or writer.iri(own_id)
        or writer.iri(other)
        or (f"<{known}>" if known else "")
    )
    title = title or ("" if writer.iri(other) else other)
    if own_id == "notspecified" and not node:
        return  # CKAN's word for none
    if not (node or title or own_id):
        return
    node = node or writer.new_blank()
    yield terms.statement(dataset, f"<{DCTERMS}license>", node)
    yield terms.statement(node, TYPE, f"<{DCTERMS}LicenseDocument>")
    if title:
        yield terms.statement(node, f"<{RDFS}label>", writer.literal(title))
    if own_id and not writer.iri(own_id):
        yield terms.statement(node, f"<{DCTERMS}identifier>", writer.literal(own_id))


def _keywords(
    fields: PackageFields, dataset: str, writer: DatasetWriter
) -> Iterator[str]:
    predicate = f"<{DCAT}keyword>"
    said: set[str] = set()
    for key in ("tags_translated", "keywords", "tag_string"):
        value = fields.get(key)
        values = [value] if is_translated(value) else list(iter_values(value))
        if key == "tag_string" and isinstance(value, str):
            values = [part.strip() for part in value.split(",") if part.strip()]
        if key == "tag_string" and fields.get("tags"):
            continue
        for one in values:
            for text, language in iter_texts(one):
                said.add(text)
                keyword = writer.literal(text, language=language)
                yield terms.statement(dataset, predicate, keyword)
    tags = fields.get("tags")
    for tag in tags if isinstance(tags, list) else ():
        name = tag
        if isinstance(tag, dict):
            name = tag.get("display_name") or tag.get("name")
        for text, language in iter_texts(name):
            if text not in said:
                keyword = writer.literal(text, language=language)
                yield terms.statement(dataset, predicate, keyword)


def _groups(
    fields: PackageFields, dataset: str, portal: PortalAddress, writer: DatasetWriter
) -> Iterator[str]:
    """Yield the groups of CKAN, which are the themes of its datasets."""
    groups = fields.get("groups")
    for group in groups if isinstance(groups, list) else ():
        said = PackageFields(group if isinstance(group, dict) else {"name": group})
        name = said.text("name", "id")
        if not name:
            continue
        node = writer.node(portal.page("group", name))
        yield terms.statement(dataset, f"<{DCAT}theme>", node)
        yield terms.statement(node, TYPE, f"<{SKOS}Concept>")
        title = said.get("title_translated", "title", "display_name", "name")
        for text, language in iter_texts(title):
            label = writer.literal(text, language=language)
            yield terms.statement(node, f"<{SKOS}prefLabel>", label)


def _relations(
    fields: PackageFields, dataset: str, portal: PortalAddress, writer: DatasetWriter
) -> Iterator[str]:
    """Other datasets of the portal: series, and relationships of CKAN."""
    for own_id in iter_values(fields.get("in_series")):
        if other := _dataset_of(own_id, portal, writer):
            yield terms.statement(dataset, f"<{DCAT}inSeries>", other)
    for entry in iter_objects(fields.get("series_navigation")):
        for key, name in (
            *(("first", "first"), ("last", "last")),
            *(("previous", "prev"), ("next", "next")),
        ):
            if other := _dataset_of(entry.get(key), portal, writer):
                yield terms.statement(dataset, f"<{DCAT}{name}>", other)
    for entry in iter_objects(fields.get("relationships_as_subject")):
        predicate = RELATIONSHIPS.get(text_of(entry.get("type")))
        other = _dataset_of(entry.get("object"), portal, writer)
        if predicate and other:
            yield terms.statement(dataset, f"<{predicate}>", other)
        elif other:
            writer.log.note(Reason.BAD_TERM, f"relationship {entry.get('type')!r:.50}")


def _dataset_of(value: Any, portal: PortalAddress, writer: DatasetWriter) -> str:
    """Return the term of another dataset: of an IRI, id, name or an object of it."""
    if isinstance(value, dict):
        iri = writer.iri(value.get("uri"))
        if iri:
            return iri
        value = text_of(value.get("id")) or text_of(value.get("name"))
    text = text_of(value)
    return writer.iri(text) or (
        writer.iri(portal.page("dataset", text)) if text else ""
    )
