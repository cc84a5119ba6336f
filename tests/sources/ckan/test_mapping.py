"""A dataset of CKAN as DCAT-AP: all fields, and nothing that breaks RDF."""

from __future__ import annotations

import re

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.sources.ckan.fields import (
    AGENT_FIELDS,
    CONTACT_FIELDS,
    DATASET_FIELDS,
    RESOURCE_FIELDS,
    SERVICE_FIELDS,
)
from tests.support.ckan_packages import (
    CKAN_2_8,
    DCAT,
    DCT,
    EU,
    FOAF,
    IANA,
    SCHEMING_2_10,
    VCARD,
    XSD,
    D,
    R,
    Written,
    dataset,
    resource,
)

# -- the shapes that ORCA asks for ---------------------------------------------------


def test_the_shapes_of_orca() -> None:
    """If a portal has one dataset per link, then the five patterns are there."""
    url = "http://sparql-3.example:8890/sparql"
    name = re.sub("[^a-z0-9]", "", url)
    one = resource(name=f"dist{name}", url=url, format="")
    one["title"] = f"Dataset {url}"
    found = Written(one)
    rdf_type = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    assert found.one(D, rdf_type) == f"<{DCAT}Dataset>"
    assert found.one(D, f"{DCAT}distribution") == R
    assert found.one(D, f"{DCT}title") == f'"Dataset {url}"'
    assert found.one(R, rdf_type) == f"<{DCAT}Distribution>"
    assert found.one(R, f"{DCAT}accessURL") == f"<{url}>"
    assert found.log.all() == []


# -- realistic portals -----------------------------------------------------------------


def test_a_dataset_of_2_8_with_extras() -> None:
    """If a dataset has members and extras as in 2.8, then both are read."""
    found = Written(CKAN_2_8)
    assert found.one(D, f"{DCT}issued") == f'"2018-02"^^<{XSD}gYearMonth>'
    modified = f'"2019-11-20T17:00:01"^^<{XSD}dateTime>'
    assert found.one(D, f"{DCT}modified") == modified
    assert found.one(D, f"{DCT}identifier") == '"urn:x:trees"'
    assert found.of(D, f"{DCT}language") == [
        f"<{EU}language/ENG>",
        "<http://l.example/de>",
    ]
    assert found.of(D, f"{DCAT}theme") == [
        "<http://t.example/a>",
        f"<{EU}data-theme/ENVI>",
        "<https://data.example/open/group/environment>",
    ]
    assert found.one(D, f"{DCT}accrualPeriodicity") == f"<{EU}frequency/ANNUAL>"
    assert found.one(D, f"{DCAT}landingPage") == "<https://town.example/trees>"
    assert found.one(D, f"{DCT}description") == '"All trees\\r\\nof the *town*."'
    assert sorted(found.of(D, f"{DCAT}keyword")) == ['"parks"', '"trees"']
    licence = "<http://www.opendefinition.org/licenses/cc-by>"
    assert found.one(D, f"{DCT}license") == licence
    assert found.one(licence, f"{DCT}identifier") == '"cc-by"'
    publisher = found.one(D, f"{DCT}publisher")
    assert found.one(publisher, f"{FOAF}name") == '"Office of Trees"'
    assert found.one(publisher, f"{FOAF}mbox") == "<mailto:office@town.example>"
    keeper = found.one(D, "http://www.w3.org/ns/prov#wasAttributedTo")
    assert keeper == "<https://data.example/open/organization/o1>"
    assert found.one(keeper, f"{FOAF}name") == '"The Town"'
    contact = found.one(D, f"{DCAT}contactPoint")
    assert found.one(contact, f"{VCARD}fn") == '"Tree office"'
    assert found.one(contact, f"{VCARD}hasEmail") == "<mailto:trees@town.example>"
    assert found.one(D, f"{DCT}creator", f"{FOAF}name") == '"A. Author"'
    older = "<https://data.example/open/dataset/older-trees>"
    assert found.one(D, "http://www.w3.org/ns/prov#wasDerivedFrom") == older
    period = found.one(D, f"{DCT}temporal")
    assert found.one(period, f"{DCAT}startDate") == f'"2017"^^<{XSD}gYear>'
    assert found.one(period, f"{DCAT}endDate") == f'"2018-12-31"^^<{XSD}date>'
    place = found.one(D, f"{DCT}spatial")
    geometries = found.of(place, "http://www.w3.org/ns/locn#geometry")
    geo = "http://www.opengis.net/ont/geosparql#"
    assert f'"POINT (7.5 50.25)"^^<{geo}wktLiteral>' in geometries
    assert len(geometries) == 2
    assert found.one(R, f"{DCAT}mediaType") == f"<{IANA}text/csv>"
    assert found.one(R, f"{DCT}format") == f"<{EU}file-type/CSV>"
    assert found.one(R, f"{DCAT}byteSize") == f'"12345"^^<{XSD}nonNegativeInteger>'
    checksum = found.one(R, "http://spdx.org/rdf/terms#checksum")
    algorithm = found.one(checksum, "http://spdx.org/rdf/terms#algorithm")
    assert algorithm == "<http://spdx.org/rdf/terms#checksumAlgorithm_md5>"
    assert found.log.all() == []


