"""Join observations of one URI: in any order and any split, the result is the same.

An observation and what is known have the same form, `Joined`, and are joined by
functions that are associative, commutative and idempotent: the least and the greatest
of times, and of a history the members with the greatest keys, where the key of a member
never changes. So each bound keeps what it would keep if all were joined at once.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_FETCHES: Final = 50
MAX_CLAIMS: Final = 16
MAX_LISTINGS: Final = 16
MAX_READINGS: Final = 50

SPELLING: Final = "spelling"
"""Name of the latest value that is the URL as it is written."""

Seen: TypeAlias = "list[int | str]"
"""When first, in which document, when last."""
Joined: TypeAlias = "list[list]"  # type: ignore[type-arg] # as JSON has it
"""Listed, linked (`Seen` or empty), fetches, claims, latest values, listings, readings.
"""

_decode: Final = json.JSONDecoder().decode
_encode: Final = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), check_circular=False
).encode


def observe(
    *,
    listed: Seen | None = None,
    linked: Seen | None = None,
    fetch: list[int | str] | None = None,
    claim: list[int | str] | None = None,
    latest: Iterable[list[int | str]] = (),
    listing: list[int | str] | None = None,
    reading: list[int | str] | None = None,
) -> Joined:
    """Return an observation.

    Args:
        listed: by a sitemap.
        linked: by a document.
        fetch: the fields of a `UrlFetch`.
        claim: the fields of a `SitemapClaim`.
        latest: name, time in ms and value; sorted by name.
        listing: the fields of a `UrlListing`.
        reading: the fields of a `SitemapVersion`.
    """
    histories = ([] if one is None else [one] for one in (fetch, claim))
    more = ([] if one is None else [one] for one in (listing, reading))
    return [listed or [], linked or [], *histories, list(latest), *more]


def spell(observation: Joined, url: str, ms: int) -> None:
    """Add to an observation how the URL is written, if that is not in normal form."""
    latest = observation[4]
    latest.append([SPELLING, ms, url])
    latest.sort()


def pack(joined: Joined) -> bytes:
    """Return what is known of a URI as text without control characters."""
    return _encode(joined).encode("utf-8", "replace")


def join(texts: list[bytes]) -> bytes:
    """Return the text of all that some texts say of one URI."""
    if len(texts) == 1:
        return texts[0]
    parts: list[Joined] = [_decode(text.decode()) for text in texts]
    listed, linked, fetches, claims, latest, *more = zip(*parts, strict=True)
    listings, readings = more
    return pack(
        [
            _join_seen(listed),
            _join_seen(linked),
            _join_fetches(fetches),
            _join_claims(claims),
            _join_latest(latest),
            _join_listings(listings),
            _join_readings(readings),
        ]
    )


def _join_seen(seen: tuple[list, ...]) -> list:  # type: ignore[type-arg]
    known = [each for each in seen if each]
    if len(known) < 2:
        return known[0] if known else []
    first = min((each[0], each[1]) for each in known)
    return [*first, max(each[2] for each in known)]


def _join_fetches(histories: tuple[list, ...]) -> list:  # type: ignore[type-arg]
    """Keep the latest; of several at one time, as of one source, the greatest."""
    known = [each for each in histories if each]
    if len(known) < 2:
        return known[0] if known else []
    by_time: dict[int, list[int | str]] = {}
    for history in known:
        for fetch in history:
            before = by_time.get(fetch[0])
            if before is None or fetch > before:
                by_time[fetch[0]] = fetch
    return [by_time[each] for each in sorted(by_time)[-MAX_FETCHES:]]


def _join_claims(histories: tuple[list, ...]) -> list:  # type: ignore[type-arg]
    known = [each for each in histories if each]
    if len(known) < 2:
        return known[0] if known else []
    times: dict[tuple[str, str, str], tuple[int, int]] = {}
    for history in known:
        for lastmod, changefreq, priority, first_ms, last_ms in history:
            key = lastmod, changefreq, priority
            first, last = times.get(key, (first_ms, last_ms))
            times[key] = min(first, first_ms), max(last, last_ms)
    return [[*key, *times[key]] for key in sorted(times)[-MAX_CLAIMS:]]


def _join_latest(values: tuple[list, ...]) -> list:  # type: ignore[type-arg]
    known = [each for each in values if each]
    if len(known) < 2:
        return known[0] if known else []
    latest: dict[str, tuple[int, str]] = {}
    for some in known:
        for name, ms, value in some:
            latest[name] = max(latest.get(name, (ms, value)), (ms, value))
    return [[name, *latest[name]] for name in sorted(latest)]


def _join_listings(listings: tuple[list, ...]) -> list:  # type: ignore[type-arg]
    """Keep of each sitemap what it has said last; the first sitemaps by name."""
    known = [each for each in listings if each]
    if len(known) < 2:
        return known[0] if known else []
    joined: dict[str, tuple[int, list[int | str]]] = {}
    for some in known:
        for sitemap, first_ms, *last in some:
            first, said = joined.get(sitemap, (first_ms, last))
            joined[sitemap] = min(first, first_ms), max(said, last)
    names = sorted(joined)[:MAX_LISTINGS]
    return [[name, joined[name][0], *joined[name][1]] for name in names]


def _join_readings(readings: tuple[list, ...]) -> list:  # type: ignore[type-arg]
    known = [each for each in readings if each]
    if len(known) < 2:
        return known[0] if known else []
    return sorted({tuple(each): each for some in known for each in some}.values())[
        -MAX_READINGS:
    ]
