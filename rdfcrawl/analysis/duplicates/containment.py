"""Share of a document that a longer one contains, from sketches and sizes.

The number of common shingles, |A ∩ B|, follows from resemblance and sizes:
r (|A| + |B|) / (1 + r). Divided by |A|, it is the containment of A in B.

Source: Broder, "On the resemblance and containment of documents" (1997).
"""

from __future__ import annotations

from operator import eq
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.duplicates.clusters import (
    MAX_COMPARED,
    N_MINIMA,
    RELATED,
    low_bits,
    resemblance,
)
from rdfcrawl.rdf.fingerprints import LOW_BITS, MAX_SAMPLED, MINIMUM_BITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from rdfcrawl.analysis.duplicates.clusters import ContentPrint

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
