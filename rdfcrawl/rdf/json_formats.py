"""Read RDF in JSON other than JSON-LD: HexTuples by line, RDF/JSON by subject."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.core.namespaces import RDF, XSD
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.jsonld.reading import after_space
from rdfcrawl.rdf.nesting import check_json_depth, is_json_too_deep
from rdfcrawl.rdf.text import iter_line_blocks

if TYPE_CHECKING:
    from rdfcrawl.rdf.environment import ParseLimits

_N_FIELDS: Final = 6
_N_NEEDED: Final = 3  # of them; the others may be empty
# Datatypes of values that are not literals; the second one is from older documents.
_IRI_TYPES = frozenset({"globalId", RDF + "namedNode"})
_BLANK_TYPES = frozenset({"localId", RDF + "blankNode"})
# Version 0.1 has xsd:string in its example of a text with a language.
_LANGUAGE_TYPES = frozenset({"", RDF + "langString", XSD + "string"})

MAX_BYTES: Final = 64 * 2**20  # read into memory
_ALIASES: Final = {"language": "lang", "xml:lang": "lang"}
_KINDS: Final = {
    "uri": "uri",
    "iri": "uri",
    "bnode": "bnode",
    "literal": "literal",
    "typed-literal": "literal",
}
_NEEDED: Final = frozenset({"type", "value"})
_OF_TEXT: Final = _NEEDED | {"lang", "datatype"}


_MENDED_CHARS: Final = 16 * 2**20
_CLOSERS: Final = re.compile(r"[\s\]),;]*")  # after the last complete object
_HALVES: Final = re.compile(r"[\ud800-\udfff]")


def _no_number(_: str) -> None:
    """Replace a number, which is never valid here, without computation."""


# Objects become tuples of pairs, to keep duplicate keys.
_DECODER = json.JSONDecoder(
    object_pairs_hook=tuple,
    parse_int=_no_number,
    parse_float=_no_number,
    parse_constant=_no_number,
)


_decode_line: Final = json.JSONDecoder().decode


def read_hextuples(
    file: BinaryIO, *, limits: ParseLimits, log: FaultLog
) -> Iterator[str]:
    """Yield the statements of a HexTuples document in UTF-8, unchecked, in order.

    Source: https://github.com/ontola/hextuples: each line is a JSON array of the six
    strings subject, predicate, value, datatype, language and graph.

    IRIs are not resolved: the format has no relative ones. Bad lines (`SYNTAX`) and
    lines longer than `literal_bytes` (`LITERAL_TOO_LONG`) are logged and left out.

    Raises:
        SourceFault: `SYNTAX`: more than `n_errors` lines are bad.
    """
    for block in iter_line_blocks(
        file.read, max_line_bytes=limits.literal_bytes, log=log
    ):
        for line in block.splitlines():
            if not line.strip():
                continue
            try:
                yield _hextuple_statement(_fields_of(line), log)
            except (ValueError, RecursionError) as error:
                if not (lines := _mended_hextuples(line, log)):
                    _note(f"{error}: {line[:80]!r}", limits, log, "bad lines")
                yield from lines


def _mended_hextuples(line: bytes, log: FaultLog) -> list[str]:
    """Return the statements of a line that is no array of six strings, or nothing."""
    from rdfcrawl.rdf.jsonld.mending import mended_json  # noqa: PLC0415 (few need it)

    text = line.decode(errors="replace").strip()
    if text in ("[", "]", "],"):  # of an array around the lines
        log.note(Reason.REPAIRED, "brackets around the lines")
        return [""]
    if is_json_too_deep(line):
        return []
    found, noted = mended_json(text[:_MENDED_CHARS]), FaultLog()
    rows = [x for each in found.values for x in (each if _is_table(each) else [each])]
    try:
        lines = [_hextuple_statement(row, noted) for row in rows]
    except ValueError:
        return []
    if found.losses or not lines or len(text) > _MENDED_CHARS:
        return []
    log.note(Reason.REPAIRED, "HexTuples: other JSON than an array of six strings")
    for fault in noted.all():
        log.note(fault.reason, fault.detail, fault.count)
    return lines


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(row, list) for row in value)


def _fields_of(line: bytes) -> Any:
    if is_json_too_deep(line):
        raise ValueError("nested too deeply")
    return _decode_line(line.decode("utf-8", "surrogatepass"))


def _hextuple_statement(fields: Any, log: FaultLog) -> str:
    """Return the statement of an array; raise `ValueError` if it is invalid."""
    if isinstance(fields, list) and None in fields[_N_NEEDED:]:
        log.note(Reason.REPAIRED, "null for an empty string")
        fields[_N_NEEDED:] = [each or "" for each in fields[_N_NEEDED:]]
    is_of_six = isinstance(fields, list) and len(fields) == _N_FIELDS
    if is_of_six and isinstance(fields[2], int) and fields[3]:
        log.note(Reason.REPAIRED, "a value without quotation marks")
        fields[2] = json.dumps(fields[2])
    if not is_of_six or set(map(type, fields)) != {str}:
        raise ValueError("not an array of six strings")
    subject, predicate, value, datatype, language, graph = fields
    return terms.statement(
        terms.resource(subject),
        terms.iri(predicate),
        _hextuple_object(value, datatype, language, log),
        terms.resource(graph) if graph else "",
    )


def _hextuple_object(value: str, datatype: str, language: str, log: FaultLog) -> str:
    if datatype in _IRI_TYPES:
        return terms.iri(value)
    if datatype in _BLANK_TYPES:
        return terms.blank(value.removeprefix("_:"))
    if not value.isascii() and _HALVES.search(value):
        raise ValueError("half a character")
    if language and datatype not in _LANGUAGE_TYPES:
        log.note(Reason.REPAIRED, f"{datatype} of a text with a language")
    return terms.literal(
        value, datatype="" if language else datatype, language=language
    )


def read_rdf_json(
    file: BinaryIO, *, limits: ParseLimits, log: FaultLog
) -> Iterator[str]:
    """Yield the statements of an RDF/JSON document in UTF-8, unchecked, in order.

    Source: W3C Working Group Note "RDF 1.1 JSON Alternate Serialization (RDF/JSON)",
    7 November 2013.

    At most `MAX_BYTES` are read. IRIs are not resolved: the format has no relative
    ones. Invalid statements are logged as `SYNTAX` and left out; if the JSON is
    truncated, statements before the end are kept. Other errors of JSON are mended.

    Raises:
        SourceFault: `SYNTAX`: the document is not a JSON object, truncated, nested too
            deeply, or has more than `n_errors` invalid statements.
    """
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        log.note(Reason.TOO_LARGE, f"document cut at {MAX_BYTES} bytes")
        data = data[:MAX_BYTES]
    check_json_depth(data)
    for subject, predicates in _members(data.decode(errors="replace"), log):
        yield from _statements(subject, predicates, limits, log)


def _members(text: str, log: FaultLog) -> Iterator[tuple[str, Any]]:
    """Yield the members of the outermost object, one after another.

    From the first error, the text is mended.
    """
    begin = 0
    try:
        at = _expect(text, 0, "{")
        while text[at : at + 1] != "}":
            begin = at
            at = _expect(text, at, '"')
            key, at = scanstring(text, at, True)
            at = _expect(text, after_space(text, at), ":")
            value, at = _DECODER.raw_decode(text, at)
            yield key, value
            begin = at = after_space(text, at)
            if text[at : at + 1] != "}":
                at = _expect(text, at, ",")
                if text[at : at + 1] == "}":
                    log.note(Reason.REPAIRED, "RDF/JSON: trailing commas")
        begin = after_space(text, at + 1)
        if begin == len(text):
            return
        error: Exception = ValueError("content after the outermost object")
    except (ValueError, SourceFault) as failure:
        begin, text, error = 0, ("{" if begin else "") + text[begin:], failure
    yield from _mended_members(text[begin:], error, log)


def _mended_members(
    text: str, error: Exception, log: FaultLog
) -> Iterator[tuple[str, Any]]:
    from rdfcrawl.rdf.jsonld.mending import mended_json  # noqa: PLC0415 (few need it)

    if len(text) > _MENDED_CHARS:
        raise SourceFault(Reason.SYNTAX, str(error))
    end = _CLOSERS.match(text, text.rfind("}") + 1).end()  # type: ignore[union-attr]
    found = mended_json(text[:end], merges=True, keeps_open=True)
    is_cut = end < len(text) or not found.values or bool(found.losses)
    if not (is_cut or found.repairs):
        log.note(Reason.REPAIRED, f"RDF/JSON: {error}")
    found.losses.clear()
    found.note(log, error, "RDF/JSON")
    for value in found.values:
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                yield from _pairs(each)
    if is_cut:
        raise (
            error
            if isinstance(error, SourceFault)
            else SourceFault(Reason.SYNTAX, str(error))
        )


def _pairs(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((key, _pairs(each)) for key, each in value.items())
    return [*map(_pairs, value)] if isinstance(value, list) else value


def _expect(text: str, at: int, character: str) -> int:
    """Return the offset after a character and white space (not skipped after `"`)."""
    at = after_space(text, at)
    if text[at : at + 1] != character:
        raise SourceFault(Reason.SYNTAX, f"character {at}: expected {character}")
    return at + 1 if character == '"' else after_space(text, at + 1)


def _statements(
    subject: str, predicates: Any, limits: ParseLimits, log: FaultLog
) -> Iterator[str]:
    subject_term = terms.resource(subject)  # section 3: blank nodes begin with `_:`
    if not isinstance(predicates, tuple):
        _note(f"predicates must be an object: {subject}", limits, log)
        return
    for predicate, objects in predicates:
        if isinstance(objects, tuple):
            log.note(Reason.REPAIRED, f"an object that is no array: {predicate}")
        elif not isinstance(objects, list):
            _note(f"objects must be an array: {predicate}", limits, log)
            continue
        predicate_term = terms.iri(predicate)
        for each in [objects] if isinstance(objects, tuple) else objects:
            try:
                term = _object(each, log)
            except ValueError as error:
                _note(f"{predicate}: {error}", limits, log)
            else:
                yield terms.statement(subject_term, predicate_term, term)


def _note(
    detail: str, limits: ParseLimits, log: FaultLog, what: str = "invalid statements"
) -> None:
    log.note(Reason.SYNTAX, detail)
    if log.count(Reason.SYNTAX) >= limits.n_errors:
        raise SourceFault(Reason.SYNTAX, f"too many {what}")


def _object(pairs: Any, log: FaultLog) -> str:
    """Return the term of one object; raise `ValueError` if the object is invalid."""
    if not isinstance(pairs, tuple):
        raise ValueError("not a JSON object")  # noqa: TRY004  # the document's fault
    keys = written = dict(pairs)
    if len(written) < len(pairs):
        raise ValueError("a duplicate key")
    if len(written) > len(_NEEDED):
        keys = {
            _ALIASES.get(name, name): value
            for name, value in pairs
            if name == "value" or value not in (None, "")
        }
    kind, value = _KINDS.get(str(keys.get("type")).lower()), keys.get("value")
    if not isinstance(value, str) or kind is None:
        raise ValueError("type must be uri, literal or bnode, and value a string")
    language, datatype = keys.get("lang", ""), keys.get("datatype", "")
    if not isinstance(language, str) or not isinstance(datatype, str):
        raise ValueError("language or datatype is not a string")  # noqa: TRY004
    is_text = kind == "literal"
    used = _OF_TEXT if is_text else _NEEDED
    if keys != written or kind != keys["type"] or not used.issuperset(keys):
        log.note(Reason.REPAIRED, "empty or superfluous members of an object")
    if not is_text:
        return terms.iri(value) if kind == "uri" else terms.blank(_label(value, log))
    if language and datatype not in ("", RDF + "langString"):
        log.note(Reason.REPAIRED, f"{datatype} of a text with a language")
    if not value.isascii() and _HALVES.search(value):
        raise ValueError("half a character")
    return terms.literal(
        value, language=language, datatype="" if language else datatype
    )


def _label(value: str, log: FaultLog) -> str:
    if not value.startswith("_:"):
        log.note(Reason.REPAIRED, "a blank node without _:")
    return value.removeprefix("_:")
