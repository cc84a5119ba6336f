"""Open elements of RDF/XML, and its terms: mended, or unusable."""

from __future__ import annotations

from collections.abc import Callable, Container
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from pyoxigraph import Literal

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.namespaces import RDF
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.iris import resolve
from rdfcrawl.rdf.markup import NO_TEXT
from rdfcrawl.rdf.trix import XmlContent

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog

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
def _language_of(tag: str) -> str:
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


class TermMaker:
    """Maker of the terms of one document.

    Args:
        scope: see `RdfXmlReader`.
        log: of characters in IRIs that are mended.
        note: notes a fault with its place.

    Attributes:
        ids: values of `rdf:ID` so far, as terms.
    """

    def __init__(
        self, scope: str, *, log: FaultLog, note: Callable[[Reason, str], None]
    ) -> None:
        self._scope, self._log, self._note = scope, log, note
        self._n_blank = 0
        self.ids: set[str] = set()

    def blank(self) -> str:
        """Return a new blank node."""
        self._n_blank += 1
        return f"_:{self._scope}g{self._n_blank}"

    def label(self, label: str) -> str:
        """Return the blank node of a value of `rdf:nodeID`."""
        if bad := reason_against(label):
            return bad
        name = label.strip()
        if not is_ncname(name):
            self._note(Reason.REPAIRED, f"rdf:nodeID is no name: {label[:100]}")
        return terms.blank(f"{self._scope}n{name}")

    def reference(self, value: str, base: str | None) -> str:
        """Return the term of a reference."""
        if value.lstrip().startswith("_:"):
            label = value.strip()[2:]
            self._note(
                Reason.REPAIRED, f"a blank node in place of an IRI: _:{label[:100]}"
            )
            return terms.blank(f"{self._scope}n{label}")
        found, mended = resolved(value, base)
        if mended:
            terms.note_mended(self._log, value)
        return found

    def identifier(self, name: str, base: str | None) -> str:
        """Return the term of a value of `rdf:ID`."""
        stripped = name.strip().lstrip("#")
        found, _ = resolved(f"#{stripped}", base)
        if not is_ncname(name):
            self._note(Reason.REPAIRED, f"rdf:ID is no name: {name[:100]}")
        elif found in self.ids:
            self._note(Reason.REPAIRED, f"rdf:ID used twice: {name[:100]}")
        self.ids.add(found)
        return found

    def base(self, value: str, outer: str | None) -> str | None:
        """Return a new base; None if unknown, so that no false IRI results."""
        found, mended = resolved(value.partition("#")[0], outer)
        if isinstance(found, UnusableTerm):
            self._note(Reason.BAD_TERM, f"xml:base: {found}")
            return None
        if mended:
            terms.note_mended(self._log, value)
        return found[1:-1]

    def language(self, tag: str) -> str:
        """Return a language tag; empty for none."""
        if isinstance(found := _language_of(tag), UnusableTerm):
            return found
        if found != tag.lower():
            self._note(Reason.REPAIRED, f"language tag {tag[:100]}")
        return found
