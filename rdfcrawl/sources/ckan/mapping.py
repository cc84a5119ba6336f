"""Datasets of CKAN, and the portal as their catalogue, in DCAT-AP.

Most properties come from the table in `fields`; licence, keywords, groups, series and
relationships combine several values, so they have functions here.

CKAN states title, description and language of a site (`status_show`), but no publisher;
the site itself becomes the publisher, with its title as name.

Source: CKAN, "Action API reference"; DCAT-AP 3.0, "Catalogue", of which title,
description and publisher are mandatory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.namespaces import DCAT, DCTERMS, FOAF, PROV, RDFS, SKOS, VCARD
from rdfcrawl.rdf import terms
from rdfcrawl.sources.ckan import vocabularies
from rdfcrawl.sources.ckan.api import PortalAddress
from rdfcrawl.sources.ckan.distributions import iter_distributions
from rdfcrawl.sources.ckan.fields import (
    AGENT_FIELDS,
    AGENTS,
    CONTACT_FIELDS,
    DATASET_FIELDS,
    RELATIONSHIPS,
    TYPE,
    DatasetWriter,
    MappingLimits,
    ValueShape,
    iter_fields,
    only_terms,
)
from rdfcrawl.sources.ckan.places import iter_spatial, iter_temporal
from rdfcrawl.sources.ckan.values import (
    PackageFields,
    is_empty,
    is_translated,
    iter_objects,
    iter_texts,
    iter_values,
    text_of,
)
from rdfcrawl.uri import host_of

_FLAT: Final = ("uri", "name", "email", "url", "type", "identifier", "phone")


def iter_agents(
    fields: PackageFields, dataset: str, portal: PortalAddress, writer: DatasetWriter
) -> Iterator[str]:
    """Yield statements about publisher, organization, creators and contacts."""
    publishers = list(_iter_role(fields, "publisher"))
    organization = next(iter_objects(fields.get("organization")), None)
    for one in publishers:
        yield from _agent(one, dataset, f"{DCTERMS}publisher", writer)
    if organization is not None:
        # The organization of the entry is the publisher, unless another is stated.
        predicate = f"{PROV}wasAttributedTo" if publishers else f"{DCTERMS}publisher"
        yield from _organization(organization, dataset, predicate, portal, writer)
    for key, predicate in AGENTS:
        for one in _iter_role(fields, key):
            yield from _agent(one, dataset, predicate, writer)
    author = {"name": fields.get("author"), "email": fields.get("author_email")}
    if _has_content(author) and not any(_iter_role(fields, "creator")):
        yield from _agent(author, dataset, f"{DCTERMS}creator", writer)
    for one in _iter_contacts(fields):
        node = writer.node(one.get("uri"))
        yield terms.statement(dataset, f"<{DCAT}contactPoint>", node)
        yield terms.statement(node, TYPE, f"<{VCARD}Kind>")
        yield from iter_fields(PackageFields(one), CONTACT_FIELDS, node, writer)


def _iter_role(fields: PackageFields, role: str) -> Iterator[Mapping[str, Any]]:
    """Yield the agents of a role: objects of a list, flat keys, or a bare name."""
    value = fields.get(role)
    objects = list(iter_objects(value))
    if objects:
        yield from objects
        return
    flat = {key: fields.get(f"{role}_{key}") for key in _FLAT}
    if is_empty(flat["name"]) and text_of(value):
        flat["name"] = value
    if _has_content(flat):
        yield flat


def _iter_contacts(fields: PackageFields) -> Iterator[Mapping[str, Any]]:
    for role in ("contact", "contact_point"):
        found = list(_iter_role(fields, role))
        if found:
            yield from found
            return
    for name, mail in (
        ("maintainer", ("maintainer_email", "contact-email")),
        ("author", ("author_email",)),
    ):
        person = {"name": fields.get(name), "email": fields.get(*mail)}
        if _has_content(person):
            yield person
            return


def _has_content(agent: Mapping[str, Any]) -> bool:
    return not all(is_empty(agent.get(key)) for key in ("uri", "name", "email", "url"))


def _agent(
    agent: Mapping[str, Any], dataset: str, predicate: str, writer: DatasetWriter
) -> Iterator[str]:
    node = writer.node(agent.get("uri"))
    yield terms.statement(dataset, f"<{predicate}>", node)
    yield terms.statement(node, TYPE, f"<{FOAF}Agent>")
    yield from iter_fields(PackageFields(agent), AGENT_FIELDS, node, writer)


def _organization(
    organization: Mapping[str, Any],
    dataset: str,
    predicate: str,
    portal: PortalAddress,
    writer: DatasetWriter,
) -> Iterator[str]:
    fields = PackageFields(organization)
    name = fields.text("id", "name")
    node = writer.node(fields.get("uri"), name and portal.page("organization", name))
    yield terms.statement(dataset, f"<{predicate}>", node)
    yield terms.statement(node, TYPE, f"<{FOAF}Agent>")
    # `type` is a word of CKAN, `title` the name for people.
    values: dict[str, Any] = {
        "name": fields.get("title_translated", "title", "display_name", "name"),
        "type": fields.get("dcat_type"),
    }
    values |= {key: fields.get(key) for key in ("email", "url", "identifier")}
    yield from iter_fields(PackageFields(values), AGENT_FIELDS, node, writer)
    description = fields.get("description")
    yield from writer.texts(node, f"<{DCTERMS}description>", description)


DEFAULT_MAPPING_LIMITS: Final = MappingLimits()

# Types of entries by extensions that are not datasets
_NO_DATASETS: Final = frozenset({"harvest", "showcase", "application"})


def document_url(package: Mapping[str, Any], portal: PortalAddress) -> str:
    """Return the URL of a dataset's page, which names its graph.

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
    """Yield the statements of a dataset, without graph, for `checking.iter_checked`.

    The dataset is named by its `uri`, as in the portal's own DCAT, or by its
    `document_url`; a distribution by its `uri`, or by its page below that URL. Texts
    without language are plain literals.

    Args:
        package: result of `package_show` or `package_search`, of any CKAN version.
        portal: of the dataset.
        log: receives `BAD_TERM` for each value that does not fit its field (written as
            a literal, or left out), `REPAIRED` for IRIs with escaped characters,
            `LITERAL_TOO_LONG` and `TOO_MANY_ENTRIES`.
        limits: limits on the statements.
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
    """Yield the licence: a URL, an id and a title, each optional."""
    own_id, other = fields.text("license_id"), fields.text("license", "licence")
    known = vocabularies.licence(own_id)
    candidates = (fields.get("license_url"), own_id, other)
    node = next(
        filter(None, map(writer.iri, candidates)), f"<{known}>" if known else ""
    )
    title = fields.text("license_title") or ("" if writer.iri(other) else other)
    if own_id == "notspecified" and not node:
        return  # CKAN's value for no licence
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
    tags = fields.get("tags")
    values: list[Any] = []
    for key in ("tags_translated", "keywords"):
        value = fields.get(key)
        values += [value] if is_translated(value) else iter_values(value)
    tag_string = fields.get("tag_string")
    if not tags and isinstance(tag_string, str):
        values += [part.strip() for part in tag_string.split(",") if part.strip()]
    elif not tags:
        values += iter_values(tag_string)
    keywords = [text for value in values for text in iter_texts(value)]
    known = {text for text, _ in keywords}
    for tag in tags if isinstance(tags, list) else ():
        name = tag
        if isinstance(tag, dict):
            name = tag.get("display_name") or tag.get("name")
        keywords += [each for each in iter_texts(name) if each[0] not in known]
    for text, language in keywords:
        keyword = writer.literal(text, language=language)
        yield terms.statement(dataset, f"<{DCAT}keyword>", keyword)


def _groups(
    fields: PackageFields, dataset: str, portal: PortalAddress, writer: DatasetWriter
) -> Iterator[str]:
    """Yield the groups of CKAN as themes."""
    groups = fields.get("groups")
    for group in groups if isinstance(groups, list) else ():
        group_fields = PackageFields(
            group if isinstance(group, dict) else {"name": group}
        )
        name = group_fields.text("name", "id")
        if not name:
            continue
        node = writer.node(portal.page("group", name))
        yield terms.statement(dataset, f"<{DCAT}theme>", node)
        yield terms.statement(node, TYPE, f"<{SKOS}Concept>")
        title = group_fields.get("title_translated", "title", "display_name", "name")
        yield from writer.texts(node, f"<{SKOS}prefLabel>", title)


def _relations(
    fields: PackageFields, dataset: str, portal: PortalAddress, writer: DatasetWriter
) -> Iterator[str]:
    """Yield links to other datasets of the portal: series, and CKAN's relationships."""
    for own_id in iter_values(fields.get("in_series")):
        if other := _dataset_of(own_id, portal, writer):
            yield terms.statement(dataset, f"<{DCAT}inSeries>", other)
    for entry in iter_objects(fields.get("series_navigation")):
        for key in ("first", "last", "previous", "next"):
            if other := _dataset_of(entry.get(key), portal, writer):
                name = "prev" if key == "previous" else key
                yield terms.statement(dataset, f"<{DCAT}{name}>", other)
    for entry in iter_objects(fields.get("relationships_as_subject")):
        predicate = RELATIONSHIPS.get(text_of(entry.get("type")))
        other = _dataset_of(entry.get("object"), portal, writer)
        if predicate and other:
            yield terms.statement(dataset, f"<{predicate}>", other)
        elif other:
            writer.log.note(Reason.BAD_TERM, f"relationship {entry.get('type')!r:.50}")


