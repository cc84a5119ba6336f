"""XML literals in canonical form, as the standard library writes them."""

from __future__ import annotations

from xml.etree.ElementTree import canonicalize

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.rdf.parse import parse
from rdfcrawl.rdf.terms import literal

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
NAMES = f'xmlns:rdf="{RDF}" xmlns:e="http://e.example/" xmlns:o="http://o.example/"'
MEDIA_TYPE = "application/rdf+xml"
CONTENTS = [
    "text &amp; more",
    '<p z="1" a="2"/>',
    '<p z="3" a="4"/>',  # of the same form
    "<p a='say \"x\"' b='&lt;'>t</p>",
    '<p a=\'b c="d"\' c="e">t</p>',
    '<e:p o:b="1" e:a="2" a="3"><e:q/><o:q/></e:p>',
    '<p xmlns="http://x.example/"><q xmlns=""/><q/></p>',
    '<e:p xmlns:e="http://new.example/"><e:q/></e:p><e:p/>',
    '<p xml:lang="en" xmlns:n="http://unused.example/">t</p>',
    '<p a="%d %s \\1"><br/>\nü</p>',
    "<p a='1'\nb='2'>t<!-- c --></p><?pi d?>",
    "<![CDATA[<p>]]>&#233;<p>&#13;</p>",
    '<p><q rdf:parseType="Literal">t</q></p>',
]
# Read one by one
ODD = [
    "<e:p>t</e:p>",
    '<p xmlns="relative"/>',
    "<p>_.:</p>",
    '<p xml:id="1"/>',
    "<p>" * 300 + "</p>" * 300,
]


def values(contents: list[str], names: str = NAMES) -> tuple[list[bytes], set[Reason]]:
    """Return the literals of a document, and the reasons of its faults."""
    nodes = "".join(
        f'<rdf:Description rdf:about="urn:x:{n}">'
        f'<e:p rdf:parseType="Literal">{content}</e:p></rdf:Description>\n'
        for n, content in enumerate(contents)
    )
    text = f"<rdf:RDF {names}>{nodes}</rdf:RDF>".encode()
    url = "http://h.example/doc"
    parser = parse(text, url=url, graph=None, media_type=MEDIA_TYPE)
    lines = b"".join(parser).splitlines()
    objects = [line.split(b" ", 2)[2].rpartition(b"^^")[0] for line in lines]
    return objects, {fault.reason for fault in parser.faults}


def canonical(content: str) -> bytes:
    """Return the canonical form, as a literal."""
    text = canonicalize(f"<none {NAMES}>{content}</none>", with_comments=True)
    return literal(text[len("<none>") : -len("</none>")]).encode()


def test_literals_are_canonical() -> None:
    """If literals have any tags, then they are in exclusive canonical XML."""
    found, faults = values(CONTENTS)
    assert found == [canonical(content) for content in CONTENTS]
    assert not faults


@pytest.mark.parametrize("content", ODD)
def test_literals_that_are_not_written_with_others(content: str) -> None:
    """If one literal is odd, then it and all others are in canonical XML."""
    contents = [CONTENTS[1], content, CONTENTS[5]]
    found, faults = values(contents)
    assert found == [canonical(each) for each in contents]
    assert not faults


@pytest.mark.parametrize(
    "content",
    ["<o:q>t</o:q>", "<e:p>t</e:p>", f"<o:q>{'t' * 600_000}</o:q>"],
    ids=["plain", "odd", "long"],
)
def test_literals_of_many_blocks(content: str) -> None:
    """If literals are cut by the blocks of a document, then all are canonical."""
    contents = [CONTENTS[5], *([f"<o:q>{'t' * 999}</o:q>"] * 500), content]
    found, faults = values(contents)
    assert found == [canonical(each) for each in contents]
    assert not faults


@pytest.mark.parametrize(
    ("node", "tag"),
    [
        ('xmlns:n="http://n.example/"', ""),
        ("", 'xmlns:n="http://n.example/"'),
        ('xmlns:o="http://n.example/"', 'xmlns:n="http://n.example/"'),
        ('xmlns:m="http://m.example/"', "xmlns:n='http://n.example/'"),
    ],
)
def test_namespaces_of_elements_around_a_literal(node: str, tag: str) -> None:
    """If an element around a literal declares a namespace, then the literal has it."""
    text = (
        f'<rdf:RDF {NAMES}><rdf:Description rdf:about="urn:x:1" {node}>'
        f'<e:p rdf:parseType="Literal" {tag}><o:q/><n:p/></e:p></rdf:Description>'
        "</rdf:RDF>"
    )
    parser = parse(
        text.encode(), url="http://h.example/", graph=None, media_type=MEDIA_TYPE
    )
    other = "n" if "xmlns:o" in node else "o"
    want = (
        f'<o:q xmlns:o="http://{other}.example/"></o:q>'
        '<n:p xmlns:n="http://n.example/"></n:p>'
    )
    assert literal(want).encode() in b"".join(parser)
    assert not parser.faults


def test_a_default_namespace_of_the_root() -> None:
    """If the root has a default namespace, then literals declare it if they use it."""
    found, _ = values(["<p/><e:p/>"], f'xmlns="http://d.example/" {NAMES}')
    want = '<p xmlns="http://d.example/"></p><e:p xmlns:e="http://e.example/"></e:p>'
    assert found == [literal(want).encode()]


@pytest.mark.parametrize(
    "content",
    ["<p></q>", '<p a="1" a="2"/>', "<x:p/>", "</p>", "<p"],
)
def test_tags_that_are_not_well_formed(content: str) -> None:
    """If tags are not well-formed, then this is a fault."""
    _, faults = values(["<p/>", content])
    assert faults


def test_literals_of_a_root_that_declares_foaf() -> None:
    """If the namespace of FOAF, at `xmlns.com`, is declared, the result is the same."""
    names = f'{NAMES} xmlns:foaf="http://xmlns.com/foaf/0.1/"'
    contents = ['<p a="http://xmlns.com/foaf/0.1/Person"/>', "t", *CONTENTS]
    found, faults = values(contents, names)
    assert found == [canonical(content) for content in contents]
    assert not faults


def test_literals_of_text_alone() -> None:
    """If all literals are text without references, then they stay as they are."""
    contents = ["t", "", "100 %", "\n  ü"]
    found, faults = values(contents)
    assert found == [canonical(content) for content in contents]
    assert not faults


def test_values_in_another_order_than_in_the_source() -> None:
    """If attributes are sorted, then each keeps its value, also one with `%`."""
    contents = [f'<p b="%d{n}" a="{n}"/><q c="{n} %"/>' for n in range(3)]
    found, _ = values(contents)
    assert found == [canonical(content) for content in contents]
