"""How the format of an answer is decided."""

from __future__ import annotations

import pytest

from rdfcrawl.core import formats
from rdfcrawl.core.formats import FORMATS, PackingKind
from rdfcrawl.rdf.sniffing import decide
from tests.support.cpu_time import takes_at_most

URL = "http://example.org/doc"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
TURTLE = b"@prefix e: <http://e/> .\ne:a e:b e:c ."
N_TRIPLES = b'<http://e/a> <http://e/b> "c" .\n'
N_QUADS = b'<http://e/a> <http://e/b> "c" <http://e/g> .\n'
TRIG = b"@prefix e: <http://e/> .\ne:g { e:a e:b e:c }"
RDF_XML = b'<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="%s"/>' % RDF.encode()
JSON_LD = b'{"@context": {}, "@id": "http://e/a"}'
HTML = b"<!DOCTYPE html>\n<html><body>Not found</body></html>"
XHTML = b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>'
OWL_HEAD = b"<!DOCTYPE rdf:RDF [\n" + b'<!ENTITY owl "http://e/" >\n' * 500
GZIP = b"\x1f\x8b\x08\x00rest"
GARBAGE = bytes(range(256)) * 4

Case = tuple[str, str, bytes, str, str]
CASES: dict[str, Case] = {
    "turtle declared": ("text/turtle", "", TURTLE, "Turtle", "content-type"),
    "parameters": (
        "Text/Turtle; charset=utf-8",
        "",
        TURTLE,
        "Turtle",
        "content-type",
    ),
    "empty declared": ("text/turtle", "", b"", "Turtle", "content-type"),
    "n-triples as turtle": ("text/turtle", "", N_TRIPLES, "Turtle", "content-type"),
    "text/plain .ttl": ("text/plain", ".ttl", TURTLE, "Turtle", "extension"),
    "text/plain turtle": ("text/plain", "", TURTLE, "Turtle", "content"),
    "text/plain n-triples": ("text/plain", "", N_TRIPLES, "N-Triples", "content"),
    "text/plain n-quads": ("text/plain", "", N_QUADS, "N-Quads", "content"),
    "no type": ("", "", TURTLE, "Turtle", "content"),
    "no type trig": ("", "", TRIG, "TriG", "content"),
    "octet-stream": (
        "application/octet-stream",
        ".nt",
        N_TRIPLES,
        "N-Triples",
        "extension",
    ),
    "application/xml": ("application/xml", "", RDF_XML, "RDF/XML", "content"),
    "text/xml .rdf": ("text/xml", ".rdf", RDF_XML, "RDF/XML", "extension"),
    "owl as xml": ("text/xml", "", OWL_HEAD, "RDF/XML", "content"),
    "application/json": ("application/json", "", JSON_LD, "JSON-LD", "content"),
    "html with turtle": ("text/html", "", TURTLE, "Turtle", "content"),
    "html with rdf/xml": ("text/html", "", RDF_XML, "RDF/XML", "content"),
    "html .ttl": ("text/html", ".ttl", TURTLE, "Turtle", "extension"),
    "turtle is rdf/xml": ("text/turtle", "", RDF_XML, "RDF/XML", "content"),
    "rdf/xml is turtle": ("application/rdf+xml", "", TURTLE, "Turtle", "content"),
    "rdf/xml is json-ld": (
        "application/rdf+xml",
        "",
        JSON_LD,
        "JSON-LD",
        "content",
    ),
    ".owl is turtle": ("", ".owl", TURTLE, "Turtle", "content"),
    ".nt is n-quads": ("", ".nt", N_QUADS, "N-Quads", "content"),
    ".ttl.gz unpacked": ("", ".ttl.gz?x=1", b"e:a e:b 1.", "Turtle", "extension"),
    "bom": ("", "", b"\xef\xbb\xbf" + TURTLE, "Turtle", "content"),
    "utf-16": ("", "", RDF_XML.decode().encode("utf-16"), "RDF/XML", "content"),
    "comments": ("", "", b"# <a>\n\n# b\n" + TURTLE, "Turtle", "content"),
    "sparql prefix": ("", "", b"PREFIX e: <http://e/>\n", "Turtle", "content"),
    "a": ("", "", b"<http://e/a> a <http://e/C>;", "Turtle", "content"),
    "n3": ("text/rdf+n3", "", TURTLE, "N3", "content-type"),
    "blank property list": ("text/turtle", "", b"[] <p> <o> .", "Turtle", ""),
    "trig blank graph": ("application/trig", "", b"[] { <a> <b> 1 }", "TriG", ""),
    "html": ("text/html", "", HTML, "HTML", "content-type"),
    "html .ttl without a clue": (
        "text/html",
        ".ttl",
        b"[] a _:b.",
        "Turtle",
        "extension",
    ),
    "text in html": ("text/html", "", b"no markup at all", "HTML", "content-type"),
    "xhtml": ("application/xhtml+xml", "", XHTML, "HTML", "content-type"),
    "xhtml as html": ("text/html", ".php", XHTML, "HTML", "content-type"),
    "page without doctype": ("text/html", "", b"<html>\n<head>", "HTML", ""),
    "page of bare tags": ("", "", b"<html> <body>\n<p>", "HTML", "content"),
    "page of bare tags as turtle": (
        "text/turtle",
        "",
        b"<html>\n<head>\n<title>502</title>",
        "HTML",
        "content",
    ),
    "blank node first": ("", "", b"[] a <http://e/C> .", "Turtle", "content"),
    "relative iri first": ("", "", b"<#me> a <http://e/C> .", "Turtle", "content"),
    "node element without rdf:RDF": (
        "text/xml",
        "",
        b"<e:C xmlns:e='http://e/' xmlns:rdf='%s' rdf:about='x'/>" % RDF.encode(),
        "RDF/XML",
        "content",
    ),
    "doctype of another name": (
        "text/xml",
        "",
        b"<!DOCTYPE u [<!ENTITY rdf '%s'>]>\n<rdf:RDF x='" % RDF.encode(),
        "RDF/XML",
        "content",
    ),
    "long doctype of another name": (
        "text/xml",
        "",
        b"<!DOCTYPE u [\n" + b"<!ENTITY rdf '%s'>\n" % RDF.encode() * 100,
        "RDF/XML",
        "content",
    ),
    "page without type": ("", "", HTML, "HTML", "content"),
    "error page as turtle": ("text/turtle", ".ttl", HTML, "HTML", "content"),
    "error page as html": ("text/html", ".ttl", HTML, "HTML", "content"),
    "error page as rdf/xml": ("application/rdf+xml", "", HTML, "HTML", "content"),
    "error page as json-ld": ("application/ld+json", "", HTML, "HTML", "content"),
    "xml literal first": ("text/turtle", "", b"<a> <b> '<html>' .", "Turtle", ""),
}
REFUSED = {
    "json": ("application/json", "", b'{"a": [1]}', "JSON"),
    "json as html": ("text/html", "", b'{"a": [1]}', "JSON"),
    "json as turtle": ("text/turtle", "", b'{"a": [1]}', "JSON"),
    "other xml": ("text/xml", "", b"<urlset xmlns='http://s/'/>", "XML"),
    "xml of bare tags": ("text/xml", ".xml", b"<catalog>\n<book>x</book>", "XML"),
    "svg": ("image/svg+xml", ".svg", b"<svg xmlns:rdf='%s'>" % RDF.encode(), "XML"),
    "feed as rdf/xml": (
        "application/rdf+xml",
        "",
        b"<?xml version='1.0'?><feed>",
        "XML",
    ),
    "owl/xml": (
        "application/owl+xml",
        ".owl",
        b"<?xml version='1.0'?>\n<Ontology xmlns='http://www.w3.org/2002/07/owl#'>",
        "XML",
    ),
    "pdf": ("application/pdf", "", b"%PDF-1.7", "PDF"),
    "garbage": ("", "", GARBAGE, ""),
    "garbage as turtle": ("text/turtle", "", GARBAGE, ""),
    "prose": ("text/plain", "", b"Hello, this is a text.", ""),
}


