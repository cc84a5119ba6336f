"""A portal as the `dcat:Catalog` of its datasets.

CKAN gives title, description and language of a site (`status_show`), but no publisher:
that is the site itself, by its title.

Source: CKAN, "Action API reference", `status_show`; DCAT-AP 3.0, "Catalogue", of which
title, description and publisher are mandatory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.catalogs.ckan.fields import AGENT_FIELDS, ValueShape
from rdfcrawl.catalogs.ckan.values import PackageFields, iter_texts
from rdfcrawl.catalogs.ckan.writing import (
    TYPE,
    DatasetWriter,
    MappingLimits,
    iter_fields,
    only_terms,
)
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.namespaces import DCAT, DCTERMS, FOAF
from rdfcrawl.uri import host_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rdfcrawl.catalogs.ckan.api import PortalAddress
    from rdfcrawl.faultlog import FaultLog

ACTION: Final = "status_show"


def catalogue_url(portal: PortalAddress) -> str:
    """Return the URL of a portal's status, which names the catalogue's graph."""
    return portal.action(ACTION).url


def iter_catalogue(
    status: Mapping[str, Any], portal: PortalAddress, log: FaultLog
) -> Iterator[str]:
    """Yield the statements of a catalogue, without graph, as `mapping` does.

    Args:
        status: of `status_show`, or empty; the host stands in for a missing title.
        portal: its `<url>/` is the catalogue.
        log: as in `mapping.iter_statements`.
    """
    fields = PackageFields(status)
    writer = DatasetWriter(log, MappingLimits())
    catalogue = writer.iri(f"{portal.url}/")
    if not catalogue:
        return
    title = fields.get("site_title") or host_of(f"{portal.url}/")
    yield terms.statement(catalogue, TYPE, f"<{DCAT}Catalog>")
    said = {"title": title, "description": fields.get("site_description") or title}
    for name, value in said.items():
        for text, language in iter_texts(value):
            literal = writer.literal(text, language=language)
            yield from only_terms(
                (terms.statement(catalogue, f"<{DCTERMS}{name}>", literal),)
            )
    language = fields.text("locale_default")
    for term, lines in writer.iter_objects(language, ValueShape.LANGUAGE):
        yield terms.statement(catalogue, f"<{DCTERMS}language>", term)
        yield from lines
    publisher = writer.new_blank()
    yield terms.statement(catalogue, f"<{DCTERMS}publisher>", publisher)
    yield terms.statement(publisher, TYPE, f"<{FOAF}Agent>")
    agent = PackageFields({"name": title, "homepage": f"{portal.url}/"})
    yield from only_terms(iter_fields(agent, AGENT_FIELDS, publisher, writer))
