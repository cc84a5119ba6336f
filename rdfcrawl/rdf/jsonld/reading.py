"""Read JSON-LD as checked statements: through pyoxigraph if correct, else PyLD."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from pyoxigraph import QuadParser, RdfFormat, parse

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.checking import (
    FIRST_BATCH,
    GATHER_BYTES,
    iter_checked,
    next_batch,
    serialize,
)
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
from rdfcrawl.rdf.nesting import TOO_DEEP, has_long_chain, strict_json
from rdfcrawl.rdf.text import gathered, iter_line_blocks

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.environment import ReaderContext


_FIRST_BYTES: Final = 4 * 2**20  # of statements, held back at first
_GRAPH_ONLY: Final = frozenset({"@context", "@graph"})
_ABSENT: Final = object()


def fast_blocks(
    value: Any,
    options: JsonLdReaderOptions,
    loader: ContextLoader,
    found: JsonContents | None = None,
) -> Iterator[bytes] | None:
    """Return the statements of a document; None if PyLD is needed.

    `value`, a JSON object or array with the content `found`, is modified while it is
    read, then restored.

    Raises:
        SourceFault: `REMOTE_CONTEXT`; during iteration `SYNTAX`, late in a large
            document.
        NeedsSandbox: a context is not available here.
    """
    found = found or walk(value)
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
    if options.mends:
        from rdfcrawl.rdf.jsonld.terms_mending import mend_terms  # noqa: PLC0415

        mend_terms(found, inlining.seen.values(), loader.log)
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
_MENDED_HERE: Final = 256 * 1024  # characters; longer text needs a bounded process
_HEAD_BYTES: Final = 1024 * 1024  # to find out whether a document has JSON lines
_LINES_TRIED: Final = 10
_MAX_LINE_BYTES: Final = 16 * 2**20
_SEPARATOR: Final = b"\x1e"
_AROUND_LINES: Final = b" \t\r\n" + _SEPARATOR


def read_json_ld(
    data: bytes,
    *,
    base: str,
    environment: ReaderContext,
    log: FaultLog,
    context_url: str = "",
) -> Iterator[bytes]:
    """Yield the statements of a document as blocks of canonical N-Quads.

    The document may have several values, such as one in each line. Text that is not
    well-formed is mended: see `mending`.

    Args:
        data: UTF-8 without byte order mark.
        base: URL of the document; resolves relative IRIs and contexts.
        environment: supplies contexts, and decides whether PyLD may run.
        log: takes `SYNTAX` for invalid JSON, `BAD_TERM`, `REPAIRED`.
        context_url: of the context in a `Link` header, or empty.

    Raises:
        SourceFault: `SYNTAX` or `REMOTE_CONTEXT`; nothing can be read.
        NeedsSandbox: nothing was read; a bounded process can read the document.

    Source: JSON-LD 1.1 Processing Algorithms and API, section 8.
    """
    options = JsonLdReaderOptions(base=base, context_url=context_url)
    if has_json_lines(data[:_HEAD_BYTES], is_whole=len(data) <= _HEAD_BYTES):
        lines = BytesIO(data)
        yield from read_json_lines(
            lines, options=options, environment=environment, log=log
        )
        return
    text = data.decode("utf-8", "replace").strip(" \t\n\r")
    try:
        yield from read_json_ld_text(
            text, options=options, environment=environment, log=log
        )
    except SourceFault as error:
        if error.fault.reason is Reason.TOO_DEEP:
            raise SourceFault(Reason.SYNTAX, TOO_DEEP) from error
        raise


def read_json_ld_text(
    text: str,
    *,
    options: JsonLdReaderOptions,
    environment: ReaderContext,
    log: FaultLog,
    loader: ContextLoader | None = None,
) -> Iterator[bytes]:
    """Yield the statements of a text with any number of JSON values.

    Blank nodes are not shared between them; see `read_json_ld`.

    Raises:
        SourceFault: also `TOO_DEEP`.
    """
    try:
        value = strict_json(text)
    except (ValueError, RecursionError) as error:
        if len(text) > _MENDED_HERE:
            environment.demand_bounds("JSON that is not well-formed")
        from rdfcrawl.rdf.jsonld.mending import mended_json  # noqa: PLC0415 (few need it)

        found = mended_json(text)
        if not found.values:
            raise SourceFault(Reason.SYNTAX, f"no JSON: {error}") from error
        if len(found.values) > 1:
            environment.demand_bounds("several values of JSON")
        found.note(log, error)
        values, source = found.values, ""
    else:
        values, source = [value], text
    for number, value in enumerate(values):
        scope = f"{options.scope}value{number}" if number else options.scope
        yield from read_json_ld_value(
            value,
            options=replace(options, scope=scope),
            environment=environment,
            log=log,
            text=source,
            loader=loader,
        )


def has_json_lines(head: bytes, *, is_whole: bool) -> bool:
    """Return whether a document has a JSON object or array in each of its lines.

    Sources: https://jsonlines.org; RFC 7464, where each text follows a separator.
    """
    if head.startswith(_SEPARATOR):
        return True
    first, end, rest = head.lstrip().partition(b"\n")
    if not end or not rest.lstrip(_AROUND_LINES).startswith((b"{", b"[")):
        return False
    if not first.startswith((b"{", b"[")) or first.rstrip()[-1:] not in b"}]":
        return False
    lines = [first, *rest.split(b"\n")[: _LINES_TRIED if is_whole else 1]]
    return any(_is_json(line) for line in lines)


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line.strip(_AROUND_LINES)), dict | list)
    except (ValueError, RecursionError):
        return False


def read_json_lines(
    file: BinaryIO,
    *,
    options: JsonLdReaderOptions,
    environment: ReaderContext,
    log: FaultLog,
) -> Iterator[bytes]:
    """Yield the statements of a document with a JSON value in each line.

    A line that cannot be read is logged, and does not affect the others.

    Raises:
        NeedsSandbox: nothing was read.
    """
    environment.demand_bounds("JSON lines")
    loader = ContextLoader(environment.contexts, document_url=options.base, log=log)

    def blocks() -> Iterator[bytes]:
        number = 0
        for block in iter_line_blocks(
            file.read, max_line_bytes=_MAX_LINE_BYTES, log=log
        ):
            for line in block.splitlines():
                number += 1
                text = line.decode("utf-8", "replace").strip(" \t\x1e")
                if not text:
                    continue
                loader.failure = None
                try:
                    yield from read_json_ld_text(
                        text,
                        options=replace(options, scope=f"line{number}"),
                        environment=environment,
                        log=log,
                        loader=loader,
                    )
                except SourceFault as error:
                    log.note(error.fault.reason, f"line {number}: {error.fault.detail}")

    yield from gathered(blocks(), GATHER_BYTES)


def read_json_ld_value(  # keywords
    value: Any,
    *,
    options: JsonLdReaderOptions,
    environment: ReaderContext,
    log: FaultLog,
    text: str = "",
    loader: ContextLoader | None = None,
) -> Iterator[bytes]:
    """Yield the statements of a JSON value; see `read_json_ld`.

    Args:
        value: nested at most `nesting.MAX_DEPTH` levels; its IRIs are mended.
        options: of the reader.
        environment: see `read_json_ld`.
        log: see `read_json_ld`.
        text: of the value, to find keys that objects have twice; or empty.
        loader: of the contexts, if shared with other values.
    """
    if not isinstance(value, dict | list):
        return  # section 5.1.2, step 4: free-floating scalars are dropped
    found = walk(value)
    if text and found.n_keys != _n_keys(text) and _has_duplicates(text):
        if len(text) > _MENDED_HERE:
            environment.demand_bounds("JSON with duplicate keys")
        from rdfcrawl.rdf.jsonld.mending import mended_json  # noqa: PLC0415 (few need it)

        merged = mended_json(text, merges=True)
        merged.note(log, "")
        value = merged.values[0]
        found = walk(value)
    if loader is None:
        loader = ContextLoader(environment.contexts, document_url=options.base, log=log)
    blocks = fast_blocks(value, options, loader, found)
    if blocks is not None:
        yield from blocks
        return
    environment.demand_bounds("JSON-LD through PyLD")
    from rdfcrawl.rdf.jsonld.pyld_reading import iter_statements  # noqa: PLC0415 (PyLD)

    # JSON-LD 1.1 API, section 8.2: statements with ill-formed terms are dropped.
    statements = iter_statements(value, options, loader)
    yield from iter_checked(statements, log, mends=options.mends)


def _n_keys(text: str) -> int:
    """Return the number of keys in a text of JSON in the usual layout."""
    n_colons = text.count('":') + text.count('" :')
    return n_colons - text.count('\\":') - text.count('\\" :')


def _has_duplicates(text: str) -> bool:
    n_lost = 0

    def count(pairs: list[tuple[str, Any]]) -> None:
        nonlocal n_lost
        n_lost += len(pairs) - len({key for key, _ in pairs})

    json.loads(text, object_pairs_hook=count)
    return n_lost > 0


def after_space(text: str, at: int) -> int:
    """Return the position after white space of JSON."""
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]  # always matches
