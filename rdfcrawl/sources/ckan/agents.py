"""Publishers, creators and contacts of a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.core.namespaces import DCAT, DCTERMS, FOAF, PROV, VCARD
from rdfcrawl.rdf import terms
from rdfcrawl.sources.ckan.fields import AGENT_FIELDS, AGENTS, CONTACT_FIELDS
from rdfcrawl.sources.ckan.values import (
    PackageFields,
    is_empty,
    iter_objects,
    text_of,
)
from rdfcrawl.sources.ckan.writing import TYPE, DatasetWriter, iter_fields

if TYPE_CHECKING:
    from rdfcrawl.sources.ckan.api import PortalAddress

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
