"""Write terms with any characters as N-Quads, and mend IRIs.

Invalid terms (a relative IRI, a bad language tag) are escaped so that each stays one
token: `checking.check` then drops the statement.

Many publishers write URLs as typed by people, with spaces, brackets or bars. Such a URL
is escaped as in browsers. Other text stays unchanged: text with a colon, two joined
URLs, a host with a space.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from pyoxigraph import NamedNode

from rdfcrawl.core.errors import Reason

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog


# An IRIREF of N-Quads needs escapes for these; `check` refuses them.
_NOT_IN_IRI = re.compile(r"[\x00-\x20<>\"{}|^`\\\ud800-\udfff]")
# N-Quads requires few of these escapes; the others end a line in some tools, or change
# the text direction on a terminal.
_IN_LITERAL = re.compile(
    r'[\x00-\x1f"\\\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]'
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_NOT_IN_LABEL = re.compile(r"[^A-Za-z0-9]")
_NOT_IN_LANGUAGE = re.compile(r"[^A-Za-z0-9-]")


def has_forbidden(value: str) -> bool:
    """Return whether a text has characters that are not allowed in IRIs."""
    return _NOT_IN_IRI.search(value) is not None


def iri(value: str) -> str:
    """Return an IRI as a term.

    >>> iri("http://example.org/a")
    '<http://example.org/a>'
    """
    if _NOT_IN_IRI.search(value):
        value = _NOT_IN_IRI.sub(lambda found: f"\\u{ord(found[0]):04X}", value)
    return f"<{value}>"


def blank(label: str) -> str:
    """Return a blank node as a term; equal labels give equal nodes.

    >>> blank("a_b"), blank("")
    ('_:ax5fxb', '_:x0x')
    """
    label = label or "\0"
    return "_:" + _NOT_IN_LABEL.sub(lambda found: f"x{ord(found[0]):x}x", label)


def resource(name: str, scope: str = "") -> str:
    """Return an IRI or blank node (`_:label`) as a term; scopes separate labels."""
    return blank(scope + name[2:]) if name.startswith("_:") else iri(name)


def literal(text: str, *, datatype: str = "", language: str = "") -> str:
    r"""Return a literal as a term; lone surrogates become U+FFFD.

    Control characters are escaped, so the lines are safe on terminals.

    >>> literal('a "b"', language="en")
    '"a \\"b\\""@en'
    """
    # Much faster than an expression: most texts need no escapes.
    is_plain = text.isascii() and text.isprintable()
    if not is_plain or '"' in text or "\\" in text:
        text = _IN_LITERAL.sub(_escape, text)
    if language:
        if not language.isalpha() or not language.isascii():  # unusual
            language = _NOT_IN_LANGUAGE.sub("_", language)
        return f'"{text}"@{language}'
    return f'"{text}"^^{iri(datatype)}' if datatype else f'"{text}"'


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    if "\ud800" <= char <= "\udfff":
        return "\ufffd"
    return _ESCAPES.get(char) or f"\\u{ord(char):04X}"


def has_surrogates(text: str) -> bool:
    """Return whether a text has lone surrogates, which RDF cannot hold."""
    return _SURROGATE.search(text) is not None


def without_surrogates(text: str) -> str:
    """Return a text with U+FFFD for each lone surrogate, as `literal` writes it."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def statement(subject: str, predicate: str, obj: str, graph: str = "") -> str:
    r"""Return the line of a statement made of terms.

    >>> statement("_:a", "<http://e/p>", '"x"')
    '_:a <http://e/p> "x" .\n'
    """
    return f"{subject} {predicate} {obj} {graph + ' ' if graph else ''}.\n"


MAX_CHARS: Final = 8192

# Characters that WHATWG URLs allow after the host and IRIs do not (RFC 3987 section
# 2.2), and percent signs without escape.
_IN_ASCII = r"%(?![0-9A-Fa-f]{2})|[\x00-\x20<>\"{}|\\^`\x7f\[\]"
_FORBIDDEN = re.compile(_IN_ASCII + "]")
_UP_TO_PATH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://[^/?#]*)?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# A scheme that suggests an IRI, not a text with a colon; and a host
_BEGIN = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#\\]+(?=[/?#]|\Z)|(?i:file):///"
    r"|(?i:urn|doi|info|tag|ark):(?=[^\s:])|(?i:mailto|tel|fax|sms|data):(?=\s*[^\s:]))"
)
_SECOND_URL = re.compile(r"[\s<>\"](?:https?|ftps?)://", re.IGNORECASE)
_NO_TEXT = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)

_IRI_OR_STRING = re.compile(rb'"(?>[^"\\\n\r]++|\\.)*+"|\\.|<(?!<)([^<>"\n\r]*+)>')
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")


def escape(text: str) -> str:
    """Return a path, query and fragment with invalid characters escaped.

    >>> escape("/a b?{c}=100%#d#e")
    '/a%20b?%7Bc%7D=100%25#d%23e'
    """
    before, number_sign, fragment = text.partition("#")
    fragment = fragment.replace("#", "%23")
    forbidden = _FORBIDDEN if text.isascii() else _forbidden_anywhere()
    return forbidden.sub(_percent, before + number_sign + fragment)


@cache  # compiled on first use
def _forbidden_anywhere() -> re.Pattern[str]:
    no_characters = "".join(
        rf"\U{plane:04x}fffe\U{plane:04x}ffff" for plane in range(1, 15)
    )
    return re.compile(
        _IN_ASCII
        + r"\x80-\x9f\ud800-\uf8ff\ufdd0-\ufdef\ufff0-\uffff\U000e0000-\U000e0fff"
        + rf"\U000f0000-\U0010ffff{no_characters}]"
    )


