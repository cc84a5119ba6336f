"""Observations from the links of documents: who was first to name a URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdfcrawl.stores.reading import iter_marked
from rdfcrawl.urldb.activities import UrlObservation
from rdfcrawl.urldb.joining import observe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MAX_LINKED: Final = 100_000


class LinkedUrls:
    """Targets of links, each with the first and the last document that names it.

    Many are named by many documents, so they are held for a while.
    """

    def __init__(self) -> None:
        self._first: dict[bytes, tuple[int, bytes]] = {}
        self._last: dict[bytes, int] = {}

    def add(self, blocks: Iterable[bytes]) -> None:
        """Add the links in the marked documents of a member, in whole lines."""
        first, last = self._first, self._last
        source, ms = (0, b""), 0
        for mark, lines in iter_marked(blocks):
            if mark is not None:
                ms = int(mark[2])
                source = ms, mark[1]
                continue
            for line in lines.split(b"\n"):
                target = line.partition(b"> ")[0]
                if not target.startswith(b"<"):
                    continue
                if target not in first or source < first[target]:
                    first[target] = source
                if last.get(target, -1) < ms:
                    last[target] = ms

    @property
    def is_full(self) -> bool:
        """Whether it is time to take what is held."""
        return len(self._first) >= _MAX_LINKED

    def take(self) -> Iterator[UrlObservation]:
        """Yield what is held, and begin anew."""
        for target, (ms, source) in self._first.items():
            url = target[1:].decode("utf-8", "replace")
            document = source.decode("utf-8", "replace")
            said = observe(linked=[ms, document, self._last[target]])
            yield UrlObservation(url, 0, said)
        self._first, self._last = {}, {}
