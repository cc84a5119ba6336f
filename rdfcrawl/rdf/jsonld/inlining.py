"""Replace references to contexts by their terms, as far as a document may use them.

pyoxigraph reads the result; `NotFastError` if it would misread it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Final, NamedTuple

from rdfcrawl.core.errors import SourceFault
from rdfcrawl.rdf.environment import bundled_context
from rdfcrawl.rdf.jsonld.contents import names_in, walk
from rdfcrawl.rdf.jsonld.contexts import (
    ContextLoader,
    RemoteContext,
    changes_vocabulary,
    may_be_no_iri,
    resolve,
    terms_of,
)

# A context is repeated in every object that refers to it: some 30 MB of text.
MAX_INLINED_TERMS: Final = 500_000
MAX_REFERENCES: Final = 100_000  # followed: contexts can multiply references

# Features where pyoxigraph 0.5.13 fails the JSON-LD 1.1 API test suite. Contexts in
# JSON literals do not count.
NOT_FAST: Final = frozenset(
    {"@base", "@direction", "@import", "@included", "@json", "@nest", "@propagate"}
)
_KEYWORDS: Final = frozenset(
    {"@base", "@direction", "@language", "@propagate", "@protected"}
    | {"@version", "@vocab"}
)
_NOT_ALIASED: Final = frozenset({"@graph", "@list", "@set"})
_GEN_DELIMS: Final = (":", "/", "?", "#", "[", "]", "@")
_ABSENT: Final = object()


class NotFastError(Exception):
    """The document needs features that only PyLD has."""


class ContextInlining:
    """Replaces context references in a document with these strings.

    `seen` has all expanded contexts, by the identity of each.
    """

    def __init__(self, loader: ContextLoader, strings: set[str], *, base: str) -> None:
        self._loader = loader
        self._strings = strings
        self._base = base
        self.seen: dict[int, dict[str, Any]] = {}
        self._defined: set[str] = set()
        self._pruned: dict[int, tuple[dict[str, Any], int]] = {}
        self._n_terms_left = MAX_INLINED_TERMS
        self._n_references_left = MAX_REFERENCES

    def expand(self, context: Any) -> list[Any]:
        """Return the contexts of a value of `@context`, in order, not pruned.

        Raises:
            NotFastError: the document needs PyLD.
            NeedsSandbox: see `ContextLoader.load`.
        """
        found = list(self._expand(context, self._base, ()))
        for entry in found:
            terms = terms_of(entry)
            if terms and id(terms) not in self.seen:
                self._see(terms)
        return found

    @cached_property
    def _names(self) -> set[str]:
        return names_in(self._strings)

    def _see(self, terms: dict[str, Any]) -> None:
        """Record names defined in two contexts: the first may be protected."""
        if len(self.seen) == 1:
            self._defined.update(*self.seen.values())
        if self.seen:
            self._strings |= self._defined & terms.keys()
            self._defined.update(terms)
        self.seen[id(terms)] = terms

    def _expand(self, context: Any, base: str, urls: tuple[str, ...]) -> Iterator[Any]:
        self._n_references_left -= 1
        if self._n_references_left < 0:
            raise NotFastError
        if isinstance(context, list):
            for entry in context:
                yield from self._expand(entry, base, urls)
        elif isinstance(context, str):
            url = resolve(base, context)
            if url in urls:  # PyLD reports the loop
                raise NotFastError
            try:
                found, document = self._loader.load(url)
            except SourceFault as error:  # PyLD reads on without it
                self._loader.failure = None
                raise NotFastError from error
            yield from self._expand(document.get("@context", {}), found, (*urls, url))
        elif isinstance(context, dict) and "@import" not in context:
            if not urls:
                _check_terms(context.items(), context)
                yield context
                return
            is_bundled = bundled_context(urls[-1]) is not None
            facts = _BUNDLED.setdefault(id(context), {}) if is_bundled else {}
            yield RemoteContext(context, facts)
        elif context is None:
            yield None
        else:  # PyLD reads it, or reports the error
            raise NotFastError

    def prune(self, expanded: list[Any]) -> list[Any]:
        """Return expanded contexts reduced to needed terms (`NotFastError`)."""
        return [
            self._prune(entry) if isinstance(entry, RemoteContext) else entry
            for entry in expanded
        ]

    def _prune(self, context: RemoteContext) -> dict[str, Any]:
        known = self._pruned.get(id(context.terms))
        if known is None:
            known = self._pruned[id(context.terms)] = _pruned(context, self._names)
        kept, n_strings = known
        self._n_terms_left -= n_strings
        if self._n_terms_left < 0:
            raise NotFastError
        return kept


class _Facts(NamedTuple):
    """Of a term: the terms that its definition uses, and number of its strings."""

    needed: set[str]
    n_strings: int  # or 0: PyLD is needed


_BUNDLED: Final[dict[int, dict[str, _Facts]]] = {}


def _pruned(context: RemoteContext, names: set[str]) -> tuple[dict[str, Any], int]:
    """Return the definitions of names that a document may use, and their references.

    The second value is the number of their strings.
    """
    terms, facts = context.terms, context.facts
    kept: dict[str, Any] = {}
    n_strings = 0
    # API section 4.1.2, step 5.7: `@base` only counts in the document itself.
    stack = [*(names & terms.keys()), *(terms.keys() & _KEYWORDS - {"@base"})]
    while stack:
        name = stack.pop()
        if name in kept:
            continue
        found = facts.get(name)
        if found is None:
            found = facts[name] = _facts(name, terms)
        if not found.n_strings:
            raise NotFastError
        kept[name] = terms[name]
        n_strings += found.n_strings
        stack.extend(found.needed - kept.keys())
    return kept, n_strings


def _facts(name: str, terms: dict[str, Any]) -> _Facts:
    definition = terms[name]
    strings = walk({name: definition}).strings
    try:
        _check_terms([(name, definition)], terms)
    except NotFastError:
        return _Facts(set(), 0)
    is_fast = strings.isdisjoint(NOT_FAST)
    needed = names_in(_strings_of(name, definition)) & terms.keys() - {"@base"}
    return _Facts(needed, len(strings) if is_fast else 0)


def _strings_of(name: str, definition: Any) -> set[str]:
    if not isinstance(definition, dict):
        return {name, definition} if isinstance(definition, str) else {name}
    if "@context" not in definition:
        return {name, *(x for x in definition.values() if isinstance(x, str))}
    return {name} | walk(definition).strings


def _check_terms(entries: Iterable[tuple[str, Any]], outermost: dict[str, Any]) -> None:
    """Refuse definitions that pyoxigraph misreads (`NotFastError`)."""
    contexts = [(entries, outermost)]
    while contexts:
        entries, terms = contexts.pop()
        if "@import" in terms:
            raise NotFastError
        for name, definition in entries:
            if isinstance(definition, str):
                is_misread = definition in _NOT_ALIASED
                if not (terms is outermost and name == "@vocab"):
                    is_misread |= may_be_no_iri(definition)
                if is_misread:
                    raise NotFastError
            elif definition is None:
                raise NotFastError  # IRIs of that name would be left out
            elif isinstance(definition, dict):
                scoped = definition.get("@context")
                inner = scoped if isinstance(scoped, list) else [scoped]
                is_scoped = "@context" in definition
                if (
                    _is_misread(name, definition, terms)
                    or any(isinstance(entry, str) for entry in inner)
                    or (is_scoped and changes_vocabulary(inner))
                ):
                    raise NotFastError
                contexts.extend((x.items(), x) for x in inner if isinstance(x, dict))


def _is_misread(name: str, definition: dict[str, Any], terms: dict[str, Any]) -> bool:
    """Return whether pyoxigraph 0.5.13 misreads a definition."""
    # The lenient parser does not refuse these.
    kind, reverse = definition.get("@type"), definition.get("@reverse")
    iri = definition.get("@id", _ABSENT)
    # It would leave out the default language, or IRIs of a name without meaning.
    if kind == "@none" or iri is None:
        return True
    if (
        isinstance(kind, str)
        and kind[:1] != "@"
        and ":" not in kind
        and kind not in terms
    ):
        return True
    if isinstance(reverse, str) and reverse[:1] == "@":
        return True
    container = definition.get("@container")
    kinds = container if isinstance(container, list) else [container]
    # pyoxigraph panics, and ends the process, at a set or list in a graph container.
    if "@graph" in kinds or "@type" in kinds:
        return True
    if isinstance(iri, str):
        # API section 4.2.2, step 14.2.5: the last character of the IRI only makes a
        # simple term a prefix.
        is_prefix = iri.endswith(_GEN_DELIMS) and "@prefix" not in definition
        return is_prefix or may_be_no_iri(iri) or iri in _NOT_ALIASED
    # resolved against the document, not the vocabulary
    return "/" in name and ":" not in name and "@reverse" not in definition
