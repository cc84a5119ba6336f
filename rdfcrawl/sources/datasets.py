"""The registry of datasets: each is taken once, by the best way that is known.

It is fed by all that describes datasets: sitemaps, VoID, DCAT, service descriptions.
The ways that are named first count; where one fails, the next is taken.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.catalogs.access import ways_by_dataset
from rdfcrawl.records import MAX_TASK_CHARS, Child, Kind, Record
from rdfcrawl.sitemaps.access import Way
from rdfcrawl.sitemaps.semantic import Prefix
from rdfcrawl.sources.claims import site_of
from rdfcrawl.sources.dataset import KnownDataset, Part, Sample
from rdfcrawl.sources.tasks import Task
from rdfcrawl.uri import requestable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdfcrawl.catalogs.access import Findings
    from rdfcrawl.frontier.session import CrawlSession
    from rdfcrawl.records import Document
    from rdfcrawl.sitemaps.access import Access

_DATASET: Final = "dataset"  # of a dataset: `known`, and `way`: the one that is taken
_SERVED: Final = "datasets"  # of an endpoint: those that are behind it
_WHOLE: Final = frozenset({Way.DUMP, Way.FRAGMENTS, Way.SPARQL})


class Datasets:
    """What is known of datasets, by all workers of a crawl."""

    def __init__(self, session: CrawlSession) -> None:
        self._session = session
        self._shelf = session.shelf

    async def described(self, findings: Findings, document: Document) -> list[Child]:
        """Return what to ask for, of what a document says of datasets."""
        children = []
        for name, ways in ways_by_dataset(findings.named).items():
            spaces = findings.spaces.get(name, ())
            prefixes = _believed(spaces, ways, document)
            known = KnownDataset(name=name, ways=ways, prefixes=prefixes)
            children += await self.register(known, document)
        # Last: what is below the prefixes of a dataset by now is not asked for.
        return children + [_page(url, document) for url in findings.links]

    async def register(self, dataset: KnownDataset, document: Document) -> list[Child]:
        """Return the records by which a dataset is taken.

        If it is taken already, they are the same again, and the frontier has them. A
        further way that its own site names later is taken when those before failed.

        Args:
            dataset: as it is known now.
            document: that describes it.
        """
        if not dataset.ways or len(dataset.name) > MAX_TASK_CHARS // 2:
            return []
        first = dataset.ways[0]
        if first.way is Way.SPARQL and await self.is_taken_otherwise(first.parts[0][0]):
            return []  # an endpoint that describes itself, of a dataset that has a dump
        text = dataset.to_json()
        kept = await self._shelf.claim(dataset.name, _DATASET, "known", text)
        if kept != text:
            dataset = _merged(KnownDataset.from_json(kept), dataset, document)
            entry = {"known": dataset.to_json()}
            await self._shelf.put(dataset.name, _DATASET, entry)
        for way in dataset.ways:
            if way.way is Way.SPARQL:
                for url in way.parts[0]:
                    await self._shelf.put(url, _SERVED, {dataset.name: ""})
        taken = await self.way_taken(dataset.name)
        return await self._take(dataset, taken or 0, document)

    async def instead_of(self, document: Document) -> list[Child]:
        """Return what to ask for instead of a file that could not be had."""
        part = Part.decode(document.record.task)
        if part is None:
            return []
        dataset = await self.known(part.dataset)
        if dataset is None:
            return []
        mirrors = dataset.ways[part.way].parts[part.part]
        if part.mirror + 1 < len(mirrors):
            following = replace(part, mirror=part.mirror + 1)
            return [_file(mirrors[following.mirror], following, document)]
        return await self._take(dataset, part.way + 1, document)

    async def instead_of_endpoint(self, url: str, document: Document) -> list[Child]:
        """Return what to ask for instead of an endpoint that could not be harvested."""
        children = []
        async for name, _ in self._shelf.entries(url, _SERVED):
            dataset = await self.known(name)
            taken = await self.way_taken(name)
            if dataset is None or taken is None or taken >= len(dataset.ways):
                continue
            way = dataset.ways[taken]
            if way.way is Way.SPARQL and url in way.parts[0]:
                following = way.parts[0][way.parts[0].index(url) + 1 :][:1]
                if following:
                    children.append(self._endpoint(following[0], document))
                else:
                    children += await self._take(dataset, taken + 1, document)
        return children

    async def is_taken_otherwise(self, endpoint: str) -> bool:
        """Tell whether all that is known behind an endpoint is taken another way."""
        names = [name async for name, _ in self._shelf.entries(endpoint, _SERVED)]
        for name in names:
            dataset = await self.known(name)
            taken = await self.way_taken(name)
            if dataset is None or taken is None or taken >= len(dataset.ways):
                return False
            if dataset.ways[taken].way in (Way.SPARQL, Way.PREFIX):
                return False
        return bool(names)

    async def known(self, name: str) -> KnownDataset | None:
        """Return a dataset by its name."""
        text = await self._shelf.get(name, _DATASET, "known")
        return KnownDataset.from_json(text) if text else None

    async def way_taken(self, name: str) -> int | None:
        """Return which of the ways to a dataset is taken, as an index.

        That is their number if all have failed.
        """
        text = await self._shelf.get(name, _DATASET, "way")
        return None if text is None else int(text)

    # -- ways ------------------------------------------------------------------------

    async def _take(
        self, dataset: KnownDataset, index: int, document: Document
    ) -> list[Child]:
        """Return the records of one of the ways to a dataset, and remember it."""
        prefixes = [prefix.url for prefix in dataset.prefixes]
        await self._shelf.put(dataset.name, _DATASET, {"way": str(index)})
        has_failed = index >= len(dataset.ways)
        if prefixes and not has_failed and dataset.ways[index].way in _WHOLE:
            await self._session.cover(prefixes, dataset.name)
        elif prefixes:
            await self._session.uncover(prefixes)
        if has_failed:
            return []
        way = dataset.ways[index]
        return self._children(dataset, index, way, document)

    def _children(
        self, dataset: KnownDataset, index: int, way: Access, document: Document
    ) -> list[Child]:
        if way.way is Way.SPARQL:
            return [self._endpoint(way.parts[0][0], document)]
        if way.way in (Way.PREFIX, Way.URI):
            depth = document.record.depth + 1
            parent = document.record.url
            records = [
                Record(part[0], depth=depth, parent=parent) for part in way.parts
            ]
            # Samples were fetched while their links were covered by the way before.
            change = f"way {index}" if index else ""
            return [Child(record, is_own=True, change=change) for record in records]
        files = [
            _file(mirrors[0], Part(dataset.name, index, number, 0), document)
            for number, mirrors in enumerate(way.parts)
        ]
        samples = [_sample(uri, dataset.name, document) for uri in dataset.samples]
        return files + samples

    def _endpoint(self, url: str, document: Document) -> Child:
        task = Task(self._session.run).write()
        depth = document.record.depth + 1
        record = Record(url, Kind.SPARQL, depth, document.record.url, task=task)
        return Child(record)


def _merged(
    known: KnownDataset, other: KnownDataset, document: Document
) -> KnownDataset:
    """Return a dataset with the kinds of ways that a later description adds.

    It is heard if it is of the site of the dataset, or of a way to it.
    """
    sites = {site_of(url) for way in known.ways for part in way.parts for url in part}
    if site_of(document.url) not in {*sites, site_of(known.name)}:
        return known
    kinds = {way.way for way in known.ways}
    new = tuple(way for way in other.ways if way.way not in kinds)
    return replace(known, ways=known.ways + new)


def _believed(
    spaces: Iterable[str], ways: Iterable[Access], document: Document
) -> tuple[Prefix, ...]:
    """Return the URI spaces that a dataset is believed to have.

    They are of the site that the dataset is on and that says so: or else anybody
    could keep a site from being crawled.
    """
    sites = {site_of(url) for way in ways for part in way.parts for url in part}
    sites.add(site_of(document.url))
    return tuple(Prefix(x, requestable(x)) for x in spaces if sites == {site_of(x)})


def _page(url: str, document: Document) -> Child:
    depth = document.record.depth + 1
    return Child(Record(url, depth=depth, parent=document.record.url))


def _file(url: str, part: Part, document: Document) -> Child:
    depth = document.record.depth + 1
    record = Record(url, Kind.DUMP, depth, document.record.url, task=part.encode())
    return Child(record)


def _sample(uri: str, dataset: str, document: Document) -> Child:
    task = Sample(dataset, uri).encode()
    depth = document.record.depth + 1
    record = Record(uri, depth=depth, parent=document.record.url, task=task)
    return Child(record, is_own=True)
