"""Load the contexts of a document within limits, and inline them.

Inlined contexts are reduced to terms that the document may use.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from math import copysign, isfinite
from typing import Any, Final, Literal
from urllib.parse import urldefrag, urljoin, urlsplit

from pyoxigraph import NamedNode

from rdfcrawl.core.errors import FaultLog, NeedsSandbox, Reason, SourceFault
from rdfcrawl.rdf.environment import (
    MAX_CONTEXT_BYTES,
    MAX_CONTEXT_DEPTH,
    ContextSource,
    bundled_context,
)
from rdfcrawl.rdf.nesting import is_json_too_deep

MAX_CONTEXTS: Final = 20  # distinct ones per document
_CONTEXT: Final = re.compile(rb'"@(?:context|import)"\s*:\s*(?=["\[{])')
_MAX_LOCAL_BYTES: Final = 256 * 1024
_MAX_LOOKS: Final = 1000  # includes local contexts, each up to the largest size
_DECODER: Final = json.JSONDecoder()


RdfDirection = Literal["", "i18n-datatype", "compound-literal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLdReaderOptions:
    """Options of section 9.3 of the JSON-LD 1.1 API."""

    base: str  # of relative IRIs
    # URL of the context in a `Link` header; applies before those of the document
    context_url: str = ""
    scope: str = ""  # separates the blank nodes of several blocks of a page
    # form of the base direction of text; none if empty
    rdf_direction: RdfDirection = ""
    # `json-ld-1.0` refuses later features
    processing_mode: Literal["json-ld-1.1", "json-ld-1.0"] = "json-ld-1.1"
    # mends terms and bad nodes; without, as the standard refuses or drops them
    mends: bool = True


class ContextLoader:
    """Loader of the contexts of one document: each once, bundled ones first.

    `failure` is the first missing context: libraries wrap it in their own exceptions.
    """

    def __init__(
        self, source: ContextSource, *, document_url: str, log: FaultLog | None = None
    ) -> None:
        self.log = FaultLog() if log is None else log
        self._source = source
        self._document_url = document_url
        self._loaded: dict[str, tuple[str, Any]] = {}
        self._depths: dict[str, int] = {}
        self.failure: SourceFault | NeedsSandbox | None = None

    def load(self, url: str) -> tuple[str, Any]:
        """Return final URL and content of a context; do not modify the content.

        Raises:
            SourceFault: `REMOTE_CONTEXT`; the detail names the context.
            NeedsSandbox: the context is not available here.
        """
        try:
            url = _without_fragment(url)
            if url not in self._loaded:
                self._loaded[url] = bundled_context(url) or self._fetch(url)
        except (SourceFault, NeedsSandbox) as error:
            self.failure = self.failure or error
            raise
        return self._loaded[url]

    def _fetch(self, url: str) -> tuple[str, Any]:
        depth = self._depths.get(url, 1)
        if urlsplit(url).scheme not in {"http", "https"}:
            raise _fault(url, "is not on the Web")
        if depth > MAX_CONTEXT_DEPTH:
            raise _fault(url, f"more than {MAX_CONTEXT_DEPTH} contexts deep")
        if len(self._loaded) >= MAX_CONTEXTS:
            raise _fault(url, f"more than {MAX_CONTEXTS} contexts")
        found = self._source.load(url, document_url=self._document_url)
        document = _parse(url, found.content, self.log)
        for reference in iter_references(document.get("@context")):
            self._depths.setdefault(resolve(found.url, reference), depth + 1)
        return found.url, document


def _without_fragment(url: str) -> str:
    try:
        urlsplit(url)  # refuses a host with an unmatched bracket
        return urldefrag(url).url
    except ValueError as error:
        raise _fault(url, f"not a URL: {error}") from error


def _parse(url: str, content: bytes, log: FaultLog) -> dict[str, Any]:
    if len(content) > MAX_CONTEXT_BYTES:
        raise _fault(url, f"longer than {MAX_CONTEXT_BYTES} bytes")
    if is_json_too_deep(content):
        raise _fault(url, "nested too deeply")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        from rdfcrawl.rdf.jsonld.mending import mended_json  # noqa: PLC0415 (few need it)

        mended = mended_json(content.decode("utf-8", "replace"))
        if not mended.values or mended.losses["truncated"]:
            raise _fault(url, f"not JSON: {error}") from error
        mended.note(log, f"context {url}: {error}")
        document = mended.values[0]
    if not isinstance(document, dict):
        raise _fault(url, "not a JSON object")
    return document


def _fault(url: str, why: str) -> SourceFault:
    return SourceFault(Reason.REMOTE_CONTEXT, f"{url}: {why}")


def iter_references(value: Any) -> Iterator[str]:
    """Yield the context references in a value of `@context`."""
    stack = [(value, True)]
    while stack:
        node, in_context = stack.pop()
        if isinstance(node, str):
            if in_context:
                yield node
        elif isinstance(node, list):
            stack.extend((entry, in_context) for entry in reversed(node))
        elif isinstance(node, dict):
            stack.extend(
                (entry, key == "@context" or (in_context and key == "@import"))
                for key, entry in node.items()
                if isinstance(entry, list | dict) or key in {"@context", "@import"}
            )


def resolve(base: str, reference: str) -> str:
    """Return a resolved reference without fragment; the reference if invalid."""
    try:
        return urldefrag(urljoin(base, reference)).url
    except ValueError:
        return reference


def remote_contexts(document: bytes, *, base: str) -> list[str]:
    """Return the absolute URLs of remote contexts, in document order, at most 20.

    `document` is the beginning of a JSON-LD document, which may not be well-formed.
    """
    urls: dict[str, None] = {}
    for match in islice(_CONTEXT.finditer(document), _MAX_LOOKS):
        text = document[match.end() : match.end() + _MAX_LOCAL_BYTES]
        try:
            value, _ = _DECODER.raw_decode(text.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        for reference in iter_references(value):
            urls[resolve(base, reference)] = None
            if len(urls) == MAX_CONTEXTS:
                return list(urls)
    return list(urls)


_LARGEST_PLAIN: Final = 2**53  # larger integers may lose digits as doubles
_MAX_ALIASES: Final = 8  # followed from a term
_NOT_IN_IRI = re.compile(r"[\x00-\x20<>\"{}|^`\\]")


@dataclass(slots=True)
class JsonContents:
    """Content of a JSON value."""

    # keys and indexes of objects and arrays
    holders: set[Any] = field(default_factory=set)
    objects: list[dict[str, Any]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    strings: set[str] = field(default_factory=set)  # keys and values
    nodes: list[dict[str, Any]] = field(default_factory=list)  # objects with a context
    n_keys: int = 0  # of all objects
    has_lists: bool = False  # an object has the key `@list` or `@set`
    is_plain: bool = True  # libraries agree on the numbers


def walk(value: Any) -> JsonContents:
    """Return the content of a JSON value, including contexts."""
    found = JsonContents()
    strings, holders = found.strings, found.holders
    keys, objects = found.keys, found.objects
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            keys.update(node)
            objects.append(node)
            found.n_keys += len(node)
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
    strings |= keys
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
    defined = ((name, terms) for terms in contexts for name in names & terms.keys())
    if any(_is_unmapped(name, terms) for name, terms in defined):
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
            SourceFault, NeedsSandbox: see `ContextLoader.load`.
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

    def _expand(self, context: Any, base: str, chain: tuple[str, ...]) -> Iterator[Any]:
        self._n_references_left -= 1
        if self._n_references_left < 0:
            raise NotFastError
        if isinstance(context, list):
            for entry in context:
                yield from self._expand(entry, base, chain)
        elif isinstance(context, str):
            url = resolve(base, context)
            if url in chain:  # PyLD reports the loop
                raise NotFastError
            found, document = self._loader.load(url)
            yield from self._expand(document.get("@context", {}), found, (*chain, url))
        elif isinstance(context, dict) and "@import" not in context:
            yield RemoteContext(context) if chain else _local(context)
        elif context is None:
            yield None
        else:  # PyLD reads it, or reports the error
            raise NotFastError

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
                is_misread = definition in _NOT_ALIASED
                if not (terms is context and name == "@vocab"):
                    is_misread |= may_be_no_iri(definition)
                if is_misread:
                    raise NotFastError
            elif isinstance(definition, dict):
                scoped = definition.get("@context")
                entries = scoped if isinstance(scoped, list) else [scoped]
                is_scoped = "@context" in definition
                if (
                    _is_misread(name, definition)
                    or any(isinstance(entry, str) for entry in entries)
                    or (is_scoped and changes_vocabulary(entries))
                ):
                    raise NotFastError
                contexts.extend(entry for entry in entries if isinstance(entry, dict))
    return context


def _is_misread(name: str, definition: dict[str, Any]) -> bool:
    """Return whether pyoxigraph 0.5.13 misreads a definition."""
    container = definition.get("@container")
    kinds = container if isinstance(container, list) else [container]
    # pyoxigraph panics, and ends the process, at a set or list in a graph container.
    if "@graph" in kinds or "@type" in kinds:
        return True
    iri = definition.get("@id")
    if isinstance(iri, str):
        # API section 4.2.2, step 14.2.5: the last character of the IRI only makes a
        # simple term a prefix.
        is_prefix = iri.endswith(_GEN_DELIMS) and "@prefix" not in definition
        return is_prefix or may_be_no_iri(iri) or iri in _NOT_ALIASED
    # resolved against the document, not the vocabulary
    return "/" in name and ":" not in name and "@reverse" not in definition
