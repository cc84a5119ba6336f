"""Open elements of RDF/XML, and its terms: mended, or unusable."""

from __future__ import annotations

from collections.abc import Container
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from pyoxigraph import Literal

from rdfcrawl.core.namespaces import RDF
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.iris import resolve
from rdfcrawl.rdf.markup import NO_TEXT
from rdfcrawl.rdf.trix import XmlContent

# Attributes of the namespace of RDF
SYNTAX: Final = frozenset(
    {"about", "annotation", "annotationNodeID", "datatype", "ID", "nodeID"}
    | {"parseType", "resource", "type", "version"}
)
# Attributes that may lack a namespace (RDF/XML section 6.1.4), and others like them.
OLD: Final = frozenset(
    {"ID", "about", "datatype", "nodeID", "parseType", "resource", "type"}
)
REMOVED: Final = frozenset({"aboutEach", "aboutEachPrefix", "bagID"})
OF_PROPERTIES: Final = frozenset({"resource", "datatype", "parseType", "annotation"})
RESERVED: Final = frozenset({"RDF", "li"} | REMOVED | SYNTAX - {"type"})


@dataclass(slots=True)
class RdfXmlElement:
    """An open element.

    `kind` is `doc`, `rdf`, `node`, `property`, `list`, `literal` or `triple`; `nested`
    is an rdf:RDF in a property, and `host` an element of SVG or XMP around RDF. `types`
    are of nodes in a property that may be properties, if its end is missing.
    """

    kind: str
    name: str
    base: str | None
    language: str
    direction: str
    subject: str = ""
    predicate: str = ""
    statement_id: str = ""
    annotation: str = ""
    datatype: str = ""
    n_members: int = 0
    objects: list[str] = field(default_factory=list)
    types: list[tuple[str, str]] = field(default_factory=list)
    content: XmlContent | None = None
    text: list[str] = field(default_factory=list)
    n_chars: int = 0


def is_node(name: str, attributes: Container[str], around: RdfXmlElement) -> bool:
    """Return whether an element in a node is another node, and no property.

    The node around it may lack its end tag.
    """
    is_described = "about" in attributes and name == around.name
    return is_described or name == f"{RDF}Description"


class UnusableTerm(str):
    """A term with which no statement can be made; its text is the reason."""

    __slots__ = ()


def reason_against(text: str) -> str:
    """Return the reason why a text cannot be in a statement; empty if it can."""
    if isinstance(text, UnusableTerm):
        return text
    return UnusableTerm("an entity that is not declared") if NO_TEXT in text else ""


@lru_cache(maxsize=4096)
def resolved(value: str, base: str | None) -> tuple[str, bool]:
    """Return the term of a reference, and whether it was mended."""
    if bad := reason_against(value):
        return bad, False
    try:
        reference = terms.mended_reference(value)
        absolute = resolve(reference, base or "")
        return f"<{terms.mended_iri(absolute)}>", reference != value
    except ValueError as error:
        return UnusableTerm(error), False


@lru_cache(maxsize=256)
def language_of(tag: str) -> str:
    """Return the mended tag; empty for none."""
    if bad := reason_against(tag):
        return bad
    found = terms.language_tag(tag).lower()
    if found or not tag.strip():  # XML 1.0 section 2.12: an empty one is none
        with suppress(ValueError):
            return (found and Literal("", language=found).language) or ""
    return UnusableTerm(f"language tag {tag[:100]}")


def is_ncname(name: str) -> bool:
    """Return whether a name may be used as an identifier in XML."""
    if name.isascii() and name.isidentifier():
        return True
    first = name[:1]
    rest = name[1:].replace("-", "").replace(".", "").replace("\xb7", "")
    return (first.isalpha() or first == "_") and f"_{rest}".isidentifier()
