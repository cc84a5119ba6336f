"""Statements are well-formed N-Quads: canonical lines, the parser, and checks.

Canonical lines need no parser: it would write a line that matches a strict part of the
grammar unchanged. All other lines go through the strict parser of pyoxigraph: bad
lines, comments, other escapes and white space, and rare cases (user names in IRIs,
triple terms, private use). IRIs of refused lines are mended if that is safe; other
refused lines are dropped and counted.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from enum import Enum
from io import BytesIO
from itertools import accumulate
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

import pyoxigraph
from pyoxigraph import Quad, QuadParser, RdfFormat

from rdfcrawl.core import formats
from rdfcrawl.core.errors import FaultLog, NeedsSandbox, Reason, SourceFault
from rdfcrawl.core.namespaces import XSD
from rdfcrawl.rdf.graphs import check_iri
from rdfcrawl.rdf.iris import without_dots
from rdfcrawl.rdf.terms import mended_line

if TYPE_CHECKING:
    from rdfcrawl.core.formats import Format
    from rdfcrawl.rdf.environment import ParseLimits


_MAX_SHOWN: Final = 200  # bytes of a statement in a fault
_place = re.compile(r"^Parser error at line \d+(?: between columns \d+ and \d+)?: ")
_UTF8: Final = ("", "utf-8")  # usual declarations; others are looked up
_MAX_MISSES: Final = 64  # mismatches in a row before the rest of a block is skipped

# RFC 3987 section 2.2 in valid UTF-8: `ucschar` from U+00C0 to
# U+D7FF are plain bytes here, those from U+00A0 take two (U+0080 to U+009F are none).
_CHARS: Final = rb"[A-Za-z0-9._~!$&'()*+,;=:@/?\-\x80-\xbf\xc3-\xed]*+"
_MORE: Final = rb"(?:(?:%[0-9A-Fa-f]{2}|\xc2[\xa0-\xbf])" + _CHARS + rb")++"
# Few IRIs have a part `_MORE`, so it is tried last.
_IRI: Final = (
    rb"<(?>http(?:s|)://[A-Za-z0-9.-]++(?=[/?#>])|[A-Za-z][A-Za-z0-9+.-]*+:"
    rb"(?://[A-Za-z0-9._~-]*+(?::[0-9]*+)?(?=[/?#>])|(?!//)))"
    rb"%s(?:>|#%s(?:>|%s>)|%s(?:>|#%s(?:%s)?+>))"
    % (_CHARS, _CHARS, _MORE, _MORE, _CHARS, _MORE)
)
_BLANK: Final = rb"_:[A-Za-z0-9_][A-Za-z0-9_-]*+"
_RESOURCE: Final = rb"(?:" + _IRI + rb"|" + _BLANK + rb")"
# RDF 1.2 N-Quads, "Canonical Form": escapes that it requires; U+FFFE and U+FFFF too.
_TEXT: Final = rb"[^\"\\\x00-\x1f\x7f\xef]*+"
_STRING: Final = rb'"%s(?:(?:\\[tbnrf"\\]|\xef(?!\xbf[\xbe\xbf]))%s)*+"' % (
    _TEXT,
    _TEXT,
)
_XSD_STRING: Final = f"{XSD}string".encode()
_NO_DATATYPE: Final = (
    rb"(?!<http://www\.w3\.org/(?:2001/XMLSchema#string"
    rb"|1999/02/22-rdf-syntax-ns#(?:dirLang|lang)String)>)"
)
# Language tags are in lower case; see `with_lower_tags`.
_LITERAL: Final = (
    rb"%s(?:@[a-z]{2,3}(?:-[a-z]{4})?+(?:-[a-z]{2})?+"
    rb"|\^\^(?:%s%s|<%s>(?= \.\n)))?+"
    % (_STRING, _NO_DATATYPE, _IRI, re.escape(_XSD_STRING))
)
_REST: Final = rb" %s (?:%s|%s)" % (_IRI, _RESOURCE, _LITERAL)
_GRAPH: Final = rb"(?: " + _RESOURCE + rb")?+"
_END: Final = rb" \.\n"


# Without groups for the shared subject of consecutive statements: `re` copies groups at
# each repetition, and the copy stalls on memory that was just written.
_TRIPLES = re.compile(rb"(?:%s%s%s)*+" % (_RESOURCE, _REST, _END))
_QUADS = re.compile(rb"(?:%s%s%s%s)*+" % (_RESOURCE, _REST, _GRAPH, _END))
_NAMED = re.compile(rb"(?:%s%s %s%s)*+" % (_RESOURCE, _REST, _RESOURCE, _END))
# Plain strings are written without datatype. In a matching line, this can only be the
# end of the object: an IRI contains no quotation mark.
_TYPED: Final = b'"^^<' + _XSD_STRING + b"> .\n"
_PLAIN: Final = b'" .\n'
# A tag with an upper-case letter, like `"@pt-BR`, of a literal at the end of a line,
# as no quotation mark follows.
_lower_tags = re.compile(
    rb'"@(?=[a-z-]*+[A-Z])[A-Za-z]{2,3}(?:-[A-Za-z]{4})?+(?:-[A-Za-z]{2})?+'
    rb'(?= (?:[<_][^ "\n]*+ )?+\.\n)'
).subn


class GraphUse(Enum):
    """Which of some statements name a graph."""

    NONE = "none"
    ALL = "all"
    SOME = "some"  # or unknown


class CanonicalRun(NamedTuple):
    """Consecutive lines: all canonical, or all unchanged and to be parsed.

    `begin` is the offset in the block.
    """

    lines: bytes
    is_canonical: bool
    begin: int
    graphs: GraphUse = GraphUse.SOME


def iter_runs(block: bytes, *, has_graphs: bool) -> Iterator[CanonicalRun]:
    """Yield the lines of a block in order, in runs that need a parser or do not.

    `block` has complete lines in valid UTF-8: N-Quads if `has_graphs`, else N-Triples.
    """
    at = begin = n_misses = 0  # lines from `begin` do not match
    text, is_lower = block, False
    while at < len(block):
        end, graphs = _end_of_run(text, at, has_graphs=has_graphs)
        if end < len(block) and not is_lower:
            is_lower, text = True, with_lower_tags(block)
            if text is not block:
                continue
        if end == at:
            n_misses += 1
            at = block.find(b"\n", at) + 1
            if not at or n_misses == _MAX_MISSES:
                break
            continue
        if begin < at:
            yield CanonicalRun(block[begin:at], is_canonical=False, begin=begin)
        lines = _without_strings(text[at:end])
        yield CanonicalRun(lines, is_canonical=True, begin=at, graphs=graphs)
        at = begin = end
    if begin < len(block):
        yield CanonicalRun(block[begin:], is_canonical=False, begin=begin)


def _end_of_run(block: bytes, at: int, *, has_graphs: bool) -> tuple[int, GraphUse]:
    """Return the end of the canonical lines that begin at a position.

    In most documents, either all statements name a graph or none does. This is known at
    no cost here, and expensive to find later.
    """
    end = _end_of_match(_TRIPLES, block, at)
    if not has_graphs or end == len(block):
        return end, GraphUse.NONE
    if end == at:
        end = _end_of_match(_NAMED, block, at)
        if end == len(block):
            return end, GraphUse.ALL
    return _end_of_match(_QUADS, block, end), GraphUse.SOME


def _end_of_match(pattern: re.Pattern[bytes], block: bytes, at: int) -> int:
    return pattern.match(block, at).end()  # type: ignore[union-attr] # it may be empty


class TripleLines(bytes):
    """Canonical lines of which none names a graph, as their check has shown."""

    __slots__ = ()


def canonical(block: bytes, *, has_graphs: bool) -> bytes | None:
    """Return the lines of a block if none of them needs the parser; see `iter_runs`.

    They are `TripleLines` if none names a graph.
    """
    text = block
    while True:
        if _TRIPLES.fullmatch(text):
            return TripleLines(_without_strings(text))
        if has_graphs and _QUADS.fullmatch(text):
            return _without_strings(text)
        if text is not block or (text := with_lower_tags(block)) is block:
            return None


def canonical_lines(
    data: bytes | None, document_format: Format, *, charset: str, limits: ParseLimits
) -> tuple[bytes, bool] | None:
    """Return the lines of a small document that readers would not change, else None.

    The second value is whether the lines may name graphs. `data` is None for a document
    that is not in memory.
    """
    if (
        not document_format.is_line_based
        or data is None
        or len(data) > min(GATHER_BYTES, limits.doc_bytes)
        or charset not in _UTF8
    ):
        return None
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            return None
    lines = canonical(data, has_graphs=document_format.has_graphs)
    return None if lines is None else (lines, not isinstance(lines, TripleLines))


def with_lower_tags(lines: bytes) -> bytes:
    """Return lines with language tags in lower case; the same object if all were."""
    lowered, n_tags = _lower_tags(lambda found: found[0].lower(), lines)
    return lowered if n_tags else lines


def _without_strings(lines: bytes) -> bytes:
    if b"/XMLSchema#string> .\n" not in lines:
        return lines
    return lines.replace(_TYPED, _PLAIN)


_NO_RDF: Final = "not allowed in regular RDF"  # about terms of N3

# Complete terms, and perhaps the end of their statement
_TERMS = re.compile(
    rb"(?>\s*+(?:<[^<>\"\s]*+>|_:[^\s<>\"]++"
    rb"|\"(?>[^\"\\\n\r]++|\\.)*+\"(?:@[\w-]++|\^\^<[^<>\s]*+>)?+))*+\s*+\.?+\s*+"
)
_MAX_MORE_LINES: Final = 4  # of a statement

GATHER_BYTES = 128 * 1024  # N-Quads collected per block
FIRST_BATCH = 64  # statements; a batch grows while its lines are short
LARGEST_BATCH = 1024
SMALL_BYTES: Final = 64 * 1024  # of a document that is read in large batches


def new_parser(
    source: bytes | BinaryIO,
    document_format: Format,
    base: str | None,
) -> QuadParser:
    """Return pyoxigraph's parser of a format; an invalid base is mended.

    `source` is UTF-8 without byte order mark.
    """
    kind = document_format.parser
    try:
        return pyoxigraph.parse(source, kind, base_iri=base)
    except ValueError:  # the base is not an IRI
        base = check_iri(base or "")
        return pyoxigraph.parse(source, kind, base_iri=base)


def dots_in_base(parser: QuadParser) -> SyntaxError | None:
    """Return an error if the base of a parser has dot segments, which it leaves."""
    base = parser.base_iri or ""
    has_dots = "/." in base and without_dots(base) != base
    return SyntaxError(f"dot segments in the base {base}") if has_dots else None


def next_batch(batch: int, n_bytes: int) -> int:
    """Return the size of the batch after one with `n_bytes`, in statements."""
    if n_bytes > 2 * GATHER_BYTES:
        return max(batch // 4, 1)
    return batch * 4 if batch < LARGEST_BATCH else batch


def serialize(quads: Iterable[Quad], out: BinaryIO) -> SyntaxError | SourceFault | None:
    """Write the quads as canonical N-Quads; return the error that ended them early."""
    try:
        pyoxigraph.serialize(quads, out, RdfFormat.N_QUADS)
    except (SyntaxError, SourceFault) as error:
        return error
    except MemoryError as error:
        if "buffer" not in str(error):
            raise
        # A token is longer than the parser's limit of 16 MiB.
        return SourceFault(Reason.LITERAL_TOO_LONG, str(error))
    except BaseException as error:
        # A bug in the parser raises PanicException, which is not an Exception.
        if type(error).__name__ == "PanicException":
            return SourceFault(Reason.PARSE_CRASH, str(error))
        raise
    return None


def reason_of_n3(error: Exception | None) -> Reason | None:
    """Return the reason if a statement is valid N3, but no RDF; the parser goes on."""
    text = str(error)
    if _NO_RDF not in text:
        return None
    return Reason.N3_FORMULA if "variable" in text else Reason.BAD_TERM


def iter_refused(
    block: bytes, document_format: Format, out: BinaryIO
) -> Iterator[tuple[int, bytes, SyntaxError]]:
    """Write the statements of lines; yield number, from 1, and text of refused ones.

    The caller may write the mended line before it resumes the iterator.

    Raises:
        SourceFault: the parser failed on something other than a line.
    """
    lines: list[bytes] = []
    done = 0
    source: bytes | BinaryIO = block
    while block:
        error = serialize(new_parser(source, document_format, None), out)
        if error is None:
            return
        if isinstance(error, SourceFault):
            raise error
        if not lines:
            lines = block.splitlines(keepends=True)
            begins = [*accumulate(map(len, lines), initial=0)]
            rest = BytesIO(block)  # shared: each parser reads on without a copy
        done += bad_line(error)
        first, done = done, done + _n_more(lines, done, document_format)
        line = lines[first - 1]
        if done > first:
            line = b" ".join(map(bytes.strip, lines[first - 1 : done])) + b"\n"
        yield first, line, error
        if done == len(lines):
            return
        rest.seek(begins[done])
        source = rest


def _n_more(lines: list[bytes], first: int, document_format: Format) -> int:
    """Return how many lines after a refused one belong to the same good statement."""
    text = b""
    for n, line in enumerate(lines[first - 1 : first + _MAX_MORE_LINES]):
        if not _TERMS.fullmatch(line):
            return 0
        text += line.strip() + b" "
        if line.rstrip().endswith(b"."):
            parser = new_parser(text, document_format, None)
            return 0 if serialize(parser, BytesIO()) else n
    return 0


def bad_line(error: SyntaxError) -> int:
    """Return the line, from 1, of a statement that failed in a line-based format."""
    line = error.lineno or 1
    # A truncated statement is reported at the beginning of the next line.
    is_before = error.offset == 1 and is_empty_span(error)
    return max(line - 1, 1) if is_before else line


def is_empty_span(error: SyntaxError) -> bool:
    """Return whether an error has a position but no extent: an unexpected end."""
    begin = error.lineno, error.offset
    return None not in begin and begin == (error.end_lineno, error.end_offset)


def check(
    block: bytes, log: FaultLog, *, mends: bool = False, has_graphs: bool = True
) -> bytes:
    """Return the valid lines of a block as canonical N-Quads.

    Dropped lines are logged as `BAD_TERM`; IRIs are mended if `mends` (`REPAIRED`).
    Lines that name a graph are valid if `has_graphs`.

    Raises:
        SourceFault: the parser failed on something other than a line.
    """
    kind = formats.N_QUADS if has_graphs else formats.N_TRIPLES
    return b"".join(
        run.lines if run.is_canonical else _parse(run.lines, log, kind, mends=mends)
        for run in iter_runs(block, has_graphs=has_graphs)
    )


def _parse(block: bytes, log: FaultLog, kind: Format, *, mends: bool) -> bytes:
    out = io.BytesIO()
    for _, line, error in iter_refused(block, kind, out):
        repaired = mended(line, log, kind) if mends else b""
        if repaired:
            out.write(repaired)
        else:
            text = line[:_MAX_SHOWN].decode("utf-8", "replace").strip()
            log.note(Reason.BAD_TERM, f"{_place.sub('', str(error.msg))}: {text}")
    return out.getvalue()


def mended(
    line: bytes, log: FaultLog, document_format: Format = formats.N_QUADS
) -> bytes:
    """Return a refused line, mended (`REPAIRED`); empty if still bad."""
    found = FaultLog()
    new = mended_line(line, found)
    out = io.BytesIO()
    if new == line or serialize(new_parser(new, document_format, None), out):
        found, out = FaultLog(), io.BytesIO()
        is_line = document_format.is_line_based
        has_graphs = document_format.has_graphs
        text = _mended_statements(line, found, has_graphs) if is_line else b""
        if not text or serialize(new_parser(text, formats.TRIG, None), out):
            return b""
    for fault in found.all():
        log.note(fault.reason, fault.detail, fault.count)
    return out.getvalue()


def _mended_statements(line: bytes, log: FaultLog, has_graphs: bool) -> bytes:
    """Return the statements of a line without bad terms as TriG, or nothing."""
    from rdfcrawl.rdf.mended_statements import StatementMender  # noqa: PLC0415 (rare)
    from rdfcrawl.rdf.usual_prefixes import usual_prefixes  # noqa: PLC0415 (rare)

    is_complete = re.search(rb"[^\s;,]\s*[\r\n]\Z", line) is not None
    line += b"\n"
    at, parts = 0, list[bytes]()
    while line[at:].strip():
        mender = StatementMender(
            *(line, at, {}, log),
            has_base=False,
            has_graphs=has_graphs,
            usual=usual_prefixes(),
        )
        text, at, graph = mender.mend()
        is_bad = mender.bad or mender.skipped or graph is not None
        if is_bad or (mender.is_cut and not is_complete):
            return b""
        if mender.is_cut:
            log.note(Reason.REPAIRED, "a missing dot")
        parts.append(text)
    if not log.all():
        log.note(Reason.REPAIRED, "Turtle in a line of another format")
    return b"".join(parts)


def iter_checked(
    statements: Iterable[str], log: FaultLog, *, mends: bool = True
) -> Iterator[bytes]:
    """Yield checked lines of `terms.statement`, `GATHER_BYTES` at a time; see `check`.

    Raises:
        Exception: from the statements, after those before it; `NeedsSandbox` without.
    """
    lines: list[str] = []
    n_chars = 0
    raised: Exception | None = None
    try:
        for line in statements:
            lines.append(line)
            n_chars += len(line)
            if n_chars >= GATHER_BYTES:
                yield check("".join(lines).encode(), log, mends=mends)
                lines.clear()
                n_chars = 0
    except NeedsSandbox:
        raise
    except Exception as error:  # keep the statements before it
        raised = error
    if lines:
        yield check("".join(lines).encode(), log, mends=mends)
    if raised is not None:
        raise raised
