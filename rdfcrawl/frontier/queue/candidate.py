"""Candidates: URIs to be added to the frontier, and the results of adding them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.uri import BadUri, HostGrouping, compact, partition_of, requestable
from rdfcrawl.uri.hosts import origin_of

if TYPE_CHECKING:
    from rdfcrawl.core.errors import Fault
    from rdfcrawl.core.records import CrawlBudget
    from rdfcrawl.uri import PolitenessKey

SEEN_ONLY: Final = b"k"  # item that only marks a candidate as seen
FORGOTTEN: Final = b"f"  # item that removes the mark of a candidate
_MAX_KNOWN: Final = 100_000


class Candidate(NamedTuple):
    """A URI to be added to the frontier."""

    partition: int  # of the registered domain of the key
    key: str  # politeness key
    fingerprint: int  # of the URI's normal form
    item: bytes  # band digit and payload, `SEEN_ONLY` or `FORGOTTEN`
    # of its host and domain; None is that of the worker
    budget: CrawlBudget | None = None


@dataclass(frozen=True, slots=True)
class AddedCounts:
    """Counts of candidates: new, seen before, over budget of host or domain."""

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


@dataclass(slots=True)
class RejectedLinks:
    """Numbers of links that were not queued, by cause."""

    recent: int = 0
    bad: int = 0
    filtered: int = 0
    ignored_extension: int = 0  # pictures and other files without statements, by name
    too_deep: int = 0
    covered: int = 0
    nofollow: int = 0
    trap: int = 0
    large_form: int = 0  # queued late
    of_copy: int = 0  # in documents with the content of many others
    of_copy_later: int = 0  # the same, queued late
    no_rdf: int = 0  # distributions declared as other formats


class JudgedLinks(NamedTuple):
    """The candidates among the links of a document."""

    candidates: list[Candidate]  # in the order of the links
    # one for all links that are invalid or have an unstorable task, and one for those
    # into traps
    faults: list[Fault]


class OriginPlace(NamedTuple):
    """Partition and key of the URLs of an origin."""

    key: str  # politeness key
    partition: int  # of its registered domain
    short: str  # the origin as in compact URLs (`uri.compact`)
    n_chars: int  # length of the origin


class OriginPlaces:
    """The places of origins; those of http(s) are remembered."""

    def __init__(self, keys: PolitenessKey, partitions: int) -> None:
        self._key_of = keys.of
        self._partitions = partitions
        # addresses change, and are looked up each time
        self._keeps = keys.grouping is not HostGrouping.IP
        self.known: dict[str, OriginPlace] = {}  # by origin

    def of(self, url: str) -> OriginPlace:
        """Return the place of a requestable URL."""
        origin = origin_of(url)
        place = self.known.get(origin)
        if place is None:
            key = self._key_of(url)
            short = compact(f"{origin}/", key)[:-1]
            partition = partition_of(key, self._partitions)
            place = OriginPlace(key, partition, short, len(origin))
            if self._keeps and origin.startswith(("http://", "https://")):
                if len(self.known) >= _MAX_KNOWN:
                    self.known.clear()
                self.known[origin] = place
        return place


def payload_url(url: str) -> str:
    """Return the URL of a document in the form for payloads.

    Servers of sources may name documents by any IRI.
    """
    if url.isascii() and url.isprintable():
        return url
    try:
        return requestable(url)
    except BadUri:
        return ""
