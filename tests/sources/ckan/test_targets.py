"""Kinds of distributions, by their metadata, without requests."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.sources.ckan.api import PortalAddress
from rdfcrawl.sources.ckan.targets import FETCHED, TargetKind, classify, iter_targets
from rdfcrawl.uri import BadUri
from tests.support.examples import examples

PORTAL = PortalAddress(url="https://data.example")
EU = "http://publications.europa.eu/resource/authority/file-type/"
IANA = "https://www.iana.org/assignments/media-types/"
H = "http://h.example"
K = TargetKind


@pytest.mark.parametrize(
    ("url", "file_format", "media_type", "kind", "reason"),
    [
        # as ORCA's portals link: no format at all
        (f"{H}:8890/sparql", "", "", K.SPARQL, "path"),
        (f"{H}/dumpFile.ttl", "", "", K.DUMP, "extension"),
        (f"{H}/dumpFile.nt.gz", "", "", K.DUMP, "extension"),
        (f"{H}/dumpFile.rdf.zip", "", "", K.DUMP, "extension"),
        (f"{H}/dumpFile.n3.tar.gz", "", "", K.DUMP, "extension"),
        (f"{H}:5000/", "", "", K.UNKNOWN, "none"),
        (f"{H}/dataset-0/resource-0", "", "", K.UNKNOWN, "none"),
        # by format
        (f"{H}/x", "RDF", "", K.DUMP, "format"),
        (f"{H}/x", "rdf/xml", "", K.DUMP, "format"),
        (f"{H}/x", ".ttl", "", K.DUMP, "format"),
        (f"{H}/x", "TTL (gz)", "", K.DUMP, "format"),
        (f"{H}/x", "JSON-LD", "application/json", K.DUMP, "format"),
        (f"{H}/x", "N-Triples", "", K.DUMP, "format"),
        (f"{H}/x", "HDT", "", K.DUMP, "format"),
        (f"{H}/x", EU + "RDF_TURTLE", "", K.DUMP, "format"),
        (f"{H}/x", EU + "RDF_N_QUADS", "", K.DUMP, "format"),
        (f"{H}/x", EU + "CSV", "", K.FILE, "format"),
        (f"{H}/x", EU + "SPARQLQ", "", K.SPARQL, "format"),
        (f"{H}/x", "api/sparql", "", K.SPARQL, "format"),
        (f"{H}/x", "SPARQL endpoint", "", K.SPARQL, "format"),
        (f"{H}/x", "meta/void", "", K.DUMP, "format"),
        (f"{H}/x", "meta/sitemap", "", K.SITEMAP, "format"),
        (f"{H}/x", "example/rdf+xml", "", K.DUMP, "format"),
        (f"{H}/x", "CSV", "", K.FILE, "format"),
        (f"{H}/x", "PDF", "application/pdf", K.FILE, "format"),
        (f"{H}/x", "Excel (.xlsx)", "", K.FILE, "format"),
        (f"{H}/x", "GeoJSON", "", K.FILE, "format"),
        (f"{H}/x", "HTML", "", K.PAGE, "format"),
        (f"{H}/x", "WMS", "", K.API, "format"),
        (f"{H}/x", "ZIP", "", K.ARCHIVE, "format"),
        # by media type
        (f"{H}/x", "", "text/turtle; charset=utf-8", K.DUMP, "media_type"),
        (f"{H}/x", "XML", "application/rdf+xml", K.DUMP, "media_type"),
        (f"{H}/x", "", IANA + "text/turtle", K.DUMP, "media_type"),
        (f"{H}/x", "", "application/sparql-results+json", K.FILE, "media_type"),
        (f"{H}/x", "", "application/octet-stream", K.UNKNOWN, "none"),
        # by URL, and where both speak
        (f"{H}/x.csv", "", "", K.FILE, "extension"),
        (f"{H}/x.csv.gz", "", "", K.FILE, "extension"),
        (f"{H}/x.zip", "", "", K.ARCHIVE, "extension"),
        (f"{H}/x.zip", "CSV", "application/zip", K.FILE, "format"),
        (f"{H}/x.zip", "RDF", "application/zip", K.DUMP, "format"),
        (f"{H}/x.csv", "ZIP", "", K.FILE, "extension"),
        (f"{H}/x", "N-Triples (zip)", "", K.DUMP, "format"),
        (f"{H}/x", "XML (zip)", "", K.FILE, "format"),
        (f"{H}/x.ttl", "HTML", "text/html", K.DUMP, "extension"),
        (f"{H}/x.ttl", "TXT", "text/plain", K.DUMP, "extension"),
        (f"{H}/x.php", "", "", K.PAGE, "extension"),
        (f"{H}/sitemap.xml", "", "", K.SITEMAP, "path"),
        (f"{H}/x?service=WFS&request=GetCapabilities", "", "", K.API, "path"),
        (f"{H}/sparql?query=SELECT", "", "", K.UNKNOWN, "none"),
        (f"{H}/v1.2/things", "", "", K.UNKNOWN, "none"),
    ],
)  # fmt: skip
def test_what_it_is(
    url: str, file_format: str, media_type: str, kind: TargetKind, reason: str
) -> None:
    """If format, media type or URL show the kind of a distribution, then it counts."""
    target = classify(url, file_format=file_format, media_type=media_type)
    assert (target.kind, target.reason) == (kind, reason)


def test_files_that_are_no_rdf_are_not_fetched() -> None:
    """If it is a file, an archive or an API of others, then it is not requested."""
    assert {K.FILE, K.ARCHIVE, K.API}.isdisjoint(FETCHED)
    assert {K.DUMP, K.SPARQL, K.PAGE, K.UNKNOWN} <= FETCHED


def test_the_targets_of_a_dataset() -> None:
    """If a dataset has resources and pages, then each URL has its kind, once."""
    own = "https://data.example/dataset/a"
    package: dict[str, Any] = {
        "url": "https://town.example/trees",
        "extras": [{"key": "documentation", "value": '["https://doc.example/"]'}],
        "resources": [
            {"url": f"{H}/a.ttl#x", "format": "TTL"},
            {"url": f"{H}/a.ttl", "format": ""},
            {"url": f"{H}/two", "format": "CSV"},
            {"url": f"{H}/two", "format": "RDF"},
            {"url": f"{own}/resource/1/download/b.nt", "format": "NT"},
            {"url": own, "format": "HTML"},
            {"url": "https://data.example/api/3/action/package_show?id=a"},
            {
                "url": f"{H}/packed.zip",
                "format": "ZIP",
                "mimetype": "application/zip",
                "mimetype_inner": "application/n-triples",
            },
            {"url": "not a url"},
            {"url": None},
            {
                "url": f"{H}/p",
                "download_url": f"{H}/p.csv",
                "format": "CSV",
                "access_services": [
                    {"endpoint_url": [f"{H}/sparql", f"{H}/api"]},
                ],
            },
            "no resource",
        ],
    }
    found = [(one.url, one.kind) for one in iter_targets(package, PORTAL)]
    assert found == [
        (f"{H}/a.ttl", K.DUMP),
        (f"{H}/two", K.DUMP),
        (f"{own}/resource/1/download/b.nt", K.DUMP),
        (f"{H}/packed.zip", K.DUMP),
        (f"{H}/p.csv", K.FILE),
        (f"{H}/p", K.FILE),
        (f"{H}/sparql", K.SPARQL),
        (f"{H}/api", K.API),
        ("https://town.example/trees", K.PAGE),
        ("https://doc.example/", K.PAGE),
    ]


@given(
    st.text(max_size=20),
    st.text(max_size=12) | st.sampled_from(["RDF", "ttl/", "/", ";", EU, "a/b/c"]),
    st.text(max_size=12),
)
@settings(max_examples=examples(300), deadline=None)
def test_anything_is_classified(path: str, file_format: str, media_type: str) -> None:
    """If URL and formats are anything, then there is a kind, or the URL is refused."""
    try:
        target = classify(f"{H}/{path}", file_format=file_format, media_type=media_type)
    except BadUri:
        return
    assert target.kind in TargetKind
    resources = [{"url": path, "format": file_format, "access_services": media_type}]
    list(iter_targets({"resources": resources, "url": path}, PORTAL))
