"""Format values of a report as text, and escape text from the web."""

from __future__ import annotations

import html
import re
from datetime import date, timedelta
from typing import Final

UNDEFINED: Final = "-"
_EPOCH: Final = date(1970, 1, 1)
_LAST_DAY: Final = (date.max - _EPOCH).days
# Not allowed in HTML, or affecting the order of adjacent text: lone surrogates,
# control characters, direction marks.
_UNSHOWN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


def shown(text: str) -> str:
    r"""Escape characters that cannot be shown.

    >>> shown("a\x00b"), shown("a\u202eb")
    ('a\\u0000b', 'a\\u202eb')
    """
    return _UNSHOWN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def escape(text: str) -> str:
    """Escape a text for HTML elements and attributes.

    >>> escape("<a href='x'>&")
    '&lt;a href=&#x27;x&#x27;&gt;&amp;'
    """
    return html.escape(shown(text))


def number(value: float | None) -> str:
    """Format a number: integers with separators, others with four digits.

    >>> number(1234567), number(0.123456), number(12345.6), number(None)
    ('1,234,567', '0.1235', '12,346', '-')
    """
    if value is None:
        return UNDEFINED
    if value == int(value):
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def day_text(day: float) -> str:
    """Return the date of a day since 1970.

    >>> day_text(20_454)
    '2026-01-01'
    """
    clamped = min(max(int(day), -_EPOCH.toordinal() + 1), _LAST_DAY)
    return (_EPOCH + timedelta(days=clamped)).isoformat()
