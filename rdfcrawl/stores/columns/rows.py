"""Convert canonical N-Quads to batches of rows with `pyarrow`, and back.

Kernels of Arrow convert all lines of a batch together; only literals with escapes are
processed one by one.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from rdfcrawl.core.namespaces import RDF, XSD

SCHEMA: Final = pa.schema(
    [
        pa.field("subject", pa.string(), nullable=False),
        pa.field("predicate", pa.string(), nullable=False),
        pa.field("object", pa.string(), nullable=False),
        pa.field("object_kind", pa.string(), nullable=False),
        pa.field("datatype", pa.string()),
        pa.field("language", pa.string()),
        pa.field("direction", pa.string()),
        pa.field("graph", pa.string(), nullable=False),
        pa.field("document", pa.string(), nullable=False),
        pa.field("version", pa.int64(), nullable=False),
    ]
)
"""Columns of a statement; see the reference of stores."""

BATCH_BYTES: Final = 2 * 1024 * 1024  # of N-Quads; about ten times that in memory

_NO_END: Final = 1 << 31  # Arrow 26 does not slice without an end
_STRING: Final = f"{XSD}string"
_LANG_STRING: Final = f"{RDF}langString"
_DIR_LANG_STRING: Final = f"{RDF}dirLangString"
_ANNOTATION: Final = re.compile(
    r"@([A-Za-z0-9]+(?:-[A-Za-z0-9]+)*)(?:--([a-z]+))?|\^\^<([^>]*)>"
).fullmatch
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([tbnrf\"'\\]))")
_SHORT: Final = dict(zip("tbnrf\"'\\", "\t\b\n\r\f\"'\\", strict=True))
# RDF 1.2 N-Quads, "Canonical Form".
_ESCAPED: Final = re.compile('[\x00-\x1f"\\\\\x7f\ufffe\uffff]')
_ESCAPES: Final = {text: f"\\{letter}" for letter, text in _SHORT.items()}


def iter_batches(
    documents: Iterable[tuple[str, int, Iterable[bytes]]],
) -> Iterator[pa.RecordBatch]:
    """Yield the statements of documents as batches of rows, in their order.

    Args:
        documents: IRI, version, and canonical N-Quads of each, in pieces of complete
            lines, each statement in a graph.

    Raises:
        ValueError: a line is not such a statement.
    """
    gathered = _GatheredLines()
    for document, version_ms, pieces in documents:
        for piece in pieces:
            gathered.add(document, version_ms, piece)
            if gathered.n_bytes >= BATCH_BYTES:
                yield gathered.take()
    if gathered.n_bytes:
        yield gathered.take()


class _GatheredLines:
    """Lines of documents that become one batch."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._documents: list[str] = []
        self._versions: list[int] = []
        self._ends: list[int] = []
        self.n_bytes = self._n_lines = 0

    def add(self, document: str, version_ms: int, piece: bytes) -> None:
        if not piece:
            return
        self._pieces.append(piece)
        self._documents.append(document)
        self._versions.append(version_ms)
        self._n_lines += piece.count(b"\n")
        self._ends.append(self._n_lines)
        self.n_bytes += len(piece)

    def take(self) -> pa.RecordBatch:
        columns = _statement_columns(b"".join(self._pieces))
        for name, values in (
            ("document", pa.array(self._documents, pa.string())),
            ("version", pa.array(self._versions, pa.int64())),
        ):
            ends = pa.array(self._ends, pa.int32())
            encoded = pa.RunEndEncodedArray.from_arrays(ends, values)
            columns[name] = pc.run_end_decode(encoded)
        self.__init__()  # type: ignore[misc]
        return pa.RecordBatch.from_pydict(columns, schema=SCHEMA)


def _statement_columns(lines: bytes) -> dict[str, Any]:
    """Return the columns of a statement, without those of its document.

    Raises:
        ValueError: a line is not a canonical statement in a graph.
    """
    try:
        statements = pc.split_pattern(_text(lines[:-1]), "\n").values
        # Only objects contain spaces.
        begin = pc.split_pattern(statements, " ", max_splits=2)
        rest = pc.list_element(begin, 2)
        end = pc.split_pattern(rest, " ", max_splits=2, reverse=True)
        objects = pc.list_element(end, 0)
        graphs, points = pc.list_element(end, 1), pc.list_element(end, 2)
        has_graphs = pc.all(pc.starts_with(graphs, "<")).as_py()
    except pa.ArrowInvalid as error:
        raise ValueError(f"not a statement in a graph: {error}") from error
    if not has_graphs or pc.unique(points).to_pylist() != ["."]:
        raise ValueError("not a statement in a graph")
    return {
        "subject": _resources(pc.list_element(begin, 0)),
        "predicate": _resources(pc.list_element(begin, 1)),
        **_object_columns(objects),
        "graph": _resources(graphs),
    }


def _text(lines: bytes) -> pa.StringArray:
    """Return an array of one text, without copying.

    Raises:
        ArrowInvalid: the text is not UTF-8.
    """
    ends = pa.py_buffer(struct.pack("ii", 0, len(lines)))
    text = pa.StringArray.from_buffers(1, ends, pa.py_buffer(lines))
    text.validate(full=True)
    return text


