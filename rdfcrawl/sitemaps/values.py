"""Parse values of the sitemap protocol; invalid ones are left out and logged."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rdfcrawl.errors import Reason
from rdfcrawl.sitemaps.dates import parse_point
from rdfcrawl.sitemaps.entry import ChangeFrequency

if TYPE_CHECKING:
    from rdfcrawl.faultlog import FaultLog
    from rdfcrawl.sitemaps.dates import PointInTime

_PRIORITY = re.compile(r"(?:[01](?:\.[0-9]{0,20})?|\.[0-9]{1,20})").fullmatch


def read_lastmod(text: str, log: FaultLog) -> PointInTime | None:
    """Return the date; None and `SYNTAX` if invalid."""
    if not text.strip():
        return None
    point = parse_point(text)
    if point is None:
        log.note(Reason.SYNTAX, f"not a date:  {text[:60]!r}")
    return point


def read_frequency(text: str, log: FaultLog) -> ChangeFrequency | None:
    """Return the frequency; None and `SYNTAX` if invalid."""
    word = text.strip().lower()
    try:
        return ChangeFrequency(word) if word else None
    except ValueError:
        log.note(Reason.SYNTAX, f"not a change frequency:  {text[:60]!r}")
        return None


def read_priority(text: str, log: FaultLog) -> float | None:
    """Return the priority; None and `SYNTAX` if not from 0.0 to 1.0."""
    text = text.strip()
    if not text:
        return None
    if _PRIORITY(text) and (priority := float(text)) <= 1:
        return priority
    log.note(Reason.SYNTAX, f"not a priority:  {text[:60]!r}")
    return None
