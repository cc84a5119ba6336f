"""`Retry-After` and the waits of the crawler's own choice."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def parse_http_date(value: str) -> datetime | None:
    """Parse an HTTP date, which is always GMT; None if invalid."""
    try:
        moment = parsedate_to_datetime(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def parse_retry_after(value: str, now: datetime) -> float | None:
    """Return seconds from `now`, at least 0, or None if `value` says nothing.

    Source: RFC 9110 10.2.3: a number of seconds or an HTTP date.

    >>> parse_retry_after("120", datetime(2026, 1, 1, tzinfo=UTC))
    120.0
    """
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:12])
    moment = parse_http_date(value)
    return None if moment is None else max(0.0, (moment - now).total_seconds())


def by_its_own_clock(value: str, date: str) -> str:
    """Return `Retry-After` in seconds, by the header `Date` of the same answer.

    Our clock and that of a server may differ by more than the wait.

    >>> by_its_own_clock(
    ...     "Thu, 01 Jan 2026 00:02:00 GMT", "Thu, 01 Jan 2026 00:00:00 GMT"
    ... )
    '120'
    """
    if not value or value.strip().isdigit():
        return value
    now = parse_http_date(date)
    secs = None if now is None else parse_retry_after(value, now)
    return value if secs is None else f"{secs:.0f}"


def backoff_secs(n_failures: int, *, base_secs: float, max_secs: float) -> float:
    """Return how long to wait after `n_failures` in a row, doubling from `base_secs`.

    >>> [backoff_secs(n, base_secs=1, max_secs=300) for n in (0, 1, 2, 60)]
    [1.0, 2.0, 4.0, 300.0]
    """
    return float(min(max_secs, base_secs * 2.0 ** min(n_failures, 60)))
