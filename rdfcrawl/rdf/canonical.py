"""Recognize canonical lines of N-Triples and N-Quads, which need no parser.

The parser would write a line that matches a strict part of the grammar unchanged. It
gets all other lines: bad lines, comments, other escapes and white space, and rare cases
(user names in IRIs, triple terms, private use).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from rdfcrawl.core.namespaces import XSD

_MAX_MISSES: Final = 64  # mismatches in a row before the rest of a block is skipped

# RFC 3987 section 2.2 in valid UTF-8: `ucschar` from U+00C0 to
# U+D7FF are plain bytes here, those from U+00A0 take two (U+0080 to U+009F are none).
_CHARS: Final = rb"[A-Za-z0-9._~!$&'()*+,;=:@/?\-\x80-\xbf\xc3-\xed]*+"
_MORE: Final = rb"(?:(?:%[0-9A-Fa-f]{2}|\xc2[\xa0-\xbf])" + _CHARS + rb")*+"
_IRI: Final = (
    rb"<[A-Za-z][A-Za-z0-9+.-]*+:"
    rb"(?://[A-Za-z0-9._~-]*+(?::[0-9]*+)?(?=[/?#>])|(?!//))"
    + _CHARS
    + _MORE
    + rb"(?:#"
    + _CHARS
    + _MORE
    + rb")?+>"
)
_BLANK: Final = rb"_:[A-Za-z0-9_][A-Za-z0-9_-]*+"
_RESOURCE: Final = rb"(?:" + _IRI + rb"|" + _BLANK + rb")"
# RDF 1.2 N-Quads, "Canonical Form": escapes that it requires; U+FFFE and U+FFFF too.
_TEXT: Final = rb"[^\"\\\x00-\x1f\x7f\xef]*+"
_STRING: Final = (
    rb'"' + _TEXT + rb'(?:(?:\\[tbnrf"\\]|\xef(?!\xbf[\xbe\xbf]))' + _TEXT + rb')*+"'
)
_XSD_STRING: Final = f"{XSD}string".encode()
_NO_DATATYPE: Final = (
    rb"(?!<http://www\.w3\.org/(?:2001/XMLSchema#string"
    rb"|1999/02/22-rdf-syntax-ns#(?:dirLang|lang)String)>)"
)
# Language tags are in lower case.
_LITERAL: Final = (
    _STRING
    + rb"(?:@[a-z]{2,3}(?:-[a-z]{4})?+(?:-[a-z]{2})?+|\^\^(?:"
    + _NO_DATATYPE
    + _IRI
    + rb"|<"
    + re.escape(_XSD_STRING)
    + rb">(?= \.\n)))?+"
)
_REST: Final = rb" " + _IRI + rb" (?:" + _RESOURCE + rb"|" + _LITERAL + rb")"
_GRAPH: Final = rb"(?: " + _RESOURCE + rb")?+"
_END: Final = rb" \.\n"


# Without groups for the shared subject of consecutive statements: `re` copies groups at
# each repetition, and the copy stalls on memory that was just written.
_TRIPLES = re.compile(rb"(?:%s%s%s)*+" % (_RESOURCE, _REST, _END))
_QUADS = re.compile(rb"(?:%s%s%s%s)*+" % (_RESOURCE, _REST, _GRAPH, _END))
# Plain strings are written without datatype. In a matching line, this can only be the
# end of the object: an IRI contains no quotation mark.
_TYPED: Final = b'"^^<' + _XSD_STRING + b"> .\n"
_PLAIN: Final = b'" .\n'


class CanonicalRun(NamedTuple):
    """Consecutive lines: all canonical, or all unchanged and to be parsed.

    `begin` is the offset in the block.
    """

    lines: bytes
    is_canonical: bool
    begin: int


def iter_runs(block: bytes, *, has_graphs: bool) -> Iterator[CanonicalRun]:
    """Yield the lines of a block in order, in runs that need a parser or do not.

    `block` has complete lines in valid UTF-8: N-Quads if `has_graphs`, else N-Triples.
    """
    match = (_QUADS if has_graphs else _TRIPLES).match
    at = begin = n_misses = 0  # lines from `begin` do not match
    while at < len(block):
        end = match(block, at).end()  # type: ignore[union-attr] # it may be empty
        if end == at:
            n_misses += 1
            at = block.find(b"\n", at) + 1
            if not at or n_misses == _MAX_MISSES:
                break
            continue
        if begin < at:
            yield CanonicalRun(block[begin:at], is_canonical=False, begin=begin)
        yield CanonicalRun(_without_strings(block[at:end]), is_canonical=True, begin=at)
        at = begin = end
    if begin < len(block):
        yield CanonicalRun(block[begin:], is_canonical=False, begin=begin)


def canonical(block: bytes, *, has_graphs: bool) -> bytes | None:
    """Return the lines of a block if none of them needs the parser; see `iter_runs`."""
    found = (_QUADS if has_graphs else _TRIPLES).fullmatch(block)
    return None if found is None else _without_strings(block)


def _without_strings(lines: bytes) -> bytes:
    if b"/XMLSchema#string> .\n" not in lines:
        return lines
    return lines.replace(_TYPED, _PLAIN)
