"""The `lastmod` that sitemaps state for a URL, reading by reading.

A record has the values that any sitemap stated, each with its first and last reading,
and for each sitemap the first and last reading that lists the URL, with the values of
the last. The times of readings show which sitemap stated which value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.analysis.measures.uri_facts import LastmodClaim
from rdfcrawl.core.times import parse_point

if TYPE_CHECKING:
    from rdfcrawl.analysis.urldb.record import UrlListing, UrlRecord

ReadingTimes = Callable[[str], Sequence[int]]
"""Returns the times at which the lists of a sitemap were stored, oldest first."""
_TIME: Final = itemgetter(0)


class _Span(NamedTuple):
    """A `lastmod`, Unix time, with the first and last reading that states it."""

    first_ms: int
    last_ms: int
    at: int | None


def iter_claims(record: UrlRecord, times_of: ReadingTimes) -> Iterator[LastmodClaim]:
    """Yield the claims about the last change of a page, oldest first.

    At each time, the greatest `lastmod` counts that a sitemap stated in its last
    reading. There is none once no sitemap with a date lists the page any more.
    """
    if not any(each.lastmod for each in record.claims):
        return
    dates = {each.lastmod: lastmod_ms(each.lastmod) for each in record.claims}
    spans = [_Span(x.first_ms, x.last_ms, dates[x.lastmod]) for x in record.claims]
    found: list[tuple[int, str, int | None]] = []
    for each in record.listings:
        last = dates.get(each.lastmod)
        stated = _stated(each, last, spans, times_of(each.sitemap))
        found += [(ms, each.sitemap, at) for ms, at in stated]
    present: dict[str, int | None] = {}
    before: int | None = None
    for read_ms, changes in groupby(sorted(found, key=_TIME), key=_TIME):
        present.update({sitemap: at for _, sitemap, at in changes})
        known = [at for at in present.values() if at is not None]
        if (greatest := max(known, default=None)) != before:
            before = greatest
            yield LastmodClaim(read_ms=read_ms, lastmod_ms=greatest)


def _stated(
    listing: UrlListing,
    last: int | None,
    spans: Sequence[_Span],
    times: Sequence[int],
) -> Iterator[tuple[int, int | None]]:
    """Yield the readings of a sitemap with the `lastmod` that each states."""
    begin, end = listing.first_ms, listing.last_ms
    # Of old readings, only those with a new date are known.
    oldest = times[0] if times else end
    early = (x.first_ms for x in spans if begin <= x.first_ms < oldest)
    own = {begin, *early, *(ms for ms in times if begin <= ms < end)}
    at: int | None = None
    for ms in sorted(own - {end}):
        at = _stated_at(ms, at, spans)
        yield ms, at
    yield end, last
    dropped_ms = next((ms for ms in times if ms > end), None)
    if dropped_ms is not None:
        yield dropped_ms, None


def _stated_at(ms: int, before: int | None, spans: Iterable[_Span]) -> int | None:
    """Return the `lastmod` that a sitemap states in a reading, as far as is known.

    Args:
        ms: time of the reading.
        before: `lastmod` of the reading before.
        spans: of all sitemaps.
    """
    open_ones = [each for each in spans if each.first_ms <= ms <= each.last_ms]
    own = [x.at for x in open_ones if ms in (x.first_ms, x.last_ms)]
    if not own and any(x.at == before for x in open_ones):
        return before
    known = [at for at in own or (x.at for x in open_ones) if at is not None]
    return max(known, default=None)


def lastmod_ms(text: str) -> int | None:
    """Return the start of a `lastmod`, Unix time; None if it is no date."""
    point = parse_point(text)
    return None if point is None else round(point.earliest.timestamp() * 1000)