def test_a_dataset_of_2_10_with_scheming() -> None:
    """If fields are lists, objects and translations, then all of them are said."""
    found = Written(SCHEMING_2_10)
    own = "<https://id.example/trees>"
    assert found.of(own, f"{DCT}title") == ['"Trees"@en', '"Bäume"@de']
    assert found.of(own, f"{DCT}description") == ['"All of them"@en', '"Jeder"@de']
    keywords = ['"Baum"@de', '"Wald"@de', '"tree"@en']
    assert sorted(found.of(own, f"{DCAT}keyword")) == keywords
    office = "<https://id.example/office>"
    assert office in found.of(own, f"{DCAT}contactPoint")
    assert found.one(office, f"{VCARD}hasEmail") == "<mailto:o@e.example>"
    publisher = found.one(own, f"{DCT}publisher")
    assert found.one(publisher, f"{FOAF}homepage") == "<https://pub.example/>"
    starts = [found.one(x, f"{DCAT}startDate") for x in found.of(own, f"{DCT}temporal")]
    assert starts == [
        f'"2020-01-01"^^<{XSD}date>',
        f'"2022-01-01T00:00:00+01:00"^^<{XSD}dateTime>',
    ]
    resolution = f'"PT15M"^^<{XSD}duration>'
    assert found.one(own, f"{DCAT}temporalResolution") == resolution
    town = "<http://geo.example/town>"
    assert found.one(own, f"{DCT}spatial") == town
    assert "POLYGON((1 2,3 2" in found.one(town, f"{DCAT}bbox")
    assert len(found.of(town, f"{DCAT}centroid")) == 2
    assert found.of(own, f"{DCAT}spatialResolutionInMeters") == [
        f'"1.5"^^<{XSD}decimal>',
        f'"10"^^<{XSD}decimal>',
    ]
    provenance = found.one(own, f"{DCT}provenance")
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    assert found.one(provenance, label) == '"Counted by hand"'
    series = "<https://data.example/open/dataset/s-1>"
    assert found.one(own, f"{DCAT}inSeries") == series
    assert found.one(R, f"{DCT}format") == f"<{EU}file-type/RDF_TURTLE>"
    assert found.one(R, f"{DCAT}compressFormat") == f"<{IANA}application/gzip>"
    assert found.one(R, f"{DCAT}accessURL") == "<https://api.example/>"
    assert found.one(R, f"{DCAT}downloadURL") == "<https://api.example/x.ttl>"
    assert found.one(R, f"{DCAT}byteSize") == f'"10"^^<{XSD}nonNegativeInteger>'
    assert found.of(R, f"{DCT}language")[1] == f"<{EU}language/DEU>"
    service = found.one(R, f"{DCAT}accessService")
    assert found.one(service, f"{DCAT}endpointURL") == "<https://api.example/sparql>"
    checksum = found.one(R, "http://spdx.org/rdf/terms#checksum")
    value = found.one(checksum, "http://spdx.org/rdf/terms#checksumValue")
    assert value == f'"{"ab" * 32}"^^<{XSD}hexBinary>'
    assert found.log.count(Reason.BAD_TERM) == 1  # `not a mail`


