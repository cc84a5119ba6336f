"""Read JSON-LD as checked statements: through pyoxigraph if correct, else PyLD."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.jsonld.fast import fast_blocks
from rdfcrawl.rdf.jsonld.loading import ContextLoader
from rdfcrawl.rdf.jsonld.options import JsonLdReaderOptions
from rdfcrawl.rdf.nesting import check_json_depth, refuse_constant

if TYPE_CHECKING:
    from rdfcrawl.core.faultlog import FaultLog
    from rdfcrawl.rdf.environment import ReaderContext

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
    yield from read_json_ld_value(
        _value(data, log),
        options=JsonLdReaderOptions(base=base, context_url=context_url),
        environment=environment,
        log=log,
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
