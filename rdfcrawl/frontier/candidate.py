"""Values: URIs on their way into the frontier, and their fates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from rdfcrawl.records import CrawlBudget

SEEN_ONLY: Final = b"k"  # item of a candidate that is only to be marked as seen


class Candidate(NamedTuple):
    """A URI on its way into the frontier."""

    partition: int  # of the registered domain of the key
    key: str  # politeness key
    fingerprint: int  # of the URI's normal form
    item: bytes  # band digit and payload, or `SEEN_ONLY`
    # of its host and domain; None is that of the worker
    budget: CrawlBudget | None = None


@dataclass(frozen=True, slots=True)
class AddedCounts:
    """What became of candidates: new, seen before, over budget of host or domain."""

    new: int = 0
    seen: int = 0
    over_host: int = 0
    over_domain: int = 0

    def __add__(self, other: AddedCounts) -> AddedCounts:
        """Return the sums."""
        return AddedCounts(
            self.new + other.new,
            self.seen + other.seen,
            self.over_host + other.over_host,
            self.over_domain + other.over_domain,
        )
