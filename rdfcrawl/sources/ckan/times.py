"""Times of a portal: read from `metadata_modified`, written for its search index."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

MARGIN_SECS: Final = 3600.0  # for clock differences and a delayed index

_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?)?"
    r"\s*(Z|[+-]\d\d:?\d\d)?",
    re.ASCII,
).fullmatch


def solr_time(text: object) -> str:
    """Return a time in the form of CKAN's search index; empty if invalid.

    CKAN writes microseconds without a zone, in UTC; the index has milliseconds. The
    results sort chronologically.

    >>> solr_time("2024-02-29T12:00:00.123456")
    '2024-02-29T12:00:00.123Z'
    """
    found = parse_time(text)
    if found is None:
        return ""
    return f"{found:%Y-%m-%dT%H:%M:%S}.{found.microsecond // 1000:03}Z".rjust(24, "0")


def parse_time(text: object) -> datetime | None:
    """Return a time in UTC, the default zone; None if invalid."""
    match = _TIME(text.strip()) if isinstance(text, str) else None
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(n or 0) for n in match.groups()[:6])
    fraction, zone = match[7] or "0", match[8]
    micros = int(fraction[:6].ljust(6, "0"))
    try:
        found = datetime(year, month, day, hour, minute, second, micros, UTC)
        if zone and zone != "Z":
            sign = 1 if zone[0] == "+" else -1
            hours, minutes = int(zone[1:3]), int(zone[-2:])
            found -= sign * timedelta(hours=hours, minutes=minutes)
    except (ValueError, OverflowError):
        return None
    return found


def date_time(text: str) -> str:
    """Return a time in XML Schema form, with zone and fraction; empty if invalid.

    >>> date_time("2024-02-29 12:00:00.5+0100")
    '2024-02-29T12:00:00.5+01:00'
    """
    match = _TIME(text.strip())
    if match is None or match[4] is None or parse_time(text) is None:
        return ""
    zone = match[8] or ""
    if len(zone) == len("+0100"):
        zone = f"{zone[:3]}:{zone[3:]}"
    fraction = f".{match[7]}" if match[7] else ""
    day = f"{match[1]}-{match[2]}-{match[3]}"
    return f"{day}T{match[4]}:{match[5]}:{match[6] or '00'}{fraction}{zone}"


def since_for_next(
    started_ms: int, newest: str, *, margin_secs: float = MARGIN_SECS
) -> str:
    """Return the start of the next incremental harvest, in the form of `solr_time`.

    It is the earlier of two times, minus the margin: the start of this harvest by our
    clock (Unix time in ms), and the newest change seen, by the portal's clock. So
    neither a wrong clock nor a date in the future skips changes.
    """
    times = [datetime.fromtimestamp(started_ms / 1000, UTC)]
    seen = parse_time(newest)
    if seen is not None:
        times.append(seen)
    try:
        earliest = min(times) - timedelta(seconds=margin_secs)
    except OverflowError:
        earliest = datetime.min.replace(tzinfo=UTC)
    return solr_time(earliest.isoformat())