OLD_TAR = b"doc.ttl".ljust(100, b"\0") + b"0000644\0"
ODD = bytes(range(128, 256))
PACKED = {
    "gzip": ("text/turtle", ".ttl", GZIP, PackingKind.GZIP),
    "gzip by content": ("", "", GZIP, PackingKind.GZIP),
    "bzip2": ("", ".ttl.bz2", b"BZh91AY&SY" + ODD, PackingKind.BZIP2),
    "bzip2 of nothing": ("", "", b"BZh9\x17rE8P\x90", PackingKind.BZIP2),
    "xz": ("application/octet-stream", "", b"\xfd7zXZ\0" + ODD, PackingKind.XZ),
    "zstd": ("", "", b"\x28\xb5\x2f\xfd" + ODD, PackingKind.ZSTD),
    "zstd, skippable first": ("", "", b"\x5a\x2a\x4d\x18" + ODD, PackingKind.ZSTD),
    "lz4": ("", "", b"\x04\x22\x4d\x18" + ODD, PackingKind.LZ4),
    "br by name": ("", ".ttl.br", ODD, PackingKind.BROTLI),
    "br by type": ("application/x-brotli", "", ODD, PackingKind.BROTLI),
    "zip": ("text/html", ".ttl", b"PK\3\4" + ODD, PackingKind.ZIP),
    "zip of nothing": ("", "", b"PK\5\6" + bytes(18), PackingKind.ZIP),
    "tar": ("", "", bytes(257) + b"ustar\x0000" + bytes(248), PackingKind.TAR),
    "old tar by name": ("", ".tar", OLD_TAR, PackingKind.TAR),
    "7z": (
        "application/n-triples",
        "",
        b"7z\xbc\xaf\x27\x1c" + ODD,
        PackingKind.SEVEN_ZIP,
    ),
}


