"""Read JSON-LD as checked statements: through pyoxigraph if correct, else PyLD."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from pyoxigraph import QuadParser, RdfFormat, parse

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.checking import FIRST_BATCH, iter_checked, next_batch, serialize
from rdfcrawl.rdf.graphs import check_iri
from rdfcrawl.rdf.jsonld.contexts import (
    NOT_FAST,
    ContextInlining,
    ContextLoader,
    JsonContents,
    JsonLdReaderOptions,
    NotFastError,
    are_mapped,
    walk,
)
from rdfcrawl.rdf.nesting import check_json_depth, has_long_chain, refuse_constant

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.environment import ReaderContext


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
    base, is_scoped = check_iri(options.base), bool(options.scope)
    blocks = _iter_blocks(
        parse(data, RdfFormat.JSON_LD, base_iri=base, rename_blank_nodes=is_scoped)
    )
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


def _iter_blocks(parser: QuadParser) -> Iterator[bytes]:
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
    )


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
    if not are_mapped(found.holders, inlining.seen.values(), roots=roots, inner=inner):
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


_SPACE: Final = re.compile(r"[ \t\n\r]*")


def read_json_ld(
    data: bytes,
    *,
    base: str,
    environment: ReaderContext,
    log: FaultLog,
    context_url: str = "",
) -> Iterator[bytes]:
    """Yield the statements of a document as blocks of canonical N-Quads.

    If a document is truncated or broken, the members of its outermost array before the
    error are read; see `intact_members`.

    Args:
        data: UTF-8 without byte order mark.
        base: URL of the document; resolves relative IRIs and contexts.
        environment: supplies contexts, and decides whether PyLD may run.
        log: takes `SYNTAX` for invalid JSON, `BAD_TERM`.
        context_url: of the context in a `Link` header, or empty.

    Raises:
        SourceFault: `SYNTAX` or `REMOTE_CONTEXT`; nothing can be read.
        NeedsSandbox: nothing was read; a bounded process can read the document.

    Source: JSON-LD 1.1 Processing Algorithms and API, section 8.
    """
    value = _value(data, log)
    options = JsonLdReaderOptions(base=base, context_url=context_url)
    yield from read_json_ld_value(
        value, options=options, environment=environment, log=log
    )


def read_json_ld_value(
    value: Any,
    *,
    options: JsonLdReaderOptions,
    environment: ReaderContext,
    log: FaultLog,
) -> Iterator[bytes]:
    """Yield the statements of a JSON value; see `read_json_ld`.

    The value is nested at most `nesting.MAX_DEPTH` levels, and not modified.
    """
    if not isinstance(value, dict | list):
        return  # section 5.1.2, step 4: free-floating scalars are dropped
    loader = ContextLoader(environment.contexts, document_url=options.base)
    blocks = fast_blocks(value, options, loader)
    if blocks is not None:
        yield from blocks
        return
    environment.demand_bounds("JSON-LD through PyLD")
    from rdfcrawl.rdf.jsonld.pyld_reading import iter_statements  # noqa: PLC0415 (PyLD)

    # JSON-LD 1.1 API, section 8.2: statements with ill-formed terms are dropped.
    statements = iter_statements(value, options, loader)
    yield from iter_checked(statements, log, mends=False)


def _value(data: bytes, log: FaultLog) -> Any:
    """Return the value of the document, or of its intact part."""
    check_json_depth(data)
    text = data.decode("utf-8", "replace").strip(" \t\n\r")
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError) as error:
        value = intact_members(text, _DECODER)
        if value is None:
            raise SourceFault(Reason.SYNTAX, str(error)) from error
        log.note(Reason.SYNTAX, str(error))
        return value
    if end < len(text):
        log.note(Reason.SYNTAX, f"character {end}: content after the document")
    return value


_DECODER: Final = json.JSONDecoder(parse_constant=refuse_constant)


def intact_members(text: str, decoder: json.JSONDecoder) -> Any:
    """Return a document with the intact members of its outermost array, if any.

    A truncated node is dropped, since its name may be missing. The outermost array is
    the document itself, or the `@graph` of its only object, after the context.

    >>> import json
    >>> intact_members('[{"a": 1}, {"b": 2}, {"c"', json.JSONDecoder())
    [{'a': 1}, {'b': 2}]
    """
    at = after_space(text, 0)
    if text.startswith("[", at):
        return _members(text, at + 1, decoder)
    found: dict[str, Any] = {}
    while text.startswith("," if found else "{", at):
        try:
            key, at = decoder.raw_decode(text, after_space(text, at + 1))
            at = after_space(text, at)
            if not isinstance(key, str) or not text.startswith(":", at):
                return None
            at = after_space(text, at + 1)
            if key == "@graph" and text.startswith("[", at):
                members = _members(text, at + 1, decoder)
                return {**found, key: members} if "@context" in found else None
            found[key], at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return None
        at = after_space(text, at)
    return None


def _members(text: str, at: int, decoder: json.JSONDecoder) -> list[Any]:
    """Return the members of an array from the position after its bracket."""
    members: list[Any] = []
    while True:
        try:
            value, at = decoder.raw_decode(text, after_space(text, at))
        except (ValueError, RecursionError):
            return members
        members.append(value)  # a truncated number does not matter here
        at = after_space(text, at)
        if not text.startswith(",", at):
            return members
        at += 1


def after_space(text: str, at: int) -> int:
    """Return the position after white space of JSON."""
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]  # always matches
