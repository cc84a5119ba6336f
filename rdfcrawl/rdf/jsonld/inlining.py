"""Inline contexts, reduced to terms that the document may use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Final

from rdfcrawl.rdf.jsonld.facts import (
    RemoteContext,
    changes_vocabulary,
    may_be_no_iri,
    names_in,
    terms_of,
    walk,
)
from rdfcrawl.rdf.jsonld.loading import ContextLoader, resolve

# A context is repeated in every object that refers to it: some 30 MB of text.
MAX_INLINED_TERMS: Final = 500_000
MAX_REFERENCES: Final = 100_000  # followed: contexts can multiply references

# Features where pyoxigraph 0.5.13 fails the JSON-LD 1.1 API test suite. Contexts in
# JSON literals do not count.
NOT_FAST: Final = frozenset(
    {"@base", "@direction", "@import", "@included", "@json", "@propagate"}
)
_KEYWORDS: Final = frozenset(
    {"@base", "@direction", "@language", "@propagate", "@protected"}
    | {"@version", "@vocab"}
)
_NOT_ALIASED: Final = frozenset({"@graph", "@list", "@set"})
_GEN_DELIMS: Final = (":", "/", "?", "#", "[", "]", "@")


class NotFastError(Exception):
    """The document needs features that only PyLD has."""


class ContextInlining:
    """Replaces context references in a document with these strings."""

    def __init__(self, loader: ContextLoader, strings: set[str], *, base: str) -> None:
        self._loader = loader
        self._strings = strings
        self._base = base
        self._seen: dict[int, dict[str, Any]] = {}
        self._defined: set[str] = set()
        self._pruned: dict[int, tuple[dict[str, Any], int]] = {}
        self._n_terms_left = MAX_INLINED_TERMS
        self._n_references_left = MAX_REFERENCES

    def expand(self, context: Any) -> list[Any]:
        """Return the contexts of a value of `@context`, in order, not pruned.

        Raises:
            NotFastError: the document needs PyLD.
            SourceFault, NeedsSandbox: see `ContextLoader.load`.
        """
        found = list(self._expand(context, self._base, ()))
        for entry in found:
            terms = terms_of(entry)
            if terms and id(terms) not in self._seen:
                self._see(terms)
        return found

    @cached_property
    def _names(self) -> set[str]:
        return names_in(self._strings)

    def contexts(self) -> Iterable[dict[str, Any]]:
        """Return all expanded contexts."""
        return self._seen.values()

    def _see(self, terms: dict[str, Any]) -> None:
        """Record names defined in two contexts: the first may be protected."""
        if len(self._seen) == 1:
            self._defined.update(*self._seen.values())
        if self._seen:
            self._strings |= self._defined & terms.keys()
            self._defined.update(terms)
        self._seen[id(terms)] = terms

    def _expand(self, context: Any, base: str, chain: tuple[str, ...]) -> Iterator[Any]:
        self._n_references_left -= 1
        if self._n_references_left < 0:
            raise NotFastError
        if isinstance(context, list):
            for entry in context:
                yield from self._expand(entry, base, chain)
        elif isinstance(context, str):
            url = resolve(base, context)
            if url in chain:
                raise NotFastError  # a loop; PyLD reports it
            found, document = self._loader.load(url)
            yield from self._expand(document.get("@context", {}), found, (*chain, url))
        elif isinstance(context, dict):
            if "@import" in context:
                raise NotFastError
            yield RemoteContext(context) if chain else _local(context)
        elif context is None:
            yield None
        else:
            raise NotFastError  # an error; PyLD reports it

    def prune(self, expanded: list[Any]) -> list[Any]:
        """Return expanded contexts reduced to needed terms (`NotFastError`)."""
        return [
            self._prune(entry.terms) if isinstance(entry, RemoteContext) else entry
            for entry in expanded
        ]

    def _prune(self, terms: dict[str, Any]) -> dict[str, Any]:
        known = self._pruned.get(id(terms))
        if known is None:
            kept = _pruned(terms, self._names)
            strings = walk(kept).strings
            if not strings.isdisjoint(NOT_FAST):
                raise NotFastError
            known = self._pruned[id(terms)] = kept, len(strings)
        kept, n_terms = known
        self._n_terms_left -= n_terms
        if self._n_terms_left < 0:
            raise NotFastError
        return kept


def _pruned(terms: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """Return the definitions of names that a document may use, and their references."""
    kept = {key: terms[key] for key in terms.keys() & _KEYWORDS}
    stack = list(names & terms.keys())
    while stack:
        name = stack.pop()
        if name in kept:
            continue
        kept[name] = terms[name]
        needed = names_in(_strings_of(name, terms[name])) & terms.keys()
        stack.extend(needed - kept.keys())
    # API section 4.1.2, step 5.7: `@base` only counts in the document itself.
    kept.pop("@base", None)
    return _local(kept)


def _strings_of(name: str, definition: Any) -> set[str]:
    if not isinstance(definition, dict):
        return {name, definition} if isinstance(definition, str) else {name}
    if "@context" not in definition:
        return {name, *(x for x in definition.values() if isinstance(x, str))}
    return {name} | walk(definition).strings


def _local(context: dict[str, Any]) -> dict[str, Any]:
    """Return a context; raise `NotFastError` for one that pyoxigraph misreads."""
    contexts = [context]
    while contexts:
        terms = contexts.pop()
        if "@import" in terms:
            raise NotFastError
        for name, definition in terms.items():
            if isinstance(definition, str):
                is_vocabulary = terms is context and name == "@vocab"
                if may_be_no_iri(definition) and not is_vocabulary:
                    raise NotFastError
                if definition in _NOT_ALIASED:
                    raise NotFastError
            elif isinstance(definition, dict):
                _check_definition(name, definition)
                scoped = definition.get("@context")
                entries = scoped if isinstance(scoped, list) else [scoped]
                if any(isinstance(entry, str) for entry in entries):
                    raise NotFastError
                if "@context" in definition and changes_vocabulary(entries):
                    raise NotFastError
                contexts.extend(entry for entry in entries if isinstance(entry, dict))
    return context


def _check_definition(name: str, definition: dict[str, Any]) -> None:
    """Raise `NotFastError` for a definition that pyoxigraph 0.5.13 misreads."""
    container = definition.get("@container")
    kinds = container if isinstance(container, list) else [container]
    # pyoxigraph panics, and ends the process, at a set or list in a graph container.
    if "@graph" in kinds or "@type" in kinds:
        raise NotFastError
    iri = definition.get("@id")
    if isinstance(iri, str):
        # API section 4.2.2, step 14.2.5: the last character of the IRI only makes a
        # simple term a prefix.
        if iri.endswith(_GEN_DELIMS) and "@prefix" not in definition:
            raise NotFastError
        if may_be_no_iri(iri) or iri in _NOT_ALIASED:
            raise NotFastError
    elif "/" in name and ":" not in name and "@reverse" not in definition:
        raise NotFastError  # resolved against the document, not the vocabulary
