"""Datatypes of the dates and times that HTML elements hold."""

from __future__ import annotations

import re

from rdfcrawl.rdf.namespaces import XSD

_ZONE = r"(?:Z|[+-]\d\d:\d\d)?"
_DATE = r"-?\d{4,}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_TIME = r"(?:[01]\d|2[0-4]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?"
_FORMS = (
    (
        "duration",
        (
            r"-?P(?=\d|T\d)(?:\d+Y)?(?:\d+M)?(?:\d+D)?"
            r"(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?"
        ),
    ),
    ("dateTime", f"{_DATE}T{_TIME}{_ZONE}"),
    ("date", f"{_DATE}{_ZONE}"),
    ("time", f"{_TIME}{_ZONE}"),
    ("gYearMonth", r"-?\d{4,}-(?:0[1-9]|1[0-2])"),
    ("gYear", r"-?\d{4,}"),
)
_PATTERNS = tuple((XSD + name, re.compile(form, re.ASCII)) for name, form in _FORMS)


def time_datatype(text: str) -> str:
    """Return the datatype whose form a text has, else an empty text.

    Source: HTML+RDFa 1.1 section 3.1, rule 5. Seconds may be left out, as in HTML.

    >>> time_datatype("2012-03-18Z").rpartition("#")[2]
    'date'
    """
    for datatype, pattern in _PATTERNS:
        if pattern.fullmatch(text):
            return datatype
    return ""
