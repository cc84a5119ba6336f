"""Join observations of one URI; the result does not depend on their order or grouping.

Observations and joined data have the same form, `Columns`. The join functions are
associative, commutative and idempotent: minimum and maximum of times, and the members
of a history with the greatest keys, where the key of a member never changes. So each
limit keeps the same members as a join of all observations in one step.

A column is JSON text, which is parsed only if two observations have it.
"""

from __future__ import annotations

import json
from json.encoder import encode_basestring as quoted
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_FETCHES: Final = 50
MAX_CLAIMS: Final = 16
MAX_LISTINGS: Final = 16
MAX_READINGS: Final = 50

SPELLING: Final = "spelling"
"""Name of the latest value that holds the URL as written."""

Columns: TypeAlias = list[str]
"""Listed, linked, fetches, claims, latest values, listings, readings; empty if unknown.
"""
_Column: TypeAlias = list[Any]  # one of `Columns`, decoded
_LATEST: Final = 4

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
) -> Columns:
    """Return an observation, from the members of lists in JSON, without brackets.

    Args:
        listed: by a sitemap: first time, document, last time.
        fetch: the fields of a `UrlFetch`.
        claim: the fields of a `SitemapClaim`.
        latest: lists of name, time in ms and value; sorted by name.
        listing: the fields of a `UrlListing`.
        reading: the fields of a `SitemapVersion`.
    """
    return [
        listed and f"[{listed}]",
        "",  # linked
        fetch and f"[[{fetch}]]",
        claim and f"[[{claim}]]",
        latest and f"[{latest}]",
        listing and f"[[{listing}]]",
        reading and f"[[{reading}]]",
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
    """Keep the latest; of several at one time, such as of one source, the greatest."""
    by_time: dict[int, list[int | str]] = {}
    for history in histories:
        for fetch in history:
            before = by_time.get(fetch[0])
            if before is None or fetch > before:
                by_time[fetch[0]] = fetch
    return [by_time[each] for each in sorted(by_time)[-MAX_FETCHES:]]


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
            latest[name] = max(latest.get(name, (ms, value)), (ms, value))
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
    return sorted({tuple(each): each for some in readings for each in some}.values())[
        -MAX_READINGS:
    ]


_JOINS: Final[tuple[Callable[[list[_Column]], _Column], ...]] = (
    *(_join_seen, _join_seen, _join_fetches, _join_claims),
    *(_join_latest, _join_listings, _join_readings),
)
