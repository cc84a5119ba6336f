"""URLs that need not be crawled, as a dataset that is taken as a whole has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.uri.origin import origin_of

if TYPE_CHECKING:
    from collections.abc import Collection


class ExcludedPrefixes:
    """Prefixes of URLs; whether one covers a URL takes a look-up per length.

    Attributes:
        prefixes: as requested, with their scheme.
    """

    def __init__(self, prefixes: Collection[str] = ()) -> None:
        self.prefixes: frozenset[str] = frozenset()
        self._lengths: dict[str, list[int]] = {}  # origin -> lengths of its prefixes
        self.replace(prefixes)

    def __bool__(self) -> bool:
        return bool(self.prefixes)

    def replace(self, prefixes: Collection[str]) -> None:
        """Take these prefixes instead of those before."""
        self.prefixes = frozenset(prefixes)
        lengths: dict[str, set[int]] = {}
        for prefix in self.prefixes:
            lengths.setdefault(origin_of(prefix), set()).add(len(prefix))
        self._lengths = {origin: sorted(found) for origin, found in lengths.items()}

    def prefix_of(self, url: str) -> str:
        """Return the prefix that a requestable URL begins with; empty if none.

        >>> ExcludedPrefixes(["http://a.example/r/"]).prefix_of("http://a.example/r/1")
        'http://a.example/r/'
        """
        for length in self._lengths.get(origin_of(url), ()):
            if url[:length] in self.prefixes:
                return url[:length]
        return ""
