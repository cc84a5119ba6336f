"""Observations of one URI, and their joins.

The result of a join does not depend on the order or grouping of observations.
Observations and joined data have the same form, `Columns`. The join functions are
associative, commutative and idempotent: minimum and maximum of times, and the members
of a history with the greatest keys, where the key of a member never changes. So each
limit keeps the same members as a join of all observations in one step.

A column is JSON text, which is parsed only if two observations have it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from json.encoder import encode_basestring as quoted
from typing import Any, Final, TypeAlias

from rdfcrawl.analysis.measures.uri_facts import WAS_READ, UriFetch
from rdfcrawl.analysis.urldb.record import (
    MAX_CLAIMS,
    MAX_FETCHES,
    MAX_LISTINGS,
    MAX_ORIGINS,
    MAX_READINGS,
    SEED,
    SPELLING,
)

Columns: TypeAlias = list[str]
"""Listed, linked, fetches, claims, values, listings, readings, origins.

Each is empty if unknown.
"""
_Column: TypeAlias = list[Any]  # one of `Columns`, decoded
_LATEST: Final = 4
_OF_FIRST: Final = frozenset({SEED})  # values of which the first counts

_decode: Final = json.JSONDecoder().decode
_encode: Final = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), check_circular=False
).encode


def observe(
    *,
    listed: str = "",
    fetch: str = "",
    claim: str = "",
    latest: str = "",
    listing: str = "",
    reading: str = "",
    origin: str = "",
) -> Columns:
    """Return an observation, from the members of lists in JSON, without brackets.

    Args:
        listed: by a sitemap: first time, document, last time.
        fetch: the fields of a `UriFetch`.
        claim: the fields of a `SitemapClaim`.
        latest: lists of name, time in ms and value; sorted by name.
        listing: the fields of a `UrlListing`.
        reading: the fields of a `ListReading`.
        origin: of a request for a sitemap: time, and `rc:foundBy`.
    """
    return [
        listed and f"[{listed}]",
        "",  # linked
        fetch and f"[[{fetch}]]",
        claim and f"[[{claim}]]",
        latest and f"[{latest}]",
        listing and f"[[{listing}]]",
        reading and f"[[{reading}]]",
        origin and f"[[{origin}]]",
    ]


def spell(observation: Columns, url: str, ms: int) -> None:
    """Add the spelling of the URL to an observation, if it is not in normal form."""
    spelled = f"[[{quoted(SPELLING)},{ms},{quoted(url)}]]"
    known = observation[_LATEST]
    observation[_LATEST] = (
        _joined_column(_LATEST, [known, spelled]) if known else spelled
    )


def pack(columns: Columns) -> bytes:
    """Return columns separated by tabs; they contain no control characters."""
    return "\t".join(columns).encode("utf-8", "replace")


def join(packed: list[bytes]) -> bytes:
    """Join several packed columns of one URI."""
    if len(packed) == 1:
        return packed[0]
    joined = []
    for number, values in enumerate(
        zip(*[x.split(b"\t") for x in packed], strict=True)
    ):
        known = [value for value in values if value]
        if len(known) < 2:
            joined.append(known[0] if known else b"")
        else:
            texts = [value.decode() for value in known]
            joined.append(_joined_column(number, texts).encode())
    return b"\t".join(joined)


def _joined_column(number: int, texts: Sequence[str]) -> str:
    return _encode(_JOINS[number]([_decode(text) for text in texts]))


def _join_seen(seen: list[_Column]) -> _Column:
    first = min((each[0], each[1]) for each in seen)
    return [*first, max(each[2] for each in seen)]


def _join_fetches(histories: list[_Column]) -> _Column:
    """Keep the latest; of several at one time, such as of one source, the greatest.

    The last one that was requested is kept, and the last ones with content and with
    new statements.
    """
    by_time: dict[int, _Column] = {}
    for history in histories:
        for fetch in history:
            before = by_time.get(fetch[0])
            if before is None or fetch > before:
                by_time[fetch[0]] = fetch
    times = sorted(by_time)
    if len(times) <= MAX_FETCHES:
        return [by_time[each] for each in times]
    kept = set(times[-MAX_FETCHES:])
    for is_kept in (_is_request, _has_content, _is_reading):
        found = (each for each in reversed(times) if is_kept(by_time[each]))
        kept.add(next(found, times[-1]))
    return [by_time[each] for each in sorted(kept)]


def _is_request(fetch: _Column) -> bool:
    return UriFetch(*fetch).was_requested


def _has_content(fetch: _Column) -> bool:
    return UriFetch(*fetch).was_read


def _is_reading(fetch: _Column) -> bool:
    return UriFetch(*fetch).status in WAS_READ


def _join_claims(histories: list[_Column]) -> _Column:
    times: dict[tuple[str, str, str], tuple[int, int]] = {}
    for history in histories:
        for lastmod, changefreq, priority, first_ms, last_ms in history:
            key = lastmod, changefreq, priority
            first, last = times.get(key, (first_ms, last_ms))
            times[key] = min(first, first_ms), max(last, last_ms)
    return [[*key, *times[key]] for key in sorted(times)[-MAX_CLAIMS:]]


def _join_latest(values: list[_Column]) -> _Column:
    latest: dict[str, tuple[int, str]] = {}
    for some in values:
        for name, ms, value in some:
            choose = min if name in _OF_FIRST else max
            latest[name] = choose(latest.get(name, (ms, value)), (ms, value))
    return [[name, *latest[name]] for name in sorted(latest)]


def _join_listings(listings: list[_Column]) -> _Column:
    """Keep the latest values of each sitemap, for the first sitemaps by name."""
    joined: dict[str, tuple[int, list[int | str]]] = {}
    for some in listings:
        for sitemap, first_ms, *last in some:
            first, values = joined.get(sitemap, (first_ms, last))
            joined[sitemap] = min(first, first_ms), max(values, last)
    names = sorted(joined)[:MAX_LISTINGS]
    return [[name, joined[name][0], *joined[name][1]] for name in names]


def _join_readings(readings: list[_Column]) -> _Column:
    return _distinct(readings)[-MAX_READINGS:]


def _join_origins(origins: list[_Column]) -> _Column:
    """Keep the first ones: an origin that is known stays known."""
    return _distinct(origins)[:MAX_ORIGINS]


def _distinct(histories: list[_Column]) -> _Column:
    return sorted({tuple(each): each for some in histories for each in some}.values())


_JOINS: Final[tuple[Callable[[list[_Column]], _Column], ...]] = (
    *(_join_seen, _join_seen, _join_fetches, _join_claims),
    *(_join_latest, _join_listings, _join_readings, _join_origins),
)
