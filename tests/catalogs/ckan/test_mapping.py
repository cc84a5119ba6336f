"""A dataset of CKAN as DCAT-AP: all fields, and nothing that breaks RDF."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.catalogs.ckan.api import PortalAddress
from rdfcrawl.catalogs.ckan.fields import (
    AGENT_FIELDS,
    CONTACT_FIELDS,
    DATASET_FIELDS,
    RESOURCE_FIELDS,
    SERVICE_FIELDS,
)
from rdfcrawl.catalogs.ckan.mapping import document_url, iter_statements
from rdfcrawl.catalogs.ckan.places import wkt_of
from rdfcrawl.catalogs.ckan.writing import MappingLimits
from rdfcrawl.errors import Reason
from rdfcrawl.faultlog import FaultLog
from rdfcrawl.rdf.checking import iter_checked
from tests.support.examples import examples

PORTAL = PortalAddress(url="https://data.example/open")
D = "<https://data.example/open/dataset/7d1c>"
R = "<https://data.example/open/dataset/7d1c/resource/r1>"
DCAT = "http://www.w3.org/ns/dcat#"
DCT = "http://purl.org/dc/terms/"
FOAF = "http://xmlns.com/foaf/0.1/"
VCARD = "http://www.w3.org/2006/vcard/ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"
EU = "http://publications.europa.eu/resource/authority/"
IANA = "https://www.iana.org/assignments/media-types/"


class Written:
    """The statements of a dataset, each of which a strict parser has read."""

    def __init__(self, package: dict[str, Any], **more: Any) -> None:
        self.log = FaultLog()
        text = "".join(iter_statements(package, PORTAL, self.log, **more))
        kind = pyoxigraph.RdfFormat.N_TRIPLES
        self.triples = [
            tuple(str(term) for term in quad.triple)
            for quad in pyoxigraph.parse(text.encode(), kind)
        ]

    def of(self, subject: str, predicate: str) -> list[str]:
        """Return the objects, in order."""
        wanted = subject, f"<{predicate}>"
        return [o for s, p, o in self.triples if (s, p) == wanted]

    def one(self, subject: str, *predicates: str) -> str:
        """Return the object at the end of a path."""
        for predicate in predicates:
            (subject,) = self.of(subject, predicate)
        return subject


def dataset(**members: Any) -> dict[str, Any]:
    """Return a dataset with these members."""
    return {"id": "7d1c", "name": "trees", "title": "Trees", **members}


def resource(**members: Any) -> dict[str, Any]:
    """Return a dataset with one resource that has these members."""
    url = "http://files.example/trees.csv"
    return dataset(resources=[{"id": "r1", "url": url, **members}])


def extras(**members: Any) -> dict[str, Any]:
    """Return a dataset with these extras."""
    return dataset(extras=[{"key": k, "value": v} for k, v in members.items()])


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

CKAN_2_8 = {
    "license_title": "Creative Commons Attribution",
    "maintainer": "Tree office",
    "maintainer_email": "trees@town.example",
    "author": "A. Author",
    "author_email": "",
    "relationships_as_object": [],
    "relationships_as_subject": [{"type": "derives_from", "object": "older-trees"}],
    "private": False,
    "num_tags": 2,
    "id": "7d1c",
    "metadata_created": "2018-03-01T09:15:00.123456",
    "metadata_modified": "2019-11-20T17:00:01",
    "state": "active",
    "version": "1.2",
    "creator_user_id": "u",
    "type": "dataset",
    "license_id": "cc-by",
    "license_url": "http://www.opendefinition.org/licenses/cc-by",
    "isopen": True,
    "url": "https://town.example/trees",
    "notes": "All trees\r\nof the *town*.",
    "owner_org": "o1",
    "name": "trees",
    "title": "Trees",
    "groups": [{"name": "environment", "display_name": "Environment", "id": "g1"}],
    "organization": {
        "id": "o1",
        "name": "town",
        "title": "The Town",
        "type": "organization",
        "description": "",
        "image_url": "",
        "is_organization": True,
    },
    "tags": [
        {"name": "trees", "display_name": "trees", "vocabulary_id": None},
        {"name": "parks"},
    ],
    "extras": [
        {"key": "dcat_issued", "value": "2018-02"},
        {"key": "language", "value": '["en", "http://l.example/de"]'},
        {"key": "theme", "value": '["http://t.example/a", "ENVI"]'},
        {"key": "frequency", "value": "annually"},
        {"key": "spatial", "value": '{"type":"Point","coordinates":[7.5,50.25]}'},
        {"key": "temporal_start", "value": "2017"},
        {"key": "temporal_end", "value": "2018-12-31"},
        {"key": "publisher_name", "value": "Office of Trees"},
        {"key": "publisher_email", "value": "mailto:office@town.example"},
        {"key": "guid", "value": "urn:x:trees"},
    ],
    "resources": [
        {
            "id": "r1",
            "package_id": "7d1c",
            "name": "Trees as CSV",
            "description": None,
            "url": "http://files.example/trees.csv",
            "url_type": None,
            "format": "CSV",
            "mimetype": "text/csv",
            "size": "12345",
            "hash": "d41d8cd98f00b204e9800998ecf8427e",
            "created": "2018-03-01T09:16:00",
            "last_modified": None,
            "position": 0,
            "state": "active",
        }
    ],
}


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


SCHEMING_2_10 = {
    "id": "7d1c",
    "name": "trees",
    "uri": "https://id.example/trees",
    "title": "Trees",
    "title_translated": {"en": "Trees", "de": "Bäume", "pt_BR": "", "fr": None},
    "notes_translated": '{"en": "All of them", "de": "Jeder"}',
    "tags_translated": {"en": ["tree"], "de": ["Baum", "Wald"]},
    "contact": [
        {"uri": "https://id.example/office", "name": "Office", "email": "o@e.example"},
        {"name": "Other", "email": "not a mail"},
    ],
    "publisher": [{"name": "Pub", "url": "https://pub.example/", "type": "http://t/x"}],
    "creator": [{"name": "Cre", "identifier": "https://orcid.org/0000-0001-5109-3700"}],
    "temporal_coverage": [
        {"start": "2020-01-01", "end": "2020-12-31"},
        {"start": "2022-01-01T00:00:00+0100"},
    ],
    "temporal_resolution": "PT15M",
    "spatial_coverage": [
        {
            "uri": "http://geo.example/town",
            "text": "Town",
            "geom": {"type": "Polygon", "coordinates": [[[1, 2], [3, 4], [1, 2]]]},
            "bbox": "POLYGON((1 2,3 2,3 4,1 4,1 2))",
            "centroid": '{"type": "Point", "coordinates": [2, 3]}',
        }
    ],
    "spatial_resolution_in_meters": [1.5, "10"],
    "conforms_to": ["http://std.example/1", "A standard"],
    "access_rights": "http://publications.europa.eu/resource/authority/access-right/PUBLIC",
    "provenance": "Counted by hand",
    "documentation": ["https://doc.example/1", "https://doc.example/2"],
    "alternate_identifier": ["doi:10.1/x", "xyz"],
    "is_referenced_by": ["https://paper.example/1"],
    "applicable_legislation": ["http://data.europa.eu/eli/reg_impl/2023/138/oj"],
    "hvd_category": ["http://data.europa.eu/bna/c_ac64a52d"],
    "version": "2",
    "version_notes": {"en": "more trees"},
    "in_series": ["s-1"],
    "metadata_created": "2024-01-02T03:04:05.678901",
    "metadata_modified": "2024-02-03T04:05:06.789012",
    "state": "active",
    "type": "dataset",
    "resources": [
        {
            "id": "r1",
            "name_translated": {"en": "File", "de": "Datei"},
            "url": "https://api.example/x",
            "access_url": "https://api.example/",
            "download_url": "https://api.example/x.ttl",
            "format": "http://publications.europa.eu/resource/authority/file-type/RDF_TURTLE",
            "mimetype": "text/turtle",
            "compress_format": "application/gzip",
            "package_format": "TAR",
            "license": "http://creativecommons.org/licenses/by/4.0/",
            "rights": "Ask first",
            "status": "http://purl.org/adms/status/Completed",
            "language": ["en", "ger"],
            "size": 10.0,
            "hash": "sha256:" + "ab" * 32,
            "access_services": json.dumps(
                [
                    {
                        "title": "SPARQL",
                        "endpoint_url": ["https://api.example/sparql"],
                        "serves_dataset": ["https://id.example/trees"],
                        "availability": "http://a.example/stable",
                    }
                ]
            ),
        }
    ],
}


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


# -- single values ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("2020", f'"2020"^^<{XSD}gYear>'),
        ("2020-02", f'"2020-02"^^<{XSD}gYearMonth>'),
        ("2020-02-29", f'"2020-02-29"^^<{XSD}date>'),
        ("2020-02-29T10:00", f'"2020-02-29T10:00:00"^^<{XSD}dateTime>'),
        ("2020-02-29 10:00:01Z", f'"2020-02-29T10:00:01Z"^^<{XSD}dateTime>'),
        ("2021-02-29", '"2021-02-29"'),
        ("31.12.2020", '"31.12.2020"'),
        ("summer", '"summer"'),
        ("2020-01-01T25:00:00", '"2020-01-01T25:00:00"'),
    ],
)
def test_dates(text: str, term: str) -> None:
    """If a date is one, then it has its datatype; free text stays text, counted."""
    found = Written(dataset(issued=text))
    assert found.one(D, f"{DCT}issued") == term
    assert found.log.count(Reason.BAD_TERM) == ("^^" not in term)


@pytest.mark.parametrize(
    ("url", "term", "fault"),
    [
        ("http://e.example/a b.csv", "<http://e.example/a%20b.csv>", Reason.REPAIRED),
        ("http://e.example/a|b", "<http://e.example/a%7Cb>", Reason.REPAIRED),
        ("http://e.example/é", "<http://e.example/é>", None),
        (" http://e.example/ \n", "<http://e.example/>", None),
        ("/dataset/x.csv", '"/dataset/x.csv"', Reason.BAD_TERM),
        ("www.e.example/x", '"www.e.example/x"', Reason.BAD_TERM),
        ("http://a.example/ http://b.example/", None, Reason.BAD_TERM),
        ("http://a b/", '"http://a b/"', Reason.BAD_TERM),
        ("javascript:alert(1)", '"javascript:alert(1)"', Reason.BAD_TERM),
        ("http://[::1/x", '"http://[::1/x"', Reason.BAD_TERM),
        ('http://e.example/"><x>', "<http://e.example/%22%3E%3Cx%3E>", Reason.REPAIRED),
        ("C:\\data\\x.csv", '"C:\\\\data\\\\x.csv"', Reason.BAD_TERM),
    ],
)
def test_urls(url: str, term: str | None, fault: Reason | None) -> None:
    """If a URL is bad, then it is mended as browsers do or stays a text; counted."""
    found = Written(resource(url=url))
    told = found.one(R, f"{DCAT}accessURL")
    assert told == (term or json.dumps(url))
    assert [one.reason for one in found.log.all()] == ([fault] if fault else [])


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ("R/P1Y", "ANNUAL"),
        ("Monthly", "MONTHLY"),
        ("semi-annual", "ANNUAL_2"),
        ("DAILY_2", "DAILY_2"),
        ("continuously updated", "UPDATE_CONT"),
    ],
)
def test_frequencies(fields: str, code: str) -> None:
    """If a frequency is a known word, then it is the one of the EU's table."""
    found = Written(extras(accrualPeriodicity=fields))
    assert found.one(D, f"{DCT}accrualPeriodicity") == f"<{EU}frequency/{code}>"


