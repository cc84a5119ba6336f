"""Values of a dataset's fields, in the forms that portals use.

Fields are members of a dataset or among its `extras`; lists and translations are JSON,
or JSON within a string; numbers are often strings. Times are read from
`metadata_modified`, and written for the search index of a portal.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

MAX_VALUES: Final = 10_000  # of one field

# RFC 5646 2.1, without extended language subtags and extensions
_LANGUAGE = re.compile(
    r"[A-Za-z]{2,3}(?:[-_][A-Za-z]{4})?(?:[-_](?:[A-Za-z]{2}|[0-9]{3}))?"
    r"(?:[-_][xX](?:[-_][A-Za-z0-9]{1,8})+)?"
).fullmatch
_CODE = re.compile(r"[^\s,;{}\"]{1,200}").fullmatch
_HARVESTED = "dcat_"  # prefix of keys by older harvesters


class PackageFields:
    """The fields of a dataset or resource: members first, then extras.

    `extras` may be a list of keys and values, or an object as in versions 1 and 2.
    """

    def __init__(self, members: Mapping[str, Any]) -> None:
        self._members = members
        self._extras = dict(_iter_extras(members.get("extras")))

    def get(self, *keys: str) -> Any:
        """Return the value of the first key with a value; otherwise None."""
        for key in keys:
            for value in (
                self._members.get(key),
                self._extras.get(key),
                self._extras.get(_HARVESTED + key),
            ):
                if not is_empty(value):
                    return value
        return None

    def text(self, *keys: str) -> str:
        """Return the text of the first key with a text; otherwise an empty string."""
        return next(filter(None, (text_of(self.get(key)) for key in keys)), "")


def is_empty(value: Any) -> bool:
    """Return whether a value is empty, also in the form of a text."""
    if isinstance(value, str):
        return not value.strip() or value.strip() in {"[]", "{}", '""', "null"}
    return value is None or (isinstance(value, list | dict) and not value)


def text_of(value: Any) -> str:
    """Return a text, number or truth value as a text; empty for other values."""
    match value:
        case str():
            return value.strip()
        case bool():
            return "true" if value else "false"
        case int() if abs(value) < 10**18:
            return str(value)
        case float() if math.isfinite(value):
            return str(int(value)) if value.is_integer() else repr(value)
    return ""


def decoded(value: Any) -> Any:
    """Return the value of a text in JSON; any other value unchanged."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{", '"'):
        return value
    try:
        return json.loads(value.strip())
    except (ValueError, RecursionError):
        return value


def iter_values(value: Any) -> Iterator[Any]:
    """Yield the values of a list field, at most `MAX_VALUES`.

    A text with commas is a list only of codes or of IRIs: `en,fr`.
    """
    value = decoded(value)
    if isinstance(value, list):
        yield from (one for one in value[:MAX_VALUES] if not is_empty(one))
    elif isinstance(value, str):
        yield from _split(value)
    elif not is_empty(value):
        yield value


def iter_texts(value: Any) -> Iterator[tuple[str, str]]:
    """Yield texts with their languages, which may be empty.

    A translated field is an object of languages and texts, or lists of texts.
    """
    value = decoded(value)
    if isinstance(value, dict):
        for language, texts in list(value.items())[:MAX_VALUES]:
            tag = language.replace("_", "-") if _LANGUAGE(language) else ""
            for text in texts[:MAX_VALUES] if isinstance(texts, list) else [texts]:
                if not is_empty(text) and text_of(text):
                    yield text_of(text), tag
    elif isinstance(value, list):
        for one in value[:MAX_VALUES]:
            if not isinstance(one, list):
                yield from iter_texts(one)
    elif text_of(value):
        yield text_of(value), ""


def is_translated(value: Any) -> bool:
    """Return whether a value is an object of languages and texts."""
    value = decoded(value)
    return isinstance(value, dict) and bool(value) and all(map(_LANGUAGE, value))


def iter_objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the object of a field, or all of a list."""
    value = decoded(value)
    for one in value[:MAX_VALUES] if isinstance(value, list) else [value]:
        inner = decoded(one)
        if isinstance(inner, dict) and inner:
            yield inner


def _iter_extras(extras: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(extras, dict):
        yield from extras.items()
    elif isinstance(extras, list):
        # The first entry of a key counts, so it comes last.
        for one in reversed(extras[:MAX_VALUES]):
            if isinstance(one, dict) and isinstance(one.get("key"), str):
                yield one["key"].strip(), one.get("value")


def _split(text: str) -> Iterator[str]:
    text = text.strip()
    if text[:1] == "{" and text[-1:] == "}":  # an array of the database
        text = text[1:-1]
    parts = [part.strip().strip('"') for part in re.split("[,;]", text)]
    parts = [part for part in parts if part]
    if len(parts) > 1 and all(map(_CODE, parts)):
        are_iris = [":" in part for part in parts]
        if all(are_iris) or not any(are_iris):  # otherwise a comma within an IRI
            yield from parts[:MAX_VALUES]
            return
    if text:
        yield text


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
