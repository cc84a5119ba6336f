"""Read JSON-LD as checked statements: through pyoxigraph if correct, else PyLD."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.checking import (
    GATHER_BYTES,
    iter_checked,
)
from rdfcrawl.rdf.jsonld.contents import remove_misplaced, walk
from rdfcrawl.rdf.jsonld.contexts import ContextLoader, JsonLdReaderOptions
from rdfcrawl.rdf.jsonld.fast import fast_blocks
from rdfcrawl.rdf.nesting import TOO_DEEP, refuse_constant
from rdfcrawl.rdf.text import gathered, iter_line_blocks

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.environment import ReaderContext


_decode: Final = json.JSONDecoder(parse_constant=refuse_constant).decode
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_MENDED_HERE: Final = 256 * 1024  # characters; longer text needs a bounded process
_HEAD_BYTES: Final = 1024 * 1024  # to find out whether a document has JSON lines
_LINES_TRIED: Final = 10
_MAX_LINE_BYTES: Final = 16 * 2**20
_JSON_STRING: Final = re.compile(r'"(?>[^"\\]++|\\.)*+"?+')
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
        value = _decode(text)
    except (ValueError, RecursionError) as error:
        values, source = _mended(text, error, options, environment, log), ""
    else:
        values, source = [value], text
        if isinstance(value, str) and _is_json_text(value):
            log.note(Reason.REPAIRED, "JSON-LD: JSON in a string", apart=True)
            inner = replace(options, scope=f"{options.scope}string")
            yield from read_json_ld_text(
                value, options=inner, environment=environment, log=log, loader=loader
            )
            return
    for number, value in enumerate(values):
        if number:
            scoped = replace(options, scope=f"{options.scope}value{number}")
        yield from read_json_ld_value(
            value,
            options=scoped if number else options,
            environment=environment,
            log=log,
            text=source,
            loader=loader,
        )


def _is_json_text(text: str) -> bool:
    """Return whether a string contains JSON, or a string with JSON."""
    return text.lstrip().startswith(("{", "[", '"{', '"['))


def has_json_lines(head: bytes, *, is_whole: bool) -> bool:
    """Return whether a document has a JSON object or array in each of its lines.

    Sources: https://jsonlines.org; RFC 7464, where each text follows a separator.
    """
    if head.startswith(_SEPARATOR):
        return True
    first, end, rest = head.lstrip().partition(b"\n")
    if not end or not rest.lstrip(_AROUND_LINES).startswith((b"{", b"[")):
        return False
    if not first.startswith((b"{", b"[")):
        return False
    if first.rstrip()[-1:] not in b"}]":  # a line that is not well-formed
        second = rest.lstrip(_AROUND_LINES).partition(b"\n")[0]
        return first[:1] == b"{" and len(first) > len(b"{\r") and _is_json(second)
    lines = [first, *rest.split(b"\n")[: _LINES_TRIED if is_whole else 1]]
    return any(_is_json(line) for line in lines)


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line.strip(_AROUND_LINES)), dict | list)
    except (ValueError, RecursionError):
        return False


def _mended(
    text: str,
    error: ValueError | RecursionError,
    options: JsonLdReaderOptions,
    environment: ReaderContext,
    log: FaultLog,
) -> Sequence[Any]:
    """Return the values of a text that is not well-formed."""
    from rdfcrawl.rdf.jsonld.mending import mended_json  # noqa: PLC0415 (few need it)

    if len(text) > _MENDED_HERE:
        environment.demand_bounds("JSON that is not well-formed")
    found = mended_json(text, is_whole=options.is_whole)
    if not found.values:
        raise SourceFault(Reason.SYNTAX, f"no JSON: {error}") from error
    if len(found.values) > 1:
        environment.demand_bounds("several values of JSON")
    found.note(log, error)
    return found.values


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
        for number, text in _records(_texts(file, log), log):
            loader.failure = None
            try:
                yield from read_json_ld_text(
                    text.strip(),
                    options=replace(options, scope=f"line{number}"),
                    environment=environment,
                    log=log,
                    loader=loader,
                )
            except SourceFault as error:
                log.note(error.fault.reason, f"line {number}: {error.fault.detail}")

    yield from gathered(blocks(), GATHER_BYTES)


def _records(
    texts: Iterable[tuple[int, str]], log: FaultLog
) -> Iterator[tuple[int, str]]:
    """Yield the texts; the lines of one that is pretty-printed become one (`REPAIRED`).

    It ends where its brackets are closed, or before a line that is complete and not
    indented.
    """
    held: list[str] = []
    begin = depth = n_chars = 0
    for number, text in texts:
        if held and text.startswith(("{", "[")) and _is_json(text.encode()):
            yield begin, "\n".join(held)
            held.clear()
        if not held:
            begin, depth, n_chars = number, 0, 0
            if not text.endswith(("{", "[", ",")):  # usual
                yield number, text
                continue
        marks = _JSON_STRING.sub("", text)
        depth += sum(map(marks.count, "{[")) - sum(map(marks.count, "}]"))
        n_chars += len(text)
        held.append(text)
        if depth <= 0 or n_chars > _MAX_LINE_BYTES:
            if len(held) > 1:
                log.note(Reason.REPAIRED, "JSON-LD: a value of several lines")
            yield begin, "\n".join(held)
            held.clear()
    if held:
        yield begin, "\n".join(held)


def _texts(file: BinaryIO, log: FaultLog) -> Iterator[tuple[int, str]]:
    """Yield the texts of a document, each with the number of its first line.

    After the first separator, a text ends at the next one; else at the end of its line.
    """
    number, begin, n_held = 0, 1, 0
    held: list[bytes] = []
    is_sequence = False
    for block in iter_line_blocks(file.read, max_line_bytes=_MAX_LINE_BYTES, log=log):
        for line in block.splitlines():
            number += 1
            first, *others = line.split(_SEPARATOR)
            is_sequence |= bool(others)
            held.append(first)
            n_held += len(first)
            for each in others if is_sequence else (b"",):
                if text := _joined(held):
                    yield begin, text
                begin, held, n_held = number + (not is_sequence), [each], len(each)
            if n_held > _MAX_LINE_BYTES:
                log.note(Reason.LITERAL_TOO_LONG, "a text is too long")
                held, n_held = [], 0
    if text := _joined(held):
        yield begin, text


def _joined(lines: list[bytes]) -> str:
    return b"\n".join(lines).decode("utf-8", "replace").strip("\r\n").rstrip()


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
        if value is not None:  # section 5.1.2, step 4: it is dropped
            log.note(Reason.BAD_TERM, "a value without a property")
        return
    found = walk(value)
    if text and _may_have_duplicates(text, found.n_keys) and _has_duplicates(text):
        if len(text) > _MENDED_HERE:
            environment.demand_bounds("JSON with duplicate keys")
        from rdfcrawl.rdf.jsonld.mending import mended_json  # noqa: PLC0415 (few need it)

        merged = mended_json(text, merges=True)
        merged.note(log, "")
        value, text = merged.values[0], ""
        found = walk(value)
    if options.mends and remove_misplaced(value, found, log, text):
        found, text = walk(value), ""
    if loader is None:
        loader = ContextLoader(environment.contexts, document_url=options.base, log=log)
    blocks = fast_blocks(value, options, loader, found, text)
    if blocks is not None:
        yield from blocks
        return
    environment.demand_bounds("JSON-LD through PyLD")
    from rdfcrawl.rdf.jsonld.pyld_reading import iter_statements  # noqa: PLC0415 (PyLD)

    # JSON-LD 1.1 API, section 8.2: statements with ill-formed terms are dropped.
    statements = iter_statements(value, options, loader)
    yield from iter_checked(statements, log, mends=options.mends)


def _may_have_duplicates(text: str, n_keys: int) -> bool:
    """Return whether a text of JSON may have more keys."""
    n_colons = text.count('":')
    if n_colons != n_keys:  # strings with such text, or another layout
        n_colons += text.count('" :') - text.count('\\":') - text.count('\\" :')
    return n_colons != n_keys


def _has_duplicates(text: str) -> bool:
    n_lost = 0

    def count(pairs: list[tuple[str, Any]]) -> None:
        nonlocal n_lost
        n_lost += len(pairs) - len({key for key, _ in pairs})

    json.loads(text, object_pairs_hook=count)
    return n_lost > 0


def after_space(text: str, at: int) -> int:
    """Return the position after white space of JSON."""
    space = _SPACE.match(text, at)
    return space.end() if space else at
