"""What documents say of the ways to datasets."""

from __future__ import annotations

import random

import pyoxigraph as ox
import pytest

from rdfcrawl.sources.access import (
    AccessMethod,
    AccessScan,
    DatasetAccess,
    NamedDistribution,
)
from rdfcrawl.sources.alternatives import ways_by_dataset

PAGE = "http://a.example/void.ttl"
PREFIXES = """
@prefix void: <http://rdfs.org/ns/void#> .
@prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sd: <http://www.w3.org/ns/sparql-service-description#> .
@prefix schema: <https://schema.org/> .
@prefix : <http://a.example/> .
"""


def scan(turtle: str) -> AccessScan:
    """Return a scan that has seen a document."""
    quads = ox.parse(PREFIXES + turtle, format=ox.RdfFormat.TURTLE)
    found = AccessScan()
    found.feed(ox.serialize(quads, format=ox.RdfFormat.N_QUADS) or b"")
    return found


@pytest.mark.parametrize(
    ("turtle", "expected"),
    [
        (
            ":d void:dataDump :all.nt , :more.nt ; void:sparqlEndpoint :q .",
            [(":d", AccessMethod.DUMP, ":all.nt"),
             (":d", AccessMethod.DUMP, ":more.nt"),
             (":d", AccessMethod.SPARQL, ":q")],
        ),
        (":s sd:endpoint :q .", [(":s", AccessMethod.SPARQL, ":q")]),
        (
            ":d dcat:distribution :x . :x dcat:downloadURL :f.ttl .",
            [(":d", AccessMethod.DUMP, ":f.ttl")],
        ),
        (
            ':d schema:distribution [ schema:contentUrl "http://a.example/f.ttl" ] .',
            [(":d", AccessMethod.DUMP, ":f.ttl")],
        ),
        (
            """:s dcat:servesDataset :d ; dcat:endpointURL :q ;
            dct:conformsTo <https://www.w3.org/TR/sparql11-protocol/> .""",
            [(":d", AccessMethod.SPARQL, ":q")],
        ),
        (":s dcat:endpointURL :wms .", []),
        (':d void:dataDump "no url" , <urn:x> .', []),
    ],
    ids=["void", "service", "dcat", "schema", "sparql service", "other service", "bad"],
)  # fmt: skip
def test_way_to_a_dataset_is_found(
    turtle: str, expected: list[tuple[str, AccessMethod, str]]
) -> None:
    """If a document names a way to a dataset, then it is found with its dataset."""
    found = [(x.dataset, x.way, x.url) for x in scan(turtle).read(PAGE).named]
    wanted = [(_iri(d), way, _iri(url)) for d, way, url in expected]
    assert sorted(found) == sorted(wanted)


def test_dataset_without_a_name_is_named_after_its_document() -> None:
    """If a dataset is a blank node, then two documents' do not meet."""
    (access,) = scan("[] void:dataDump :all.nt .").read(PAGE).named
    assert access.dataset.startswith(PAGE + "#")


def test_formats_come_with_the_way() -> None:
    """If a distribution says its format, then the way to it has it."""
    (access,) = (
        scan(
            ":x dcat:downloadURL :f ; dcat:mediaType"
            " <http://www.iana.org/assignments/media-types/text/turtle> ."
        )
        .read(PAGE)
        .named
    )
    assert access.formats == (
        "http://www.iana.org/assignments/media-types/text/turtle",
    )