@pytest.mark.parametrize(
    ("media_type", "extension", "head", "packing"), PACKED.values(), ids=PACKED
)
def test_packing_is_found(
    media_type: str, extension: str, head: bytes, packing: PackingKind
) -> None:
    """If the response is packed, then its packing is detected, despite declarations."""
    decision = decide(media_type, URL + extension, head)
    assert decision.format is None
    assert decision.packing is packing
    assert decision.found == packing.value


@pytest.mark.parametrize(
    ("extension", "head"),
    [
        (".ttl.br", TURTLE),
        (".tar", TURTLE),
        (".ttl.gz", TURTLE),
        ("", b"BZhang a e:b ."),
    ],
)
def test_what_only_is_called_packed_is_not(extension: str, head: bytes) -> None:
    """If a name speaks of a packing and the content does not, there is none."""
    assert decide("", URL + extension, head).packing is None


@pytest.mark.parametrize(
    ("name", "inside", "format_name"),
    [
        ("http://e/a/dumpFile.ttl.zip?x", "dumpfile.ttl", "Turtle"),
        ("data.nt.tar.gz", "data.nt.tar", "N-Triples"),
        ("data.nt.tgz", "data.nt.tar", "N-Triples"),
        ("data.tbz2", "data.tar", None),
        ("data", "data", None),
        (".gz", ".gz", None),
        ("http://[broken/", "", None),
    ],
)
def test_names_tell_what_is_inside(
    name: str, inside: str, format_name: str | None
) -> None:
    """If a name has extensions of packings, then they come off one by one."""
    found = formats.format_of_name(name)
    assert formats.name_inside(name) == inside
    assert (found.name if found else None) == format_name


@pytest.mark.parametrize(
    ("media_type", "extension", "head", "name", "by"), CASES.values(), ids=CASES
)
def test_format_is_decided(
    media_type: str, extension: str, head: bytes, name: str, by: str
) -> None:
    """If the response is RDF, then its format is found, despite declarations."""
    decision = decide(media_type, URL + extension, head)
    assert decision.format is not None
    assert decision.format.name == name
    assert decision.decided_by == (by or "content-type")


@pytest.mark.parametrize(
    ("media_type", "extension", "head", "found"), REFUSED.values(), ids=REFUSED
)
def test_what_is_no_rdf_is_named(
    media_type: str, extension: str, head: bytes, found: str
) -> None:
    """If the response is not RDF, then it has no format, but a name."""
    decision = decide(media_type, URL + extension, head)
    assert decision.format is None
    assert decision.decided_by == "content"
    assert decision.found == found


@pytest.mark.parametrize("name", ["a", "br", "tar", "a.br", "a.tar?x=/y", "b?c.br"])
@pytest.mark.parametrize(
    "head",
    [TURTLE, b"\x8b\x01\x80\0\xff\xfe\x00", b"%PDF-1.7"],
)
def test_declared_type_is_checked_whatever_the_name(name: str, head: bytes) -> None:
    """If a name has no extension, then packing and contradiction show all the same."""
    decision = decide("text/turtle", f"{URL}/{name}", head)
    if head.startswith(b"%PDF"):
        assert decision.found == "PDF"
    elif head is TURTLE:
        assert decision.format is formats.TURTLE
    else:
        assert (decision.packing is PackingKind.BROTLI) == (name in ("br", "a.br"))


def test_table_names_every_type_and_extension_once() -> None:
    """If a media type or extension is in the table, then it means one format."""
    types = [name for each in FORMATS for name in each.media_types]
    extensions = [name for each in FORMATS for name in each.extensions]
    assert len(types) == len(set(types))
    assert len(extensions) == len(set(extensions))


@pytest.mark.parametrize(
    "head",
    [
        b"<?a?>" * 800,
        b"<!--" * 1000,
        b"# c\n" * 1000,
        b'<a> <b> "' + b"\\a" * 2000,
        b"<" * 4000,
        b"_:" * 2000,
        b"@prefix a: <a> ." + b"\n" * 4000 + b"{",
        b"@prefix a: <a> . {" + b"a:" * 2000,
        b'{"' + b" " * 4000,
        b" " * 4096,
    ],
    ids=lambda head: repr(head[:12]),
)
def test_sniffing_takes_no_time(head: bytes) -> None:
    """If the first bytes are made to make patterns backtrack, then they do not."""
    with takes_at_most(1):
        decide("", "http://[broken/", head)


def test_what_begins_like_a_tag_without_a_name_is_what_it_is_said_to_be() -> None:
    """If a name begins as none of XML does, then the format is still decided."""
    assert (
        decide("text/turtle", "http://e.example/", b' <:b "').format is formats.TURTLE
    )
