r"""Mend Turtle, TriG and N3 that the parser refused.

Invalid characters in IRIs are escaped. A backslash without escape is marked, so that
only its statement is left out: else the parser would lose its place within a long
string, and quoted text would become statements.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rdfcrawl.rdf.encoding import MARK_BYTES
from rdfcrawl.rdf.iris import mended_reference, mended_token
from rdfcrawl.rdf.lenient import COMMENT, PADDING, STRINGS, OpenToken

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.faultlog import FaultLog

_LOW: Final = rb"[dD][89a-fA-F][0-9a-fA-F]{2}"  # of half a character
_GOOD: Final = (
    rb"\\(?:[tbnrf\"'\\]|u(?!" + _LOW + rb")[0-9A-Fa-f]{4}"
    rb"|U00(?:0(?!0" + _LOW + rb")[0-9A-Fa-f]|10)[0-9A-Fa-f]{4})"
)
_CLEAN_STRINGS: Final = STRINGS.replace(rb"\\.", _GOOD)
_IRI_PART: Final = rb"(?>[^<>\"\s{}|^`\\%#\[\]]++|%[0-9A-Fa-f]{2})*+"
# Text that needs no mending, in one step. `<=` and `<-` are operators.
_CLEAN = re.compile(
    rb"(?>[^\"'#<\\]++|" + _CLEAN_STRINGS + rb"|" + COMMENT + rb"|\\."
    rb"|<" + _IRI_PART + rb"(?:#" + _IRI_PART + rb")?>|<<|<[=-](?=[^=-]))*+",
    re.DOTALL,
)
_TOKEN = re.compile(STRINGS + rb"|<([^<>\"\n\r]*+)>", re.DOTALL)
# Errors that no later block can complete.
_BROKEN = re.compile(
    rb"[\"'](?![\"'])(?>[^\"'\\\n\r]++|\\.)*+[\n\r]|<[^<>\n\r]*+[<\n\r]", re.DOTALL
)
_ESCAPES = re.compile(rb"(" + _GOOD + rb")|\\", re.DOTALL)


class RepairScreen:
    """Screen that mends text, and logs `REPAIRED` for each IRI.

    `on_mark` is called at a bad escape: statements with `MARK` must be left out then.
    """

    def __init__(self, log: FaultLog, on_mark: Callable[[], None]) -> None:
        self._log, self._on_mark = log, on_mark
        self._open = OpenToken()

    def feed(self, block: bytes, is_last: bool) -> bytes:
        """Return the text that may be parsed now (`LITERAL_TOO_LONG` for a token)."""
        block = self._open.joined(block, is_last=is_last)
        text = block + PADDING if is_last else block
        parts: list[bytes] = []
        at = 0
        while True:
            end = min(_CLEAN.match(text, at).end(), len(block))  # type: ignore[union-attr]
            parts.append(text[at:end])
            if end == len(block):
                break
            if token := _TOKEN.match(text, end):
                parts.append(self._mended(token))
                at = token.end()
            elif is_last or _BROKEN.match(text, end):
                parts.append(text[end : end + 1])  # an error that stays one
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
