"""The table of fields: the keys of a dataset and their properties.

Source: CKAN's `package_show`; the documentation of ckanext-dcat, "DCAT to CKAN
mapping" (DCAT-AP 1 to 3, DCAT-US 3, HealthDCAT-AP); ckanext-spatial; data.json.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from rdfcrawl.core import namespaces
from rdfcrawl.core.namespaces import DCTERMS, HEALTH, PROV


class ValueShape(StrEnum):
    """Conversion of the value of a field."""

    TEXT = "text"  # a literal; a translation has its language
    IRI = "IRI"  # otherwise a literal, and a fault
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
    """A property, and the keys of members or extras with its value.

    The first key with a value counts; with `is_list`, the value is a list.
    """

    keys: tuple[str, ...]
    predicate: str
    shape: ValueShape = ValueShape.TEXT
    is_list: bool = False


def _parse_table(text: str) -> tuple[MappedField, ...]:
    """Return the fields of a table; each line has property, shape and keys.

    `*` marks a list; prefixes are the names in `core.namespaces`.
    """
    fields = []
    for line in text.strip().splitlines():
        if not line.startswith("#"):
            name, shape, *keys = line.split()
            prefix, _, local = name.partition(":")
            predicate = getattr(namespaces, prefix) + local
            kind = ValueShape[shape.rstrip("*")]
            fields.append(MappedField(tuple(keys), predicate, kind, shape[-1] == "*"))
    return tuple(fields)


DATASET_FIELDS: Final = _parse_table("""
# CKAN itself
DCTERMS:title TEXT title_translated title
DCTERMS:description TEXT notes_translated notes description
DCAT:landingPage IRI url landing_page landingPage
OWL:versionInfo TEXT version
DCAT:version TEXT version
DCTERMS:issued DATE issued release_date date_released metadata_created
DCTERMS:modified DATE modified date_modified last_updated metadata_modified
# DCAT-AP
DCTERMS:identifier TEXT* identifier guid id
ADMS:identifier IDENTIFIER* alternate_identifier alternative_identifier other_identifier
ADMS:versionNotes TEXT version_notes
DCTERMS:accrualPeriodicity FREQUENCY frequency accrual_periodicity \
    accrualPeriodicity frequency-of-update update_frequency
DCTERMS:type IRI_OR_TEXT* dcat_type
DCTERMS:language LANGUAGE* language metadata-language
DCAT:theme CONCEPT* theme themes
DCTERMS:conformsTo STATEMENT* conforms_to conformsTo
FOAF:page IRI_OR_TEXT* documentation page
DCTERMS:relation IRI_OR_TEXT* related_resource
DCTERMS:references IRI_OR_TEXT* references
DCTERMS:hasVersion IRI_OR_TEXT* has_version
DCTERMS:isVersionOf IRI_OR_TEXT* is_version_of
DCTERMS:hasPart IRI_OR_TEXT* has_part
DCTERMS:isPartOf IRI_OR_TEXT* is_part_of
DCTERMS:source IRI_OR_TEXT* source
ADMS:sample IRI_OR_TEXT* sample
DCTERMS:accessRights STATEMENT* access_rights accessRights
DCTERMS:rights STATEMENT* rights
DCTERMS:provenance STATEMENT* provenance lineage
ADMS:status IRI_OR_TEXT status
# DCAT-AP 2 and 3
DCAT:temporalResolution DURATION temporal_resolution
DCAT:spatialResolutionInMeters DECIMAL* spatial_resolution_in_meters
DCTERMS:isReferencedBy IRI_OR_TEXT* is_referenced_by
DCATAP:applicableLegislation IRI_OR_TEXT* applicable_legislation
DCATAP:hvdCategory CONCEPT* hvd_category
PROV:wasGeneratedBy IRI_OR_TEXT* was_generated_by
DCATAP:availability IRI_OR_TEXT availability
# HealthDCAT-AP
HEALTH:analytics IRI_OR_TEXT* analytics
HEALTH:hasCodeValues IRI_OR_TEXT* code_values
HEALTH:hasCodingSystem IRI_OR_TEXT* coding_system
HEALTH:healthCategory IRI_OR_TEXT* health_category
HEALTH:healthTheme IRI_OR_TEXT* health_theme
DPV:hasLegalBasis IRI_OR_TEXT* legal_basis
DPV:hasPersonalData IRI_OR_TEXT* personal_data
DPV:hasPurpose IRI_OR_TEXT* purpose
HEALTH:populationCoverage TEXT* population_coverage
HEALTH:publisherNote TEXT* publisher_note
HEALTH:trustedDataHolder BOOLEAN trusted_data_holder
HEALTH:minTypicalAge COUNT min_typical_age
HEALTH:maxTypicalAge COUNT max_typical_age
HEALTH:numberOfRecords COUNT number_of_records
HEALTH:numberOfUniqueIndividuals COUNT number_of_unique_individuals
# DCAT-US 3
DCATUS:liabilityStatement STATEMENT* liability
""")

RESOURCE_FIELDS: Final = _parse_table("""
DCTERMS:title TEXT name_translated name
DCTERMS:description TEXT description_translated description
DCTERMS:identifier TEXT* identifier
ADMS:status IRI_OR_TEXT status
DCTERMS:license LICENCE license license_url license_id
DCTERMS:rights STATEMENT* rights
DCTERMS:accessRights STATEMENT* access_rights
FOAF:page IRI_OR_TEXT* documentation page
DCTERMS:language LANGUAGE* language
DCTERMS:conformsTo STATEMENT* conforms_to conformsTo
DCTERMS:issued DATE issued created
DCTERMS:modified DATE modified last_modified metadata_modified
DCAT:byteSize COUNT size byte_size
DCATAP:availability IRI_OR_TEXT availability
DCAT:compressFormat MEDIA_TYPE compress_format
DCAT:packageFormat MEDIA_TYPE package_format
DCATAP:applicableLegislation IRI_OR_TEXT* applicable_legislation
DCAT:temporalResolution DURATION temporal_resolution
DCAT:spatialResolutionInMeters DECIMAL spatial_resolution_in_meters
""")

SERVICE_FIELDS: Final = _parse_table("""
DCTERMS:title TEXT title_translated title
DCTERMS:description TEXT description_translated description
DCAT:endpointURL IRI* endpoint_url
DCAT:endpointDescription IRI_OR_TEXT* endpoint_description
DCAT:servesDataset IRI* serves_dataset
DCATAP:availability IRI_OR_TEXT availability
DCTERMS:license LICENCE license
DCTERMS:accessRights STATEMENT* access_rights
DCTERMS:conformsTo STATEMENT* conforms_to
""")

AGENT_FIELDS: Final = _parse_table("""
FOAF:name TEXT name_translated name title
FOAF:mbox MAIL email mail
FOAF:homepage IRI url homepage
DCTERMS:type IRI_OR_TEXT type
DCTERMS:identifier TEXT* identifier
""")

CONTACT_FIELDS: Final = _parse_table("""
VCARD:fn TEXT name_translated name
VCARD:hasEmail MAIL email mail
VCARD:hasURL IRI url
VCARD:hasUID IRI_OR_TEXT identifier
VCARD:hasTelephone TEXT phone telephone
""")

# Agents except the publisher: key of the list, or prefix of flat keys
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
