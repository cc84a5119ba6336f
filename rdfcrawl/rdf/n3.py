"""Read Notation 3 without its logic, as far as it is RDF.

A formula quotes statements and does not make them; a variable stands for anything.
The parser puts the statements of a formula in a graph named by a blank node, so
that `without_formulas` can leave out these statements, and all about the formula. So
that it knows the label of a formula without statements too, `FormulaMarker` puts one
into each.

Source: https://w3c.github.io/N3/spec/ and https://www.w3.org/TeamSubmission/n3/
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.rdf.lenient import COMMENT, PADDING, STRINGS, OpenToken

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfcrawl.faultlog import FaultLog

MAX_FORMULAS: Final = 2**18  # their labels are kept, about 40 MB

# The Team Submission, "Declaring default namespaces". Whoever declares it again, wins.
_DEFAULT_PREFIX: Final = b"@prefix : <#> . "
_STATEMENT: Final = b"{[]=[]. "
# What a quantifier is made inside of a formula: a statement about the same terms. It
# holds up to the end of the formula, which is left out with all that is in it.
_NO_QUANTIFIER: Final = b"[] ="
# All up to the next brace or quantifier, in one step of the regular expression engine;
# it ends early at what is not complete. `<=` and `<-` are operators.
_PLAIN = re.compile(
    rb"(?>[^\"'#<{}@\\]++|\\.|" + STRINGS + rb"|" + COMMENT + rb""
    rb"|<[=-]|<(?=[^=-])[^>\n\r]*+>|@(?!for(?:All|Some)\b)(?=.{8}))*+",
    re.DOTALL,
)
_QUANTIFIER = re.compile(rb"@for(?:All|Some)\b")


class FormulaMarker:
    """Screen that puts a statement into each formula of N3.

    A quantifier outside of formulas changes what names mean in statements anywhere in
    the document, so that the text after one is dropped.

    Attributes:
        has_braces: there was one so far, perhaps in a string.
        has_formulas: there was one so far.
        has_quantifiers: there was one outside of formulas; the text ended there.
    """

    def __init__(self) -> None:
        self._open = OpenToken()
        self._depth = 0
        self._is_first = True
        self.has_braces = False
        self.has_formulas = False
        self.has_quantifiers = False

    def feed(self, block: bytes, is_last: bool) -> bytes:
        """Return the text that may be parsed of the blocks so far.

        Raises:
            SourceFault: `LITERAL_TOO_LONG`, for a token.
        """
        if self.has_quantifiers:
            return b""
        block = self._open.joined(block, is_last=is_last)
        self.has_braces = self.has_braces or b"{" in block
        if is_last:
            block += PADDING
        parts = [_DEFAULT_PREFIX] if self._is_first else []
        self._is_first = False
        at = self._mark(block, parts)
        end = _PLAIN.match(block, at).end()  # type: ignore[union-attr]  # always
        if _QUANTIFIER.match(block, end):
            self.has_quantifiers = True
            parts.append(block[at:end])
        elif is_last:
            parts.append(block[at : -len(PADDING)])
        else:
            parts.append(block[at:end])
            if end < len(block):
                self._open.keep(block[end:])
        return b"".join(parts)

    def _mark(self, block: bytes, parts: list[bytes]) -> int:
        """Add all up to the last brace to the parts; return where the rest begins."""
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
            elif self._depth and (quantifier := _QUANTIFIER.match(block, end)):
                parts += block[at:end], _NO_QUANTIFIER
                at = quantifier.end()
            else:
                return at


def has_logic(document: bytes) -> bool:
    """Return whether there are formulas or quantifiers."""
    marker = FormulaMarker()
    marker.feed(document, is_last=True)
    return marker.has_formulas or marker.has_quantifiers


def without_formulas(
    blocks: Iterable[bytes], marker: FormulaMarker, log: FaultLog
) -> Iterator[bytes]:
    """Yield lines of canonical N-Quads that are neither in nor about a formula.

    Args:
        blocks: whole lines of the parser: those of a formula come before those about
            the formula.
        marker: the text went through it before.
        log: takes one `N3_FORMULA` for each statement left out.

    Raises:
        SourceFault: `N3_FORMULA`, for too many formulas.
    """
    formulas: set[bytes] = set()
    for block in blocks:
        if not marker.has_braces:
            yield block
            continue
        lines = block.splitlines(keepends=True)
        yield b"".join(x for x in lines if not _is_of_formula(x, formulas, log))
        if len(formulas) > MAX_FORMULAS:
            raise SourceFault(Reason.N3_FORMULA, f"more than {MAX_FORMULAS} formulas")


def _is_of_formula(line: bytes, formulas: set[bytes], log: FaultLog) -> bool:
    """Return whether the statement is in a formula or about one, and log this."""
    statement, _, last = line[:-3].rpartition(b" ")
    if not last.startswith(b"_:") or b'"' in last:
        last = b""  # an IRI, or the end of a literal: a label has no quotes
    elif statement.count(b" ") > 1 and last not in formulas:  # behind three terms
        formulas.add(last)  # and the statement is that of the marker
        return True
    subject = line[: line.index(b" ")]
    if subject not in formulas and last not in formulas:
        return False
    log.note(Reason.N3_FORMULA, "statements in formulas and about them")
    return True
