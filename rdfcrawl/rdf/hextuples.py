"""Read HexTuples line by line.

Source: https://github.com/ontola/hextuples: each line is a JSON array of the six
strings subject, predicate, value, datatype, language and graph.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, BinaryIO, Final

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.lines import iter_line_blocks
from rdfcrawl.rdf.namespaces import RDF, XSD
from rdfcrawl.rdf.nesting import is_json_too_deep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.faultlog import FaultLog
    from rdfcrawl.rdf.limits import ParseLimits

_N_FIELDS: Final = 6
# Datatypes of values that are not literals; the second of each is from older documents.
_IRI_TYPES = frozenset({"globalId", RDF + "namedNode"})
_BLANK_TYPES = frozenset({"localId", RDF + "blankNode"})
# Version 0.1 has xsd:string in its example of a text with a language.
_LANGUAGE_TYPES = frozenset({"", RDF + "langString", XSD + "string"})


def read_hextuples(
    file: BinaryIO, *, limits: ParseLimits, log: FaultLog
) -> Iterator[str]:
    """Yield the statements of a HexTuples document in UTF-8, unchecked, in order.

    IRIs are not resolved: the format has no relative ones. A bad line (`SYNTAX`), and
    one longer than `literal_bytes` (`LITERAL_TOO_LONG`), is logged and left out.

    Raises:
        SourceFault: `SYNTAX`: more than `n_errors` lines are bad.
    """
    for block in iter_line_blocks(
        file.read,
        max_line_bytes=limits.literal_bytes,
        drop=lambda: log.note(Reason.LITERAL_TOO_LONG, "a line is too long"),
    ):
        for line in block.splitlines():
            if not line.strip():
                continue
            try:
                yield _statement(line)
            except (ValueError, RecursionError) as error:
                log.note(Reason.SYNTAX, f"{error}: {line[:80]!r}")
                if log.count(Reason.SYNTAX) >= limits.n_errors:
                    raise SourceFault(Reason.SYNTAX, "too many bad lines") from error


def _statement(line: bytes) -> str:
    """Return the statement of one line; `ValueError` says why the line is invalid."""
    if is_json_too_deep(line):
        raise ValueError("nested too deeply")
    fields = json.loads(line)
    if (
        not isinstance(fields, list)
        or len(fields) != _N_FIELDS
        or not all(isinstance(field, str) for field in fields)
    ):
        raise ValueError("no array of six strings")
    subject, predicate, value, datatype, language, graph = fields
    return terms.statement(
        terms.resource(subject),
        terms.iri(predicate),
        _object(value, datatype, language),
        terms.resource(graph) if graph else "",
    )


def _object(value: str, datatype: str, language: str) -> str:
    if datatype in _IRI_TYPES:
        return terms.iri(value)
    if datatype in _BLANK_TYPES:
        return terms.blank(value.removeprefix("_:"))
    if language and datatype not in _LANGUAGE_TYPES:
        raise ValueError("a language beside another datatype")
    return terms.literal(value, datatype=datatype, language=language)
