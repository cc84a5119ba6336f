"""Parse times of sources as spans of microseconds.

A W3C datetime means no more than it says: `2013-01` is all of January. Its end tells
whether something is over, its begin whether something may be news. Without a time zone
it is read as UTC.

Source: ANSI/NISO Z39.99-2017, "Sitemap Document Formats"; W3C NOTE-datetime.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from rdfcrawl.sitemaps.dates import TimePrecision, parse_point

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_US: Final = timedelta(microseconds=1)
_MAX_CACHED: Final = 4096


def is_datetime(text: str) -> bool:
    """Return whether a text is a point in time."""
    return _span(text) is not None


def begin_us(text: str) -> int | None:
    """Return the first microsecond of a time since 1970; None if invalid.

    >>> begin_us("1970-01-01T01:00:01+01:00")
    1000000
    """
    span = _span(text)
    return span[0] if span else None


def end_us(text: str) -> int | None:
    """Return the last microsecond of a time since 1970; None if invalid.

    >>> end_us("1970-01-01")
    86399999999
    """
    span = _span(text)
    return span[1] if span else None


def text_of(us: int) -> str:
    """Return microseconds since 1970 as a W3C datetime in UTC.

    >>> text_of(1500000)
    '1970-01-01T00:00:01.500000Z'
    """
    text = (_EPOCH + timedelta(microseconds=us)).isoformat()
    return text.replace("+00:00", "Z")


@lru_cache(maxsize=_MAX_CACHED)
def _span(text: str) -> tuple[int, int] | None:
    point = parse_point(text)
    if point is None:
        return None
    begin = (point.earliest - _EPOCH) // _US
    if point.precision is TimePrecision.FRACTION:
        digits = point.fraction[:6]
        begin += int(digits.ljust(6, "0"))
        return begin, begin + 10 ** (6 - len(digits)) - 1
    return begin, (point.end - _EPOCH) // _US - 1
