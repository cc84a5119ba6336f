"""The registry of datasets: each is fetched once, by the best known access method.

Sitemaps, VoID, DCAT and service descriptions feed the registry. The access methods of
the first description count; where one fails, the next is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Final

from rdfcrawl.catalogs.access import DatasetDescriptions, ways_by_dataset
from rdfcrawl.codec import decode, encode
from rdfcrawl.errors import Fault, Reason
from rdfcrawl.frontier.deferred import MAX_DEFERRED
from rdfcrawl.harvest.discovery import NOTHING_FOUND, Discovery, found
from rdfcrawl.records import Document, FollowUp, Kind, Record
from rdfcrawl.sitemaps.access import AccessMethod, DatasetAccess, choose_way, place_of
from rdfcrawl.sitemaps.addresses import may_list
from rdfcrawl.sitemaps.semantic import Slicing, UriPrefix
from rdfcrawl.tasks.pages import DumpPart, SamplePage
from rdfcrawl.tasks.source import SourceTask
from rdfcrawl.uri import BadUri, requestable
from rdfcrawl.uri.origin import site_of

if TYPE_CHECKING:
    from rdfcrawl.frontier.session import CrawlSession
    from rdfcrawl.uri.hosts import HostNames

_DATASET: Final = "dataset"  # of a dataset: `known`; `way`: the one taken; `noted`
_SERVED: Final = "datasets"  # of a file or an endpoint: the datasets in it
_CRAWL: Final = "crawl:"  # stands for the crawl itself where a source is asked for
_FAILED: Final = "failed places"  # of the crawl: URL -> what is wrong with it
_MAX_FAILED: Final = 100_000  # that no dataset has named so far
_MAX_NAME_CHARS: Final = 4096  # of a dataset, which is in the tasks of its files
_MAX_GRAPHS_CHARS: Final = 2048  # the rest of a task needs room
_MAX_PLACES: Final = 1000  # of one dataset that are noted
_WHOLE: Final = frozenset(
    {AccessMethod.DUMP, AccessMethod.FRAGMENTS, AccessMethod.SPARQL}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDataset:
    """A dataset as kept in the state store.

    Attributes:
        name: IRI.
        ways: access methods for all of the data, in the order to try.
        prefixes: of URIs that resolve to descriptions of parts of the data.
        samples: URIs in the dataset, whose pages are compared with the dump.
    """

    name: str
    ways: tuple[DatasetAccess, ...]
    prefixes: tuple[UriPrefix, ...] = ()
    samples: tuple[str, ...] = ()

    @property
    def slicing(self) -> Slicing:
        """Slicing of a dump into descriptions; CBD unless a prefix declares another."""
        declared = (prefix.slicing for prefix in self.prefixes)
        return next((each for each in declared if each), Slicing.CBD)


class DatasetRegistry:
    """The known datasets, shared by all workers of a crawl."""

    def __init__(self, session: CrawlSession) -> None:
        self._session = session
        self._store = session.state_store

    async def described(
        self, findings: DatasetDescriptions, document: Document
    ) -> Discovery:
        """Return what to fetch of the datasets that a document describes."""
        discovery = NOTHING_FOUND
        for name, ways in ways_by_dataset(findings.named).items():
            spaces = findings.spaces.get(name, ())
            trust = self._session.arguments_of(document.record).trust
            prefixes = _believed(spaces, ways, document, trust)
            known = KnownDataset(name=name, ways=ways, prefixes=prefixes)
            is_service = name in findings.services
            discovery += await self.register(known, document, is_service=is_service)
        # Last: what is below the prefixes of a dataset by now is not asked for.
        depth, parent = document.record.depth + 1, document.record.url
        pages = (Record(url, Kind.PAGE, depth, parent) for url in findings.links)
        return discovery + found(*map(FollowUp, pages))

    async def register(
        self, dataset: KnownDataset, document: Document, *, is_service: bool = False
    ) -> Discovery:
        """Return the records that fetch a dataset.

        For a known dataset these are the same records again, which the frontier has. An
        access method that the dataset's own site names later is tried after the others.
        With `is_service` the description is that of a service without a dataset.
        """
        if not dataset.ways or len(dataset.name) > _MAX_NAME_CHARS:
            return NOTHING_FOUND
        first = dataset.ways[0]
        if is_service and await self.is_taken_otherwise(first.parts[0][0]):
            return NOTHING_FOUND  # all that is known behind it has a dump
        text = encode(dataset)
        kept = await self._store.claim(dataset.name, _DATASET, "known", text)
        if kept != text:
            dataset = _merged(decode(kept, KnownDataset), dataset, document)
            text = encode(dataset)
            await self._store.put(dataset.name, _DATASET, {"known": text})
        await self._note_places(dataset, text)
        return await self._take(dataset, document, document.record.depth + 1)

    async def instead_of_file(self, document: Document, lack: str) -> Discovery:
        """Return the records to fetch instead of a file with a deficiency, `lack`.

        There is a fault for each dataset of the file.
        """
        record = document.record
        url = record.chain[0] if record.chain else record.url
        own = record.task.dataset if isinstance(record.task, DumpPart) else ""
        return await self._instead_of(url, document, lack, own)

    async def instead_of_endpoint(
        self, document: Document, graphs: tuple[str, ...], lack: str
    ) -> Discovery:
        """Return the records to fetch instead of an endpoint with a deficiency, `lack`.

        There is a fault for each dataset of the requested graphs, see `DatasetAccess`.
        """
        place = place_of(document.record.url, graphs)
        return await self._instead_of(place, document, lack, "")

    async def _instead_of(
        self, place: str, document: Document, lack: str, own: str
    ) -> Discovery:
        """Return the records to fetch instead of a failed place of data.

        The failure is noted before the datasets of the place are looked up; `register`
        does both the other way round: so one of them finds the other.
        """
        is_noted = own or await self._store.size(_CRAWL, _FAILED) < _MAX_FAILED
        if is_noted:
            await self._store.put(_CRAWL, _FAILED, {place: lack})
        url = place.partition(" ")[0]
        names = {name async for name, _ in self._store.entries(url, _SERVED)}
        discovery = NOTHING_FOUND
        for name in sorted(names | {own} - {""}):
            dataset = await self.known(name)
            if dataset is None:
                continue
            taken = await self.way_taken(name) or 0
            is_taken = any(
                place in (url, way.place_of(url)) and url in way.urls
                for way in dataset.ways[taken : taken + 1]
            )
            if place == url:  # all of it, and so each graph of an endpoint
                places = {way.place_of(url) for way in dataset.ways if url in way.urls}
                await self._store.put(_CRAWL, _FAILED, dict.fromkeys(places, lack))
            if is_taken or name == own:
                detail = f"{name}: {lack}: {url}"[: Fault.MAX_DETAIL]
                fault = Fault(Reason.WAY_FAILED, detail)
                discovery += Discovery(faults=(fault,))
            depth = document.record.depth
            discovery += await self._take(dataset, document, depth, has_failed=True)
        return discovery

    async def is_taken_otherwise(self, endpoint: str) -> bool:
        """Return whether every dataset of an endpoint is fetched in another way."""
        names = [name async for name, _ in self._store.entries(endpoint, _SERVED)]
        for name in names:
            dataset = await self.known(name)
            taken = await self.way_taken(name)
            if dataset is None or taken is None or taken >= len(dataset.ways):
                return False
            if dataset.ways[taken].way in (AccessMethod.SPARQL, AccessMethod.PREFIX):
                return False
        return bool(names)

    async def known(self, name: str) -> KnownDataset | None:
        """Return a dataset by its name."""
        text = await self._store.get(name, _DATASET, "known")
        return decode(text, KnownDataset) if text else None

    async def way_taken(self, name: str) -> int | None:
        """Return the index of the access method in use; their number if all failed."""
        text = await self._store.get(name, _DATASET, "way")
        return None if text is None else int(text)

    # -- ways ------------------------------------------------------------------------

    async def _note_places(self, dataset: KnownDataset, text: str) -> None:
        """Note the dataset of each place of data, once for each form of a dataset."""
        form = blake2b(text.encode(), digest_size=8).hexdigest()
        if await self._store.get(dataset.name, _DATASET, "noted") == form:
            return
        first = sorted(dataset.ways, key=lambda way: way.way is not AccessMethod.SPARQL)
        urls = dict.fromkeys(url for way in first for url in way.urls)
        # Of what is beyond, the dataset that asks for it first is known by the task.
        for url in islice(urls, _MAX_PLACES):
            await self._store.put(url, _SERVED, {dataset.name: ""})
        await self._store.put(dataset.name, _DATASET, {"noted": form})

    async def _take(
        self,
        dataset: KnownDataset,
        document: Document,
        depth: int,
        *,
        has_failed: bool = False,
    ) -> Discovery:
        """Return the records of the best access method, and remember the method.

        Repetition gives the same result, as failures are noted before. Another worker
        may find a failure meanwhile, too early to see the method that is remembered
        here; so failures are looked up once more.

        Args:
            dataset: as it is known now.
            document: with the description, or deficient.
            depth: of the records.
            has_failed: the document is a failed place of data.
        """
        prefixes = [prefix.url for prefix in dataset.prefixes]
        usable = await self._usable(dataset, document, depth)
        discovery = NOTHING_FOUND
        while True:
            taken = await self.way_taken(dataset.name)
            index = choose_way(dataset.ways, taken, usable)
            await self._store.put(dataset.name, _DATASET, {"way": str(index)})
            way = dataset.ways[index] if index < len(dataset.ways) else None
            if way is not None and way.way in _WHOLE:
                await self._session.datasets.cover(prefixes, dataset.name)
            elif has_failed or taken not in (None, index):
                discovery += await self._uncover(prefixes)
            before = usable
            usable = await self._usable(dataset, document, depth)
            if usable == before:
                break
            has_failed = True
        if way is None:
            return discovery
        records = self._records(dataset, index, way, usable, document, depth)
        return discovery + found(*records)

    async def _uncover(self, prefixes: list[str]) -> Discovery:
        """Release the URLs below the prefixes of a dataset that cannot be fetched."""
        if await self._session.datasets.uncover(prefixes):
            return NOTHING_FOUND
        detail = f"more than {MAX_DEFERRED} URLs below one of {prefixes}"
        fault = Fault(Reason.TOO_MANY_ENTRIES, detail[: Fault.MAX_DETAIL])
        return Discovery(faults=(fault,))

    async def _usable(
        self, dataset: KnownDataset, document: Document, depth: int
    ) -> frozenset[str]:
        """Return the places of data that have not failed and that the crawl wants."""
        places = {
            way.place_of(url): url
            for way in dataset.ways
            if way.way in _WHOLE and sum(map(len, way.graphs)) <= _MAX_GRAPHS_CHARS
            for url in way.urls
        }
        failed = await self._store.get_many(_CRAWL, _FAILED, places)
        wants = self._session.ingests.of(document.record).wants
        return frozenset(
            place
            for (place, url), lack in zip(places.items(), failed, strict=True)
            if lack is None and _is_wanted(url, depth, wants)
        )

    def _records(
        self,
        dataset: KnownDataset,
        index: int,
        way: DatasetAccess,
        usable: frozenset[str],
        document: Document,
        depth: int,
    ) -> list[FollowUp]:
        parent = document.record.url
        if way.way is AccessMethod.PREFIX:
            records = [Record(x[0], depth=depth, parent=parent) for x in way.parts]
            return [FollowUp(record, is_part_of_source=True) for record in records]
        chosen = [
            next(n for n, url in enumerate(mirrors) if way.place_of(url) in usable)
            for mirrors in way.parts
        ]
        if way.way is AccessMethod.SPARQL:
            whole = SourceTask(self._session.run, graphs=way.graphs)
            url = way.parts[0][chosen[0]]
            return [FollowUp(Record(url, Kind.SPARQL, depth, parent, task=whole))]
        files = []
        for number, mirror in enumerate(chosen):
            task = DumpPart(dataset.name, index, number)
            url = way.parts[number][mirror]
            files.append(FollowUp(Record(url, Kind.DUMP, depth, parent, task=task)))
        for uri in dataset.samples:
            page = SamplePage(dataset.name, uri)
            sample = Record(uri, Kind.PAGE, depth, parent, task=page)
            files.append(FollowUp(sample, is_part_of_source=True))
        return files


def _merged(
    known: KnownDataset, other: KnownDataset, document: Document
) -> KnownDataset:
    """Return a dataset with the kinds of access that a later description adds.

    The description counts if it is of the site of the dataset, or of its data.
    """
    sites = {site_of(url) for way in known.ways for part in way.parts for url in part}
    if site_of(document.url) not in {*sites, site_of(known.name)}:
        return known
    kinds = {way.way for way in known.ways}
    new = tuple(way for way in other.ways if way.way not in kinds)
    return replace(known, ways=known.ways + new)


def _believed(
    spaces: Iterable[str],
    ways: Iterable[DatasetAccess],
    document: Document,
    trust: HostNames,
) -> tuple[UriPrefix, ...]:
    """Return the credible URI spaces of a dataset.

    Document, data and URI space have to be of one site, or anybody could keep a site
    from being crawled. Files may also be on the site's FTP server, and on hosts that
    the operator trusts.
    """
    places = {url for way in ways for part in way.parts for url in part}
    sites = {
        site_of(url)
        for url in places
        if not (trust.covers(url) or may_list(url, document.url, ()))
    }
    sites.add(site_of(document.url))
    return tuple(UriPrefix(x, requestable(x)) for x in spaces if sites == {site_of(x)})


def _is_wanted(url: str, depth: int, wants: Callable[[str, int], bool]) -> bool:
    try:
        return wants(requestable(url), depth)
    except BadUri:
        return False
