"""Read values of terms that a crawl has written itself, such as its provenance."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime
from typing import Final

_MAX_DIGITS: Final = 18  # of a number of 64 bits


def text_of_term(iri: bytes, literal: bytes) -> str:
    r"""Return the text of an IRI without brackets, or of a literal with its quotes.

    >>> text_of_term(b"", rb'"a\nb"'), text_of_term(b"http://e.example/", b"")
    ('a\nb', 'http://e.example/')
    """
    if literal:
        with suppress(ValueError):  # JSON supports the escapes of N-Quads
            return str(json.loads(literal))
        return literal[1:-1].decode("utf-8", "replace")
    return iri.decode("utf-8", "replace")


def whole_number(text: str, default: int = 0) -> int:
    """Return a non-negative integer, or the default for other text.

    >>> whole_number("12"), whole_number("-3"), whole_number("9" * 19)
    (12, 0, 0)
    """
    is_number = text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS
    return int(text) if is_number else default


def unix_ms(text: str) -> int | None:
    """Return a time of ISO 8601 as Unix time in milliseconds; None for other text.

    >>> unix_ms("1970-01-01T00:00:01.5Z"), unix_ms("soon")
    (1500, None)
    """
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
