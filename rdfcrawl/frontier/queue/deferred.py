"""Deferred URLs: covered by a dataset that is fetched instead.

They wait in Redis under the prefix of the dataset until the end of the run: a document
of the dataset may be requested again after a failure, and must find the same state.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import AsyncIterator, Collection, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.uri.hosts import origin_of

if TYPE_CHECKING:
    from rdfcrawl.core.records import Record
    from rdfcrawl.frontier.queue.state_store import StateStore

MAX_DEFERRED: Final = 100_000  # per prefix
_TABLE: Final = "deferred"  # of a prefix: URL and change -> the rest of the record
_AT_ONCE: Final = 500


class DeferredRecord(NamedTuple):
    """A record that is deferred."""

    record: Record  # requestable, checked against scope and filters
    band: bytes  # of its host's queue


class ExcludedPrefixes:
    """Prefixes of URLs; finding the one of a URL takes a look-up per length."""

    def __init__(self, prefixes: Collection[str] = ()) -> None:
        self.prefixes: set[str] = set()  # requestable, with their scheme
        self._lengths: dict[str, list[int]] = {}  # origin -> lengths of its prefixes
        self.replace(prefixes)

    def __bool__(self) -> bool:
        return bool(self.prefixes)

    def replace(self, prefixes: Collection[str]) -> None:
        """Replace all prefixes."""
        self.prefixes = set()
        self._lengths = {}
        self.add(prefixes)

    def add(self, prefixes: Iterable[str]) -> None:
        """Add prefixes."""
        for prefix in prefixes:
            if prefix not in self.prefixes:
                self.prefixes.add(prefix)
                lengths = self._lengths.setdefault(origin_of(prefix), [])
                if len(prefix) not in lengths:
                    insort(lengths, len(prefix))

    def prefix_of(self, url: str) -> str:
        """Return the prefix with which a requestable URL begins; empty if none."""
        for length in self._lengths.get(origin_of(url), ()):
            if url[:length] in self.prefixes:
                return url[:length]
        return ""


class DeferredLinks:
    """The deferred records of each prefix, shared by all workers of a crawl."""

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._full: dict[int, set[str]] = {}  # limit -> prefixes

    async def put(
        self,
        prefix: str,
        waiting: Iterable[DeferredRecord],
        *,
        limit: int = MAX_DEFERRED,
    ) -> None:
        """Store deferred records, about `limit` per prefix at most."""
        entries = dict(map(_entry, waiting))
        room = limit - await self._store.size(prefix, _TABLE)
        if room < len(entries):
            self.full(limit).add(prefix)
            entries = dict(list(entries.items())[: max(0, room)])
        await self._store.put(prefix, _TABLE, entries)

    def full(self, limit: int = MAX_DEFERRED) -> set[str]:
        """Return the prefixes that are known to have reached the limit."""
        return self._full.setdefault(limit, set())

    async def is_full(self, prefix: str) -> bool:
        """Return whether a prefix may cover more URLs than were deferred."""
        return await self._store.size(prefix, _TABLE) >= MAX_DEFERRED

    async def groups(self, prefix: str) -> AsyncIterator[list[DeferredRecord]]:
        """Yield the deferred records of a prefix; some may be repeated."""
        group: list[DeferredRecord] = []
        async for key, text in self._store.entries(prefix, _TABLE):
            group.append(_deferred(key, text))
            if len(group) == _AT_ONCE:
                yield group
                group = []
        if group:
            yield group


def _entry(waiting: DeferredRecord) -> tuple[str, str]:
    from rdfcrawl.core.visits import encode_record  # noqa: PLC0415

    record, band = waiting
    text = f"{band.decode()} {encode_record(record)}"
    return f"{record.url} {record.change}", text


def _deferred(key: str, text: str) -> DeferredRecord:
    from rdfcrawl.core.visits import decode_record  # noqa: PLC0415

    band, _, rest = text.partition(" ")
    return DeferredRecord(decode_record(key.partition(" ")[0], rest), band.encode())
