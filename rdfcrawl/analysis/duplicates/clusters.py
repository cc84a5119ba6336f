"""Clusters of near-duplicates: equal hashes first, then sketches, then redirects.

Two documents are near-duplicates if their resemblance, the share of common shingles in
all shingles of both, is 0.9 or more. The sketch has 64 minima; the share of equal ones
estimates the resemblance, with a standard error of 0.04 at 0.9. If only 6 bits of the
minima are known, less than half a minimum is expected to agree by chance from a
resemblance of 0.5 on, so this is not subtracted. Candidate pairs are found by bands: 16
of 4 minima. A pair of resemblance 0.9 has an equal band with a probability of 1 - 4e-8,
one of 0.7 with 0.99, one of 0.3 with 0.12.

A cluster is a connected component of such pairs (section 5.1.1); redirects connect
their source with their target.

The representative of a cluster is its canonical URL (section 6.2). The paper suggests
the shortest URL, that of the highest PageRank, and "the URL listed in a Sitemap file",
which gives control to webmasters; the order of the rules is ours.

Containment is the share of a document that a longer one contains: the number of common
shingles, |A ∩ B|, follows from resemblance and sizes, r (|A| + |B|) / (1 + r), and is
divided by |A| (Broder, "On the resemblance and containment of documents", 1997).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain
from operator import eq
from sys import byteorder
from typing import Final

from rdfcrawl.rdf.fingerprints import LOW_BITS, MAX_SAMPLED, MINIMUM_BITS

N_MINIMA: Final = 64
N_BANDS: Final = 16
NEAR_DUPLICATE: Final = 0.9  # resemblance
RELATED: Final = 0.7  # below it, documents are not duplicates in any sense
# Documents with an equal band to compare one with. Thousands of empty templates share a
# band; beyond this limit some pairs are missed.
MAX_COMPARED: Final = 256

_BAND: Final = N_MINIMA // N_BANDS
_LOW: Final = (1 << LOW_BITS) - 1
# The top bit of each lane of 16 or 32 bits, and all lower bits.
_SHORT_TOPS: Final = int.from_bytes(b"\x80\0" * N_MINIMA, "big")
_SHORT_RESTS: Final = int.from_bytes(b"\x7f\xff" * N_MINIMA, "big")
_LONG_TOPS: Final = int.from_bytes(b"\x80\0\0\0" * N_MINIMA, "big")
_LONG_RESTS: Final = int.from_bytes(b"\x7f\xff\xff\xff" * N_MINIMA, "big")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentPrint:
    """Hashes and redirects of one crawled URL, from which clusters are computed.

    Attributes:
        text_hash: of its content; empty if it has none.
        minima: numbers of `fingerprints.read_sketch`; empty if there is no sketch.
        redirects_to: targets of its redirects, in order.
        n_shingles: number of distinct shingles in the sketch; 0: unknown.
    """

    url: str
    text_hash: str = ""
    minima: Sequence[int] = ()
    redirects_to: tuple[str, ...] = ()
    n_shingles: int = 0


def resemblance(one: Sequence[int], other: Sequence[int]) -> float:
    """Return the estimated resemblance of two documents, from 0 to 1.

    If one document has only the low bits of its minima, only these are compared.

    >>> resemblance([1, 2, 3, 4], [1, 2, 3, 9])
    0.75
    """
    if (max(one) > _LOW) != (max(other) > _LOW):
        one, other = low_bits(one), low_bits(other)
    return sum(map(int.__eq__, one, other)) / len(one)


def low_bits(minima: Sequence[int]) -> array[int]:
    """Return the bits of the minima that all sketches have, below 4,096."""
    return array("H", [x & _LOW for x in minima])


class SketchMinima:
    """Minima of one sketch, prepared for many comparisons.

    They form a single number, so all that differ are counted in one operation.
    """

    __slots__ = "_has_all_bits", "_low", "_minima", "_n", "low_bytes"

    def __init__(self, minima: Sequence[int]) -> None:
        self._n = len(minima)
        self._has_all_bits = max(minima) > _LOW
        self.low_bytes = low_bits(minima).tobytes()
        self._low = int.from_bytes(self.low_bytes, byteorder)
        self._minima = int.from_bytes(array("I", minima).tobytes(), byteorder)

    def resembles(self, other: SketchMinima, least: float) -> bool:
        """Return whether the resemblance with another sketch is `least` or more."""
        n_differing = _n_lanes(self._low ^ other._low, _SHORT_TOPS, _SHORT_RESTS)
        if (self._n - n_differing) / self._n < least:
            return False
        if not (self._has_all_bits and other._has_all_bits):
            return True
        n_differing = _n_lanes(self._minima ^ other._minima, _LONG_TOPS, _LONG_RESTS)
        return (self._n - n_differing) / self._n >= least


def _n_lanes(number: int, tops: int, rests: int) -> int:
    """Return how many lanes of bits are not 0; sums do not overflow their lanes."""
    return ((((number & rests) + rests) | number) & tops).bit_count()


def find_clusters(prints: Iterable[ContentPrint]) -> Iterator[tuple[str, ...]]:
    """Yield the clusters of two URLs or more, each sorted, in order of their first.

    The order of the prints does not matter, unless more than `MAX_COMPARED` distinct
    documents share a band. Targets of redirects without a print are members, too.

    Memory: the URLs, and some 1,200 bytes for each distinct sketch.
    """
    found = _Clusters()
    for each in prints:
        found.add(each)
    found.join_near_duplicates()
    yield from found.members()


def find_related(
    prints: Iterable[ContentPrint], wanted: AbstractSet[str]
) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield URLs, each with those whose content has a resemblance of `RELATED` or more.

    The URL itself is included. At a resemblance of 0.7, one pair in 100 is missed; a
    content is compared with at most `MAX_COMPARED` others for each band.

    Memory: the sketches, and the pairs found.

    Args:
        prints: of all URLs; those without sketch resemble nothing.
        wanted: the URLs to yield.
    """
    urls: dict[bytes, list[str]] = {}
    for each in prints:
        if each.minima:
            sketch = array("I", each.minima).tobytes()
            urls.setdefault(sketch, []).append(each.url)
    minima = {sketch: SketchMinima(array("I", sketch)) for sketch in urls}
    queried = [
        sketch for sketch, some in urls.items() if any(map(wanted.__contains__, some))
    ]
    related: dict[bytes, set[bytes]] = {sketch: set() for sketch in queried}
    for begin in range(0, 2 * N_MINIMA, 2 * _BAND):
        band = slice(begin, begin + 2 * _BAND)
        buckets = _buckets(
            minima, {minima[sketch].low_bytes[band] for sketch in queried}, band
        )
        for sketch in queried:
            own = minima[sketch]
            for other in buckets[own.low_bytes[band]] - related[sketch]:
                if own.resembles(minima[other], RELATED):
                    related[sketch].add(other)
    for sketch in queried:
        for url in filter(wanted.__contains__, urls[sketch]):
            yield url, chain.from_iterable(urls[each] for each in related[sketch])


