"""Statements: their serializations, and data that is worth to be published."""

from __future__ import annotations

import io
import random
from typing import TYPE_CHECKING

import pyoxigraph as ox

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"
FOAF = "http://xmlns.com/foaf/0.1/"
DCT = "http://purl.org/dc/terms/"
DCAT = "http://www.w3.org/ns/dcat#"
VOID = "http://rdfs.org/ns/void#"
SD = "http://www.w3.org/ns/sparql-service-description#"
SCHEMA = "http://schema.org/"
HYDRA = "http://www.w3.org/ns/hydra/core#"

FORMATS = {
    "text/turtle": ox.RdfFormat.TURTLE,
    "application/rdf+xml": ox.RdfFormat.RDF_XML,
    "application/n-triples": ox.RdfFormat.N_TRIPLES,
    "application/ld+json": ox.RdfFormat.JSON_LD,
    "text/n3": ox.RdfFormat.N3,
    "application/trig": ox.RdfFormat.TRIG,
    "application/n-quads": ox.RdfFormat.N_QUADS,
}

PREFIXES = {"foaf": FOAF, "dct": DCT, "dcat": DCAT, "void": VOID, "sd": SD}
HEAD = "".join(
    f"@prefix {name}: <{iri}> .\n"
    for name, iri in (PREFIXES | {"rdfs": RDFS, "xsd": XSD, "hydra": HYDRA}).items()
)

ODD_LITERALS = [
    ox.Literal(""),
    ox.Literal('two\nlines,\ta tab, "quotes" and a \\ backslash'),
    ox.Literal("no blank node: _:b0"),
    ox.Literal("last word _:b1", language="en"),
    ox.Literal("a <b> & 'c' ]]> end."),
    ox.Literal("Grüezi", language="de-ch"),
    ox.Literal("日本語 𝄞", language="ja"),
    ox.Literal("  blanks around  "),
    ox.Literal("2026-02-30", datatype=ox.NamedNode(XSD + "date")),
    ox.Literal("twelve", datatype=ox.NamedNode(XSD + "integer")),
    ox.Literal("NaN", datatype=ox.NamedNode(XSD + "double")),
    ox.Literal("POINT(7 51)", datatype=ox.NamedNode("http://wkt.example/#wkt")),
    ox.Literal("<p>x</p>", datatype=ox.NamedNode(RDF + "HTML")),
]


def triples(text: str, *, base: str | None = None) -> list[ox.Triple]:
    """Read Turtle in which the usual prefixes are declared."""
    found = ox.parse((HEAD + text).encode(), format=ox.RdfFormat.TURTLE, base_iri=base)
    return [quad.triple for quad in found]


def write(statements: Iterable[ox.Triple], media_type: str) -> bytes:
    """Serialize statements."""
    out = io.BytesIO()
    ox.serialize(statements, out, format=FORMATS[media_type])
    return out.getvalue()


def to_quad(triple: ox.Triple, graph: ox.NamedNode | None = None) -> ox.Quad:
    """Put a triple into a graph, or the default graph."""
    name = graph or ox.DefaultGraph()
    return ox.Quad(triple.subject, triple.predicate, triple.object, name)


def population(root: str, n: int, *, seed: int) -> Iterator[ox.Triple]:
    """Yield about eight statements for each of `n` things below an IRI.

    Some have blank nodes, some literals that are hard to carry.
    """
    chance = random.Random(seed)
    node = ox.NamedNode
    for i in range(n):
        thing = node(f"{root}{i}")
        yield ox.Triple(thing, node(RDF + "type"), node(root + f"class/{i % 7}"))
        yield ox.Triple(thing, node(RDFS + "label"), ox.Literal(f"thing {i}"))
        yield ox.Triple(thing, node(DCT + "title"), chance.choice(ODD_LITERALS))
        yield ox.Triple(thing, node(root + "size"), ox.Literal(chance.randrange(10**6)))
        for j in chance.sample(range(n), k=min(3, n)):
            yield ox.Triple(thing, node(root + "near"), node(f"{root}{j}"))
        if i % 10 == 0:
            address = ox.BlankNode()
            yield ox.Triple(thing, node(root + "address"), address)
            yield ox.Triple(address, node(root + "number"), ox.Literal(str(i)))
            yield ox.Triple(address, node(root + "owner"), thing)