@pytest.mark.parametrize(
    ("key", "name", "kind"),
    [
        ("frequency", "accrualPeriodicity", "Frequency"),
        ("language", "language", "LinguisticSystem"),
        ("rights", "rights", "RightsStatement"),
        ("conforms_to", "conformsTo", "Standard"),
        ("provenance", "provenance", "ProvenanceStatement"),
    ],
)
def test_what_has_no_name_is_a_node_of_its_class(
    key: str, name: str, kind: str
) -> None:
    """If a vocabulary lacks a word, then it labels a node of the range's class."""
    found = Written(dataset(**{key: "when it rains"}))
    node = found.one(D, f"{DCT}{name}")
    assert node.startswith("_:")
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    assert found.one(node, label) == '"when it rains"'
    kinds = found.of(node, "http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
    assert kinds == [f"<{DCT}{kind}>"]


@pytest.mark.parametrize(
    ("spatial", "wanted"),
    [
        ("http://sws.example/town", "<http://sws.example/town>"),
        ("POINT(1 2)", "wktLiteral"),
        ("SRID=4326;POINT(1 2)", "EPSG/0/4326> POINT"),
        ("1.0, 2.0, 3.0, 4.0", "POLYGON ((1.0 2.0, 3.0 2.0, 3.0 4.0"),
        ("A town", '"A town"'),
        (
            '{"type":"MultiPolygon","coordinates":[[[[1,2],[3,4],[1,2]]]]}',
            "MULTIPOLYGON",
        ),
        ('{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]}}', "POINT"),
    ],
)
def test_places(spatial: str, wanted: str) -> None:
    """If a place is GeoJSON, WKT, a box, an IRI or a name, then it is said as such."""
    found = Written(extras(spatial=spatial))
    assert len(found.of(D, f"{DCT}spatial")) == 1
    assert any(wanted in term for one in found.triples for term in one)
    assert found.log.all() == []


def test_bounds_of_geographic_metadata() -> None:
    """If a harvested dataset has four bounds, then they are one box."""
    bounds = {f"bbox-{name}": "1" for name in ("west-long", "south-lat", "east-long")}
    found = Written(extras(**bounds, **{"bbox-north-lat": "2"}))
    assert "POLYGON" in found.one(D, f"{DCT}spatial", f"{DCAT}bbox")


@pytest.mark.parametrize(
    "geometry",
    [
        {"type": "Point", "coordinates": ["a", 2]},
        {"type": "Point", "coordinates": [float("nan"), 2]},
        {"type": "Polygon", "coordinates": 3},
        {"type": "Circle", "coordinates": [1, 2]},
        {"type": ["Point"], "coordinates": [1, 2]},
        {"type": "Polygon"},
        {},
    ],
)
def test_what_is_no_geometry_gives_no_wkt(geometry: dict[str, Any]) -> None:
    """If coordinates are not numbers, then there is no geometry."""
    assert wkt_of(geometry) == ""
    assert not Written(dataset(spatial=geometry)).of(D, f"{DCAT}bbox")


def test_a_licence_without_url() -> None:
    """If a licence has only a title, then it is a node with that title."""
    found = Written(dataset(license_id="other-open", license_title="Other (Open)"))
    licence = found.one(D, f"{DCT}license")
    assert licence.startswith("_:")
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    assert found.one(licence, label) == '"Other (Open)"'
    assert not Written(dataset(license_id="notspecified")).of(D, f"{DCT}license")


def test_two_resources_with_one_iri_are_two() -> None:
    """If resources share an IRI or id, then each is a distribution of its own."""
    one = {"uri": "http://r.example/x", "url": "http://f.example/1"}
    two = {**one, "id": "r1", "url": "http://f.example/2"}
    three = {**one, "id": "r1", "url": "http://f.example/3"}
    found = Written(dataset(resources=[one, two, three]))
    nodes = found.of(D, f"{DCAT}distribution")
    assert len(set(nodes)) == 3
    for node, number in zip(nodes, "123", strict=True):
        assert found.one(node, f"{DCAT}accessURL") == f"<http://f.example/{number}>"


@pytest.mark.parametrize("kind", ["harvest", "showcase"])
def test_what_is_no_dataset_gives_nothing(kind: str) -> None:
    """If an entry is a harvest source or a showcase, then nothing is said."""
    assert Written(dataset(type=kind)).triples == []
    assert Written({"title": "no id, no name"}).triples == []


def test_the_name_of_the_document_is_the_page_by_id() -> None:
    """If a dataset has an id, then its document keeps its name when renamed."""
    url = "https://data.example/open/dataset/7d1c"
    assert document_url(dataset(), PORTAL) == url
    assert document_url(dataset(name="other", uri="http://x/"), PORTAL) == url
    odd = document_url({"name": "a b/../ä"}, PORTAL)
    assert odd == "https://data.example/open/dataset/a%20b%2F..%2F%C3%A4"


# -- bounds ----------------------------------------------------------------------------


def test_a_dataset_with_10_000_resources_streams() -> None:
    """If a dataset has 10,000 resources, then its lines come as they are asked for."""
    one = CKAN_2_8["resources"][0]  # type: ignore[index]
    package = {**CKAN_2_8, "resources": [{**one, "id": f"r{n}"} for n in range(10_000)]}
    lines = iter_statements(package, PORTAL, log := FaultLog())
    begun = time.process_time()
    assert next(lines)
    first = time.process_time() - begun
    rest = sum(chunk.count(b"\n") for chunk in iter_checked(lines, log))
    assert rest > 100_000
    assert log.all() == []
    print(f"first line {first * 1e3:.1f} ms, all {time.process_time() - begun:.1f} s")


def test_limits_are_named() -> None:
    """If a dataset has too many resources or too long a text, then it is said."""
    limits = MappingLimits(resources=2, literal_chars=10)
    package = dataset(
        title="x" * 11,
        notes="short",
        resources=[{"id": str(n)} for n in range(5)],
        tags=[{"name": "y" * 11}],
        provenance="z" * 11,
    )
    found = Written(package, limits=limits)
    assert len(found.of(D, f"{DCAT}distribution")) == 2
    assert found.of(D, f"{DCT}title") == []
    assert found.one(D, f"{DCT}description") == '"short"'
    counts = {one.reason: one.count for one in found.log.all()}
    assert counts[Reason.TOO_MANY_ENTRIES] == 3
    assert counts[Reason.LITERAL_TOO_LONG] == 3


# -- anything --------------------------------------------------------------------------

_MORE = """
    id name uri type state resources extras tags groups organization contact
    publisher creator author author_email maintainer_email spatial
    spatial_coverage temporal temporal_start temporal_coverage license_id
    license_url license_title tags_translated keywords hash hash_algorithm
    format mimetype url access_url download_url access_services in_series
    series_navigation relationships_as_subject email text geom bbox centroid
    coordinates key value start end object en de
"""
_KEYS = sorted(
    {key for one in (*DATASET_FIELDS, *RESOURCE_FIELDS) for key in one.keys}
    | set(_MORE.split())
)
_TEXTS = st.text(max_size=12) | st.sampled_from(
    [
        *("http://a/", "http://a b", "http://a/%zz", "mailto:a@b", "a@b.c", "en_US"),
        *(
            "[",
            '["a", {"b": 1}]',
            '{"en": "x"}',
            '{"de": [1, null]}',
            "{a,b}",
            "\ud800",
        ),
        *("POINT(1 2)", '{"type":"Point","coordinates":[1,2]}', "1,2,3,4", "2020"),
        *(
            "text/csv",
            "CSV",
            'x"y\\\n\r\x00',
            "urn:a b",
            "http://[",
            "P1Y",
            "1e5",
            "1.0",
        ),
    ]
)
_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(_KEYS) | st.text(max_size=4), inner, max_size=6
        )
    ),
    max_leaves=30,
)