def _buckets(
    minima: Mapping[bytes, SketchMinima], wanted: Iterable[bytes], band: slice
) -> dict[bytes, set[bytes]]:
    """Return the first sketches of each band, up to a maximum."""
    buckets: dict[bytes, set[bytes]] = {each: set() for each in wanted}
    for sketch, each in minima.items():
        bucket = buckets.get(each.low_bytes[band])
        if bucket is not None and len(bucket) < MAX_COMPARED:
            bucket.add(sketch)
    return buckets


class _Clusters:
    """Disjoint sets of URLs, identified by the least number of a set."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._parents = array("q")
        self._hashes: dict[str, int] = {}
        self._sketches: dict[bytes, int] = {}

    def add(self, each: ContentPrint) -> None:
        """Add a URL, and join it with equal content and targets of redirects."""
        place = self._place(each.url)
        for target in each.redirects_to:
            self._join(place, self._place(target))
        if each.text_hash:
            self._join(place, self._hashes.setdefault(each.text_hash, place))
        if each.minima:
            sketch = array("I", each.minima).tobytes()
            self._join(place, self._sketches.setdefault(sketch, place))

    def join_near_duplicates(self) -> None:
        """Join documents with similar sketches."""
        found = self._sketches.items()
        sketches = [(SketchMinima(array("I", x)), place) for x, place in found]
        for begin in range(0, 2 * N_MINIMA, 2 * _BAND):
            self._join_band(sketches, slice(begin, begin + 2 * _BAND))

    def _join_band(self, sketches: list[tuple[SketchMinima, int]], band: slice) -> None:
        """Compare and join documents that have one band in common."""
        buckets: dict[bytes, list[int]] = {}
        for number, (minima, place) in enumerate(sketches):
            bucket = buckets.setdefault(minima.low_bytes[band], [])
            for other in bucket:
                known, known_place = sketches[other]
                if self._root(place) == self._root(known_place):
                    continue
                if minima.resembles(known, NEAR_DUPLICATE):
                    self._join(place, known_place)
            if len(bucket) < MAX_COMPARED:
                bucket.append(number)

    def members(self) -> Iterator[tuple[str, ...]]:
        """Yield the sets of two or more."""
        urls = list(self._places)
        sets: dict[int, list[str]] = {}
        for place, url in enumerate(urls):
            sets.setdefault(self._root(place), []).append(url)
        found = [tuple(sorted(urls)) for urls in sets.values() if len(urls) > 1]
        yield from sorted(found)

    def _place(self, url: str) -> int:
        place = self._places.setdefault(url, len(self._parents))
        if place == len(self._parents):
            self._parents.append(place)
        return place

    def _root(self, place: int) -> int:
        parents = self._parents
        while parents[place] != place:
            parents[place] = parents[parents[place]]
            place = parents[place]
        return place

    def _join(self, one: int, other: int) -> None:
        one, other = self._root(one), self._root(other)
        if one != other:
            self._parents[max(one, other)] = min(one, other)


_UNSTATED_PRIORITY: Final = 0.5  # sitemaps.org protocol 0.9, "priority"


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalCandidate:
    """One member of a cluster.

    Attributes:
        is_listed: a sitemap lists it.
        priority: the greatest stated in sitemaps; None if none is stated.
        is_declared: the page of a member names it by `rel=canonical`.
        is_redirect_target: a member redirects to it.
        pagerank: 0 if it is no node of the graph.
    """

    url: str
    is_listed: bool = False
    priority: float | None = None
    is_declared: bool = False
    is_redirect_target: bool = False
    pagerank: float = 0.0


def choose_canonical(members: Iterable[CanonicalCandidate]) -> str:
    """Return the URL of a cluster's representative.

    The first rule that distinguishes members decides: listed in a sitemap, and with
    the greater priority; named by `rel=canonical`; target of a redirect; greater
    PageRank; shorter; first in byte order.

    Raises:
        ValueError: there are no members.
    """
    return min(members, key=_rank).url


def _rank(
    member: CanonicalCandidate,
) -> tuple[bool, float, bool, bool, float, int, bytes]:
    stated = _UNSTATED_PRIORITY if member.priority is None else member.priority
    return (
        not member.is_listed,
        -stated if member.is_listed else 0.0,
        not member.is_declared,
        not member.is_redirect_target,
        -member.pagerank,
        len(member.url),
        member.url.encode(),
    )


MAX_TIMES: Final = 4
"""Maximum ratio of lengths: sketches of longer documents say too little of a part."""


def containment(share: float, n_shingles: int, n_others: int) -> float:
    """Return the share of a document's shingles that a longer document contains.

    Sketches represent at most `MAX_SAMPLED` shingles, those with the least sums. This
    is a smaller part of the longer document, from which the common ones are drawn.

    Args:
        share: resemblance of the sketches.
        n_shingles: of the document, 1 or more.
        n_others: of the longer one.

    >>> containment(1 / 3, 30, 90), containment(1 / 7, 1000, 4000)
    (1.0, 1.0)
    """
    sizes = min(n_shingles, MAX_SAMPLED), min(n_others, MAX_SAMPLED)
    n_common = share * sum(sizes) / (1 + share) * (n_others / sizes[1])
    return min(1.0, round(n_common / n_shingles, 6))


def find_containers(
    prints: Iterable[ContentPrint], wanted: AbstractSet[str]
) -> Iterator[tuple[str, str, float]]:
    """Yield URLs with a longer document that contains some shingles, and their share.

    Longer documents have up to `MAX_TIMES` the length, and a resemblance below
    `RELATED`: others are copies. At a resemblance of 0.2, one pair in 14 is missed; a
    document is compared with at most `MAX_COMPARED` others for each pair of minima.

    Memory: the sketches of all prints.

    Args:
        prints: of all URLs; those without sketch or known size are skipped.
        wanted: the URLs to examine.
    """
    known = [x for x in prints if x.minima and x.n_shingles]
    queried = [x for x in known if x.url in wanted]
    if not queried:
        return
    candidates: list[set[int]] = [set() for _ in queried]
    minima = [low_bits(x.minima) for x in known]
    own = [low_bits(x.minima) for x in queried]
    for first in range(N_MINIMA):
        pair = first, (first + 1) % N_MINIMA
        buckets: dict[tuple[int, ...], list[int]] = {
            tuple(x[n] for n in pair): [] for x in own
        }
        for number, other in enumerate(minima):
            bucket = buckets.get((other[pair[0]], other[pair[1]]))
            if bucket is not None and len(bucket) < MAX_COMPARED:
                bucket.append(number)
        for each_own, found in zip(own, candidates, strict=True):
            found.update(buckets[tuple(each_own[n] for n in pair)])
    for each, found in zip(queried, candidates, strict=True):
        for number in sorted(found):
            share = _share(each, known[number])
            if share:
                yield each.url, known[number].url, share


def _share(one: ContentPrint, other: ContentPrint) -> float:
    """Return the containment of a document in another; 0 if the other is not longer."""
    if not one.n_shingles < other.n_shingles <= MAX_TIMES * one.n_shingles:
        return 0.0
    share = resemblance(one.minima, other.minima)
    if share >= RELATED:
        return 0.0
    share = _without_chance(share, one.minima, other.minima)
    return containment(share, one.n_shingles, other.n_shingles)


def _without_chance(share: float, one: Sequence[int], other: Sequence[int]) -> float:
    """Return the share of equal minima, corrected for agreement by chance.

    Only minima of the same part with known low bits can agree by chance.

    Source: Li and König, "b-Bit Minwise Hashing" (2010), theorem 1.
    """
    if max(one) >> LOW_BITS and max(other) >> LOW_BITS:
        return share
    parts = (
        [x >> MINIMUM_BITS & (N_MINIMA - 1) for x in each] for each in (one, other)
    )
    chance = 1 / (1 << MINIMUM_BITS)
    n_same: int = sum(map(eq, *parts))
    same = n_same / N_MINIMA
    return max(0.0, (share - same * chance) / (1 - chance))
