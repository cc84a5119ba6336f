"""Values of microformats as terms."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta

from rdfcrawl.html.microformats.mapping import ValueKind
from rdfcrawl.html.rdfa.iris import escape_url
from rdfcrawl.html.rdfa.values import time_datatype
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.namespaces import RDF, XSD

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+")
_HTTP = re.compile(r"https?://[^\s<>\"{}|\\^`]+", re.IGNORECASE)
_INTEGER = re.compile(r"[+-]?[0-9]{1,30}")
_DECIMAL = re.compile(r"[+-]?[0-9]{0,30}\.[0-9]{1,30}")
_MAIL = re.compile(r"[^\s<>\"{}|\\^`:@]+@[^\s<>\"{}|\\^`:@]+")
_TEL = re.compile(r"\+?[0-9][0-9\s().\-/]{1,40}")
_GEO = re.compile(r"\s*([+-]?[0-9.]{1,20})\s*[;,]\s*([+-]?[0-9.]{1,20})\s*")
# Dates as in the microformats value class pattern, and the compact form of ISO 8601.
_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}-[0-9]{3}|[0-9]{8})"
    r"(?:[T ]([0-9]{1,2})(?::?([0-9]{2})(?::?([0-9]{2}(?:\.[0-9]{1,9})?))?)?"
    r" ?(Z|[+-][0-9]{1,2}(?::?[0-9]{2})?)?)?"
)
_HOUR = re.compile(r"([+-])([0-9]{1,2})(?::?([0-9]{2}))?")


def value_term(text: str, kind: ValueKind, language: str) -> str:
    """Return a value as a term: text, unless it has the form of its kind."""
    stripped = text.strip()
    found = ""
    match kind:
        case ValueKind.IRI:
            found = _iri(_ABSOLUTE, stripped) or _iri(_HTTP, escape_url(stripped))
        case ValueKind.ANY:
            found = _iri(_HTTP, stripped)
        case ValueKind.TIME:
            found = time_term(stripped)
        case ValueKind.NUMBER:
            found = _number(stripped)
        case ValueKind.MAIL:
            found = _iri(_ABSOLUTE, stripped) or _iri(_MAIL, stripped, "mailto:")
        case ValueKind.TEL:
            found = _iri(_ABSOLUTE, stripped) or _tel(stripped)
        case ValueKind.GEO:
            found = _iri(_ABSOLUTE, stripped) or _geo(stripped)
        case ValueKind.TEXT:
            pass
    return found or terms.literal(text, language=language)


def markup_term(html: str, text: str, language: str) -> str:
    """Return the value of an `e-*` property: `rdf:HTML` only if there is a tag."""
    if "<" in html:
        return terms.literal(html, datatype=RDF + "HTML")
    return terms.literal(text, language=language)


def time_term(text: str) -> str:
    """Return a date, time or duration as a typed literal, else an empty text.

    >>> time_term("2024-5-1"), time_term("2024-05-01 9:30-0700").partition("^")[0]
    ('', '"2024-05-01T09:30:00-07:00"')
    """
    match = _MOMENT.fullmatch(text)
    if not match:
        datatype = time_datatype(text)
        return terms.literal(text, datatype=datatype) if datatype else ""
    on, hour, minute, second, zone = match.groups()
    try:
        day = datetime.combine(_day(on), time(int(hour or 0), int(minute or 0)))
    except (ValueError, OverflowError):
        return ""
    if hour is None:
        return terms.literal(day.date().isoformat(), datatype=XSD + "date")
    if second and float(second) >= 60:
        return ""
    minutes = day.isoformat(timespec="minutes")
    moment = f"{minutes}:{second or '00'}{_zone(zone or '')}"
    return terms.literal(moment, datatype=XSD + "dateTime")


def _day(text: str) -> date:
    year, _, day = text.partition("-")
    if len(day) == 3:  # day of the year
        found = date(int(year), 1, 1) + timedelta(days=int(day) - 1)
        if found.year != int(year):
            raise ValueError(text)
        return found
    return date.fromisoformat(text)


def _zone(text: str) -> str:
    match = _HOUR.fullmatch(text)
    if not match:
        return text
    return f"{match[1]}{match[2]:0>2}:{match[3] or '00'}"


def _iri(pattern: re.Pattern[str], text: str, prefix: str = "") -> str:
    return terms.iri(prefix + text) if pattern.fullmatch(text) else ""


def _number(text: str) -> str:
    if _INTEGER.fullmatch(text):
        return terms.literal(text, datatype=XSD + "integer")
    if _DECIMAL.fullmatch(text):
        return terms.literal(text, datatype=XSD + "decimal")
    return ""


def _tel(text: str) -> str:
    """Return a URI by RFC 3966, whose visual separators are `-`, `.` and brackets."""
    if not _TEL.fullmatch(text):
        return ""
    return terms.iri("tel:" + re.sub(r"[\s/]+", "-", text))


def _geo(text: str) -> str:
    """Return a URI by RFC 5870, of "latitude;longitude" as in hCard."""
    match = _GEO.fullmatch(text)
    return terms.iri(f"geo:{match[1]},{match[2]}") if match else ""
