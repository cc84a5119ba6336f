"""Datasets of CKAN, and the statements written about them."""

from __future__ import annotations

import json
from typing import Any

import pyoxigraph

from rdfcrawl.core.errors import FaultLog
from rdfcrawl.sources.ckan.api import PortalAddress
from rdfcrawl.sources.ckan.mapping import iter_statements

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
