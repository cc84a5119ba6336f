"""Find the terms of a SPARQL query that no statement of a store has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple

import pyoxigraph as ox

from rdfcrawl.core.namespaces import PREFIXES, SCHEMA, SCHEMA_HTTPS, XSD
from rdfcrawl.stores.followers.query import without_texts

_MOST: Final = 5
_NAME: Final = r"(?<![\w:?$@.-])(?<!\^\^)([^\W\d_][\w.-]*|):"
_DECLARATION: Final = re.compile(rf"\bPREFIX\s+{_NAME}\s*<([^<>\s]*)>", re.IGNORECASE)
# Not declared, no datatype, no function, and no endpoint (SPARQL 1.1, 19.8).
_TERM: Final = re.compile(
    rf"(?P<other>\b(?:PREFIX\s++[^\s<]*+|BASE|SERVICE\s++SILENT|SERVICE)\s*+<[^<>\s]*>)"
    r"|(?<!\^\^)<(?P<iri>[A-Za-z][A-Za-z0-9+.-]*:"
    r'[^<>"{}|^`\\\x00-\x20]*)>(?!\s*\()'
    rf"|{_NAME}(?P<local>\w(?:[\w-]|\.(?=[\w-]))*+)(?!\s*\(|[%\\])",
    re.IGNORECASE,
)


class AbsentTerm(NamedTuple):
    """A term of a query that no statement has.

    Attributes:
        name: in the query.
        other: the same term of schema.org with the other scheme, if a statement has
            that; otherwise empty.
    """

    name: str
    other: str = ""

    def __str__(self) -> str:
        """Return a line for a user."""
        line = f"{self.name} is in no statement"
        return f"{line}; <{self.other}> is" if self.other else line


def absent_terms(store: ox.Store, query: str) -> tuple[AbsentTerm, ...]:
    """Return terms of a query that are in no statement of a store; at most five.

    >>> store = ox.Store()
    >>> thing = ox.NamedNode("https://schema.org/Product")
    >>> store.add(ox.Quad(thing, thing, thing))
    >>> (found,) = absent_terms(store, "SELECT * { ?s a schema:Product }")
    >>> str(found)
    'schema:Product is in no statement; <https://schema.org/Product> is'
    """
    absent = (
        AbsentTerm(name, _of_the_other_scheme(store, iri))
        for name, iri in terms_of(query).items()
        if not _is_stored(store, iri)
    )
    return tuple(islice(absent, _MOST))


def terms_of(query: str) -> dict[str, str]:
    """Return the IRI of each term by its name in a query.

    Datatypes, functions, endpoints and names with escapes are left out.

    >>> terms_of("PREFIX e: <http://e/> ASK { ?s e:p 'e:q' FILTER(e:f(?s) = <urn:x>) }")
    {'e:p': 'http://e/p', '<urn:x>': 'urn:x'}
    """
    text = without_texts(query)
    prefixes = {**PREFIXES, **dict(_DECLARATION.findall(text))}
    return dict(_terms(text, prefixes))


def _terms(text: str, prefixes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for found in _TERM.finditer(text):
        if found["other"]:
            continue
        if found["iri"]:
            yield found[0], found["iri"]
            continue
        name, _, local = found[0].partition(":")
        space = prefixes.get(name, "")
        if ":" in space and space != XSD:  # else not known, or relative
            yield found[0], space + local


def _is_stored(store: ox.Store, iri: str) -> bool:
    """Return whether an IRI is in any place of a statement."""
    term = ox.NamedNode(iri)
    places = (
        (None, term, None, None),
        (None, None, term, None),
        (term, None, None, None),
        (None, None, None, term),
    )
    return any(any(True for _ in store.quads_for_pattern(*at)) for at in places)


def _of_the_other_scheme(store: ox.Store, iri: str) -> str:
    for one, other in ((SCHEMA, SCHEMA_HTTPS), (SCHEMA_HTTPS, SCHEMA)):
        if iri.startswith(one) and _is_stored(
            store, changed := other + iri[len(one) :]
        ):
            return changed
    return ""
