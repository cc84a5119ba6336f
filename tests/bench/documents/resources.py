"""Descriptions of people, places, works and measurements, of about 15 statements each.

They have labels and texts in several languages, typed values, links to other resources
and to other sites, blank nodes and lists.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tests.bench.documents.words import LANGUAGES, prose, text

if TYPE_CHECKING:
    from collections.abc import Callable

PREFIXES: Final = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "dct": "http://purl.org/dc/terms/",
    "schema": "http://schema.org/",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
}


@dataclass(frozen=True, slots=True)
class Iri:
    """A link to another resource."""

    value: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A text, with a language or a datatype of `xsd`, or with neither."""

    value: str
    language: str = ""
    datatype: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """A resource, or a blank node if it has no IRI.

    Attributes:
        iri: its name, or empty.
        kind: its class, as `prefix:name`.
        properties: pairs of a property, as `prefix:name`, and a value; a tuple is a
            list of RDF.
    """

    iri: str
    kind: str
    properties: tuple[tuple[str, Value], ...]


Value = Iri | Literal | Node | tuple[Iri | Node, ...]


def resource(rng: random.Random, iri: str, link: Callable[[], str]) -> Node:
    """Return the description of a person, a place, a work or a measurement.

    Args:
        rng: makes all choices.
        iri: of the resource.
        link: returns the IRI of another resource of the same publisher.
    """
    kind, more = rng.choice(_KINDS)
    shared: list[tuple[str, Value]] = [
        ("rdfs:label", Literal(text(rng, rng.randint(1, 4), language), language))
        for language in rng.sample(LANGUAGES, rng.randint(1, 4))
    ]
    if rng.random() < 0.5:
        language = rng.choice(LANGUAGES)
        abstract = prose(rng, rng.randint(15, 60), language)
        shared.append(("dct:description", Literal(abstract, language)))
    if rng.random() < 0.4:
        other = f"http://dbpedia.example/resource/{rng.randrange(10**6)}"
        shared.append(("owl:sameAs", Iri(other)))
    shared.append(("dct:modified", _date(rng)))
    return Node(iri, kind, (*shared, *more(rng, link)))


def _person(rng: random.Random, link: Callable[[], str]) -> list[tuple[str, Value]]:
    address = Node(
        "",
        "schema:PostalAddress",
        (
            ("schema:streetAddress", Literal(f"{text(rng, 2)} {rng.randint(1, 99)}")),
            ("schema:postalCode", Literal(f"{rng.randrange(10**5):05}")),
            ("schema:addressCountry", Literal(rng.choice(("DE", "FR", "BR")))),
        ),
    )
    return [
        ("foaf:name", Literal(text(rng, 2).title())),
        ("schema:birthDate", _date(rng)),
        ("foaf:homepage", Iri(f"http://people.example/~{rng.randrange(10**5)}/")),
        ("schema:address", address),
        *(("foaf:knows", Iri(link())) for _ in range(rng.randint(1, 4))),
    ]


def _place(rng: random.Random, link: Callable[[], str]) -> list[tuple[str, Value]]:
    return [
        ("geo:lat", Literal(f"{rng.uniform(-90, 90):.6f}", datatype="decimal")),
        ("geo:long", Literal(f"{rng.uniform(-180, 180):.6f}", datatype="decimal")),
        ("schema:population", Literal(str(rng.randrange(10**6)), datatype="integer")),
        ("schema:containedInPlace", Iri(link())),
        ("skos:altLabel", Literal(text(rng, 3, "ja"), "ja")),
        *(("schema:event", Iri(link())) for _ in range(rng.randint(0, 3))),
    ]


def _work(rng: random.Random, link: Callable[[], str]) -> list[tuple[str, Value]]:
    author = Node("", "foaf:Person", (("foaf:name", Literal(text(rng, 2).title())),))
    authors = (Iri(link()), author, Iri(link()))
    creators: list[tuple[str, Value]] = [("dct:creator", each) for each in authors]
    if rng.random() < 0.3:  # their order counts
        creators = [("dct:creator", authors)]
    return [
        *creators,
        ("dct:issued", _date(rng)),
        ("schema:numberOfPages", Literal(str(rng.randint(8, 900)), datatype="integer")),
        ("schema:isbn", Literal(f"978-{rng.randrange(10**9):09}")),
        ("dct:subject", Iri(link())),
        ("schema:abstract", Literal(prose(rng, rng.randint(30, 90)), "en")),
    ]


def _measurement(
    rng: random.Random, link: Callable[[], str]
) -> list[tuple[str, Value]]:
    def value(unit: str) -> Node:
        amount = Literal(f"{rng.uniform(0, 1000):.3f}", datatype="double")
        return Node(
            "",
            "schema:QuantitativeValue",
            (("schema:value", amount), ("schema:unitText", Literal(unit))),
        )

    return [
        ("schema:about", Iri(link())),
        ("schema:height", value("m")),
        ("schema:weight", value("kg")),
        ("schema:isAccessibleForFree", Literal("true", datatype="boolean")),
    ]


def _date(rng: random.Random) -> Literal:
    year, month, day = rng.randint(1850, 2025), rng.randint(1, 12), rng.randint(1, 28)
    return Literal(f"{year}-{month:02}-{day:02}", datatype="date")


_KINDS: Final = (
    ("foaf:Person", _person),
    ("schema:Place", _place),
    ("schema:Book", _work),
    ("schema:Observation", _measurement),
)
