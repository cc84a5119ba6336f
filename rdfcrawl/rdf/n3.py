"""Read the RDF part of Notation 3, without its logic.

A formula quotes statements without stating them; a variable stands for anything. The
parser puts the statements of a formula in a graph named by a blank node, so
`without_formulas` can remove these statements, and all about the formula.
`FormulaMarker` inserts a statement into each formula, to reveal the label of formulas
without statements.

Source: https://w3c.github.io/N3/spec/ and https://www.w3.org/TeamSubmission/n3/
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.lenient import COMMENT, PADDING, STRINGS, OpenToken

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog

MAX_FORMULAS: Final = 2**18  # their labels take about 40 MB

# Team Submission, "Declaring default namespaces"; a later declaration overrides it.
_DEFAULT_PREFIX: Final = b"@prefix : <#> . "
_STATEMENT: Final = b"{[]=[]. "
# Replaces a quantifier in a formula: a statement about the same terms. The scope of a
# quantifier is its formula, which is left out completely.
_NO_QUANTIFIER: Final = b"[] ="
# Replaces one outside of formulas, to reveal the names that it quantifies.
_QUANTIFIED: Final = b"<urn:rdfcrawl:quantified>"
_QUANTIFIED_NAME: Final = _QUANTIFIED + b" <http://www.w3.org/2002/07/owl#sameAs> "
# Everything up to the next brace, quantifier or incomplete token, in one step of the
# regular expression engine. `<=` and `<-` are operators.
_PLAIN = re.compile(
    rb"(?>[^\"'#<{}@\\]++|\\.|" + STRINGS + rb"|" + COMMENT + rb""
    rb"|<[=-]|<(?=[^=-])[^>\n\r]*+>|@(?!for(?:All|Some)\b)(?=.{8}))*+",
    re.DOTALL,
)
_QUANTIFIER = re.compile(rb"@for(?:All|Some)\b(?=.)", re.DOTALL)


class FormulaMarker:
    """Screen that inserts a statement into each formula of N3, and per quantifier.

    Attributes:
        has_braces: of a formula or string, so far.
        has_formulas: so far.
        has_quantifiers: outside formulas, so far.
    """

    def __init__(self) -> None:
        self._open = OpenToken()
        self._depth = 0
        self._is_first = True
        self.has_braces = False
        self.has_formulas = False
        self.has_quantifiers = False

    def feed(self, block: bytes, is_last: bool) -> bytes:
        """Return the text ready to parse (`LITERAL_TOO_LONG` for a token)."""
        block = self._open.joined(block, is_last=is_last)
        self.has_braces = self.has_braces or b"{" in block
        if is_last:
            block += PADDING
        parts = [_DEFAULT_PREFIX] if self._is_first else []
        self._is_first = False
        at = self._mark(block, parts)
        end = _PLAIN.match(block, at).end()  # type: ignore[union-attr]  # always
        if is_last:
            parts.append(block[at : -len(PADDING)])
        else:
            parts.append(block[at:end])
            if end < len(block):
                self._open.keep(block[end:])
        return b"".join(parts)

    def _mark(self, block: bytes, parts: list[bytes]) -> int:
        """Append text to `parts` up to the last brace or quantifier; return its end."""
        at = 0
        while True:
            end = _PLAIN.match(block, at).end()  # type: ignore[union-attr]
            brace = block[end : end + 1]
            if brace == b"{":
                self.has_formulas = True
                self._depth += 1
                parts += block[at:end], _STATEMENT
                at = end + 1
            elif brace == b"}":
                self._depth = max(self._depth - 1, 0)
                parts.append(block[at : end + 1])
                at = end + 1
            elif quantifier := _QUANTIFIER.match(block, end):
                self.has_quantifiers = self.has_quantifiers or not self._depth
                instead = _NO_QUANTIFIER if self._depth else _QUANTIFIED + b" ="
                parts += block[at:end], instead
                at = quantifier.end()
            else:
                return at


def has_logic(document: bytes) -> bool:
    """Return whether a document has formulas or quantifiers."""
    marker = FormulaMarker()
    marker.feed(document, is_last=True)
    return marker.has_formulas or marker.has_quantifiers


def without_formulas(
    blocks: Iterable[bytes], marker: FormulaMarker, log: FaultLog
) -> Iterator[bytes]:
    """Yield lines of canonical N-Quads that are neither in nor about a formula.

    Those with a name that is quantified outside of formulas mean something else, and
    are left out from there on.

    Args:
        blocks: output of the parser: statements in a formula precede those about the
            formula.
        marker: screen of the text.
        log: takes one `N3_FORMULA` for each statement left out.

    Raises:
        SourceFault: `N3_FORMULA`: too many formulas.
    """
    formulas: set[bytes] = set()
    quantified: set[bytes] = set()
    for block in blocks:
        if not (marker.has_braces or marker.has_quantifiers):
            yield block
            continue
        lines: Iterable[bytes] = block.splitlines(keepends=True)
        if marker.has_braces:
            lines = (x for x in lines if not _is_of_formula(x, formulas, log))
        if marker.has_quantifiers:
            lines = (x for x in lines if not _is_quantified(x, quantified, log))
        yield b"".join(lines)
        if len(formulas) > MAX_FORMULAS:
            raise SourceFault(Reason.N3_FORMULA, f"more than {MAX_FORMULAS} formulas")


def _is_of_formula(line: bytes, formulas: set[bytes], log: FaultLog) -> bool:
    """Return whether a statement is in or about a formula, and log this."""
    statement, _, last = line[:-3].rpartition(b" ")
    if not last.startswith(b"_:") or b'"' in last:
        last = b""  # an IRI, or the end of a literal: labels contain no quotes
    elif statement.count(b" ") > 1 and last not in formulas:  # after three terms
        formulas.add(last)  # this is the statement of the marker
        return True
    subject = line[: line.index(b" ")]
    if subject not in formulas and last not in formulas:
        return False
    log.note(Reason.N3_FORMULA, "statements in formulas and about them")
    return True


def _is_quantified(line: bytes, names: set[bytes], log: FaultLog) -> bool:
    """Return whether a statement names what a quantifier stands for, and log this."""
    subject, predicate, rest = line.split(b" ", 2)
    obj = rest[:-3]  # a literal is no name
    if line.startswith(_QUANTIFIED_NAME):
        names.add(obj)
    elif names.isdisjoint((subject, predicate, obj)):
        return False
    log.note(Reason.N3_FORMULA, "quantified names and statements with them")
    return True