def _dataset_of(value: Any, portal: PortalAddress, writer: DatasetWriter) -> str:
    """Return the term of another dataset, from an IRI, id, name or object."""
    if isinstance(value, dict):
        if iri := writer.iri(value.get("uri")):
            return iri
        value = text_of(value.get("id")) or text_of(value.get("name"))
    text = text_of(value)
    return writer.iri(text) or (
        writer.iri(portal.page("dataset", text)) if text else ""
    )


def catalogue_url(portal: PortalAddress) -> str:
    """Return the URL of a portal's status, which names the catalogue's graph."""
    return portal.status().url


def iter_catalogue(
    status: Mapping[str, Any], portal: PortalAddress, log: FaultLog
) -> Iterator[str]:
    """Yield the statements of a catalogue, `<url>/`; see `iter_statements`.

    `status` is the result of `status_show`; a missing title is replaced by the host.
    """
    fields = PackageFields(status)
    writer = DatasetWriter(log, DEFAULT_MAPPING_LIMITS)
    catalogue = writer.iri(f"{portal.url}/")
    if not catalogue:
        return
    title = fields.get("site_title") or host_of(f"{portal.url}/")
    yield terms.statement(catalogue, TYPE, f"<{DCAT}Catalog>")
    texts = {"title": title, "description": fields.get("site_description") or title}
    for name, value in texts.items():
        yield from writer.texts(catalogue, f"<{DCTERMS}{name}>", value)
    language = fields.text("locale_default")
    for term, lines in writer.iter_objects(language, ValueShape.LANGUAGE):
        yield terms.statement(catalogue, f"<{DCTERMS}language>", term)
        yield from lines
    publisher = writer.new_blank()
    yield terms.statement(catalogue, f"<{DCTERMS}publisher>", publisher)
    yield terms.statement(publisher, TYPE, f"<{FOAF}Agent>")
    agent = PackageFields({"name": title, "homepage": f"{portal.url}/"})
    yield from only_terms(iter_fields(agent, AGENT_FIELDS, publisher, writer))
