"""Time: the clock of a crawl, and the dates of the W3C and of HTTP."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from functools import lru_cache, total_ordering
from typing import Final

from rdfcrawl.core.namespaces import DCTERMS, XSD

# Runs while the machine sleeps, and cannot be set.
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_MAX_CHARS: Final = 80
_US: Final = timedelta(microseconds=1)


class _ProcessTime:
    """Unix time of this process, from its start."""

    def __init__(self) -> None:
        self.began_ns = time.time_ns() - time.clock_gettime_ns(_CLOCK)


_time: Final = _ProcessTime()


def now_ms() -> int:
    """Return Unix time in milliseconds; it never decreases in this process.

    The latest version of a document counts, so setting the clock back must not make a
    new version older.
    """
    return (_time.began_ns + time.clock_gettime_ns(_CLOCK)) // 1_000_000


def second_text(unix_ms: int) -> str:
    """Return the second of a time, in UTC.

    >>> second_text(1_790_000_000_999)
    '2026-09-21T14:13:20Z'
    """
    return f"{_second(unix_ms // 1000)}Z"


def moment_text(unix_ms: int) -> str:
    """Return a time in UTC, as `xsd:dateTime` and `WARC-Date` have it.

    >>> moment_text(1_700_000_000_007)
    '2023-11-14T22:13:20.007Z'
    """
    secs, ms = divmod(unix_ms, 1000)
    return f"{_second(secs)}.{ms:03}Z"


@lru_cache(maxsize=256)
def _second(unix_secs: int) -> str:
    return datetime.fromtimestamp(unix_secs, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def advance_to(ms: int) -> None:
    """Advance the time of this process.

    Args:
        ms: Unix time in milliseconds; a time in the past changes nothing.
    """
    ahead_ms = ms - now_ms()
    if ahead_ms > 0:
        _time.began_ns += ahead_ms * 1_000_000


# Seconds without a zone, a space for `T` and zones without a colon are not in the
# note, but common.
_W3C = re.compile(
    r"(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2})"
    r"(?:[Tt ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,30}))?)?"
    r"\s*(?P<zone>[Zz]|UTC|GMT|[+-][0-9]{2}:?[0-9]{2}|[+-][0-9]{2})?)?)?)?"
).fullmatch
_DAY_NAME = re.compile(
    r"(?:[A-Za-z]{3,9},?\s+)?[0-9]{1,2}\s+[A-Za-z]{3}\s+[0-9]{2,4}\s"
)


class TimePrecision(IntEnum):
    """Smallest unit of a written point in time."""

    YEAR = 1
    MONTH = 2
    DAY = 3
    MINUTE = 4
    SECOND = 5
    FRACTION = 6


@total_ordering
@dataclass(frozen=True, slots=True)
class PointInTime:
    """A point in time with the precision of its text.

    Ordered by the earliest possible moment, then by precision: a day comes before its
    first second.
    """

    earliest: datetime  # possible moment, in UTC, to the second
    precision: TimePrecision
    fraction: str = ""  # digits of a second, without zeros at the end
    # the text has a zone; otherwise it was read as UTC, as is every date without a time
    is_zoned: bool = True

    def __lt__(self, other: PointInTime) -> bool:
        return self._key() < other._key()

    def _key(self) -> tuple[datetime, str, TimePrecision]:
        return self.earliest, self.fraction, self.precision

    @property
    def end(self) -> datetime:
        """The first moment after all possible ones."""
        at = self.earliest
        try:
            match self.precision:
                case TimePrecision.YEAR:
                    return at.replace(year=at.year + 1)
                case TimePrecision.MONTH:
                    return (at + timedelta(days=31)).replace(day=1)
                case TimePrecision.DAY:
                    return at + timedelta(days=1)
                case TimePrecision.MINUTE:
                    return at + timedelta(minutes=1)
        except (ValueError, OverflowError):
            return datetime.max.replace(tzinfo=UTC)
        return at + timedelta(seconds=1)

    def may_be_after(self, moment: datetime) -> bool:
        """Return whether the point may be after a moment.

        A change on the day of the last visit may be after this visit. Without a zone,
        14 hours are allowed for.
        """
        return self.end > moment - timedelta(hours=0 if self.is_zoned else 14)

    @property
    def text(self) -> str:
        """The point as in the W3C note: in UTC, with its precision."""
        full = self.earliest.strftime("%Y-%m-%dT%H:%M:%S").zfill(19)
        match self.precision:
            case TimePrecision.YEAR | TimePrecision.MONTH | TimePrecision.DAY:
                return full[: 1 + 3 * self.precision]
            case TimePrecision.MINUTE:
                return full[:16] + "Z" * self.is_zoned
        fraction = "." + self.fraction if self.fraction else ""
        return full + fraction + "Z" * self.is_zoned

    @property
    def datatype(self) -> str:
        """IRI of the datatype of `text`; XML Schema has none for a minute."""
        return _DATATYPES.get(self.precision, XSD + "dateTime")


_DATATYPES: Final = {
    TimePrecision.YEAR: XSD + "gYear",
    TimePrecision.MONTH: XSD + "gYearMonth",
    TimePrecision.DAY: XSD + "date",
    TimePrecision.MINUTE: DCTERMS + "W3CDTF",
}


@lru_cache(maxsize=1024)
def parse_point(text: str) -> PointInTime | None:
    """Parse a form of the W3C note, or of RFC 5322 as in RSS 2.0; else return None.

    >>> parse_point("1997-07").text, parse_point("1997-07-16T19:20+01:00").text
    ('1997-07', '1997-07-16T18:20Z')
    """
    text = text.strip()
    if len(text) > _MAX_CHARS:
        return None
    try:
        found = _W3C(text)
        return _of_w3c(found) if found else _of_rfc_5322(text)
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def _of_w3c(found: re.Match[str]) -> PointInTime:
    parts = found.groupdict()
    names = ("month", "day", "minute", "second", "fraction")
    precision = TimePrecision(1 + sum(parts[name] is not None for name in names))
    month, day = (int(parts[name] or 1) for name in names[:2])
    hour, minute, second = (int(parts[x] or 0) for x in ("hour", "minute", "second"))
    leap = second == 60  # treat it as the second before
    at = datetime(int(parts["year"]), month, day, hour, minute, second - leap, 0, UTC)
    fraction = "" if leap else (parts["fraction"] or "").rstrip("0")
    if precision is TimePrecision.FRACTION and not fraction:
        precision = TimePrecision.SECOND
    zone = parts["zone"]
    return PointInTime(
        at - _offset(zone or "Z"),
        precision,
        fraction,
        is_zoned=bool(zone) or precision <= TimePrecision.DAY,
    )


def _offset(zone: str) -> timedelta:
    if zone[0] not in "+-":
        return timedelta(0)
    digits = zone[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 23 or minutes > 59:
        raise ValueError(zone)
    offset = timedelta(hours=hours, minutes=minutes)
    return offset if zone[0] == "+" else -offset


def _of_rfc_5322(text: str) -> PointInTime | None:
    if not _DAY_NAME.match(text):
        return None
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 (slow; few dates)

    at = parsedate_to_datetime(text)
    is_zoned = at.tzinfo is not None or text.endswith("-0000")
    moment = at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    has_seconds = text.count(":") > 1
    precision = TimePrecision.SECOND if has_seconds else TimePrecision.MINUTE
    return PointInTime(moment, precision, is_zoned=is_zoned)


def parse_http_date(value: str) -> datetime | None:
    """Parse an HTTP date, which is always GMT; None if invalid."""
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 (slow; few dates)

    try:
        moment = parsedate_to_datetime(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def parse_retry_after(value: str, now: datetime | None = None) -> float | None:
    """Return seconds from now, at least 0, or None if `value` says nothing.

    Source: RFC 9110 10.2.3: a number of seconds or an HTTP date.

    >>> parse_retry_after("120")
    120.0
    """
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:12])
    moment = parse_http_date(value)
    if moment is None:
        return None
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


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


@lru_cache(maxsize=4096)
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