def _resources(terms: Any) -> Any:
    """Return IRIs without brackets, and blank nodes unchanged."""
    return pc.if_else(pc.starts_with(terms, "<"), _sliced(terms), terms)


def _sliced(terms: Any) -> Any:
    """Return terms without their first and last byte, which are ASCII."""
    return pc.binary_slice(terms.cast(pa.binary()), 1, -1).cast(pa.string())


def _object_columns(terms: Any) -> dict[str, Any]:
    """Return the columns of objects."""
    n_rows = len(terms)
    is_literal = pc.starts_with(terms, '"')
    is_triple = pc.starts_with(terms, "<<(")
    is_iri = pc.and_not(pc.starts_with(terms, "<"), is_triple)
    others = pc.if_else(is_iri, "iri", pc.if_else(is_triple, "triple", "blank"))
    kinds = pc.if_else(is_literal, "literal", others)
    is_plain = pc.and_(is_literal, pc.ends_with(terms, '"'))
    values = pc.if_else(pc.or_(is_iri, is_plain), _sliced(terms), terms)
    nothing = pa.nulls(n_rows, pa.string())
    columns = {
        "object": values,
        "object_kind": kinds,
        "datatype": pc.if_else(is_plain, pa.scalar(_STRING), nothing),
        "language": nothing,
        "direction": nothing,
    }
    is_other = pc.and_not(is_literal, is_plain)
    if pc.any(is_other).as_py():
        parts = _literal_parts(terms.filter(is_other))
        for name, part in parts.items():
            columns[name] = pc.replace_with_mask(columns[name], is_other, part)
    columns["object"] = _unescaped(columns["object"], is_literal)
    return columns


def _literal_parts(terms: Any) -> dict[str, Any]:
    """Return the parts of literals that have a language or a datatype.

    Raises:
        ValueError: a term is not a literal.
    """
    # IRIs have no quotation mark: the last one ends the string.
    halves = pc.split_pattern(terms, '"', max_splits=1, reverse=True)
    ends = pc.list_element(halves, 1).dictionary_encode()
    known = [_annotation(end) for end in ends.dictionary.to_pylist()]
    values = pc.binary_slice(pc.list_element(halves, 0).cast(pa.binary()), 1, _NO_END)
    return {
        "object": values.cast(pa.string()),
        **{
            name: pa.array(column, pa.string()).take(ends.indices)
            for name, column in zip(
                ("datatype", "language", "direction"),
                zip(*known, strict=True),
                strict=True,
            )
        },
    }


def _annotation(end: str) -> tuple[str, str | None, str | None]:
    """Return datatype, language and direction from the end of a literal.

    Raises:
        ValueError: the end is none of these.

    >>> _annotation("@ar--rtl")[1:]
    ('ar', 'rtl')
    """
    found = _ANNOTATION(end)
    if found is None:
        raise ValueError(f"not a literal: {end[:100]!a}")
    language, direction, datatype = found.groups()
    if language:
        datatype = _DIR_LANG_STRING if direction else _LANG_STRING
    return datatype, language, direction


def _unescaped(values: Any, is_literal: Any) -> Any:
    """Return literals without escapes."""
    has_escapes = pc.and_(is_literal, pc.match_substring(values, "\\"))
    if not pc.any(has_escapes).as_py():
        return values
    escaped = values.filter(has_escapes)
    # If no backslash is escaped, each one begins an escape of a letter.
    is_hard = pc.match_substring_regex(escaped, r"\\[\\uU]")
    hard = [_unescape(text) for text in escaped.filter(is_hard).to_pylist()]
    for letter, text in _SHORT.items():
        escaped = pc.replace_substring(escaped, f"\\{letter}", text)
    found = pc.replace_with_mask(escaped, is_hard, pa.array(hard, pa.string()))
    return pc.replace_with_mask(values, has_escapes, found)


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_character, text)


def _character(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    return chr(int(code, 16)) if code else _SHORT[escape[3]]


def iter_lines(batch: pa.RecordBatch) -> Iterator[bytes]:
    """Yield the statements of a batch as lines of canonical N-Quads."""
    columns = [batch.column(name).to_pylist() for name in SCHEMA.names[:8]]
    for subject, predicate, value, kind, datatype, *language, graph in zip(
        *columns, strict=True
    ):
        shown = (
            _literal(value, datatype, *language)
            if kind == "literal"
            else f"<{value}>"
            if kind == "iri"
            else value
        )
        named = subject if subject.startswith("_:") else f"<{subject}>"
        yield f"{named} <{predicate}> {shown} <{graph}> .\n".encode()


def _literal(
    value: str, datatype: str, language: str | None, direction: str | None
) -> str:
    text = f'"{_ESCAPED.sub(_escape, value)}"'
    if language:
        return f"{text}@{language}--{direction}" if direction else f"{text}@{language}"
    return text if datatype == _STRING else f"{text}^^<{datatype}>"


def _escape(found: re.Match[str]) -> str:
    return _ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04X}"
