"""Load the table that maps microformats to RDF."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files

from rdfcrawl.rdf import terms


class ValueKind(StrEnum):
    """Kind of a value; a value without its form is text."""

    TEXT = "text"
    IRI = "iri"
    ANY = "any"  # an IRI if it is one of http or https
    TIME = "time"
    NUMBER = "number"
    MAIL = "mail"
    TEL = "tel"
    GEO = "geo"


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroformatProperty:
    """The mapping of a property."""

    term: str
    kind: ValueKind
    item: str  # the predicate if the value is an item
    # predicate and class of a node between the item and the value
    via: tuple[str, str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemType:
    """The mapping of a type; `children` is the predicate of items without one."""

    kind: str
    children: str
    properties: Mapping[str, MicroformatProperty]


@cache
def classic_roots() -> Mapping[str, Mapping[str, str]]:
    """Return the microformats 2 names of property classes, by root class."""
    path = files("rdfcrawl.rdf.data").joinpath("microformats_classic.json")
    roots: dict[str, dict[str, str]] = json.loads(path.read_text("utf-8"))["roots"]
    return roots


@cache
def item_types() -> Mapping[str, ItemType]:
    """Return the known types by their names of microformats 2 ("h-card")."""
    path = files("rdfcrawl.rdf.data").joinpath("microformats.json")
    table = json.loads(path.read_text(encoding="utf-8"))
    prefixes = table["prefixes"]

    def term(name: str) -> str:
        prefix, _, local = name.partition(":")
        return terms.iri(prefixes[prefix] + local)

    return {
        name: ItemType(
            kind=term(entry["class"]),
            children=term(entry["children"]),
            properties={
                key: MicroformatProperty(
                    term=term(spec["term"]),
                    kind=ValueKind(spec["kind"]),
                    item=term(spec.get("item", spec["term"])),
                    via=(term(spec["via"][0]), term(spec["via"][1]))
                    if "via" in spec
                    else None,
                )
                for key, spec in entry["properties"].items()
            },
        )
        for name, entry in table["types"].items()
    }
