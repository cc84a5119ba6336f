"""The interface of refresh policies, and shared functions."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nsmallest
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rdfcrawl.analysis.measures.uri_facts import UriFacts

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshEpoch:
    """One epoch of refresh of one host.

    Attributes:
        now_ms: start of the epoch, in milliseconds since 1970.
        length_ms: time until the next one starts.
        n_fetches: its budget; a page is fetched at most once.
    """

    now_ms: int
    length_ms: int = DAY_MS
    n_fetches: int


class RefreshPolicy(Protocol):
    """A policy that chooses which pages to fetch again.

    The choice depends only on the arguments: policies have no state.
    """

    def choose(
        self, open_pages: Callable[[], Iterable[UriFacts]], epoch: RefreshEpoch
    ) -> list[str]:
        """Return the URLs to fetch in an epoch, the most urgent first.

        Args:
            open_pages: returns an iterator over the facts of the host's pages, all of
                which were fetched before; may be called more than once.
            epoch: limits the number of URLs.
        """
        ...


def last_fetched_ms(facts: UriFacts) -> int:
    """Return the time of the last fetch, with any outcome; 0 if there is none."""
    return facts.fetches[-1].started_ms if facts.fetches else 0


def most_urgent(urgencies: Iterable[tuple[float, str]], n: int) -> list[str]:
    """Return the `n` most urgent URLs; only those are in memory.

    Ties are ordered by URL.

    >>> most_urgent([(1, "b"), (3, "c"), (1, "a")], 2)
    ['c', 'a']
    """
    found = nsmallest(n, urgencies, key=lambda each: (-each[0], each[1]))
    return [url for _, url in found]