def _percent(found: re.Match[str]) -> str:
    return quote(found[0], safe="", errors="replace")


@lru_cache(maxsize=1024)  # requested several times per document
def iri_of_url(url: str) -> str:
    """Return a URL as an absolute IRI, escaped if necessary; empty if impossible.

    >>> iri_of_url("http://e.example/a|b")
    'http://e.example/a%7Cb'
    """
    try:
        return NamedNode(url).value
    except ValueError:
        begin = _UP_TO_PATH.match(url)
    if begin is None:
        return ""
    with suppress(ValueError):
        return NamedNode(begin[0] + escape(url[begin.end() :])).value
    return ""


def mended_iri(iri: str) -> str:
    """Return the intended absolute IRI; a valid one stays unchanged.

    Raises:
        ValueError: the meaning is uncertain; the message has the reason.

    >>> mended_iri("http://e.example/a b ")
    'http://e.example/a%20b'
    """
    with suppress(ValueError):
        return NamedNode(iri).value
    text = iri.strip(" \t\n\r\f")
    begin = _BEGIN.match(text)
    if begin is None or _NO_TEXT.search(text) or len(text) > MAX_CHARS:
        raise ValueError(f"not an IRI: {text[:200]}")
    if _SECOND_URL.search(text):
        raise ValueError(f"two URLs: {text[:200]}")
    return NamedNode(begin[0] + escape(text[begin.end() :])).value


def mended_reference(reference: str) -> str:
    """Return the intended IRI of a reference that may be relative."""
    if _SCHEME.match(reference.lstrip()):
        return mended_iri(reference)
    text = reference.strip(" \t\n\r\f")
    if _NO_TEXT.search(text) or _SECOND_URL.search(text) or len(text) > MAX_CHARS:
        raise ValueError(f"not an IRI: {text[:200]}")
    return escape(text)


def mended_line(line: bytes, log: FaultLog) -> bytes:
    """Return a refused N-Quads line with its IRIs mended if possible (`REPAIRED`)."""

    def mended(match: re.Match[bytes]) -> bytes:
        return match[0] if match[1] is None else mended_token(match, mended_iri, log)

    return _IRI_OR_STRING.sub(mended, line)


def mended_token(
    token: re.Match[bytes], mend: Callable[[str], str], log: FaultLog
) -> bytes:
    """Return a token whose group 1 is an IRI, mended if possible (`REPAIRED`)."""
    return _mended_bytes(token[1], mend, log) or token[0]


def mended_term(reference: bytes, log: FaultLog) -> bytes:
    """Return the term of a reference, mended if necessary; empty if impossible."""
    return _mended_bytes(reference, mended_reference, log)


def _mended_bytes(reference: bytes, mend: Callable[[str], str], log: FaultLog) -> bytes:
    try:
        iri = _unescaped(reference.decode())
        new = mend(iri)
    except ValueError:
        return b""
    if new != iri:
        note_mended(log, iri)
    return f"<{new}>".encode()


def note_language(log: FaultLog, tag: str) -> None:
    """Log a mended language tag."""
    log.note(Reason.REPAIRED, f"language tag {tag[:200]}", apart=True)


def note_mended(log: FaultLog, iri: str) -> None:
    """Log a mended IRI."""
    log.note(Reason.REPAIRED, f"IRI with forbidden characters: {iri[:200]}")


def _unescaped(text: str) -> str:
    r"""Return a text with `\u` and `\U` decoded (`ValueError` for an invalid one)."""
    if "\\" not in text:
        return text
    text = _ESCAPE.sub(_character, text)
    # Two halves of a character become one.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _character(escape: re.Match[str]) -> str:
    number = int(escape[1] or escape[2], 16)
    if number > sys.maxunicode:  # `chr` raises an `OverflowError` from 2**31 on
        raise ValueError(f"not a character: {escape[0]}")
    return chr(number)


_TAG: Final = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")
_ENCODING: Final = re.compile(r"\.(?:utf-?8|iso-?8859-?\d\d?)\Z", re.IGNORECASE)


def language_tag(text: str) -> str:
    """Return a well-formed language tag; empty for other text.

    >>> language_tag(" en_US.UTF-8 "), language_tag("en-"), language_tag("English (US)")
    ('en-US', 'en', '')
    """
    tag = _ENCODING.sub("", text.strip().replace("_", "-")).rstrip("-")
    return tag if _TAG.fullmatch(tag) else ""


_MAX_DIGITS: Final = 18  # of a number of 64 bits


def text_of_term(iri: bytes, literal: bytes) -> str:
    r"""Return the text of an IRI without brackets, or of a literal with its quotes.

    >>> text_of_term(b"", rb'"a\nb"'), text_of_term(b"http://e.example/", b"")
    ('a\nb', 'http://e.example/')
    """
    if literal:
        if b"\\" in literal:
            with suppress(ValueError):  # JSON supports the escapes of N-Quads
                return str(json.loads(literal))
        return literal[1:-1].decode("utf-8", "replace")
    return iri.decode("utf-8", "replace")


def whole_number(text: str) -> int:
    """Return a non-negative integer; 0 for other text.

    >>> whole_number("12"), whole_number("-3"), whole_number("9" * 19)
    (12, 0, 0)
    """
    is_number = text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS
    return int(text) if is_number else 0


def unix_ms(text: str) -> int | None:
    """Return a time of ISO 8601 as Unix time in milliseconds; None for other text.

    >>> unix_ms("1970-01-01T00:00:01.5Z"), unix_ms("soon")
    (1500, None)
    """
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
