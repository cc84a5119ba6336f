"""The table of fields: which key of a dataset is which property.

Source: CKAN's `package_show`; the documentation of ckanext-dcat, "DCAT to CKAN
mapping" (DCAT-AP 1 to 3, DCAT-US 3, HealthDCAT-AP); ckanext-spatial; data.json.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

DCT: Final = "http://purl.org/dc/terms/"
DCAT: Final = "http://www.w3.org/ns/dcat#"
DCATAP: Final = "http://data.europa.eu/r5r/"
FOAF: Final = "http://xmlns.com/foaf/0.1/"
RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
SKOS: Final = "http://www.w3.org/2004/02/skos/core#"
ADMS: Final = "http://www.w3.org/ns/adms#"
OWL: Final = "http://www.w3.org/2002/07/owl#"
PROV: Final = "http://www.w3.org/ns/prov#"
VCARD: Final = "http://www.w3.org/2006/vcard/ns#"
SPDX: Final = "http://spdx.org/rdf/terms#"
LOCN: Final = "http://www.w3.org/ns/locn#"
GEO: Final = "http://www.opengis.net/ont/geosparql#"
HEALTH: Final = "http://healthdataportal.eu/ns/health#"
DPV: Final = "https://w3id.org/dpv#"
DCATUS: Final = "http://resources.data.gov/ontology/dcat-us#"


class Shape(StrEnum):
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
class Field:
    """A property and where it is said.

    Attributes:
        keys: of the members or extras; the first that has a value counts.
        predicate: IRI of the property.
        shape: what the value becomes.
        is_list: there may be several values.
    """

    keys: tuple[str, ...]
    predicate: str
    shape: Shape = Shape.TEXT
    is_list: bool = False


def _field(keys: str, predicate: str, shape: Shape = Shape.TEXT) -> Field:
    return Field(tuple(keys.split()), predicate, shape)


def _list(keys: str, predicate: str, shape: Shape = Shape.IRI_OR_TEXT) -> Field:
    return Field(tuple(keys.split()), predicate, shape, is_list=True)


DATASET_FIELDS: Final = (
    # CKAN itself
    _field("title_translated title", f"{DCT}title"),
    _field("notes_translated notes description", f"{DCT}description"),
    _field("url landing_page landingPage", f"{DCAT}landingPage", Shape.IRI),
    _field("version", f"{OWL}versionInfo"),
    _field("version", f"{DCAT}version"),
    _field(
        "issued release_date date_released metadata_created",
        f"{DCT}issued",
        Shape.DATE,
    ),
    _field(
        "modified date_modified last_updated metadata_modified",
        f"{DCT}modified",
        Shape.DATE,
    ),
    # DCAT-AP
    _list("identifier guid id", f"{DCT}identifier", Shape.TEXT),
    _list(
        "alternate_identifier alternative_identifier other_identifier",
        f"{ADMS}identifier",
        Shape.IDENTIFIER,
    ),
    _field("version_notes", f"{ADMS}versionNotes"),
    _field(
        "frequency accrual_periodicity accrualPeriodicity frequency-of-update "
        "update_frequency",
        f"{DCT}accrualPeriodicity",
        Shape.FREQUENCY,
    ),
    _list("dcat_type", f"{DCT}type"),
    _list("language metadata-language", f"{DCT}language", Shape.LANGUAGE),
    _list("theme themes", f"{DCAT}theme", Shape.CONCEPT),
    _list("conforms_to conformsTo", f"{DCT}conformsTo", Shape.STATEMENT),
    _list("documentation page", f"{FOAF}page"),
    _list("related_resource", f"{DCT}relation"),
    _list("references", f"{DCT}references"),
    _list("has_version", f"{DCT}hasVersion"),
    _list("is_version_of", f"{DCT}isVersionOf"),
    _list("has_part", f"{DCT}hasPart"),
    _list("is_part_of", f"{DCT}isPartOf"),
    _list("source", f"{DCT}source"),
    _list("sample", f"{ADMS}sample"),
    _list("access_rights accessRights", f"{DCT}accessRights", Shape.STATEMENT),
    _list("rights", f"{DCT}rights", Shape.STATEMENT),
    _list("provenance lineage", f"{DCT}provenance", Shape.STATEMENT),
    _field("status", f"{ADMS}status", Shape.IRI_OR_TEXT),
    # DCAT-AP 2 and 3
    _field("temporal_resolution", f"{DCAT}temporalResolution", Shape.DURATION),
    _list(
        "spatial_resolution_in_meters",
        f"{DCAT}spatialResolutionInMeters",
        Shape.DECIMAL,
    ),
    _list("is_referenced_by", f"{DCT}isReferencedBy"),
    _list("applicable_legislation", f"{DCATAP}applicableLegislation"),
    _list("hvd_category", f"{DCATAP}hvdCategory", Shape.CONCEPT),
    _list("was_generated_by", f"{PROV}wasGeneratedBy"),
    _field("availability", f"{DCATAP}availability", Shape.IRI_OR_TEXT),
    # HealthDCAT-AP
    _list("analytics", f"{HEALTH}analytics"),
    _list("code_values", f"{HEALTH}hasCodeValues"),
    _list("coding_system", f"{HEALTH}hasCodingSystem"),
    _list("health_category", f"{HEALTH}healthCategory"),
    _list("health_theme", f"{HEALTH}healthTheme"),
    _list("legal_basis", f"{DPV}hasLegalBasis"),
    _list("personal_data", f"{DPV}hasPersonalData"),
    _list("purpose", f"{DPV}hasPurpose"),
    _list("population_coverage", f"{HEALTH}populationCoverage", Shape.TEXT),
    _list("publisher_note", f"{HEALTH}publisherNote", Shape.TEXT),
    _field("trusted_data_holder", f"{HEALTH}trustedDataHolder", Shape.BOOLEAN),
    _field("min_typical_age", f"{HEALTH}minTypicalAge", Shape.COUNT),
    _field("max_typical_age", f"{HEALTH}maxTypicalAge", Shape.COUNT),
    _field("number_of_records", f"{HEALTH}numberOfRecords", Shape.COUNT),
    _field(
        "number_of_unique_individuals",
        f"{HEALTH}numberOfUniqueIndividuals",
        Shape.COUNT,
    ),
    # DCAT-US 3
    _list("liability", f"{DCATUS}liabilityStatement", Shape.STATEMENT),
)

RESOURCE_FIELDS: Final = (
    _field("name_translated name", f"{DCT}title"),
    _field("description_translated description", f"{DCT}description"),
    _list("identifier", f"{DCT}identifier", Shape.TEXT),
    _field("status", f"{ADMS}status", Shape.IRI_OR_TEXT),
    _field("license license_url license_id", f"{DCT}license", Shape.LICENCE),
    _list("rights", f"{DCT}rights", Shape.STATEMENT),
    _list("access_rights", f"{DCT}accessRights", Shape.STATEMENT),
    _list("documentation page", f"{FOAF}page"),
    _list("language", f"{DCT}language", Shape.LANGUAGE),
    _list("conforms_to conformsTo", f"{DCT}conformsTo", Shape.STATEMENT),
    _field("issued created", f"{DCT}issued", Shape.DATE),
    _field(
        "modified last_modified metadata_modified",
        f"{DCT}modified",
        Shape.DATE,
    ),
    _field("size byte_size", f"{DCAT}byteSize", Shape.COUNT),
    _field("availability", f"{DCATAP}availability", Shape.IRI_OR_TEXT),
    _field("compress_format", f"{DCAT}compressFormat", Shape.MEDIA_TYPE),
    _field("package_format", f"{DCAT}packageFormat", Shape.MEDIA_TYPE),
    _list("applicable_legislation", f"{DCATAP}applicableLegislation"),
    _field("temporal_resolution", f"{DCAT}temporalResolution", Shape.DURATION),
    _field(
        "spatial_resolution_in_meters",
        f"{DCAT}spatialResolutionInMeters",
        Shape.DECIMAL,
    ),
)

SERVICE_FIELDS: Final = (
    _field("title_translated title", f"{DCT}title"),
    _field("description_translated description", f"{DCT}description"),
    _list("endpoint_url", f"{DCAT}endpointURL", Shape.IRI),
    _list("endpoint_description", f"{DCAT}endpointDescription"),
    _list("serves_dataset", f"{DCAT}servesDataset", Shape.IRI),
    _field("availability", f"{DCATAP}availability", Shape.IRI_OR_TEXT),
    _field("license", f"{DCT}license", Shape.LICENCE),
    _list("access_rights", f"{DCT}accessRights", Shape.STATEMENT),
    _list("conforms_to", f"{DCT}conformsTo", Shape.STATEMENT),
)

AGENT_FIELDS: Final = (
    _field("name_translated name title", f"{FOAF}name"),
    _field("email mail", f"{FOAF}mbox", Shape.MAIL),
    _field("url homepage", f"{FOAF}homepage", Shape.IRI),
    _field("type", f"{DCT}type", Shape.IRI_OR_TEXT),
    _list("identifier", f"{DCT}identifier", Shape.TEXT),
)

CONTACT_FIELDS: Final = (
    _field("name_translated name", f"{VCARD}fn"),
    _field("email mail", f"{VCARD}hasEmail", Shape.MAIL),
    _field("url", f"{VCARD}hasURL", Shape.IRI),
    _field("identifier", f"{VCARD}hasUID", Shape.IRI_OR_TEXT),
    _field("phone telephone", f"{VCARD}hasTelephone"),
)

# Agents beside the publisher: key of the list, or prefix of flat keys
AGENTS: Final = (
    ("creator", f"{DCT}creator"),
    ("contributor", f"{DCT}contributor"),
    ("hdab", f"{HEALTH}hdab"),
)

# `type` of an entry of relationships_as_subject
RELATIONSHIPS: Final = {
    "depends_on": f"{DCT}requires",
    "dependency_of": f"{DCT}isRequiredBy",
    "derives_from": f"{PROV}wasDerivedFrom",
    "has_derivation": f"{PROV}hadDerivation",
    "child_of": f"{DCT}isPartOf",
    "parent_of": f"{DCT}hasPart",
    "links_to": f"{DCT}references",
    "linked_from": f"{DCT}isReferencedBy",
}
