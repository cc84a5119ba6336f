"""Read JSON-LD through pyoxigraph, with contexts inlined, where correct."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

import pyoxigraph
from pyoxigraph import RdfFormat

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.checking import FIRST_BATCH, next_batch, serialize
from rdfcrawl.rdf.graphs import check_iri
from rdfcrawl.rdf.jsonld.facts import JsonContents, are_mapped, walk
from rdfcrawl.rdf.jsonld.inlining import NOT_FAST, ContextInlining, NotFastError
from rdfcrawl.rdf.nesting import has_long_chain

if TYPE_CHECKING:
    from rdfcrawl.rdf.jsonld.loading import ContextLoader
    from rdfcrawl.rdf.jsonld.options import JsonLdReaderOptions

_FIRST_BYTES: Final = 4 * 2**20  # of statements, held back at first
_GRAPH_ONLY: Final = frozenset({"@context", "@graph"})
_ABSENT: Final = object()


def fast_blocks(
    value: Any, options: JsonLdReaderOptions, loader: ContextLoader
) -> Iterator[bytes] | None:
    """Return the statements of a document; None if PyLD is needed.

    `value`, a JSON object or array, is modified while it is read, then restored.

    Raises:
        SourceFault: `REMOTE_CONTEXT`; during iteration `SYNTAX`, late in a large
            document.
        NeedsSandbox: a context is not available here.
    """
    found = walk(value)
    if not _is_fast(value, found, options):
        return None
    try:
        text = _inlined(value, found, options, loader)
    except (NotFastError, RecursionError):
        return None
    data = text.encode("utf-8", "surrogatepass")
    if has_long_chain(data):
        return None
    blocks = _iter_blocks(_parser(data, options))
    first: list[bytes] = []
    n_bytes = 0
    try:
        for block in blocks:
            first.append(block)
            n_bytes += len(block)
            if n_bytes >= _FIRST_BYTES:
                break
    except SourceFault:
        return None
    return chain(first, blocks)


def _iter_blocks(parser: pyoxigraph.QuadParser) -> Iterator[bytes]:
    """Yield statements in batches that stay small even if statements are long."""
    batch = FIRST_BATCH
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


def _is_fast(value: Any, found: JsonContents, options: JsonLdReaderOptions) -> bool:
    if options.rdf_direction or options.processing_mode != "json-ld-1.1":
        return False
    if not found.is_plain or not found.strings.isdisjoint(NOT_FAST):
        return False
    if found.has_lists:
        # pyoxigraph also writes lists of dropped properties, omits empty lists, and
        # ends the process at one in a graph container.
        return False
    if isinstance(value, dict) and "@graph" in value and value.keys() - _GRAPH_ONLY:
        # A graph next to properties that are all dropped is the default graph.
        named = value.get("@id") or value.get("@type")
        if not isinstance(named, str):
            return False
    return "/." not in options.base  # resolved differently: tests t0122 and t0123


def _parser(data: bytes, options: JsonLdReaderOptions) -> pyoxigraph.QuadParser:
    kind, renames = RdfFormat.JSON_LD, bool(options.scope)
    base = check_iri(options.base)
    return pyoxigraph.parse(data, kind, base_iri=base, rename_blank_nodes=renames)


def _inlined(
    value: Any, found: JsonContents, options: JsonLdReaderOptions, loader: ContextLoader
) -> str:
    """Return the document as JSON, with its contexts inlined.

    Raises:
        NotFastError: the document needs PyLD.
        SourceFault, NeedsSandbox: see `ContextLoader.load`.
    """
    inlining = ContextInlining(loader, found.strings, base=options.base)
    contexts = [(node, inlining.expand(node["@context"])) for node in found.nodes]
    if options.context_url:
        contexts = _with_link(value, contexts, inlining.expand(options.context_url))
    outermost = map(id, value if isinstance(value, list) else [value])
    expanded = {id(node): context for node, context in contexts}
    roots = [expanded.pop(node, []) for node in outermost]
    inner = list(expanded.values())
    if not are_mapped(found.holders, inlining.contexts(), roots=roots, inner=inner):
        raise NotFastError
    undo: list[tuple[dict[str, Any], Any]] = []
    try:
        for node, context in contexts:
            original = node.get("@context", _ABSENT)
            if context != [original]:  # `@propagate` is ignored within an array
                undo.append((node, original))
                node["@context"] = inlining.prune(context)
        return json.dumps(value, ensure_ascii=False)
    finally:
        for node, original in undo:
            if original is _ABSENT:
                del node["@context"]
            else:
                node["@context"] = original


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
    new = [x for x in nodes if isinstance(x, dict) and id(x) not in known]
    return changed + [(node, linked) for node in new]
