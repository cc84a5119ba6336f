"""The text of a document: read in pieces, with its references replaced.

References are `&amp;`, `&#233;`, `&eacute;` and short entities of a DOCTYPE. Other
text stays unchanged: an unescaped `&` of a URL is much more likely than an undeclared
entity.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Generator
from html.entities import name2codepoint
from itertools import groupby
from operator import itemgetter
from typing import Any, BinaryIO, Final

from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.rdf.text import Utf8Stream

PIECE_BYTES: Final = 64 * 1024


def iter_text(
    source: ByteSource, *, log: FaultLog, charset: str = "", n_bytes: int
) -> Generator[str]:
    """Yield a document as text, in pieces of about `PIECE_BYTES`.

    An invalid byte sequence becomes `rdf.encoding.MARK`. The fault of a failing source
    is logged, and ends the text.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        file: Any = _UpToFault(source.open(), log)
    except SourceFault as error:
        log.note(error.fault.reason, error.fault.detail)
        return
    with Utf8Stream(
        file, charset=charset, is_xml=True, max_bytes=n_bytes, log=log
    ) as stream:
        while piece := stream.read(PIECE_BYTES):
            yield decoder.decode(piece)


class _UpToFault:
    """A file that ends at the first read failure."""

    def __init__(self, file: BinaryIO, log: FaultLog) -> None:
        self._file, self._log = file, log
        self._read: Callable[[int], bytes] = getattr(file, "read1", file.read)
        self._is_over = False
        self.close = file.close

    def read(self, size: int) -> bytes:
        parts, left = [], size
        while left > 0 and not self._is_over:
            try:
                part = self._read(left)
            except SourceFault as error:
                self._log.note(error.fault.reason, error.fault.detail)
                part = b""
            self._is_over = not part
            parts.append(part)
            left -= len(part)
        return b"".join(parts)


MAX_VALUE_CHARS: Final = 1024  # of one declared entity
MAX_DECLARED_CHARS: Final = 16 * 1024  # of all declared entities
MAX_EXPANDED_CHARS: Final = 64 * 1024  # of all references to them

_REFERENCE = re.compile(
    r"&(?:#(?P<decimal>[0-9]{1,7})|#[xX](?P<hex>[0-9A-Fa-f]{1,6})"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_.\-]{0,63}));"
)
_DECLARATION = re.compile(
    r"<!ENTITY\s+(?P<name>[^\s%\"'<>&;]{1,64})\s+"
    r"(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)')\s*>"
)
_KNOWN: Final = {
    **{name: chr(code) for name, code in name2codepoint.items()},  # of XHTML 1.0
    "apos": "'",
}


class EntityDecoder:
    """Replacer of references, with limits for the entities of a DOCTYPE.

    `log` receives unknown references.
    """

    def __init__(self, log: FaultLog) -> None:
        self._log = log
        self._declared: dict[str, str] = {}
        self._left = MAX_EXPANDED_CHARS

    def declare(self, doctype: str) -> None:
        """Declare the entities of a DOCTYPE that are short and not nested.

        The others are one fault, and references to them stay unchanged; nothing is
        fetched.
        """
        n_plain = n_chars = 0
        for found in _DECLARATION.finditer(doctype):
            value = found["double"] if found["single"] is None else found["single"]
            n_chars += len(value)
            is_short = len(value) <= MAX_VALUE_CHARS and n_chars <= MAX_DECLARED_CHARS
            if is_short and "<" not in value and not _is_nested(value):
                n_plain += 1
                self._declared.setdefault(found["name"], _replace_known(value))
        if refused := doctype.count("<!ENTITY") - n_plain:
            detail = "entities that are nested, external or long are not replaced"
            self._log.note(Reason.ENTITY_EXPANSION, detail, refused)

    def replace(self, text: str) -> str:
        """Return the text with its known references replaced."""
        return _REFERENCE.sub(self._value, text)

    def _value(self, found: re.Match[str]) -> str:
        name = found["name"]
        if name is None:
            return _character(found) or self._unknown(found[0])
        value = self._declared.get(name)
        if value is None or name in ("amp", "lt", "gt", "quot", "apos"):
            return _KNOWN.get(name) or self._unknown(found[0])
        self._left -= len(value)
        if self._left < 0:
            detail = f"entities expand to more than {MAX_EXPANDED_CHARS} characters"
            self._log.note(Reason.ENTITY_EXPANSION, detail)
            return found[0]
        return value

    def _unknown(self, reference: str) -> str:
        self._log.note(Reason.REPAIRED, f"unknown reference: {reference}")
        return reference


def _is_nested(value: str) -> bool:
    return any(
        found["name"] is not None and found["name"] not in _KNOWN
        for found in _REFERENCE.finditer(value)
    )


def _replace_known(value: str) -> str:
    return _REFERENCE.sub(
        lambda found: _KNOWN.get(found["name"] or "") or _character(found) or found[0],
        value,
    )


def _character(found: re.Match[str]) -> str:
    """Return the character of a numeric reference; empty if not allowed in XML."""
    if found["decimal"] is None and found["hex"] is None:
        return ""
    code = int(found["decimal"]) if found["decimal"] else int(found["hex"], 16)
    is_control = code < 0x20 and code not in (0x9, 0xA, 0xD)
    is_no_character = 0xD800 <= code <= 0xDFFF or code in (0xFFFE, 0xFFFF)
    return "" if is_control or is_no_character or code > 0x10FFFF else chr(code)


class TextBuffer:
    """Buffer of the text between two tags, which arrives in parts."""

    def __init__(self, entities: EntityDecoder, log: FaultLog, max_chars: int) -> None:
        self._entities, self._log, self._max_chars = entities, log, max_chars
        self._parts: list[tuple[str, bool]] = []
        self._n_chars = 0
        self.is_used = False

    def add(self, text: str, *, is_data: bool = False) -> None:
        """Add text with references, possibly incomplete, or text of a CDATA section."""
        if text:
            self.is_used = True
            self._n_chars += len(text)
            if self._n_chars <= self._max_chars:
                self._parts.append((text, is_data))
            else:
                self._parts.clear()

    def separate(self) -> None:
        """Separate the text before and after a comment: no reference spans both."""
        if self.is_used:
            self._parts.append(("", True))

    def take(self) -> str:
        """Return the text and clear the buffer; empty if too long."""
        text = ""
        if self._n_chars > self._max_chars:
            detail = f"a text of more than {counted(self._max_chars, 'character')}"
            self._log.note(Reason.LITERAL_TOO_LONG, detail)
        else:
            for is_data, parts in groupby(self._parts, itemgetter(1)):
                part = "".join(text for text, _ in parts)
                if "\r" in part:  # XML 1.0 2.11
                    part = part.replace("\r\n", "\n").replace("\r", "\n")
                text += part if is_data else self._entities.replace(part)
        self._parts.clear()
        self._n_chars, self.is_used = 0, False
        return text
