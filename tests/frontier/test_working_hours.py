"""The hours in which hosts may be asked."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.queue.host_rules import HostHours, working_hours

HOUR = 3600.0


def at(text: str, zone: str = "UTC") -> float:
    """Return a Unix time."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


# 2026-01-01 is a Thursday. Hours, time, zone of the time, hours until they begin, or
# less than 0 until they end.
CASES = [
    ("09:00-17:00", "2026-01-01T08:00", "UTC", 1),
    ("09:00-17:00", "2026-01-01T09:00", "UTC", -8),
    ("09:00-17:00", "2026-01-01T17:00", "UTC", 16),
    ("22:00-06:00", "2026-01-01T21:00", "UTC", 1),
    ("22:00-06:00", "2026-01-02T05:00", "UTC", -1),
    ("mon 10:00-11:00", "2026-01-01T10:00", "UTC", 96),
    ("mon 10:00-11:00", "2026-01-05T11:00", "UTC", 167),
    ("fri-mon 00:00-24:00", "2026-01-01T12:00", "UTC", 12),
    ("fri-mon 00:00-24:00", "2026-01-02T00:00", "UTC", -96),
    ("thu 23:00-01:00, fri 00:30-02:00", "2026-01-01T23:00", "UTC", -3),
    ("Sat,  SUN 12:00-13:00", "2026-01-03T11:00", "UTC", None),
    ("22:00-06:00 Europe/Berlin", "2026-07-01T19:00", "UTC", 1),
    ("22:00-06:00 Asia/Kolkata", "2026-07-01T16:30", "UTC", -8),
    # Clocks go forward at 2:00, and back at 3:00.
    ("01:00-04:00 Europe/Berlin", "2026-03-29T01:00", "Europe/Berlin", -2),
    ("01:00-04:00 Europe/Berlin", "2026-10-25T01:00", "Europe/Berlin", -4),
    ("02:30-03:30 Europe/Berlin", "2026-03-29T00:30", "Europe/Berlin", 2),
    ("10:00:30-10:00:00", "2026-01-01T10:00:00", "UTC", 30 / HOUR),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[1]}")
def test_hours_begin_and_end(case: tuple[str, str, str, float | None]) -> None:
    """If hours are stated, then they hold by the clock of their zone."""
    text, moment, zone, hours = case
    if hours is None:
        with pytest.raises(ValueError, match="must be like"):
            HostHours.parse(text)
        return
    found = HostHours.parse(text)
    now = at(moment, zone)
    for _ in range(2):  # the second time from memory
        assert found.closed_secs(now) == max(0, hours) * HOUR
        assert found.open_secs(now) == max(0, -hours) * HOUR


def test_most_specific_hours_hold() -> None:
    """If several patterns have a host, then the closest one counts."""
    never = datetime.now(ZoneInfo("UTC")).timestamp() + 2 * 86_400
    day = datetime.fromtimestamp(never, ZoneInfo("UTC")).strftime("%a").lower()
    closed, always = f"{day} 00:00-00:01", "00:00-24:00"
    patterns = {
        "*": closed,
        ".a.example": always,
        ".b.a.example": closed,
        "c.b.a.example": always,
    }
    hours = working_hours("WORKING_HOURS", patterns)
    assert hours is not None
    for host, is_open in (
        ("a.example", True),
        ("x.y.a.example", True),
        ("b.a.example", False),
        ("c.b.a.example", True),
        ("d.c.b.a.example", False),
        ("aa.example", False),
        ("[::1]", False),
    ):
        assert (hours.closed_secs(host) == 0) is is_open, host


@pytest.mark.parametrize(
    ("pattern", "text", "message"),
    [
        ("a.example", "9-17", "'9-17': must be like"),
        ("a.example", "", "must be like"),
        ("a.example", "09:00-25:00", "a day has 24 hours"),
        ("a.example", "24:00-09:00", "a day has 24 hours"),
        ("a.example", "09:00-17:00 Mars/Base", "'Mars/Base': no time zone"),
        ("a.example", "09:00-17:00 ../../etc/passwd", "no time zone"),
        ("http://a.example", "09:00-17:00", "must be a host"),
    ],
)
def test_wrong_hours_are_refused(pattern: str, text: str, message: str) -> None:
    """If hours cannot be read, then one line names setting and pattern."""
    with pytest.raises(ConfigError, match=r"^WORKING_HOURS: ") as raised:
        working_hours("WORKING_HOURS", {pattern: text})
    assert message in str(raised.value)
    assert repr(pattern) in str(raised.value)
