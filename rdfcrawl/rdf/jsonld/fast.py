"""Read JSON-LD through pyoxigraph, and find the statements that it leaves out.

Contexts are inlined, reduced to terms that the document may use.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from pyoxigraph import QuadParser, RdfFormat, parse

from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.rdf.checking import (
    FIRST_BATCH,
    LARGEST_BATCH,
    canonical,
    check,
    next_batch,
    serialize,
)
from rdfcrawl.rdf.environment import bundled_context
from rdfcrawl.rdf.graphs import check_iri
from rdfcrawl.rdf.jsonld.contexts import (
    ContextLoader,
    JsonContents,
    JsonLdReaderOptions,
    RemoteContext,
    are_mapped,
    changes_vocabulary,
    iter_objects,
    may_be_no_iri,
    names_in,
    resolve,
    terms_of,
    walk,
)
from rdfcrawl.rdf.nesting import MAX_CHAIN, has_long_chain

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
# Parts of definitions that do not change the meaning of keys inside
_SIMPLE: Final = frozenset(
    {"@id", "@language", "@prefix", "@protected", "@reverse", "@type"}
)
_NOT_ALIASED: Final = frozenset({"@graph", "@list", "@set"})
_GEN_DELIMS: Final = (":", "/", "?", "#", "[", "]", "@")


Contexts = Collection[Mapping[str, Any]]
_SMALL: Final = 64 * 1024  # bytes of a document whose statements are one batch
_FIRST_BYTES: Final = 4 * 2**20  # of statements, held back at first
_GRAPH_ONLY: Final = frozenset({"@context", "@graph"})
_BLANK: Final = re.compile("_:")
_ABSENT: Final = object()
_encode: Final = json.JSONEncoder(ensure_ascii=False).encode
# Statements of the lenient parser, which escapes nothing in IRIs
_IRI: Final = rb"<(?!@)[^<>\"\\\n]*+>"
_NODE: Final = rb"(?:%s|_:[^ \n]++)" % _IRI
_VALUE: Final = rb'(?:%s|"(?:[^"\\\n]|\\.)*+"(?:@[^"<>\n]*?|\^\^%s)?)' % (_NODE, _IRI)
_lines = re.compile(rb"(?:%s %s %s(?: %s)? \.\n)*+" % (_NODE, _IRI, _VALUE, _NODE))
_without_language = re.compile(rb'(?<!\\)"@(?= (?:(?:<[^<>"\s]*+>|_:\S++) )?\.\n)').subn
# The standard leaves out a relative property; contexts map others to blank nodes.
_UNMAPPED: Final = rb"%s <(?:_:|[^<>:]*+>)" % _NODE
_mapped_lines = re.compile(
    rb"(?:%s[^\n]*+\n?)*+((?:(?!%s)(?:[^\n]++\n?|\n))*+)" % (_UNMAPPED, _UNMAPPED)
).findall
# Longer words may be keywords of the same beginning: they are looked at again.
_unknown_keyword = re.compile(
    r'"@(?!(?:id|type|value|context|graph|language|container|vocab|list|set|reverse'
    r'|index|base|none)")[A-Za-z]+"'
).search
_ALL_KEYWORDS: Final = NOT_FAST | {
    *("@container", "@context", "@default", "@embed", "@explicit", "@graph", "@id"),
    *("@index", "@language", "@list", "@nest", "@none", "@omitDefault", "@prefix"),
    *("@preserve", "@protected", "@requireAll", "@reverse", "@set", "@type"),
    *("@value", "@version", "@vocab"),
}
_is_no_graph = re.compile(r'"@graph"\s*:\s*[^\s\[{]').search  # pyoxigraph is silent
_is_like_keyword = re.compile(r"@[A-Za-z]+").fullmatch


def fast_blocks(
    value: Any,
    options: JsonLdReaderOptions,
    loader: ContextLoader,
    found: JsonContents | None = None,
    source: str = "",
) -> Iterator[bytes] | None:
    """Return the statements of a document; None if PyLD is needed.

    `value`, a JSON object or array with the content `found`, is modified while it is
    read, then restored, except keys that have no meaning. `source` is its text, if
    known.

    Raises:
        SourceFault: during iteration; `SYNTAX`, late in a large document.
        NeedsSandbox: a context is not available here.
    """
    found = found or walk(value)
    if not _is_fast(value, found, options):
        return None
    try:
        text, contexts = _inlined(value, found, options, loader, source)
    except (NotFastError, RecursionError):
        return None
    data = text.encode("utf-8", "surrogatepass")
    may_chain = text is not source or found.n_keys > MAX_CHAIN
    if may_chain and has_long_chain(data):
        return None
    if "@graph" in found.keys and _is_no_graph(text):
        return None
    log, before = loader.log, loader.log.snapshot()
    blocks = _iter_blocks(
        parse(
            data,
            RdfFormat.JSON_LD,
            base_iri=check_iri(options.base),
            rename_blank_nodes=bool(options.scope),
            lenient=options.mends,
        ),
        LARGEST_BATCH if len(data) < _SMALL else FIRST_BATCH,
    )
    first: list[bytes] = []
    n_bytes = 0
    try:
        for block in blocks:
            first.append(_checked(block, log) if options.mends else block)
            n_bytes += len(block)
            if n_bytes >= _FIRST_BYTES:
                break
    except (NotFastError, SourceFault):
        log.restore(before)
        return None
    if options.mends:
        if _unknown_keyword(text):
            _note_keywords(value, contexts, log)
        blocks = (_checked(block, log, is_late=True) for block in blocks)
    return chain(first, blocks)


def _checked(block: bytes, log: FaultLog, *, is_late: bool = False) -> bytes:
    """Return statements of the lenient parser, mended or counted if bad.

    The strict parser leaves out statements with bad terms in silence.

    Raises:
        NotFastError: an IRI ends a token; not raised if `is_late`.
    """
    lines = canonical(block, has_graphs=True)
    if lines is None:
        block = b"".join(_mapped_lines(block))
        lines = canonical(block, has_graphs=True)
    if lines is not None:
        return lines
    if not is_late and _lines.fullmatch(block) is None:
        raise NotFastError
    block, n_empty = _without_language(b'"', block)
    if n_empty:
        log.note(Reason.REPAIRED, "empty language tag", n_empty, apart=True)
    return check(block, log, mends=True)


def _iter_blocks(parser: QuadParser, batch: int) -> Iterator[bytes]:
    """Yield statements in batches that stay small even if statements are long."""
    while True:
        out = io.BytesIO()
        failure = serialize(islice(parser, batch), out)
        lines = out.getvalue()
        yield lines
        if isinstance(failure, SourceFault):
            raise failure
        if failure is not None:
            raise SourceFault(Reason.SYNTAX, str(failure.msg)) from failure
        if lines.count(b"\n") < batch:
            return
        batch = next_batch(batch, len(lines))


def _note_keywords(value: Any, contexts: Contexts, log: FaultLog) -> None:
    """Log names in the form of keywords as keys and IRIs: the standard ignores them."""
    keys = _names_of_iris(contexts)
    for node in iter_objects(value):
        for key in node:
            values = [key]
            if key in keys:
                of_key = node[key]
                values += of_key if isinstance(of_key, list) else [of_key]
            for each in values:
                if (
                    isinstance(each, str)
                    and _is_like_keyword(each)
                    and each not in _ALL_KEYWORDS
                ):
                    log.note(Reason.BAD_TERM, f"unknown keyword {each}")


def _names_of_iris(contexts: Contexts) -> set[str]:
    """Return the keys of a document whose strings are IRIs."""
    names = {"@id", "@type"}
    for terms in contexts:
        for name, definition in terms.items():
            iri = kind = definition
            if isinstance(definition, dict):
                iri, kind = definition.get("@id"), definition.get("@type")
            if iri in ("@id", "@type") or kind in ("@id", "@vocab"):
                names.add(name)
    return names


def _is_fast(value: Any, found: JsonContents, options: JsonLdReaderOptions) -> bool:
    is_named_graph = True
    if isinstance(value, dict) and "@graph" in value and value.keys() - _GRAPH_ONLY:
        # A graph next to properties that are all dropped is the default graph.
        is_named_graph = isinstance(value.get("@id") or value.get("@type"), str)
    return (
        not options.rdf_direction
        and options.processing_mode == "json-ld-1.1"
        and "/." not in options.base  # resolved differently: tests t0122 and t0123
        and found.is_plain
        and found.strings.isdisjoint(NOT_FAST)
        # pyoxigraph also writes lists of dropped properties, omits empty lists, and
        # ends the process at one in a graph container.
        and not found.has_lists
        and is_named_graph
        and not any(map(_BLANK.match, found.keys))
    )


def _inlined(
    value: Any,
    found: JsonContents,
    options: JsonLdReaderOptions,
    loader: ContextLoader,
    source: str,
) -> tuple[str, Contexts]:
    """Return the document as JSON, with its contexts inlined, and these.

    Raises:
        NotFastError: the document needs PyLD.
        NeedsSandbox: see `ContextLoader.load`.
    """
    inlining = ContextInlining(loader, found.strings, base=options.base)
    contexts = [(node, inlining.expand(node["@context"])) for node in found.nodes]
    if options.context_url:
        contexts = _with_link(value, contexts, inlining.expand(options.context_url))
    outermost = map(id, value if isinstance(value, list) else [value])
    expanded = {id(node): context for node, context in contexts}
    roots = [expanded.pop(node, []) for node in outermost]
    inner = list(expanded.values())
    if not are_mapped(found.holders, inlining.seen.values(), roots=roots, inner=inner):
        raise NotFastError
    undo: list[tuple[dict[str, Any], Any]] = []
    try:
        for node, context in contexts:
            original = node.get("@context", _ABSENT)
            if context != [original]:  # `@propagate` is ignored within an array
                undo.append((node, original))
                node["@context"] = inlining.prune(context)
        unmapped = _unmapped(found.keys, inlining.seen.values())
        if unmapped:
            _remove(unmapped, value)
        # pyoxigraph keeps more digits than a float.
        is_same = source and not undo and not found.has_floats and not unmapped
        return source if is_same else _encode(value), inlining.seen.values()
    finally:
        for node, original in undo:
            node["@context"] = original
            if original is _ABSENT:
                del node["@context"]


def _with_link(
    value: Any, contexts: list[tuple[Any, list[Any]]], linked: list[Any]
) -> list[tuple[Any, list[Any]]]:
    """Insert a context before those of the outermost objects.

    Source: JSON-LD 1.1 API, section 9.1.1, step 8: the context of a `Link` header
    comes first.
    """
    nodes = value if isinstance(value, list) else [value]
    outermost = set(map(id, nodes))
    changed = [
        (node, [*linked, *context] if id(node) in outermost else context)
        for node, context in contexts
    ]
    known = {id(node) for node, _ in contexts}
    new = (x for x in nodes if isinstance(x, dict) and id(x) not in known)
    return [*changed, *((node, linked) for node in new)]


def _unmapped(keys: set[str], contexts: Contexts) -> set[str]:
    """Return keys that the standard leaves out wherever they are, if that is clear.

    The lenient parser would write statements of them.
    """
    names = {key for key in keys if key[:1] != "@" and ":" not in key}
    names = names.difference(*contexts)
    definitions = chain.from_iterable(terms.values() for terms in contexts)
    if not names or any("@vocab" in terms for terms in contexts):
        return set()
    if any(isinstance(x, dict) and not x.keys() <= _SIMPLE for x in definitions):
        return set()
    return names


def _remove(names: set[str], value: Any) -> None:
    nodes = [value]
    for node in nodes:  # grows
        entries = node
        if type(node) is dict:
            for name in names & node.keys():
                del node[name]
            entries = node.values()
        nodes += [each for each in entries if type(each) is dict or type(each) is list]


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
    if kind == "@none":  # it would leave out the default language
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
    iri = definition.get("@id")
    if isinstance(iri, str):
        # API section 4.2.2, step 14.2.5: the last character of the IRI only makes a
        # simple term a prefix.
        is_prefix = iri.endswith(_GEN_DELIMS) and "@prefix" not in definition
        return is_prefix or may_be_no_iri(iri) or iri in _NOT_ALIASED
    # resolved against the document, not the vocabulary
    return "/" in name and ":" not in name and "@reverse" not in definition
