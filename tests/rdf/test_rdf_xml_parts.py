"""Damaged RDF/XML: the strict parser reads the nodes without errors."""

from __future__ import annotations

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.rdf.parse import parse

URL = "http://h.example/dir/doc"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
ROOT = f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:e="http://e.example/">\n'
N_NODES = 400


def node(n: int, more: str = "") -> str:
    """Return a node with a place, of 300 bytes."""
    return (
        f'<e:Book rdf:about="http://books.example/{n}">\n'
        f"  <e:title>Title {n} &lt; {'of a long book ' * 8}</e:title>\n"
        f'  <e:place><e:City><e:of rdf:resource="#{n % 7}"/></e:City></e:place>\n'
        f"  {more}</e:Book>\n"
    )


def read(text: str) -> tuple[list[bytes], dict[Reason, int]]:
    """Return the statements in order, and the number of faults of each reason."""
    parser = parse(text.encode(), url=URL, graph=None, media_type="application/rdf+xml")
    lines = b"".join(parser).splitlines()
    return lines, {fault.reason: fault.count for fault in parser.faults}


@pytest.mark.parametrize("place", [0, 1, N_NODES // 2, N_NODES - 1])
@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ("<e:q>a & b</e:q>", Reason.REPAIRED),
        ('<e:q rdf:about="urn:x:a">a &amp; b</e:q>', Reason.SYNTAX),
    ],
)
def test_one_error(place: int, more: str, reason: Reason) -> None:
    """If one node has an error, then all statements are those without it, in order."""
    right = "<e:q>a &amp; b</e:q>"
    good, bad = (
        ROOT
        + "".join(node(n, each if n == place else "") for n in range(N_NODES))
        + "</rdf:RDF>"
        for each in (right, more)
    )
    lines, faults = read(bad)
    assert lines == read(good)[0]
    assert faults == {reason: 1}


def test_many_errors() -> None:
    """If each fifth node has an error, then all statements are those without them."""
    good, bad = (
        ROOT
        + "".join(node(n, each * (n % 5 == 4)) for n in range(N_NODES))
        + "</rdf:RDF>"
        for each in ("<e:q>a &amp; b</e:q>", "<e:q>a & b</e:q>")
    )
    lines, faults = read(bad)
    assert lines == read(good)[0]
    assert faults == {Reason.REPAIRED: N_NODES // 5}


def test_one_long_node() -> None:
    """If a node is longer than a part, then it and those behind it are read."""
    title = f"<e:abstract>{'long ' * 80_000}</e:abstract>"
    nodes = [node(n, title if n == 1 else "") for n in range(100)]
    good = ROOT + "".join(nodes) + "</rdf:RDF>"
    lines, faults = read(good.replace("Title 50 &lt;", "Title 50 <"))
    assert lines == read(good)[0]
    assert faults == {Reason.REPAIRED: 1}


def test_names_of_all_parts() -> None:
    """If parts have labels, IDs, entities and a base, then they mean the same."""
    head = (
        '<!DOCTYPE rdf:RDF [<!ENTITY e "http://e.example/">]>\n'
        f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:e="&e;" xml:base="/other/" xml:lang="de">\n'
    )
    named = '<e:n rdf:nodeID="x_1"/><e:i rdf:resource="&e;i"/>'
    nodes = [node(n, named if n % 100 == 10 else "") for n in range(N_NODES)]
    nodes[200] = nodes[200].replace("<e:title>", '<e:title rdf:ID="t">')
    nodes[300] = node(300, named + "<e:q>a & b</e:q>")
    nodes[399] = nodes[399].replace("<e:title>", '<e:title rdf:ID="t">')
    lines, faults = read(head + "".join(nodes) + "</rdf:RDF>")
    labels = {line.split()[2] for line in lines if b"<http://e.example/n>" in line}
    assert len(labels) == 1
    assert sum(b"<http://e.example/i> <http://e.example/i>" in x for x in lines) == 5
    assert sum(b"<http://h.example/other/#3>" in line for line in lines) == 57
    assert sum(b'"@de' in line for line in lines) == N_NODES + 3
    assert faults == {Reason.REPAIRED: 2}  # `&`, and an ID twice
