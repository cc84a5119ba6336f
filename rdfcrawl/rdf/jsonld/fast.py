"""Read JSON-LD through pyoxigraph, and find the statements that it leaves out."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from pyoxigraph import Quad, QuadParser, RdfFormat, parse

from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.rdf.checking import (
    FIRST_BATCH,
    LARGEST_BATCH,
    SMALL_BYTES,
    canonical,
    check,
    next_batch,
    serialize,
    with_lower_tags,
)
from rdfcrawl.rdf.graphs import check_iri
from rdfcrawl.rdf.jsonld.contents import (
    JsonContents,
    has_free_values,
    iter_objects,
    walk,
)
from rdfcrawl.rdf.jsonld.contexts import (
    ContextLoader,
    JsonLdReaderOptions,
    are_mapped,
    is_unknown_keyword,
    is_unmapped,
)
from rdfcrawl.rdf.jsonld.inlining import NOT_FAST, ContextInlining, NotFastError
from rdfcrawl.rdf.nesting import MAX_CHAIN, has_long_chain

# Parts of definitions that do not change the meaning of keys inside
_SIMPLE: Final = frozenset(
    {"@id", "@language", "@prefix", "@protected", "@reverse", "@type"}
)


Contexts = Collection[Mapping[str, Any]]
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
_triples = re.compile(rb"(?:%s %s %s \.\n)*+" % (_NODE, _IRI, _VALUE))
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
_is_no_graph = re.compile(r'"@graph"\s*:\s*[^\s\[{]').search  # pyoxigraph is silent


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
    if (may_chain and has_long_chain(data)) or _is_misread(text, found):
        return None
    log, before = loader.log, loader.log.snapshot()
    is_escaped = "\\u00" in text  # it may have any character
    has_graphs = is_escaped or "@graph" in text
    batches = _iter_batches(
        parse(
            data,
            RdfFormat.JSON_LD,
            base_iri=check_iri(options.base),
            rename_blank_nodes=bool(options.scope),
            lenient=options.mends,
        ),
        LARGEST_BATCH if len(data) < SMALL_BYTES else FIRST_BATCH,
        keeps=options.mends and (is_escaped or "\\n" in text),
    )
    first: list[bytes] = []
    n_bytes = 0
    try:
        for batch in batches:
            lines = batch.lines
            if options.mends:
                lines = _checked(
                    batch, log, has_graphs=has_graphs, has_lists=bool(found.lists)
                )
            first.append(lines)
            n_bytes += len(batch.lines)
            if n_bytes >= _FIRST_BYTES:
                break
    except (NotFastError, SourceFault):
        log.restore(before)
        return None
    if options.mends:
        if _unknown_keyword(text):
            _note_keywords(value, contexts, log)
        rest = (
            _checked(each, log, has_graphs=has_graphs, is_late=True) for each in batches
        )
        return chain(first, rest)
    return chain(first, (each.lines for each in batches))


def _is_misread(text: str, found: JsonContents) -> bool:
    """Return whether pyoxigraph is silent about an error, or finds it late."""
    if "@graph" in found.keys and _is_no_graph(text):
        return True
    return bool(found.lists) and len(text) >= _FIRST_BYTES // 4  # in UTF-8


class _Batch(NamedTuple):
    """Some statements.

    Attributes:
        lines: of them, with more than one for terms that contain a line feed.
        quads: the same if terms may contain one, else none.
    """

    lines: bytes
    quads: Sequence[Quad]


def _checked(
    batch: _Batch,
    log: FaultLog,
    *,
    has_graphs: bool,
    is_late: bool = False,
    has_lists: bool = False,
) -> bytes:
    """Return statements of the lenient parser, mended or counted if bad.

    The strict parser leaves out statements with bad terms in silence.

    Args:
        batch: to check.
        log: of faults.
        has_graphs: whether statements may name a graph.
        is_late: whether it is too late for PyLD.
        has_lists: whether a lost statement may be a member of a list.

    Raises:
        NotFastError: an IRI ends a token, not raised if `is_late`; or a statement is
            lost, perhaps a member of a list, which is shorter then.
    """
    block, n_lines = batch.lines, batch.lines.count(b"\n")
    if batch.quads and n_lines != len(batch.quads):
        if not is_late:
            raise NotFastError
        block = _unbroken(batch.quads, log)
    block = with_lower_tags(block)  # they are frequent, and a check takes longer
    lines = canonical(block, has_graphs=has_graphs)
    if lines is None:
        block = b"".join(_mapped_lines(block))
        lines = canonical(block, has_graphs=has_graphs)
    if lines is not None:
        return lines
    are_lines = _lines.fullmatch if has_graphs else _triples.fullmatch
    if not is_late and are_lines(block) is None:
        raise NotFastError
    block, n_empty = _without_language(b'"', block)
    if n_empty:
        log.note(Reason.REPAIRED, "empty language tag", n_empty, apart=True)
    lines = check(block, log, mends=True, has_graphs=has_graphs)
    if has_lists and lines.count(b"\n") < n_lines:
        raise NotFastError
    return lines


def _unbroken(quads: Sequence[Quad], log: FaultLog) -> bytes:
    """Return the lines of statements, without those that contain a line feed."""
    found = []
    for quad in quads:
        out = io.BytesIO()
        serialize([quad], out)
        if (line := out.getvalue()).count(b"\n") == 1:
            found.append(line)
        else:
            log.note(Reason.BAD_TERM, f"a line feed in a term: {quad}")
    return b"".join(found)


def _iter_batches(parser: QuadParser, batch: int, *, keeps: bool) -> Iterator[_Batch]:
    """Yield statements in batches that stay small even if statements are long."""
    while True:
        out, kept = io.BytesIO(), list[Quad]()
        quads: Iterator[Quad] = islice(parser, batch)
        failure = serialize(_kept(quads, kept) if keeps else quads, out)
        lines = out.getvalue()
        yield _Batch(lines, kept)
        if isinstance(failure, SourceFault):
            raise failure
        if failure is not None:
            raise SourceFault(Reason.SYNTAX, str(failure.msg)) from failure
        if (len(kept) if keeps else lines.count(b"\n")) < batch:
            return
        batch = next_batch(batch, len(lines))


def _kept(quads: Iterator[Quad], kept: list[Quad]) -> Iterator[Quad]:
    for quad in quads:
        kept.append(quad)
        yield quad


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
                if is_unknown_keyword(each):
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
        # pyoxigraph omits empty lists, and panics at one in a graph container.
        and not found.has_odd_lists
        and is_named_graph
        and not has_free_values(value)
        and "@value" not in found.holders
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

    Raises:
        NotFastError: a key has a wrong definition.
    """
    names = {key for key in keys if key[:1] != "@" and ":" not in key}
    if not names or any("@vocab" in terms for terms in contexts):
        return set()
    for terms in contexts:
        if any(is_unmapped(name, terms) for name in names & terms.keys()):
            raise NotFastError
    names = names.difference(*contexts)
    definitions = chain.from_iterable(terms.values() for terms in contexts)
    if not names:
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
