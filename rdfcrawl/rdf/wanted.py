"""Classes and properties that an operator wants, and their statements in N-Quads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.namespaces import RDF_TYPE, RDFS, SCHEMA, SCHEMA_HTTPS, SH

_is_iri = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]+").fullmatch
MAX_TERMS: Final = 1000
_TARGETS: Final = frozenset(
    SH + name for name in ("targetClass", "targetSubjectsOf", "targetObjectsOf")
)


def statement_counter(iris: frozenset[str]) -> Callable[[bytes], int]:
    r"""Return a function that counts the wanted statements in lines of N-Quads.

    A statement is wanted if its property is, or if it gives a resource a wanted class.
    The cost is linear in the length of the lines.

    Args:
        iris: wanted classes and properties; those of schema.org with `http:`, which
            stands for `https:`, too.

    >>> count = statement_counter(frozenset({"http://schema.org/name"}))
    >>> count(b'<urn:a> <https://schema.org/name> "a" .\n')
    1
    """
    spellings = sorted({each for iri in iris for each in (iri, _https(iri))})
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


def wanted_iris(words: tuple[str, ...]) -> frozenset[str]:
    """Return the IRIs of names, with known prefixes or of schema.org, and of IRIs.

    Raises:
        ConfigError: one of them is none of these, or `all`; or there are more than
            `MAX_TERMS`.

    >>> sorted(wanted_iris(("schema:Product", "https://schema.org/Offer")))
    ['http://schema.org/Offer', 'http://schema.org/Product']
    """
    return _bounded(frozenset(map(_iri, words)))


def shape_targets(turtle: bytes) -> frozenset[str]:
    """Return the targets of SHACL shapes (SHACL 2.1.3): classes and properties.

    Raises:
        ConfigError: the text is not Turtle, or names no target.
    """
    import pyoxigraph as ox  # noqa: PLC0415 (few crawls have shapes)

    try:
        quads = list(ox.parse(turtle, format=ox.RdfFormat.TURTLE))
    except (SyntaxError, ValueError) as error:
        raise ConfigError(f"must be SHACL shapes in Turtle: {error}") from error
    triples = [
        (each.subject.value, each.predicate.value, each.object.value)
        for each in quads
        if isinstance(each.object, ox.NamedNode)
    ]
    found = frozenset(_targets(triples))
    if not found:
        raise ConfigError("must be SHACL shapes with targets, such as sh:targetClass")
    return _bounded(found)


def _targets(triples: list[tuple[str, str, str]]) -> Iterator[str]:
    types: dict[str, set[str]] = {}
    for subject, predicate, value in triples:
        if predicate == RDF_TYPE:
            types.setdefault(subject, set()).add(value)
        elif predicate in _TARGETS:
            yield _iri(value)
    for subject, classes in types.items():  # implicit class targets
        if {f"{SH}NodeShape", f"{RDFS}Class"} <= classes and _is_iri(subject):
            yield _iri(subject)


def _iri(name: str) -> str:
    from rdfcrawl.rdf.items.names import ALL, class_iri  # noqa: PLC0415 (few crawls)

    if name == ALL:
        raise ConfigError("must be classes or properties; a crawl without it gets all")
    iri = class_iri(name)
    if not _is_iri(iri):
        raise ConfigError(f"{name!r} is no IRI")
    return iri


def _bounded(iris: frozenset[str]) -> frozenset[str]:
    if len(iris) > MAX_TERMS:
        raise ConfigError(f"must be at most {MAX_TERMS} classes and properties")
    return iris
