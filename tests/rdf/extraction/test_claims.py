"""Which extractor of the user's a document is for."""

from __future__ import annotations

import pytest

from rdfcrawl.core.content import ByteSource
from rdfcrawl.rdf import sniffing
from rdfcrawl.rdf.extraction.custom_extractors import claim
from rdfcrawl.rdf.html.extractors import CustomExtractor

CSV = b"sensor,value\na,1\n"
TURTLE = b"<> <urn:x:p> 1 ."
GZIP = b"\x1f\x8b\x08\x00"
ZIP = b"PK\x03\x04"
CUSTOM = (
    CustomExtractor("text/csv", "typed"),
    CustomExtractor(".readings", "named"),
    CustomExtractor("application/x-db", "magic", magic=("DB\x00", "DB\xff")),
    CustomExtractor("price", "page"),
    CustomExtractor(".kmz", "zip"),
)


@pytest.mark.parametrize(
    ("media_type", "name", "head", "chosen"),
    [
        ("text/csv; charset=utf-8", "x", CSV, ("typed", "content-type")),
        ("text/csv", "x.readings", CSV, ("typed", "content-type")),
        ("text/csv", "x", TURTLE, ("typed", "content-type")),
        ("text/csv", "x.csv.gz", GZIP, None),  # is decompressed before
        ("", "http://a.example/x.READINGS?a=b", CSV, ("named", "extension")),
        ("text/html", "x.readings", CSV, ("named", "extension")),
        ("text/html", "x.readings", b"<html><p>gone</p></html>", None),
        ("text/turtle", "x.readings", CSV, None),
        ("text/plain", "x.readings", TURTLE, None),
        ("", "._x.readings", CSV, None),
        ("text/html", "x", b"DB\xff rest", ("magic", "content")),
        ("application/x-db", "x", b"DB", None),
        ("application/x-db", "x", b"DB\x00", ("magic", "content-type")),
        ("application/zip", "x.kmz", ZIP, ("zip", "extension")),
        ("application/zip", "x.zip", ZIP, None),
        ("", "x", CSV, None),
    ],
)
def test_media_type_then_name_then_content_choose(
    media_type: str, name: str, head: bytes, chosen: tuple[str, str] | None
) -> None:
    """If extractors match, then media type, name and content select in this order."""
    decision = sniffing.decide(media_type, name, head)
    source = ByteSource(head)
    found = claim(CUSTOM, source, decision, media_type=media_type, name=name)
    assert chosen == (found and (found.extractor.path, found.decided_by))