def test_a_dataset_with_values_in_languages_at_the_top() -> None:
    """If fields themselves are objects of languages, then they are translations."""
    found = Written(
        dataset(
            title={"de": "Bäume", "fr": "Arbres", "en": "", "it": ""},
            keywords={"de": ["Baum"], "fr": ["arbre"]},
            organization={"name": "amt", "title": '{"de": "Amt", "fr": "Office"}'},
        )
    )
    assert found.of(D, f"{DCT}title") == ['"Bäume"@de', '"Arbres"@fr']
    assert found.of(D, f"{DCAT}keyword") == ['"Baum"@de', '"arbre"@fr']
    publisher = "<https://data.example/open/organization/amt>"
    assert found.of(publisher, f"{FOAF}name") == ['"Amt"@de', '"Office"@fr']


# -- every field of the tables ---------------------------------------------------------

_VALUES = {
    "DATE": "2020-01-01",
    "COUNT": "5",
    "DECIMAL": "1.5",
    "DURATION": "P1D",
    "BOOLEAN": "true",
    "MAIL": "a@b.example",
}


@pytest.mark.parametrize(
    ("key", "predicate", "value", "is_extra"),
    [
        (
            key,
            field.predicate,
            _VALUES.get(field.shape.name, "http://v.example/x"),
            extra,
        )
        for field in DATASET_FIELDS
        for key in field.keys
        for extra in (False, True)
        if key not in {"id", "url"} or not extra
    ],
)
def test_every_field_of_a_dataset(
    key: str, predicate: str, value: str, is_extra: bool
) -> None:
    """If a field is a member or an extra, then its property is there."""
    members = {"id": "7d1c", "name": "trees"}
    package = (
        {**members, "extras": [{"key": key, "value": value}]}
        if is_extra
        else {**members, key: value}
    )
    found = Written(package)
    assert any(p == f"<{predicate}>" for _, p, _ in found.triples)
    assert found.log.all() == []


@pytest.mark.parametrize(
    ("key", "predicate", "value"),
    [
        (key, field.predicate, _VALUES.get(field.shape.name, "http://v.example/x"))
        for field in RESOURCE_FIELDS
        for key in field.keys
    ],
)
def test_every_field_of_a_resource(key: str, predicate: str, value: str) -> None:
    """If a resource has a field, then its property is there."""
    found = Written(resource(**{key: value}))
    assert found.of(R, predicate)
    assert found.log.all() == []


@pytest.mark.parametrize(
    ("place", "key", "predicate", "value"),
    [
        (place, key, one.predicate, _VALUES.get(one.shape.name, "http://v.example/x"))
        for place, table in (
            ("publisher", AGENT_FIELDS),
            ("creator", AGENT_FIELDS),
            ("contributor", AGENT_FIELDS),
            ("hdab", AGENT_FIELDS),
            ("contact", CONTACT_FIELDS),
            ("access_services", SERVICE_FIELDS),
        )
        for one in table
        for key in one.keys
    ],
)
def test_every_field_of_agents_and_services(
    place: str, key: str, predicate: str, value: str
) -> None:
    """If an agent, contact or service has a field, then its property is there."""
    said = [{"uri": "http://a.example/x", key: value}]
    is_service = place == "access_services"
    found = Written(
        resource(**{place: said}) if is_service else dataset(**{place: said})
    )
    assert found.of("<http://a.example/x>", predicate)
