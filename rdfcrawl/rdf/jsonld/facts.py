"""Collect facts about a document and its contexts to decide on the fast reader."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import copysign, isfinite
from typing import Any, Final

from pyoxigraph import NamedNode

_LARGEST_PLAIN: Final = 2**53  # larger integers may lose digits as doubles
_MAX_ALIASES: Final = 8  # followed from a term
_NOT_IN_IRI = re.compile(r"[\x00-\x20<>\"{}|^`\\]")


@dataclass(slots=True)
class JsonContents:
    """Content of a JSON value."""

    # keys and indexes of objects and arrays
    holders: set[Any] = field(default_factory=set)
    strings: set[str] = field(default_factory=set)  # keys and values
    nodes: list[dict[str, Any]] = field(default_factory=list)  # objects with a context
    has_lists: bool = False  # an object has the key `@list` or `@set`
    is_plain: bool = True  # libraries agree on the numbers


def walk(value: Any) -> JsonContents:
    """Return the content of a JSON value, including contexts."""
    found = JsonContents()
    strings, holders = found.strings, found.holders
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            strings.update(node)
            if "@context" in node:
                found.nodes.append(node)
            if "@list" in node or "@set" in node:
                found.has_lists = True
            entries: Any = node.items()
        else:
            entries = enumerate(node)
        for key, entry in entries:
            kind = type(entry)
            if kind is str:
                strings.add(entry)
            elif kind is dict or kind is list:
                stack.append(entry)
                holders.add(key)
            elif kind is float:
                found.is_plain &= _is_plain(entry)
            elif kind is int:
                found.is_plain &= -_LARGEST_PLAIN < entry < _LARGEST_PLAIN
    return found


def _is_plain(number: float) -> bool:
    """Return whether a number has a fraction, or is not too large an integer."""
    if number == 0:
        return copysign(1, number) > 0
    return isfinite(number) and (
        not number.is_integer() or abs(number) < _LARGEST_PLAIN
    )


def names_in(strings: set[str]) -> set[str]:
    """Return the possible terms among strings, including parts before a colon."""
    return strings | {text[: text.index(":")] for text in strings if ":" in text}


@dataclass(slots=True)
class RemoteContext:
    """A remote context: large, shared, and to be pruned."""

    terms: dict[str, Any]


def are_mapped(
    holders: set[Any],
    contexts: Iterable[dict[str, Any]],
    *,
    roots: list[list[Any]],
    inner: list[list[Any]],
) -> bool:
    """Return whether all properties with objects or arrays are IRIs.

    The standard drops other properties with their content; pyoxigraph 0.5.13 writes
    some of it, and drops properties that only RDF lacks.

    Args:
        holders: keys and indexes of objects and arrays.
        contexts: all of the document.
        roots: expanded contexts of each outermost object.
        inner: expanded contexts of the other objects.
    """
    names = {x for x in holders if isinstance(x, str) and x[0:1] != "@"}
    if not all(map(_can_be_iri, names)) or any(map(changes_vocabulary, inner)):
        return False
    names = {name for name in names if ":" not in name}
    for terms in contexts:
        if any(_is_unmapped(name, terms) for name in names & terms.keys()):
            return False
    return all(map(_has_vocabulary, roots)) or all(
        names <= set().union(*map(terms_of, context)) for context in roots
    )


def terms_of(entry: Any) -> dict[str, Any]:
    """Return the definitions in an entry of a context, if an object."""
    if isinstance(entry, RemoteContext):
        return entry.terms
    return entry if isinstance(entry, dict) else {}


def _has_vocabulary(context: list[Any]) -> bool:
    """Return whether undefined names become IRIs."""
    vocabulary: Any = ""
    for entry in context:
        vocabulary = "" if entry is None else terms_of(entry).get("@vocab", vocabulary)
    return _is_vocabulary(vocabulary)


def _is_vocabulary(value: Any) -> bool:
    return isinstance(value, str) and ":" in value and not may_be_no_iri(value)


def changes_vocabulary(context: list[Any]) -> bool:
    """Return whether properties mapped outside may be unmapped inside."""
    vocabularies = (terms_of(entry).get("@vocab", "x:") for entry in context)
    return None in context or not all(map(_is_vocabulary, vocabularies))


def _is_unmapped(name: str, terms: dict[str, Any]) -> bool:
    """Return whether a term may not be an absolute IRI."""
    for _ in range(_MAX_ALIASES):
        iri = terms[name]
        if isinstance(iri, dict):
            iri = iri.get("@id", iri.get("@reverse", ":"))
        if not isinstance(iri, str):
            return True
        if ":" in iri or iri.startswith("@"):
            return False
        if iri not in terms:
            return not _is_vocabulary(terms.get("@vocab"))
        name = iri
    return True


def _can_be_iri(name: str) -> bool:
    """Return whether a name is an IRI, or becomes one with a vocabulary."""
    try:
        NamedNode(name if ":" in name else "x:" + name)
    except ValueError:
        return False
    return not name.startswith("_:")


def may_be_no_iri(key: str) -> bool:
    """Return whether a property of this name or IRI may be dropped in RDF."""
    return key.startswith("_:") or bool(_NOT_IN_IRI.search(key))
