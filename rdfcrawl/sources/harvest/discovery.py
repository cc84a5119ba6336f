"""Results of discovery in a document, apart from its links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rdfcrawl.core.errors import Fault
    from rdfcrawl.core.records import FollowUp


@dataclass(frozen=True, slots=True)
class Discovery:
    """Results and counts of a discoverer; discoveries can be added."""

    # records to queue; the first record of a URL wins
    follow_ups: tuple[FollowUp, ...] = ()
    faults: tuple[Fault, ...] = ()  # of the document
    # skipped files of datasets, declared not to be RDF
    not_rdf: tuple[str, ...] = ()
    # the URL was a guess, so a missing document is not a fault
    is_excused: bool = False

    def __add__(self, other: Discovery) -> Discovery:
        """Return both; nothing is copied if one of them is empty."""
        if other is NOTHING_FOUND:
            return self
        if self is NOTHING_FOUND:
            return other
        return Discovery(
            self.follow_ups + other.follow_ups,
            self.faults + other.faults,
            self.not_rdf + other.not_rdf,
            self.is_excused or other.is_excused,
        )

    def parts(self) -> Iterator[FollowUp | Fault]:
        """Yield the follow-ups and the faults."""
        yield from self.follow_ups
        yield from self.faults


NOTHING_FOUND: Final = Discovery()


def combined(discoveries: Sequence[Discovery]) -> Discovery:
    """Return all discoveries as one, with fewer copies than repeated addition."""
    some = [each for each in discoveries if each is not NOTHING_FOUND]
    if not some:
        return NOTHING_FOUND
    return Discovery(
        tuple(chain.from_iterable(each.follow_ups for each in some)),
        tuple(chain.from_iterable(each.faults for each in some)),
        tuple(chain.from_iterable(each.not_rdf for each in some)),
        any(each.is_excused for each in some),
    )


def found(*follow_ups: FollowUp) -> Discovery:
    """Return a discovery of records to queue."""
    return Discovery(follow_ups) if follow_ups else NOTHING_FOUND
