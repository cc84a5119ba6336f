"""Descriptions of datasets by documents, kept from run to run.

Each document has a separate description, which a later run may replace or withdraw. The
first description counts; others add access methods if they are of the dataset's site,
or of the site of its data.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.records import Document, FollowUp, Kind, Record
from rdfcrawl.core.tasks import DumpPart, SamplePage
from rdfcrawl.sources.access import DEFAULT_GRAPH, AccessMethod, DatasetAccess
from rdfcrawl.sources.sitemaps.entry import ChangeFrequency, may_list
from rdfcrawl.sources.sitemaps.semantic import ALL_GRAPHS, Slicing, UriPrefix
from rdfcrawl.uri import requestable
from rdfcrawl.uri.hosts import HostNames, site_of

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.tables import StateStore


COMPLETE_METHODS: Final = frozenset(
    {AccessMethod.DUMP, AccessMethod.FRAGMENTS, AccessMethod.SPARQL}
)
DATASET: Final = "dataset"  # of a dataset: `known`; `way` in use; `noted`
_FIRST: Final = "first"  # in the same table: URL of the first document
_DESCRIPTIONS: Final = "said by"  # of a dataset: URL of a document -> `KnownDataset`
_DESCRIBES: Final = "describes"  # of a document: the names of its datasets
_CRAWL: Final = "crawl:"  # the crawl, in place of a source
_NAMES: Final = "datasets asked again"  # of the crawl: name -> depth of its data
MAX_GRAPHS_CHARS: Final = 2048  # of the graphs in a task, which has other parts
_MAX_SOURCES: Final = 20  # describing documents of one dataset
_MAX_NAMES: Final = 100_000
_MAX_DECODED: Final = 8  # in memory, of some MB at most


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDataset:
    """A dataset in the state store.

    Attributes:
        name: IRI.
        ways: access methods for all of the data, in the order to try.
        prefixes: prefixes of URIs that resolve to parts of the data.
        samples: URIs in the dataset, to compare their pages with the dump.
        lastmod: of the data; empty if unknown.
        changefreq: of the data; None if unknown.
        modified: changes with the dates of the data in DCAT; empty without any.
        described_by: slicing of descriptions by its endpoint.
        unknown: files that may be pages without data.
    """

    name: str
    ways: tuple[DatasetAccess, ...]
    prefixes: tuple[UriPrefix, ...] = ()
    samples: tuple[str, ...] = ()
    lastmod: str = ""
    changefreq: ChangeFrequency | None = None
    modified: str = ""
    described_by: Slicing = Slicing.CBD
    unknown: tuple[str, ...] = ()

    @property
    def urls_of_files(self) -> tuple[str, ...]:
        """URLs of all dumps and fragments, with mirrors."""
        files = (AccessMethod.DUMP, AccessMethod.FRAGMENTS)
        return tuple(x for way in self.ways if way.way in files for x in way.urls)

    @property
    def places(self) -> tuple[str, ...]:
        """URLs of all files and endpoints."""
        prefix = AccessMethod.PREFIX
        return tuple(x for way in self.ways if way.way is not prefix for x in way.urls)

    def part_at(self, url: str, part: DumpPart) -> DumpPart | None:
        """Return a part with the place that its URL has in this description now.

        A file may have been requested by an earlier description. None: it has no such
        file any more.
        """
        places = (
            (w, n)
            for w, way in enumerate(self.ways)
            for n, mirrors in enumerate(way.parts)
            if url in mirrors
        )
        found = sorted(places, key=lambda each: each[0] != part.way)
        return replace(part, way=found[0][0], part=found[0][1]) if found else None

    def ways_at(self, endpoint: str) -> dict[int, DatasetAccess]:
        """Return the access methods by queries to an endpoint, by their indexes."""
        return {
            index: way
            for index, way in enumerate(self.ways)
            if way.way is AccessMethod.SPARQL and endpoint in way.urls
        }

    @property
    def slicing(self) -> Slicing:
        """Slicing of a dump into descriptions; CBD unless a prefix declares another."""
        declared = (prefix.slicing for prefix in self.prefixes)
        return next((each for each in declared if each), Slicing.CBD)


@lru_cache(_MAX_DECODED)  # each of its many files is looked up
def _decoded(text: str) -> KnownDataset:
    return decode(text, KnownDataset)


class KnownDatasets:
    """The descriptions of the datasets of a crawl, shared by all workers."""

    def __init__(self, store: StateStore) -> None:
        self._store = store

    async def known(self, name: str) -> KnownDataset | None:
        """Return a dataset by its name."""
        text = await self._store.get(name, DATASET, "known")
        return _decoded(text) if text else None

    async def add(self, dataset: KnownDataset, source: str) -> KnownDataset:
        """Add the description by a document; return the merged description."""
        name, text = dataset.name, encode(dataset)
        is_known = await self._store.get(name, _DESCRIPTIONS, source) is not None
        if not is_known and await self._store.size(name, _DESCRIPTIONS) >= _MAX_SOURCES:
            known = await self.known(name)
            return _merged(known, dataset, source) if known else dataset
        await self._store.put(source, _DESCRIBES, {name: ""})
        await self._store.put(name, _DESCRIPTIONS, {source: text})
        await self._store.claim(name, DATASET, _FIRST, source)
        return await self._settle(name) or dataset

    async def drop(self, name: str, source: str) -> KnownDataset | None:
        """Drop the description by a document; return the rest."""
        await self._store.drop(name, _DESCRIPTIONS, [source])
        return await self._settle(name)

    async def forget(self, name: str) -> None:
        """Forget a dataset without descriptions."""
        await self._store.clear(name, DATASET)
        await self._store.drop(_CRAWL, _NAMES, [name])

    async def end(self, name: str, source: str) -> None:
        """Note last that a document no longer describes a dataset."""
        await self._store.drop(source, _DESCRIBES, [name])

    async def described_by(
        self, source: str, except_for: Collection[str] = ()
    ) -> list[str]:
        """Return the names of the datasets that a document described."""
        names = {name async for name, _ in self._store.entries(source, _DESCRIBES)}
        return sorted(names.difference(except_for))

    async def note_for_revisits(self, name: str, depth: int) -> None:
        """Note a dataset with a description that later runs do not read."""
        await self._store.put_up_to(_CRAWL, _NAMES, {name: str(depth)}, _MAX_NAMES)

    async def for_revisits(self) -> AsyncIterator[list[tuple[KnownDataset, int]]]:
        """Yield such datasets, and the depths of their data, in batches."""
        async for batch in self._store.batches(_CRAWL, _NAMES):
            found = await self._store.gather(map(self.known, batch))
            yield [
                (known, int(depth))
                for known, depth in zip(found, batch.values(), strict=True)
                if known is not None
            ]

    async def _settle(self, name: str) -> KnownDataset | None:
        """Merge and keep the descriptions of a dataset."""
        descriptions = {
            source: decode(text, KnownDataset)
            async for source, text in self._store.entries(name, _DESCRIPTIONS)
        }
        if not descriptions:
            return None
        first = await self._store.get(name, DATASET, _FIRST)
        known = descriptions.pop(first if first in descriptions else min(descriptions))
        for source in sorted(descriptions):
            known = _merged(known, descriptions[source], source)
        text = encode(known)
        before = await self._store.get(name, DATASET, "known")
        if text != before:
            if before and not _is_longer(known, decode(before, KnownDataset)):
                await self._store.drop(name, DATASET, ["way"])
            await self._store.put(name, DATASET, {"known": text})
        return known


def _is_longer(known: KnownDataset, before: KnownDataset) -> bool:
    """Return whether the earlier access methods are still the first ones."""
    return known.ways[: len(before.ways)] == before.ways


def _merged(known: KnownDataset, other: KnownDataset, source: str) -> KnownDataset:
    """Return a dataset with the access methods added by another description.

    The description must be on the site of the dataset, or of its data.
    """
    sites = {site_of(url) for way in known.ways for part in way.parts for url in part}
    if site_of(source) not in {*sites, site_of(known.name)}:
        return known
    kinds = {way.way for way in known.ways}
    new = tuple(way for way in other.ways if way.way not in kinds)
    return replace(known, ways=known.ways + new)


def credible_spaces(
    spaces: Iterable[str],
    ways: Iterable[DatasetAccess],
    document: Document,
    trust: HostNames,
) -> tuple[UriPrefix, ...]:
    """Return the credible URI spaces of a dataset.

    Document, data and URI space must be of one site; otherwise anyone could block the
    crawl of a site. Files may also be on the site's FTP server, and on hosts trusted by
    the operator.
    """
    places = {url for way in ways for part in way.parts for url in part}
    sites = {
        site_of(url)
        for url in places
        if not (trust.covers(url) or may_list(url, document.url, ()))
    }
    sites.add(site_of(document.url))
    return tuple(UriPrefix(x, requestable(x)) for x in spaces if sites == {site_of(x)})


def graphs_elsewhere(dataset: KnownDataset, dump: str) -> tuple[str, ...]:
    """Return the prefixes of a dataset on other sites than its dump."""
    urls = (prefix.url for prefix in dataset.prefixes)
    others = tuple(url for url in urls if site_of(url) != site_of(dump))
    return others if sum(map(len, others)) <= MAX_GRAPHS_CHARS else ()


def describe_url(endpoint: str, uri: str, graphs: Sequence[str]) -> str:
    """Return the URL of a DESCRIBE query for a URI (SPARQL 1.1 Protocol 2.1).

    >>> describe_url("http://a.example/sparql", "http://a.example/1", ["default"])
    'http://a.example/sparql?query=DESCRIBE+%3Chttp%3A%2F%2Fa.example%2F1%3E'
    """
    named = [x for x in graphs if x not in (DEFAULT_GRAPH, ALL_GRAPHS)]
    fields = [("query", f"DESCRIBE <{uri}>")]
    fields += [("default-graph-uri", graph) for graph in named]
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(fields)}"


def sample_of(
    dataset: KnownDataset, uri: str, depth: int, parent: str, change: str
) -> FollowUp:
    """Return the page of a URI in a dataset, to compare with its dump."""
    page = SamplePage(dataset.name, uri)
    sample = Record(uri, Kind.PAGE, depth, parent, task=page)
    return FollowUp(sample, is_part_of_source=True, change=change)
