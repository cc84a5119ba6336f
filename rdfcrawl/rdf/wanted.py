"""Classes and properties that an operator wants, and their statements in N-Quads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import pyoxigraph as ox

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.namespaces import RDF_TYPE, RDFS, SCHEMA, SCHEMA_HTTPS, SH
from rdfcrawl.rdf.items.names import class_iri

_is_iri = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]+").fullmatch
MAX_TERMS: Final = 1000
_NODE_SHAPE: Final = ox.NamedNode(f"{SH}NodeShape")
_TYPE: Final = ox.NamedNode(RDF_TYPE)
_CLASS: Final = ox.NamedNode(f"{RDFS}Class")
_TARGETS: Final = tuple(
    ox.NamedNode(SH + name)
    for name in ("targetClass", "targetSubjectsOf", "targetObjectsOf")
)


@dataclass(frozen=True, slots=True)
class WantedTerms:
    """Wanted classes and properties; empty if nothing in particular is wanted.

    A statement is wanted if its property is, or if it gives a resource a wanted class.

    Attributes:
        iris: full IRIs; of schema.org with `http:`, which stands for `https:`, too.
    """

    iris: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """Return whether anything is wanted."""
        return bool(self.iris)

    def counter(self) -> Callable[[bytes], int]:
        r"""Return a function that counts the wanted statements in lines of N-Quads.

        Its cost is linear in the length of the lines.

        >>> count = WantedTerms(frozenset({"http://schema.org/name"})).counter()
        >>> count(b'<urn:a> <https://schema.org/name> "a" .\n')
        1
        """
        spellings = sorted(
            {each for iri in self.iris for each in (iri, _https(iri))}, key=len
        )
        names = b"|".join(re.escape(each.encode()) for each in spellings)
        kind = re.escape(RDF_TYPE.encode())
        # Literals contain no line feed, so only terms match at the start of a line.
        find = re.compile(
            rb"^(?:<[^>\n]*>|_:[^ \n]*) (?:<" + kind + rb"> )?<(?:" + names + rb")> ",
            re.MULTILINE,
        ).findall
        return lambda lines: len(find(lines))


def _https(iri: str) -> str:
    return SCHEMA_HTTPS + iri[len(SCHEMA) :] if iri.startswith(SCHEMA) else iri


def wanted_terms(words: tuple[str, ...]) -> WantedTerms:
    """Return the terms of IRIs, of names with known prefixes, or of schema.org.

    Raises:
        ConfigError: one of them is none of these, or there are more than `MAX_TERMS`.

    >>> sorted(wanted_terms(("schema:Product", "https://schema.org/Offer")).iris)
    ['http://schema.org/Offer', 'http://schema.org/Product']
    """
    return _bounded(frozenset(map(_iri, words)))


def shape_targets(turtle: bytes) -> WantedTerms:
    """Return the targets of SHACL shapes (SHACL 2.1.3): classes and properties.

    Raises:
        ConfigError: the text is not Turtle, or names no target.
    """
    try:
        quads = list(ox.parse(turtle, format=ox.RdfFormat.TURTLE))
    except (SyntaxError, ValueError) as error:
        raise ConfigError(f"must be SHACL shapes in Turtle: {error}") from error
    found = frozenset(_targets(quads))
    if not found:
        raise ConfigError("must be SHACL shapes with targets, such as sh:targetClass")
    return _bounded(found)


def _targets(quads: list[ox.Quad]) -> Iterator[str]:
    types: dict[object, set[object]] = {}
    for quad in quads:
        if quad.predicate == _TYPE:
            types.setdefault(quad.subject, set()).add(quad.object)
        if quad.predicate in _TARGETS and isinstance(quad.object, ox.NamedNode):
            yield _iri(quad.object.value)
    for subject, classes in types.items():  # implicit class targets
        if {_NODE_SHAPE, _CLASS} <= classes and isinstance(subject, ox.NamedNode):
            yield _iri(subject.value)


def _iri(name: str) -> str:
    iri = class_iri(name)
    if not _is_iri(iri):
        raise ConfigError(f"{name!r} is no IRI")
    return iri


def _bounded(iris: frozenset[str]) -> WantedTerms:
    if len(iris) > MAX_TERMS:
        raise ConfigError(f"must be at most {MAX_TERMS} classes and properties")
    return WantedTerms(iris)
