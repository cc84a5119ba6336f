"""The table of fields: which key of a dataset is which property.

Source: CKAN's `package_show`; the documentation of ckanext-dcat, "DCAT to CKAN
mapping" (DCAT-AP 1 to 3, DCAT-US 3, HealthDCAT-AP); ckanext-spatial; data.json.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from rdfcrawl.rdf.namespaces import (
    ADMS,
    DCAT,
    DCATAP,
    DCATUS,
    DCTERMS,
    DPV,
    FOAF,
    HEALTH,
    OWL,
    PROV,
    VCARD,
)


class ValueShape(StrEnum):
    """What the value of a field becomes."""

    TEXT = "text"  # a literal, with its language where there are translations
    IRI = "IRI"  # a literal, and a fault, if it is none
    IRI_OR_TEXT = "IRI or text"
    DATE = "date"
    COUNT = "whole number"
    DECIMAL = "number"
    DURATION = "duration"
    BOOLEAN = "truth value"
    MAIL = "mail address"
    FREQUENCY = "frequency"
    LANGUAGE = "language"
    FILE_TYPE = "file type"
    MEDIA_TYPE = "media type"
    LICENCE = "licence"
    STATEMENT = "statement"  # an IRI, or a node with a label
    CONCEPT = "concept"  # an IRI, or a node with a preferred label
    IDENTIFIER = "identifier"  # a node with a notation


@dataclass(frozen=True, slots=True)
class MappedField:
    """A property and where it is said.

    Attributes:
        keys: of the members or extras; the first that has a value counts.
        predicate: IRI of the property.
        shape: what the value becomes.
        is_list: there may be several values.
    """

    keys: tuple[str, ...]
    predicate: str
    shape: ValueShape = ValueShape.TEXT
    is_list: bool = False


def _field(
    keys: str, predicate: str, shape: ValueShape = ValueShape.TEXT
) -> MappedField:
    return MappedField(tuple(keys.split()), predicate, shape)


def _list(
    keys: str, predicate: str, shape: ValueShape = ValueShape.IRI_OR_TEXT
) -> MappedField:
    return MappedField(tuple(keys.split()), predicate, shape, is_list=True)


DATASET_FIELDS: Final = (
    # CKAN itself
    _field("title_translated title", f"{DCTERMS}title"),
    _field("notes_translated notes description", f"{DCTERMS}description"),
    _field("url landing_page landingPage", f"{DCAT}landingPage", ValueShape.IRI),
    _field("version", f"{OWL}versionInfo"),
    _field("version", f"{DCAT}version"),
    _field(
        "issued release_date date_released metadata_created",
        f"{DCTERMS}issued",
        ValueShape.DATE,
    ),
    _field(
        "modified date_modified last_updated metadata_modified",
        f"{DCTERMS}modified",
        ValueShape.DATE,
    ),
    # DCAT-AP
    _list("identifier guid id", f"{DCTERMS}identifier", ValueShape.TEXT),
    _list(
        "alternate_identifier alternative_identifier other_identifier",
        f"{ADMS}identifier",
        ValueShape.IDENTIFIER,
    ),
    _field("version_notes", f"{ADMS}versionNotes"),
    _field(
        "frequency accrual_periodicity accrualPeriodicity frequency-of-update "
        "update_frequency",
        f"{DCTERMS}accrualPeriodicity",
        ValueShape.FREQUENCY,
    ),
    _list("dcat_type", f"{DCTERMS}type"),
    _list("language metadata-language", f"{DCTERMS}language", ValueShape.LANGUAGE),
    _list("theme themes", f"{DCAT}theme", ValueShape.CONCEPT),
    _list("conforms_to conformsTo", f"{DCTERMS}conformsTo", ValueShape.STATEMENT),
    _list("documentation page", f"{FOAF}page"),
    _list("related_resource", f"{DCTERMS}relation"),
    _list("references", f"{DCTERMS}references"),
    _list("has_version", f"{DCTERMS}hasVersion"),
    _list("is_version_of", f"{DCTERMS}isVersionOf"),
    _list("has_part", f"{DCTERMS}hasPart"),
    _list("is_part_of", f"{DCTERMS}isPartOf"),
    _list("source", f"{DCTERMS}source"),
    _list("sample", f"{ADMS}sample"),
    _list("access_rights accessRights", f"{DCTERMS}accessRights", ValueShape.STATEMENT),
    _list("rights", f"{DCTERMS}rights", ValueShape.STATEMENT),
    _list("provenance lineage", f"{DCTERMS}provenance", ValueShape.STATEMENT),
    _field("status", f"{ADMS}status", ValueShape.IRI_OR_TEXT),
    # DCAT-AP 2 and 3
    _field("temporal_resolution", f"{DCAT}temporalResolution", ValueShape.DURATION),
    _list(
        "spatial_resolution_in_meters",
        f"{DCAT}spatialResolutionInMeters",
        ValueShape.DECIMAL,
    ),
    _list("is_referenced_by", f"{DCTERMS}isReferencedBy"),
    _list("applicable_legislation", f"{DCATAP}applicableLegislation"),
    _list("hvd_category", f"{DCATAP}hvdCategory", ValueShape.CONCEPT),
    _list("was_generated_by", f"{PROV}wasGeneratedBy"),
    _field("availability", f"{DCATAP}availability", ValueShape.IRI_OR_TEXT),
    # HealthDCAT-AP
    _list("analytics", f"{HEALTH}analytics"),
    _list("code_values", f"{HEALTH}hasCodeValues"),
    _list("coding_system", f"{HEALTH}hasCodingSystem"),
    _list("health_category", f"{HEALTH}healthCategory"),
    _list("health_theme", f"{HEALTH}healthTheme"),
    _list("legal_basis", f"{DPV}hasLegalBasis"),
    _list("personal_data", f"{DPV}hasPersonalData"),
    _list("purpose", f"{DPV}hasPurpose"),
    _list("population_coverage", f"{HEALTH}populationCoverage", ValueShape.TEXT),
    _list("publisher_note", f"{HEALTH}publisherNote", ValueShape.TEXT),
    _field("trusted_data_holder", f"{HEALTH}trustedDataHolder", ValueShape.BOOLEAN),
    _field("min_typical_age", f"{HEALTH}minTypicalAge", ValueShape.COUNT),
    _field("max_typical_age", f"{HEALTH}maxTypicalAge", ValueShape.COUNT),
    _field("number_of_records", f"{HEALTH}numberOfRecords", ValueShape.COUNT),
    _field(
        "number_of_unique_individuals",
        f"{HEALTH}numberOfUniqueIndividuals",
        ValueShape.COUNT,
    ),
    # DCAT-US 3
    _list("liability", f"{DCATUS}liabilityStatement", ValueShape.STATEMENT),
)

RESOURCE_FIELDS: Final = (
    _field("name_translated name", f"{DCTERMS}title"),
    _field("description_translated description", f"{DCTERMS}description"),
    _list("identifier", f"{DCTERMS}identifier", ValueShape.TEXT),
    _field("status", f"{ADMS}status", ValueShape.IRI_OR_TEXT),
    _field("license license_url license_id", f"{DCTERMS}license", ValueShape.LICENCE),
    _list("rights", f"{DCTERMS}rights", ValueShape.STATEMENT),
    _list("access_rights", f"{DCTERMS}accessRights", ValueShape.STATEMENT),
    _list("documentation page", f"{FOAF}page"),
    _list("language", f"{DCTERMS}language", ValueShape.LANGUAGE),
    _list("conforms_to conformsTo", f"{DCTERMS}conformsTo", ValueShape.STATEMENT),
    _field("issued created", f"{DCTERMS}issued", ValueShape.DATE),
    _field(
        "modified last_modified metadata_modified",
        f"{DCTERMS}modified",
        ValueShape.DATE,
    ),
    _field("size byte_size", f"{DCAT}byteSize", ValueShape.COUNT),
    _field("availability", f"{DCATAP}availability", ValueShape.IRI_OR_TEXT),
    _field("compress_format", f"{DCAT}compressFormat", ValueShape.MEDIA_TYPE),
    _field("package_format", f"{DCAT}packageFormat", ValueShape.MEDIA_TYPE),
    _list("applicable_legislation", f"{DCATAP}applicableLegislation"),
    _field("temporal_resolution", f"{DCAT}temporalResolution", ValueShape.DURATION),
    _field(
        "spatial_resolution_in_meters",
        f"{DCAT}spatialResolutionInMeters",
        ValueShape.DECIMAL,
    ),
)

SERVICE_FIELDS: Final = (
    _field("title_translated title", f"{DCTERMS}title"),
    _field("description_translated description", f"{DCTERMS}description"),
    _list("endpoint_url", f"{DCAT}endpointURL", ValueShape.IRI),
    _list("endpoint_description", f"{DCAT}endpointDescription"),
    _list("serves_dataset", f"{DCAT}servesDataset", ValueShape.IRI),
    _field("availability", f"{DCATAP}availability", ValueShape.IRI_OR_TEXT),
    _field("license", f"{DCTERMS}license", ValueShape.LICENCE),
    _list("access_rights", f"{DCTERMS}accessRights", ValueShape.STATEMENT),
    _list("conforms_to", f"{DCTERMS}conformsTo", ValueShape.STATEMENT),
)

AGENT_FIELDS: Final = (
    _field("name_translated name title", f"{FOAF}name"),
    _field("email mail", f"{FOAF}mbox", ValueShape.MAIL),
    _field("url homepage", f"{FOAF}homepage", ValueShape.IRI),
    _field("type", f"{DCTERMS}type", ValueShape.IRI_OR_TEXT),
    _list("identifier", f"{DCTERMS}identifier", ValueShape.TEXT),
)

CONTACT_FIELDS: Final = (
    _field("name_translated name", f"{VCARD}fn"),
    _field("email mail", f"{VCARD}hasEmail", ValueShape.MAIL),
    _field("url", f"{VCARD}hasURL", ValueShape.IRI),
    _field("identifier", f"{VCARD}hasUID", ValueShape.IRI_OR_TEXT),
    _field("phone telephone", f"{VCARD}hasTelephone"),
)

# Agents beside the publisher: key of the list, or prefix of flat keys
AGENTS: Final = (
    ("creator", f"{DCTERMS}creator"),
    ("contributor", f"{DCTERMS}contributor"),
    ("hdab", f"{HEALTH}hdab"),
)

# `type` of an entry of relationships_as_subject
RELATIONSHIPS: Final = {
    "depends_on": f"{DCTERMS}requires",
    "dependency_of": f"{DCTERMS}isRequiredBy",
    "derives_from": f"{PROV}wasDerivedFrom",
    "has_derivation": f"{PROV}hadDerivation",
    "child_of": f"{DCTERMS}isPartOf",
    "parent_of": f"{DCTERMS}hasPart",
    "links_to": f"{DCTERMS}references",
    "linked_from": f"{DCTERMS}isReferencedBy",
}
