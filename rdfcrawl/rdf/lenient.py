"""Tokens of Turtle, TriG and N3, whole or over the ends of blocks."""

from __future__ import annotations

import re
from typing import Final

from rdfcrawl.core.errors import Reason, SourceFault

MAX_TOKEN_BYTES: Final = 16 * 2**20  # longest token of the parser

# Distinguishable tokens of Turtle, TriG and N3, including bad IRIs without quotation
# marks and line breaks.
STRINGS: Final = (
    rb'"""(?>[^"\\]++|\\.|"(?!""))*+"""|\'\'\'(?>[^\'\\]++|\\.|\'(?!\'\'))*+\'\'\''
    rb'|"(?!")(?>[^"\\\n\r]++|\\.)*+"|""(?=[^"])'
    rb"|'(?!')(?>[^'\\\n\r]++|\\.)*+'|''(?=[^'])"
)
COMMENT: Final = rb"#[^\n\r]*+[\n\r]"
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


_LOW: Final = rb"[dD][89a-fA-F][0-9a-fA-F]{2}"  # of half a character
_GOOD: Final = (
    rb"\\(?:[tbnrf\"'\\]|u(?!" + _LOW + rb")[0-9A-Fa-f]{4}"
    rb"|U00(?:0(?!0" + _LOW + rb")[0-9A-Fa-f]|10)[0-9A-Fa-f]{4})"
)
# An empty string is one even at the end of the text.
_GOOD_STRINGS: Final = STRINGS.replace(rb"\\.", _GOOD).replace(b"(?=[^", b"(?![")
GOOD_STRING = re.compile(_GOOD_STRINGS, re.DOTALL)
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
