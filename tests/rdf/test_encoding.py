"""Byte order marks, charsets and invalid text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.rdf.parse import parse
from rdfcrawl.rdf.text import BLOCK_BYTES

if TYPE_CHECKING:
    from pathlib import Path

URL = "http://e.example/doc"
TURTLE = '<http://a> <http://b> "grün €" .\n'
PLAIN = '<http://a> <http://b> "gr\u00fcn" .\n'
XML = (
    '<?xml version="1.0" encoding="%s"?>'
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:e="http://"><rdf:Description rdf:about="http://a"><e:b>grün</e:b>'
    "</rdf:Description></rdf:RDF>"
)
CASES = {
    "utf-8 mark": ("text/turtle", "", TURTLE.encode("utf-8-sig")),
    "utf-16 mark": ("text/turtle", "", TURTLE.encode("utf-16")),
    "utf-16-be mark": ("text/turtle", "", b"\xfe\xff" + TURTLE.encode("utf-16-be")),
    "utf-32 mark": ("text/turtle", "", TURTLE.encode("utf-32")),
    "n-triples mark": ("application/n-triples", "", TURTLE.encode("utf-8-sig")),
    "charset": ("text/turtle", "ISO-8859-1", PLAIN.encode("latin-1")),
    "quoted charset": ("text/turtle", '"windows-1252"', TURTLE.encode("cp1252")),
    "xml latin-1": (
        "application/rdf+xml",
        "",
        (XML % "ISO-8859-1").encode("latin-1"),
    ),
    "xml ascii": ("application/rdf+xml", "", (XML % "us-ascii").encode()),
    "xml utf-16": ("application/rdf+xml", "", (XML % "UTF-16").encode("utf-16")),
    "xml utf-16 unmarked": (
        "application/rdf+xml",
        "",
        (XML % "UTF-16").encode("utf-16-le"),
    ),
    "utf-16-le unmarked": ("text/turtle", "UTF-16", TURTLE.encode("utf-16-le")),
    "utf-16-be unmarked": ("text/turtle", "UTF-16", TURTLE.encode("utf-16-be")),
    "utf-32 unmarked": ("text/turtle", "utf-32", TURTLE.encode("utf-32-le")),
    "xml charset wins": (
        "application/rdf+xml",
        "utf-8",
        (XML % "ISO-8859-1").encode(),
    ),
}


@pytest.mark.parametrize("is_file", [False, True], ids=["bytes", "file"])
@pytest.mark.parametrize(("media_type", "charset", "body"), CASES.values(), ids=CASES)
def test_charsets_are_read(
    tmp_path: Path, media_type: str, charset: str, body: bytes, is_file: bool
) -> None:
    """If a document is marked or declared in a charset, then it is read in it."""
    path = tmp_path / "document"
    path.write_bytes(body)
    source = path if is_file else body
    parsed = parse(source, url=URL, graph=None, media_type=media_type, charset=charset)
    text = b"".join(parsed).decode()
    assert parsed.faults == []
    assert text.replace(" €", "") == PLAIN


@pytest.mark.parametrize(
    "charset", ["klingon", "rot13", "zlib", "punycode", "a\0b", "utf-16", "utf-32"]
)
def test_unknown_charset_is_a_fault_and_read_as_utf8(charset: str) -> None:
    """If a charset is unknown or cannot be, then that is said and UTF-8 is tried."""
    parsed = parse(TURTLE.encode(), url=URL, graph=None, charset=charset)
    assert b"".join(parsed).decode() == TURTLE
    assert [fault.reason for fault in parsed.faults] == [Reason.BAD_CHARSET]


@pytest.mark.parametrize("is_file", [False, True], ids=["bytes", "file"])
@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        (
            "application/n-triples",
            (
                b'<http://a> <http://b> "\xff" .\n<http://a> <http://b\xff> "x" .\n'
                b'<http://a> <http://b> "good" .\n'
            ),
        ),
        (
            "text/turtle",
            (
                b'<http://a> <http://b> """\xff"\n" _:x .""", "\xc3\x28" .\n'
                b'<http://a> <http://b> "good" .\n'
            ),
        ),
        (
            "application/rdf+xml",
            (XML % "utf-8")
            .encode()
            .replace(b"<e:b>", b"<e:b>\xfc\xfc</e:b><e:c>x\xfc</e:c><e:b>")
            .replace("grün".encode(), b"good"),
        ),
        (
            "application/ld+json",
            b'{"@id":"http://a","http://b":["\xff","\xfe","good"]}',
        ),
    ],
)
def test_invalid_text_costs_only_its_statement(
    tmp_path: Path, media_type: str, body: bytes, is_file: bool
) -> None:
    """If text is not UTF-8, then its statement is dropped, the others are kept."""
    path = tmp_path / "document"
    path.write_bytes(body)
    source = path if is_file else body
    parsed = parse(source, url=URL, graph=None, media_type=media_type)
    text = b"".join(parsed)
    assert text == b'<http://a> <http://b> "good" .\n'
    faults = {fault.reason: fault.count for fault in parsed.faults}
    assert faults[Reason.BAD_CHARSET] == 2


@pytest.mark.parametrize("codec", ["utf-8", "utf-16", "cp1252"])
def test_characters_across_blocks_are_whole(tmp_path: Path, codec: str) -> None:
    """If a character lies across two blocks of a file, then it is read."""
    path = tmp_path / "document.nt"
    line = '<http://a> <http://b> "%s€ü€" .\n' % ("x" * 37)
    n = 3 * BLOCK_BYTES // len(line)
    path.write_bytes((line * n).encode(codec))
    charset = codec if codec == "cp1252" else ""
    parsed = parse(path, url=URL, graph=None, charset=charset)
    assert b"".join(parsed).decode() == line * n
    assert parsed.faults == []
