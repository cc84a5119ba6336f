"""What documents say of datasets, kept from run to run.

Each document has a say of its own, which a later run may replace or withdraw. The
description of the first of them counts; those of the dataset's own site, or of the
site of its data, add kinds of access.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.codec import decode, encode
from rdfcrawl.sources.sitemaps.access import DatasetAccess  # noqa: TC001 (decoded)
from rdfcrawl.sources.sitemaps.entry import ChangeFrequency  # noqa: TC001 (decoded)
from rdfcrawl.sources.sitemaps.semantic import Slicing, UriPrefix
from rdfcrawl.uri.origin import site_of

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.state_store import StateStore

DATASET: Final = "dataset"  # of a dataset: `known`; `way`: the one taken; `noted`
_FIRST: Final = "first"  # there, too: URL of the document that was the first to say so
_SAID: Final = "said by"  # of a dataset: URL of a document -> `KnownDataset`
_DESCRIBES: Final = "describes"  # of a document: the names of its datasets
_CRAWL: Final = "crawl:"  # stands for the crawl itself where a source is asked for
_NAMES: Final = "datasets asked again"  # of the crawl: name -> depth of its data
_MAX_SOURCES: Final = 20  # documents that have a say of their own in one dataset
_MAX_NAMES: Final = 100_000
_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDataset:
    """A dataset as kept in the state store.

    Attributes:
        name: IRI.
        ways: access methods for all of the data, in the order to try.
        prefixes: of URIs that resolve to descriptions of parts of the data.
        samples: URIs in the dataset, whose pages are compared with the dump.
        lastmod: of the data; empty if it is not stated.
        changefreq: of the data; None if it is not stated.
        described_by: slicing of what its endpoint says of a URI.
    """

    name: str
    ways: tuple[DatasetAccess, ...]
    prefixes: tuple[UriPrefix, ...] = ()
    samples: tuple[str, ...] = ()
    lastmod: str = ""
    changefreq: ChangeFrequency | None = None
    described_by: Slicing = Slicing.CBD

    @property
    def slicing(self) -> Slicing:
        """Slicing of a dump into descriptions; CBD unless a prefix declares another."""
        declared = (prefix.slicing for prefix in self.prefixes)
        return next((each for each in declared if each), Slicing.CBD)


class KnownDatasets:
    """The descriptions of the datasets of a crawl, shared by all workers."""

    def __init__(self, store: StateStore) -> None:
        self._store = store

    async def known(self, name: str) -> KnownDataset | None:
        """Return a dataset by its name."""
        text = await self._store.get(name, DATASET, "known")
        return decode(text, KnownDataset) if text else None

    async def say(self, dataset: KnownDataset, source: str) -> KnownDataset:
        """Take what a document says of a dataset; return all that is known of it."""
        name, text = dataset.name, encode(dataset)
        is_known = await self._store.get(name, _SAID, source) is not None
        if not is_known and await self._store.size(name, _SAID) >= _MAX_SOURCES:
            known = await self.known(name)
            return _merged(known, dataset, source) if known else dataset
        await self._store.put(source, _DESCRIBES, {name: ""})
        await self._store.put(name, _SAID, {source: text})
        await self._store.claim(name, DATASET, _FIRST, source)
        return await self._settle(name) or dataset

    async def unsay(self, name: str, source: str) -> KnownDataset | None:
        """Forget what a document says of a dataset; return what is still known."""
        await self._store.drop(name, _SAID, [source])
        return await self._settle(name)

    async def forget(self, name: str) -> None:
        """Forget a dataset that no document describes."""
        await self._store.clear(name, DATASET)
        await self._store.drop(_CRAWL, _NAMES, [name])

    async def end(self, name: str, source: str) -> None:
        """Note that a document describes a dataset no more, after all that follows."""
        await self._store.drop(source, _DESCRIBES, [name])

    async def described_by(self, source: str, but: Collection[str] = ()) -> list[str]:
        """Return the names of the datasets that a document described, without some."""
        names = {name async for name, _ in self._store.entries(source, _DESCRIBES)}
        return sorted(names.difference(but))

    async def ask_again(self, name: str, depth: int) -> None:
        """Note a dataset whose description is not read again in later runs."""
        if await self._store.size(_CRAWL, _NAMES) < _MAX_NAMES:
            await self._store.put(_CRAWL, _NAMES, {name: str(depth)})

    async def to_ask_again(self) -> AsyncIterator[list[tuple[KnownDataset, int]]]:
        """Yield such datasets, and the depths of their data, in groups."""
        group: list[tuple[str, str]] = []
        async for entry in self._store.entries(_CRAWL, _NAMES):
            group.append(entry)
            if len(group) == _AT_ONCE:
                yield await self._all_known(group)
                group = []
        if group:
            yield await self._all_known(group)

    async def _all_known(
        self, entries: Sequence[tuple[str, str]]
    ) -> list[tuple[KnownDataset, int]]:
        found = await self._store.gather(self.known(name) for name, _ in entries)
        return [
            (known, int(depth))
            for known, (_, depth) in zip(found, entries, strict=True)
            if known is not None
        ]

    async def _settle(self, name: str) -> KnownDataset | None:
        """Keep what all documents together say of a dataset, and return it."""
        said = {
            source: decode(text, KnownDataset)
            async for source, text in self._store.entries(name, _SAID)
        }
        if not said:
            return None
        first = await self._store.get(name, DATASET, _FIRST)
        known = said.pop(first if first in said else min(said))
        for source in sorted(said):
            known = _merged(known, said[source], source)
        text = encode(known)
        before = await self._store.get(name, DATASET, "known")
        if text != before:
            if before and not _is_longer(known, decode(before, KnownDataset)):
                await self._store.drop(name, DATASET, ["way"])
            await self._store.put(name, DATASET, {"known": text})
        return known


def _is_longer(known: KnownDataset, before: KnownDataset) -> bool:
    """Return whether the ways of before are still the first ones."""
    return known.ways[: len(before.ways)] == before.ways


def _merged(known: KnownDataset, other: KnownDataset, source: str) -> KnownDataset:
    """Return a dataset with the kinds of access that another description adds.

    The description counts if it is of the site of the dataset, or of its data.
    """
    sites = {site_of(url) for way in known.ways for part in way.parts for url in part}
    if site_of(source) not in {*sites, site_of(known.name)}:
        return known
    kinds = {way.way for way in known.ways}
    new = tuple(way for way in other.ways if way.way not in kinds)
    return replace(known, ways=known.ways + new)
