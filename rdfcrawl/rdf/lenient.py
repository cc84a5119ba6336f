r"""Mend text and read it leniently, after the strict parser refused a document.

The lenient parser does not check IRIs and language tags; their characters might end a
term early in the output (`<http://e/\u003e <http://e/g>`). So each term goes through
the strict constructors. IRIs are mended if that is safe; a statement with another bad
term is left out, but not later ones in the same block, element or list.

The lenient parser also accepts text that it misreads: line breaks in short strings,
IRIs that end at the `>` of another one, and any character after a backslash.
`LexicalScreen` ends the text there. `RepairScreen` mends text for either parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Triple

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.terms import mended_iri, mended_reference, mended_token, note_mended
from rdfcrawl.rdf.text import MARK_BYTES

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog

MAX_TOKEN_BYTES: Final = 16 * 2**20  # longest token of the parser

# Distinguishable tokens of Turtle, TriG and N3, including bad IRIs without quotation
# marks and line breaks.
STRINGS: Final = (
    rb'"""(?>[^"\\]++|\\.|"(?!""))*+"""|\'\'\'(?>[^\'\\]++|\\.|\'(?!\'\'))*+\'\'\''
    rb'|"(?!")(?>[^"\\\n\r]++|\\.)*+"|""(?=[^"])'
    rb"|'(?!')(?>[^'\\\n\r]++|\\.)*+'|''(?=[^'])"
)
COMMENT: Final = rb"#[^\n\r]*+[\n\r]"
_CLEAN = re.compile(
    rb"(?>[^\"'#<\\]++|\\[_~.!$&'()*+,;=/?#@%-]|" + STRINGS + rb"|" + COMMENT + rb""
    rb"|<(?>[^<>\"\s{}|^`\\]++|\\[uU])*+>|<(?>[^<>\"'\n\r\\]++|\\[uU])*+>"
    rb"|<<|<[=-](?=[^=-]))*+",
    re.DOTALL,
)
# Errors, even if more text follows.
_BAD = re.compile(
    rb"[\"'](?![\"'])(?>[^\"'\\\n\r]++|\\.)*+[\n\r]|<[^<>\n\r]*+[<\n\r]|\\.", re.DOTALL
)
PADDING: Final = b"\n" * 9  # lets expressions look ahead at the end


class OpenToken:
    """Buffer of an incomplete token."""

    def __init__(self) -> None:
        self._data = b""
        self._n_wanted = 0

    def joined(self, block: bytes, *, is_last: bool) -> bytes:
        """Return the text to scan; empty to wait for more."""
        if self._data:
            block, self._data = self._data + block, b""
            if len(block) < self._n_wanted and not is_last:
                block, self._data = b"", block
        return block

    def keep(self, data: bytes) -> None:
        """Keep the beginning of a token (`LITERAL_TOO_LONG`)."""
        if len(data) > MAX_TOKEN_BYTES:
            raise SourceFault(Reason.LITERAL_TOO_LONG, "a token, or an open string")
        # Scanned again when twice as long, for linear time.
        self._data, self._n_wanted = data, 2 * len(data)


class LexicalScreen:
    """Screen that ends text where the parser would misread it, and sets `is_cut`."""

    def __init__(self) -> None:
        self._open = OpenToken()
        self.is_cut = False

    def feed(self, block: bytes, is_last: bool) -> bytes:
        """Return the text ready to parse (`LITERAL_TOO_LONG` for a token)."""
        if self.is_cut:
            return b""
        block = self._open.joined(block, is_last=is_last)
        text = block + PADDING if is_last else block
        end = min(_CLEAN.match(text).end(), len(block))  # type: ignore[union-attr]
        if end < len(block):
            if is_last or _BAD.match(block, end):
                self.is_cut = True
            else:
                self._open.keep(block[end:])
        return block[:end]


_LOW: Final = rb"[dD][89a-fA-F][0-9a-fA-F]{2}"  # of half a character
_GOOD: Final = (
    rb"\\(?:[tbnrf\"'\\]|u(?!" + _LOW + rb")[0-9A-Fa-f]{4}"
    rb"|U00(?:0(?!0" + _LOW + rb")[0-9A-Fa-f]|10)[0-9A-Fa-f]{4})"
)
_GOOD_STRINGS: Final = STRINGS.replace(rb"\\.", _GOOD)
GOOD_STRING = re.compile(_GOOD_STRINGS, re.DOTALL)
_IRI_PART: Final = rb"(?>[^<>\"\s{}|^`\\%#\[\]]++|%[0-9A-Fa-f]{2})*+"
# Text without need for mending, in one step. `<=` and `<-` are operators.
_NOT_MENDED = re.compile(
    rb"(?>[^\"'#<\\]++|" + _GOOD_STRINGS + rb"|" + COMMENT + rb"|\\."
    rb"|<" + _IRI_PART + rb"(?:#" + _IRI_PART + rb")?>|<<|<[=-](?=[^=-]))*+",
    re.DOTALL,
)
_TOKEN = re.compile(STRINGS + rb"|<([^<>\"\n\r]*+)>", re.DOTALL)
# Errors, even if more text follows.
_BROKEN = re.compile(
    rb"[\"'](?![\"'])(?>[^\"'\\\n\r]++|\\.)*+[\n\r]|<[^<>\n\r]*+[<\n\r]", re.DOTALL
)
_ESCAPES = re.compile(rb"(" + _GOOD + rb")|\\", re.DOTALL)
# Escapes of JSON: two halves of a character, and a slash
_JSON_ESCAPES = re.compile(
    rb"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\(/)|\\.",
    re.DOTALL,
)


def without_json_escapes(token: bytes) -> bytes:
    r"""Return a string with escapes of JSON replaced.

    >>> without_json_escapes(rb'"\uD83D\uDE00 \/"').decode()
    '"😀 /"'
    """

    def character(found: re.Match[bytes]) -> bytes:
        if not found[1]:
            return found[3] or found[0]
        halves = bytes.fromhex((found[1] + found[2]).decode())
        return halves.decode("utf-16-be").encode()

    return _JSON_ESCAPES.sub(character, token)


class RepairScreen:
    """Screen that mends Turtle, TriG and N3, and logs `REPAIRED` for each IRI.

    Invalid characters in IRIs are escaped. A backslash without escape is marked, so
    that only its statement is left out: otherwise the parser would get out of step in a
    long string, and quoted text would become statements.

    `on_mark` is called at a bad escape: statements with `MARK` must be left out then.
    """

    def __init__(self, log: FaultLog, on_mark: Callable[[], None]) -> None:
        self._log, self._on_mark = log, on_mark
        self._open = OpenToken()

    def feed(self, block: bytes, is_last: bool) -> bytes:
        """Return the text ready to parse (`LITERAL_TOO_LONG` for a token)."""
        block = self._open.joined(block, is_last=is_last)
        text = block + PADDING if is_last else block
        parts: list[bytes] = []
        at = 0
        while True:
            end = min(_NOT_MENDED.match(text, at).end(), len(block))  # type: ignore[union-attr]
            parts.append(text[at:end])
            if end == len(block):
                break
            if token := _TOKEN.match(text, end):
                parts.append(self._mended(token))
                at = token.end()
            elif is_last or _BROKEN.match(text, end):
                parts.append(text[end : end + 1])  # an error with any further text
                at = end + 1
            else:
                self._open.keep(block[end:])
                break
        return b"".join(parts)

    def _mended(self, token: re.Match[bytes]) -> bytes:
        if token[1] is None:
            return _ESCAPES.sub(self._escape, token[0])
        return mended_token(token, mended_reference, self._log)

    def _escape(self, found: re.Match[bytes]) -> bytes:
        if found[1]:
            return found[1]
        self._on_mark()
        return MARK_BYTES


def well_formed(quads: Iterable[Quad], log: FaultLog) -> Iterator[Quad]:
    """Yield quads with valid terms or mended IRIs; log `REPAIRED` or `BAD_TERM`."""
    for quad in quads:
        try:
            for term in quad:
                _check(term)
        except (ValueError, RecursionError) as error:
            try:
                yield _mended(quad, log)
            except (ValueError, RecursionError):
                log.note(Reason.BAD_TERM, str(error))
        else:
            yield quad


def _mended(quad: Quad, log: FaultLog) -> Quad:
    """Return a statement with its IRIs mended (`ValueError` if a term is still bad)."""
    bad: list[str] = []

    def mend(term: Any) -> Any:
        if isinstance(term, NamedNode):
            new = mended_iri(term.value)
            if new != term.value:
                bad.append(term.value)
            return NamedNode(new)
        if isinstance(term, Triple):
            return Triple(*map(mend, term))
        if isinstance(term, Literal) and term.language == "":
            return Literal(term.value)  # XML 1.0 2.12: `xml:lang=""` means no language
        if isinstance(term, Literal) and not term.language:
            return Literal(term.value, datatype=mend(term.datatype))
        _check(term)
        return term

    found = Quad(*map(mend, quad))
    for iri in bad:
        note_mended(log, iri)
    return found


def _check(term: NamedNode | BlankNode | Literal | Triple | DefaultGraph) -> None:
    kind = type(term)
    if kind is NamedNode:
        NamedNode(term.value)  # type: ignore[union-attr]
    elif isinstance(term, Literal):
        if term.language is not None:
            Literal("", language=term.language)
        else:
            NamedNode(term.datatype.value)
    elif isinstance(term, Triple):
        for part in term:
            _check(part)
