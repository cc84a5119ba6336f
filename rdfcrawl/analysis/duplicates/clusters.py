"""Clusters of near-duplicates: equal hashes first, then sketches, then redirects.

Two documents are near-duplicates if their resemblance, the share of common shingles in
all shingles of both, is 0.9 or more. It is computed from their sketches: exactly for
short documents, else with a standard error of 0.04 at 0.9. Candidate pairs are found by
bands: 16 of 4 minima. A pair of resemblance 0.9 has an equal band with a probability of
1 - 4e-8, one of 0.7 with 0.99, one of 0.3 with 0.12.

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
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain
from typing import Final

from rdfcrawl.rdf.fingerprints import BINS, Sketch

N_BANDS: Final = 16
NEAR_DUPLICATE: Final = 0.9  # resemblance
RELATED: Final = 0.7  # below it, documents are not duplicates in any sense
# Documents with an equal band to compare one with. Thousands of empty templates share a
# band; beyond this limit some pairs are missed.
MAX_COMPARED: Final = 256

_BYTES: Final = 2  # of one of the minima
_BANDS: Final = [
    slice(n, n + _BYTES * BINS // N_BANDS)
    for n in range(0, _BYTES * BINS, _BYTES * BINS // N_BANDS)
]
_PAIRS: Final = [slice(n, n + 2 * _BYTES) for n in range(0, _BYTES * BINS, _BYTES)]
_UNSTATED_PRIORITY: Final = 0.5  # sitemaps.org protocol 0.9, "priority"
MAX_TIMES: Final = 4
"""Maximum ratio of lengths: sketches of longer documents say too little of a part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentPrint:
    """Hashes and redirects of one crawled URL, from which clusters are computed.

    Attributes:
        text_hash: of its content; empty if it has none.
        sketch: of its content; None if there is none.
        redirects_to: targets of its redirects, in order.
        n_shingles: number of its distinct shingles; 0: unknown.
    """

    url: str
    text_hash: str = ""
    sketch: Sketch | None = None
    redirects_to: tuple[str, ...] = ()
    n_shingles: int = 0


def find_clusters(prints: Iterable[ContentPrint]) -> Iterator[tuple[str, ...]]:
    """Yield the clusters of two URLs or more, each sorted, in order of their first.

    The order of the prints does not matter, unless more than `MAX_COMPARED` distinct
    documents share a band. Targets of redirects without a print are members, too.

    Memory: the URLs, and some 700 bytes for each distinct sketch.
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
    urls: dict[Sketch, list[str]] = {}
    for each in prints:
        if each.sketch:
            urls.setdefault(each.sketch, []).append(each.url)
    sketches = list(urls)
    queried = [
        number
        for number, sketch in enumerate(sketches)
        if any(map(wanted.__contains__, urls[sketch]))
    ]
    minima = [sketch.minima() for sketch in sketches]
    for number, candidates in _candidates(minima, queried, _BANDS):
        sketch = sketches[number]
        related = [
            each
            for each in map(sketches.__getitem__, candidates)
            if sketch.resemblance(each) >= RELATED
        ]
        for url in filter(wanted.__contains__, urls[sketch]):
            yield url, chain.from_iterable(urls[each] for each in related)


def _candidates(
    minima: Sequence[bytes], queried: Sequence[int], runs: Iterable[slice]
) -> Iterator[tuple[int, list[int]]]:
    """Yield the numbers queried, each with those of documents with a run in common.

    Of the documents with one run, the first `MAX_COMPARED` are found.

    Args:
        minima: of all documents.
        queried: numbers of documents.
        runs: places in the minima.
    """
    candidates = [{number} for number in queried]
    for run in runs:
        keys = [each[run] for each in minima]
        buckets: dict[bytes, list[int]] = {keys[number]: [] for number in queried}
        for number, key in enumerate(keys):
            bucket = buckets.get(key)
            if bucket is not None and len(bucket) < MAX_COMPARED:
                bucket.append(number)
        for number, found in zip(queried, candidates, strict=True):
            if len(bucket := buckets[keys[number]]) > 1:
                found.update(bucket)
    for number, found in zip(queried, candidates, strict=True):
        yield number, sorted(found)


class _Clusters:
    """Disjoint sets of URLs, identified by the least number of a set."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._parents = array("q")
        self._hashes: dict[str, int] = {}
        self._sketches: dict[Sketch, int] = {}

    def add(self, each: ContentPrint) -> None:
        """Add a URL, and join it with equal content and targets of redirects."""
        place = self._place(each.url)
        for target in each.redirects_to:
            self._join(place, self._place(target))
        if each.text_hash:
            self._join(place, self._hashes.setdefault(each.text_hash, place))
        if each.sketch:
            self._join(place, self._sketches.setdefault(each.sketch, place))

    def join_near_duplicates(self) -> None:
        """Join documents with similar sketches."""
        found = [(x, x.minima(), place) for x, place in self._sketches.items()]
        for band in _BANDS:
            self._join_band((minima[band], x, place) for x, minima, place in found)

    def _join_band(self, found: Iterable[tuple[bytes, Sketch, int]]) -> None:
        """Compare and join documents that have one band in common."""
        buckets: dict[bytes, list[tuple[Sketch, int]]] = {}
        for band, sketch, place in found:
            bucket = buckets.setdefault(band, [])
            for known, known_place in bucket:
                if self._root(place) == self._root(known_place):
                    continue
                if sketch.resemblance(known) >= NEAR_DUPLICATE:
                    self._join(place, known_place)
            if len(bucket) < MAX_COMPARED:
                bucket.append((sketch, place))

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


def containment(share: float, n_shingles: int, n_others: int) -> float:
    """Return the share of a document's shingles that a longer document contains.

    Args:
        share: resemblance of the documents.
        n_shingles: of the document, 1 or more.
        n_others: of the longer one.

    >>> containment(1 / 3, 30, 90), containment(0, 30, 90)
    (1.0, 0.0)
    """
    n_common = share * (n_shingles + n_others) / (1 + share)
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
    known = [(x, x.sketch.minima()) for x in prints if x.sketch and x.n_shingles]
    queried = [n for n, (each, _) in enumerate(known) if each.url in wanted]
    if not queried:
        return
    minima = [each + each[:_BYTES] for _, each in known]
    for number, candidates in _candidates(minima, queried, _PAIRS):
        each = known[number][0]
        for other, _ in map(known.__getitem__, candidates):
            if (share := _share(each, other)) > 0:
                yield each.url, other.url, share


def _share(one: ContentPrint, other: ContentPrint) -> float:
    """Return the containment of a document in another; 0 if the other is not longer."""
    if not one.n_shingles < other.n_shingles <= MAX_TIMES * one.n_shingles:
        return 0.0
    if one.sketch is None or other.sketch is None:
        return 0.0
    share = one.sketch.resemblance(other.sketch)
    if share >= RELATED:
        return 0.0
    return containment(share, one.n_shingles, other.n_shingles)