@given(st.dictionaries(st.sampled_from(_KEYS), _ANY, max_size=12), st.booleans())
@settings(max_examples=examples(150), deadline=None)
def test_any_package_gives_statements(package: dict[str, Any], has_id: bool) -> None:
    """If the fields of a package are anything, then every line is a statement."""
    if has_id:
        package["id"] = "7d1c"
    log = FaultLog()
    lines = list(iter_statements(package, PORTAL, log))
    assert list(iter_statements(package, PORTAL, FaultLog())) == lines
    kind = pyoxigraph.RdfFormat.N_TRIPLES
    assert len(list(pyoxigraph.parse("".join(lines).encode(), kind))) == len(lines)


@given(st.data())
@settings(max_examples=examples(100), deadline=None)
def test_one_value_replaced_by_anything(data: st.DataObject) -> None:
    """If one value of a real dataset is anything, then every line is a statement."""
    package = json.loads(
        json.dumps(data.draw(st.sampled_from([CKAN_2_8, SCHEMING_2_10])))
    )
    key = data.draw(st.sampled_from(sorted(package)))
    package[key] = data.draw(_ANY)
    log = FaultLog()
    text = "".join(iter_statements(package, PORTAL, log))
    list(pyoxigraph.parse(text.encode(), pyoxigraph.RdfFormat.N_TRIPLES))
