"""Points in time of sitemaps."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.core.times import PointInTime, TimePrecision, parse_point


def point(text: str) -> PointInTime:
    """Return a point in time that there is."""
    found = parse_point(text)
    assert found is not None, text
    return found


@pytest.mark.parametrize(
    ("text", "written", "precision", "kind"),
    [
        ("1997", "1997", TimePrecision.YEAR, "gYear"),
        ("1997-07", "1997-07", TimePrecision.MONTH, "gYearMonth"),
        ("1997-07-16", "1997-07-16", TimePrecision.DAY, "date"),
        ("1997-07-16T19:20+01:00", "1997-07-16T18:20Z", TimePrecision.MINUTE, "W3CDTF"),
        (
            "1997-07-16T19:20:30+01:00",
            "1997-07-16T18:20:30Z",
            TimePrecision.SECOND,
            "dateTime",
        ),
        (
            "1997-07-16T19:20:30.450Z",
            "1997-07-16T19:20:30.45Z",
            TimePrecision.FRACTION,
            "dateTime",
        ),
        (
            "2007-11-21T14:41:09+00:00",
            "2007-11-21T14:41:09Z",
            TimePrecision.SECOND,
            "dateTime",
        ),
        (
            " 1997-07-16 19:20:30 ",
            "1997-07-16T19:20:30",
            TimePrecision.SECOND,
            "dateTime",
        ),
        (
            "1997-07-16T19:20:30-0530",
            "1997-07-17T00:50:30Z",
            TimePrecision.SECOND,
            "dateTime",
        ),
        (
            "1997-07-16t19:20:30z",
            "1997-07-16T19:20:30Z",
            TimePrecision.SECOND,
            "dateTime",
        ),
        (
            "1998-12-31T23:59:60Z",
            "1998-12-31T23:59:59Z",
            TimePrecision.SECOND,
            "dateTime",
        ),
        (
            "Sat, 07 Sep 2002 00:00:01 GMT",
            "2002-09-07T00:00:01Z",
            TimePrecision.SECOND,
            "dateTime",
        ),
        ("7 Sep 2002 01:00 +0200", "2002-09-06T23:00Z", TimePrecision.MINUTE, "W3CDTF"),
        ("0099-01-01", "0099-01-01", TimePrecision.DAY, "date"),
    ],
)
def test_forms(text: str, written: str, precision: TimePrecision, kind: str) -> None:
    """If a date has a form of the note or of RSS, then its precision is kept."""
    found = point(text)
    assert (found.text, found.precision) == (written, precision)
    assert found.datatype.endswith(kind)
    assert point(found.text) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "1997-13",
        "1997-02-30",
        "97-01-01",
        "1997-07-16T25:00Z",
        "0000",
        "1997-07-16T19",
        "1997-07-16T19:20+99:00",
        "1997-1-1",
        "0001-01-01T00:00+14:00",
        "9999-12-31T23:59-14:00",
        "1997-07-16T19:20:3",
        "x" * 10000,
        "32 Sep 2002 1:2:3",
    ],
)
def test_what_is_no_date(text: str) -> None:
    """If a text means no point in time, then none is made up."""
    assert parse_point(text) is None


def test_order() -> None:
    """If points are sorted, then by their time first, and then by precision."""
    texts = [
        "1997",
        "1997-01",
        "1997-01-01",
        "1997-01-01T00:00Z",
        "1997-01-01T00:00:00Z",
    ]
    texts += [
        "1997-01-01T00:00:00.1Z",
        "1997-01-01T00:00:00.12Z",
        "1997-01-01T00:00:01Z",
    ]
    points = [point(text) for text in texts]
    points.reverse()
    assert sorted(points) == points[::-1]
    assert point("1997-01-01T01:00+01:00") == point("1997-01-01T00:00Z")


@pytest.mark.parametrize(
    ("text", "is_later"),
    [
        ("2020", True),
        ("2020-05", True),
        ("2020-05-17", True),
        ("2020-05-16", False),
        ("2020-05-17T12:00:01Z", True),
        ("2020-05-17T11:59Z", False),
        ("2020-05-17T12:00Z", True),
        ("2020-05-17T11:00:00", True),
        ("2019", False),
        ("9999-12-31", True),
    ],
)
def test_what_may_have_changed_since(text: str, is_later: bool) -> None:
    """If a date may mean a moment after the last visit, then it may have changed."""
    visited = datetime(2020, 5, 17, 12, tzinfo=UTC)
    assert point(text).may_be_after(visited) is is_later


@given(st.text("0123456789-T:+Z. ,SepMonGMT", max_size=40))
def test_any_text(text: str) -> None:
    """If a text is a date, then writing the date gives the same date."""
    found = parse_point(text)
    if found is not None:
        assert parse_point(found.text) == found
        assert found.end > found.earliest
