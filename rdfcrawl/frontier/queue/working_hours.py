"""The hours in which hosts may be visited, in their time zone."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.values import dictionary
from rdfcrawl.uri import host_of

if TYPE_CHECKING:
    from rdfcrawl.core.visits import Visit

_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY: Final = "|".join(_DAYS)
_TIME: Final = "[0-2][0-9]:[0-5][0-9](?::[0-5][0-9])?"
_SPAN: Final = re.compile(
    rf"(?:(?P<first>{_DAY})(?:-(?P<last>{_DAY}))? +)?"
    r"(?P<from>{0})-(?P<to>{0})".format(_TIME),
    re.IGNORECASE,
).fullmatch
_WHOLE_DAY: Final = 24 * 3600
_is_pattern: Final = re.compile(r"\*|\.?[^\s/:*.][^\s/*]*").fullmatch
_LOOK_DAYS: Final = 9  # each span begins at least once a week


class OpenSpan(NamedTuple):
    """A span of time on some days of the week, which may pass midnight.

    Attributes:
        days: on which it begins, from Monday (0).
        begin: in seconds of the day.
        end: likewise; at most `begin` if it is on the next day.
    """

    days: frozenset[int]
    begin: int
    end: int


class HostHours:
    """The hours of the hosts of one pattern.

    >>> hours = HostHours.parse("mon-fri 22:00-06:00")
    >>> friday_noon = datetime(2026, 1, 2, 12, tzinfo=UTC).timestamp()
    >>> hours.closed_secs(friday_noon) / 3600
    10.0
    >>> hours.open_secs(friday_noon + 11 * 3600) / 3600  # until Saturday, 6:00
    7.0
    """

    def __init__(self, spans: tuple[OpenSpan, ...], zone: tzinfo) -> None:
        self._spans = spans
        self._zone = zone
        self._known = 0.0, 0.0, False  # begin, end, and whether it is open

    @classmethod
    def parse(cls, text: str) -> HostHours:
        """Parse comma-separated spans, and an optional time zone.

        Raises:
            ValueError: the text is invalid.
        """
        pieces = [piece.strip() for piece in text.split(",")]
        head, _, zone = pieces[-1].rpartition(" ")
        if _SPAN(head.strip()):
            pieces[-1] = head.strip()
        else:
            zone = "UTC"
        return cls(tuple(map(_span_of, pieces)), _zone_of(zone))

    def closed_secs(self, at: float) -> float:
        """Return the seconds until the hosts may be visited; 0 if now."""
        _, until, is_open = self._state(at)
        return 0.0 if is_open else until - at

    def open_secs(self, at: float) -> float:
        """Return for how long the hosts may still be visited."""
        _, until, is_open = self._state(at)
        return until - at if is_open else 0.0

    def _state(self, at: float) -> tuple[float, float, bool]:
        """Return the span around a Unix time, and whether it is open."""
        since, until, _ = self._known
        if not since <= at < until:
            self._known = self._find(at)
        return self._known

    def _find(self, at: float) -> tuple[float, float, bool]:
        ends, nexts = at, []
        for begin, end in sorted(self._times(at)):
            if begin <= ends and end > ends:
                ends = end  # spans may overlap or be adjacent
            elif begin > at:
                nexts.append(begin)
        if ends > at:
            return at, ends, True
        return at, min(nexts), False

    def _times(self, at: float) -> Iterator[tuple[float, float]]:
        today = datetime.fromtimestamp(at, self._zone).replace(
            hour=0, minute=0, second=0, microsecond=0, fold=0
        )
        for n in range(-1, _LOOK_DAYS):
            day = today + timedelta(days=n)  # in local time
            for span in self._spans:
                if day.weekday() in span.days:
                    secs = span.end + _WHOLE_DAY * (span.end <= span.begin)
                    yield (
                        (day + timedelta(seconds=span.begin)).timestamp(),
                        (day + timedelta(seconds=secs)).timestamp(),
                    )


class WorkingHours:
    """The hours of all hosts with restrictions.

    Args:
        hours: by pattern: a host, `.domain` for a domain and all hosts below it, or `*`
            for all others. The most specific pattern is valid.
    """

    def __init__(self, hours: Mapping[str, HostHours]) -> None:
        self._hours = hours

    def closed_secs(self, host: str) -> float:
        """Return the seconds until a host may be visited; 0 if now."""
        hours = self._of(host)
        return 0.0 if hours is None else hours.closed_secs(time.time())

    def judge(self, visit: Visit) -> bool:
        """Put back the records of a visit outside of the hours; return whether any was.

        They go behind the others of the host; if there are none, the host waits.
        """
        now = time.time()
        left, waits, ends = [], [], []
        for index in visit.pending:
            hours = self._of(host_of(visit.records[index].url))
            if hours is None or not (secs := hours.closed_secs(now)):
                left.append(index)
                if hours is not None:
                    ends.append(hours.open_secs(now))
                continue
            waits.append(secs)
            visit.returned[index] = visit.records[index]
            visit.unrequested.add(index)
            visit.behind.add(index)
        if ends:
            visit.open_until = time.monotonic() + min(ends)
        if not waits:
            return False
        visit.pending[:] = left
        if not left:
            visit.behind.clear()  # they keep their order
            visit.not_before_secs = max(visit.not_before_secs, min(waits))
        return True

    def _of(self, host: str) -> HostHours | None:
        hours = self._hours
        found = hours.get(host) or hours.get(f".{host}")
        rest = host
        while found is None and "." in rest:
            rest = rest.partition(".")[2]
            found = hours.get(f".{rest}")
        return found or hours.get("*")


def working_hours(name: str, value: Any) -> WorkingHours | None:
    """Return the working hours in a setting; None if it is empty.

    Raises:
        ConfigError: the value is invalid.
    """
    hours = {}
    for pattern, text in dictionary(name, value).items():
        if text is None:
            continue
        if not _is_pattern(str(pattern)):
            raise ConfigError(f"{name}: {pattern!r}: must be a host, .domain or *")
        try:
            hours[str(pattern).lower()] = HostHours.parse(str(text))
        except ValueError as error:
            raise ConfigError(f"{name}: {pattern!r}: {error}") from None
    return WorkingHours(hours) if hours else None


def _span_of(text: str) -> OpenSpan:
    found = _SPAN(text)
    if found is None:
        raise ValueError(f"{text!r}: must be like 'mon-fri 22:00-06:00'")
    begin, end = _secs(found["from"]), _secs(found["to"])
    if max(begin, end) > _WHOLE_DAY or begin == _WHOLE_DAY:
        raise ValueError(f"{text!r}: a day has 24 hours")
    if not found["first"]:
        return OpenSpan(frozenset(range(7)), begin, end)
    first = _DAYS.index(found["first"].lower())
    last = _DAYS.index((found["last"] or found["first"]).lower())
    n_days = (last - first) % 7 + 1
    return OpenSpan(frozenset((first + n) % 7 for n in range(n_days)), begin, end)


def _secs(text: str) -> int:
    hours, minutes, *rest = map(int, text.split(":"))
    return 3600 * hours + 60 * minutes + sum(rest)


def _zone_of(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo  # noqa: PLC0415 (few need it)

    try:
        return ZoneInfo(name)
    except (LookupError, OSError, ValueError):
        raise ValueError(f"{name!r}: no time zone that this machine knows") from None
