"""Notes on the terms of a SPARQL query that a store writes in another way, or lacks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

import pyoxigraph as ox

from rdfcrawl.core.namespaces import SCHEMA, SCHEMA_HTTPS
from rdfcrawl.stores.followers.query_text import terms_of

_MOST: Final = 5


def term_notes(store: ox.Store, query: str, *, has_result: bool) -> list[str]:
    """Return a line for each term that misses statements; at most five.

    Terms of schema.org may be stored with the other scheme, too. If there is no result,
    terms that no statement has are named as well.

    >>> store = ox.Store()
    >>> thing = ox.NamedNode("https://schema.org/Product")
    >>> store.add(ox.Quad(thing, thing, thing))
    >>> term_notes(store, "SELECT * { ?s a schema:Product }", has_result=False)
    ['schema:Product is in no statement; <https://schema.org/Product> is']
    """
    return list(islice(_notes(store, terms_of(query), has_result), _MOST))


def _notes(store: ox.Store, terms: dict[str, str], has_result: bool) -> Iterator[str]:
    named = set(terms.values())
    for name, iri in terms.items():
        changed = _with_other_scheme(iri)
        other = changed if changed not in named and _is_stored(store, changed) else ""
        if _is_stored(store, iri):
            if other:
                yield f"{name} is in some statements; <{other}> is in others"
        elif not has_result:
            yield f"{name} is in no statement" + (f"; <{other}> is" if other else "")


def _with_other_scheme(iri: str) -> str:
    """Return a term of schema.org with the other scheme; empty for all others."""
    for one, other in ((SCHEMA, SCHEMA_HTTPS), (SCHEMA_HTTPS, SCHEMA)):
        if iri.startswith(one):
            return other + iri[len(one) :]
    return ""


def _is_stored(store: ox.Store, iri: str) -> bool:
    """Return whether an IRI is in any place of a statement."""
    if not iri:
        return False
    term = ox.NamedNode(iri)
    places = (
        (None, term, None, None),
        (None, None, term, None),
        (term, None, None, None),
        (None, None, None, term),
    )
    return any(any(True for _ in store.quads_for_pattern(*at)) for at in places)