@pytest.mark.parametrize(
    ("turtle", "dumps", "pages", "n_left_out"),
    [
        (":x dcat:downloadURL :f.csv .", [], [], 1),
        (':x dcat:downloadURL :f.csv ; dct:format "Turtle" .', [":f.csv"], [], 0),
        (':x dcat:downloadURL :f ; dcat:mediaType "text/csv" .', [], [], 1),
        (':x dcat:downloadURL :f ; dct:format [ rdf:value "text/csv" ] .', [], [], 1),
        (
            ':x dcat:downloadURL :f ; dct:format [ rdfs:label "RDF/XML" ] .',
            [":f"],
            [],
            0,
        ),
        (":x dcat:downloadURL :f .", [], [":f"], 0),
        (":x dcat:downloadURL :f ; dcat:accessURL :p .", [], [":f"], 0),
        (":x dcat:accessURL :p .", [], [":p"], 0),
        (":x dcat:accessURL :p.pdf .", [], [], 1),
        (":x dcat:downloadURL :all.zip .", [], [], 1),
        (':x schema:contentUrl :f ; schema:encodingFormat "image/png" .', [], [], 1),
        (":x schema:contentUrl :film .", [], [], 0),
        (":d schema:distribution :x . :x schema:contentUrl :f .", [], [":f"], 0),
        (":x dcat:downloadURL :sparql .", [], [":sparql"], 0),
        (":d void:dataDump :f.csv .", [":f.csv"], [], 0),
        (":d void:dataDump :f . :x dcat:downloadURL :f .", [":f"], [], 0),
        (":d void:rootResource :r ; void:exampleResource :e .", [], [":r", ":e"], 0),
        (":d void:subset :p , [] .", [], [":p"], 0),
    ],
)
def test_metadata_determine_the_kind_of_a_url(
    turtle: str, dumps: list[str], pages: list[str], n_left_out: int
) -> None:
    """If a URL is said to be RDF, it is a dump; of other data, nothing; else a page."""
    findings = scan(turtle).read(PAGE)
    known = [x.url for x in findings.named if not x.is_unknown]
    unknown = [x.url for x in findings.named if x.is_unknown]
    assert known == [_iri(url) for url in dumps]
    assert [*findings.links, *unknown] == [_iri(url) for url in pages]
    assert len(findings.left_out) == n_left_out


def test_endpoint_of_a_distribution_is_one_if_it_is_said_so() -> None:
    """If the format of a distribution is SPARQL, then it is an endpoint."""
    (access,) = scan(':x dcat:accessURL :q ; dct:format "SPARQL" .').read(PAGE).named
    assert access.way is AccessMethod.SPARQL


def test_service_of_a_distribution_is_of_its_dataset() -> None:
    """If a dataset has a distribution with a service, then the endpoint is its."""
    (access,) = (
        scan(
            """:d dcat:distribution [ dcat:accessService [ dcat:endpointURL :q ;
        dct:conformsTo <http://www.w3.org/TR/sparql11-protocol/> ] ] ."""
        )
        .read(PAGE)
        .named
    )
    assert access.dataset == _iri(":d")


def test_uri_spaces_are_of_their_dataset() -> None:
    """If a dataset states its URI space, as a prefix or a pattern, then it has it."""
    findings = scan(
        r""":d void:uriSpace "http://a.example/r/" ;
        void:uriRegexPattern "^http://a\\.example/s/.*" ."""
    ).read(PAGE)
    spaces = findings.spaces[_iri(":d")]
    assert sorted(spaces) == ["http://a.example/r/", "http://a.example/s/"]


def test_damaged_bytes_do_no_harm() -> None:
    """If bytes are changed anywhere, then nothing is raised."""
    quads = ox.parse(
        PREFIXES
        + """:d dcat:distribution :x ; void:dataDump :a ; void:uriSpace "b" .
        :x dcat:downloadURL :f.ttl ; dct:format [ rdfs:label "Turtle" ] .""",
        format=ox.RdfFormat.TURTLE,
    )
    good = ox.serialize(quads, format=ox.RdfFormat.N_QUADS) or b""
    dice = random.Random(4)
    for _ in range(2000):
        data = bytearray(good)
        for _ in range(dice.randint(1, 8)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        found = AccessScan()
        found.feed(bytes(data))
        ways_by_dataset(found.read(PAGE).named)


def test_named_urls_are_no_ordinary_links() -> None:
    """If a URL is a way to a dataset, then the scan says so, without a fragment."""
    found = scan(":d void:dataDump <http://a.example/all.nt#x> .")
    assert found.urls == {b"http://a.example/all.nt"}


def test_dump_goes_before_endpoint() -> None:
    """If a dataset has both, then all its dumps come first, and the endpoint next."""
    named = [
        NamedDistribution("d", AccessMethod.SPARQL, "q"),
        NamedDistribution("d", AccessMethod.DUMP, "a"),
        NamedDistribution("e", AccessMethod.SPARQL, "q"),
        NamedDistribution("d", AccessMethod.DUMP, "b"),
    ]
    endpoint = DatasetAccess(AccessMethod.SPARQL, (("q",),))
    assert ways_by_dataset(named) == {
        "d": (DatasetAccess(AccessMethod.DUMP, (("a",), ("b",))), endpoint),
        "e": (endpoint,),
    }


def _iri(name: str) -> str:
    return "http://a.example/" + name.removeprefix(":")
