"""The registry of datasets: each is fetched by the best known access method.

Sitemaps, VoID, DCAT and service descriptions feed the registry. If a method fails, the
next is tried; each run of a crawl begins with the best method, and requests files that
may have changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.codec import encode
from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.core.last_copies import are_too_few
from rdfcrawl.core.messages import counted
from rdfcrawl.core.records import GONE, Document, FollowUp, Kind, Record
from rdfcrawl.core.tasks import DumpPart, RevisitedPage
from rdfcrawl.sources.access import (
    AccessMethod,
    DatasetDescriptions,
    place_of,
)
from rdfcrawl.sources.alternatives import ways_by_dataset
from rdfcrawl.sources.harvest.dataset_files import SERVED, DatasetFiles
from rdfcrawl.sources.harvest.dataset_ways import DatasetWays
from rdfcrawl.sources.harvest.discovery import (
    NOTHING_FOUND,
    Discovery,
    combined,
    found,
)
from rdfcrawl.sources.harvest.emptied_lists import EmptiedLists
from rdfcrawl.sources.harvest.known_datasets import (
    DATASET,
    KnownDataset,
    KnownDatasets,
    credible_spaces,
)
from rdfcrawl.sources.harvest.page_fetches import (
    PageFetches,
)

if TYPE_CHECKING:
    from rdfcrawl.frontier.session import CrawlSession

_MAX_NAME_CHARS: Final = 4096  # of a dataset, stored in the tasks of its files


class DatasetRegistry:
    """The known datasets, shared by all workers of a crawl.

    Attributes:
        files: the datasets that have each file.
        ways: the access methods in use.
    """

    def __init__(self, session: CrawlSession, revisit_secs: int) -> None:
        self._session = session
        self._store = session.state_store
        self._descriptions = KnownDatasets(session.state_store)
        self._emptied = EmptiedLists(session.state_store, session.run)
        fetches = PageFetches(session.state_store)
        self.files = DatasetFiles(session.state_store, fetches, session.run)
        self.ways = DatasetWays(session, fetches, self.files, revisit_secs)

    async def described(
        self, findings: DatasetDescriptions, document: Document
    ) -> Discovery:
        """Return the records for the datasets that a document describes."""
        if document.status == 304:
            return await self.of_unchanged(document.record.url, document.record)
        trust = self._session.profiles.of(document.record).trust
        named, unknown = (
            ways_by_dataset(findings.named),
            defaultdict[str, set[str]](set),
        )
        for each in findings.named:
            if each.is_unknown:
                unknown[each.dataset].add(each.url)
        datasets: list[KnownDataset] = []
        services: list[KnownDataset] = []
        for name, ways in named.items():
            prefixes = credible_spaces(
                findings.spaces.get(name, ()), ways, document, trust
            )
            modified = findings.modified.get(name, "")
            known = KnownDataset(
                name=name,
                ways=ways,
                prefixes=prefixes,
                modified=modified,
                unknown=tuple(sorted(unknown.get(name, ()))),
            )
            (services if name in findings.services else datasets).append(known)
        discovery = await self._register_all(datasets, document)
        # Services come later: a dump may have the data of a service.
        services = await self._not_taken_otherwise(services)
        discovery += await self._register_all(services, document)
        if self._session.run and _is_list(document, has_entries=bool(named)):
            url = document.record.url
            discovery += await self.withdraw(url, named.keys(), document)
        # Pages come last: those below the prefixes of a dataset are not requested.
        depth, parent = document.record.depth + 1, document.record.url
        pages = (Record(url, Kind.PAGE, depth, parent) for url in findings.links)
        return discovery + found(*map(FollowUp, pages))

    async def _register_all(
        self, datasets: Iterable[KnownDataset], document: Document
    ) -> Discovery:
        calls = (self.register(each, document) for each in datasets)
        return combined(await self._store.gather(calls))

    async def _not_taken_otherwise(
        self, services: Sequence[KnownDataset]
    ) -> list[KnownDataset]:
        """Return the services with known datasets that have no dump."""
        places = {each.name: each.ways[0].parts[0][0] for each in services if each.ways}
        endpoints = list(dict.fromkeys(places.values()))
        taken = await self._store.gather(map(self.is_taken_otherwise, endpoints))
        is_taken = dict(zip(endpoints, taken, strict=True))
        return [
            x for x in services if x.name in places and not is_taken[places[x.name]]
        ]

    async def register(
        self, dataset: KnownDataset, document: Document, *, source: str = ""
    ) -> Discovery:
        """Return the records that fetch a dataset.

        For a known dataset these are the same records, which the frontier ignores; in a
        later run they are new if its data may have changed.

        Args:
            dataset: the description.
            document: the document that describes or confirms it.
            source: URL of the describing sitemap, which is read in each run.
        """
        if not dataset.ways or len(dataset.name) > _MAX_NAME_CHARS:
            return NOTHING_FOUND
        source, is_read = source or document.record.url, bool(source)
        before = await self.known(dataset.name) if self._session.run else None
        left = _left_by(before, dataset) if before is not None else []
        await self.files.note(source, dataset.name, left)
        dataset = await self._descriptions.add(dataset, source)
        await self._note_places(dataset, encode(dataset))
        depth = document.record.depth + 1
        if not (is_read or isinstance(document.record.task, RevisitedPage)):
            await self._descriptions.note_for_revisits(dataset.name, depth)
        found_records = await self.ways.take(dataset, document.record, depth)
        if before is not None:
            found_records += await self.files.expired(dataset)
        if left:
            found_records += await self._drop_noted(source, document)
        return found_records

    async def revisits(self) -> AsyncIterator[list[FollowUp]]:
        """Yield the data of datasets with descriptions that later runs do not read."""
        async for group in self._descriptions.for_revisits():
            calls = (
                self.ways.take(
                    dataset, Record(dataset.name, depth=max(0, depth - 1)), depth
                )
                for dataset, depth in group
            )
            yield list(combined(await self._store.gather(calls)).follow_ups)

    async def note_listed(self, documents: Mapping[str, str]) -> None:
        """Note undated pages of a sitemap that were read before a dataset covered them.

        The data of the dataset replace them, except for pages of samples.

        Args:
            documents: the document of each page, by URL.
        """
        whole, below = self._session.datasets, defaultdict[str, dict[str, str]](dict)
        for url, document in documents.items() if whole.has_prefixes else ():
            if prefix := whole.prefix_of(url):
                below[prefix][url] = document
        for prefix, pages in below.items():
            dataset = await self.known(await whole.covered_by(prefix))
            for uri in dataset.samples if dataset else ():
                pages.pop(uri, None)
            if dataset and pages:
                await self.ways.pages.note_listed(prefix, pages)

    async def is_doubted(self, source: str) -> bool:
        """Return whether earlier runs kept datasets that a document lacks."""
        return await self._emptied.is_doubted(source)

    async def of_unchanged(self, source: str, record: Record) -> Discovery:
        """Return the records of the datasets of an unchanged document."""
        names = await self._descriptions.described_by(source)
        return await self._records_of(names, record)

    async def _records_of(self, names: Iterable[str], record: Record) -> Discovery:
        calls = (self._known_records(name, record) for name in names)
        return combined(await self._store.gather(calls))

    async def _known_records(self, name: str, record: Record) -> Discovery:
        known = await self.known(name)
        if known is None:
            return NOTHING_FOUND
        found_records = await self.ways.take(known, record, record.depth + 1)
        return found_records + await self.files.expired(known)

    async def withdraw(
        self,
        source: str,
        kept: Collection[str],
        document: Document,
        *,
        n_others: int = 0,
    ) -> Discovery:
        """Drop the datasets that a completely read document no longer describes.

        If most of them are missing, then they stay until a later run misses them, too.
        The URLs below the prefixes of an undescribed dataset are crawled.

        Args:
            source: URL of the document.
            kept: names of its datasets.
            document: the document.
            n_others: number of its other entries; with some, the list is not empty.
        """
        missing = await self._descriptions.described_by(source, except_for=kept)
        n_left, fault = len(kept) or min(n_others, 1), None
        if document.status < 300:  # otherwise the document is gone
            n_known = n_left + len(missing)
            fault = await self._emptied.doubt(source, n_left, n_known, "dataset")
        if fault is not None:
            discovery = Discovery(faults=(fault,))
            discovery += await self._records_of(missing, document.record)
        else:
            calls = (self._withdraw(name, source) for name in missing)
            discovery = combined(await self._store.gather(calls))
        return discovery + await self._drop_noted(source, document)

    async def _withdraw(self, name: str, source: str) -> Discovery:
        discovery = NOTHING_FOUND
        known = await self.known(name)
        if known is not None:
            await self.files.note(source, name, (*known.places, *known.samples))
        rest = await self._descriptions.drop(name, source)
        if known is not None and rest is None:
            prefixes = [prefix.url for prefix in known.prefixes]
            discovery = await self.ways.release(prefixes, name, is_forgotten=True)
            await self._descriptions.forget(name)
        await self._descriptions.end(name, source)
        return discovery

    async def _drop_noted(self, source: str, document: Document) -> Discovery:
        """Withdraw the files that no dataset has any more, without a request.

        Of a description that is not read completely, the rest may name them.
        """
        if document.has_losses:
            return NOTHING_FOUND
        return await self.files.drop_noted(source, self._descriptions)

    async def replaced_by(self, document: Document, part: DumpPart) -> Discovery:
        """Withdraw the documents that a completely read part of a dataset replaces.

        The part itself, if its dataset was dropped after it was queued.
        """
        if await self.files.is_left(document):
            return Discovery(withdrawn=(document.url,))
        dataset, record = await self.known(part.dataset), document.record
        url = record.first_url
        place = dataset.part_at(url, part) if dataset else None
        if dataset is None or place is None:
            return NOTHING_FOUND
        replaced, has_all = await self.files.replaced_by(document, place, dataset)
        if not has_all:
            return replaced + await self._left_to_pages(document, dataset)
        if not part.run:
            return replaced
        prefixes = [prefix.url for prefix in dataset.prefixes]
        left = [*await self.ways.pages.withdrawn(prefixes, document.record)]
        for way in dataset.ways:
            for url in way.urls if way.way is AccessMethod.SPARQL else ():
                if await self.is_taken_otherwise(url):
                    left += await self.files.responses_of(url, " ".join(way.graphs))
        return replaced + Discovery(withdrawn=tuple(left))

    async def _left_to_pages(
        self, document: Document, dataset: KnownDataset
    ) -> Discovery:
        """Withdraw the slices of a dataset if its pages are requested instead."""
        whole, prefixes = self._session.datasets, dataset.prefixes
        if not (document.n_quads and self.ways.are_sliced(document.record)):
            return NOTHING_FOUND
        if not any([await whole.released_prefix_of(each.url) for each in prefixes]):
            return NOTHING_FOUND
        others = await self.files.copies_of(dataset)
        return Discovery(withdrawn=(document.url, *others))

    async def replaced_by_endpoint(
        self, record: Record, graphs: tuple[str, ...], n_statements: int
    ) -> list[str]:
        """Return the documents that completely harvested graphs replace.

        These are pages and files of the datasets that are taken from there, but not
        files whose copies have many more statements.
        """
        replaced: list[str] = []
        async for dataset, n_known in self._taken_from(record.url, graphs):
            if not are_too_few(n_statements, n_known):
                replaced += await self.files.copies_of(dataset)
                replaced += await self.files.drop_former(dataset)
                prefixes = [prefix.url for prefix in dataset.prefixes]
                replaced += await self.ways.pages.withdrawn(prefixes, record)
        return replaced

    async def kept_beside_endpoint(
        self, endpoint: str, graphs: tuple[str, ...], n_statements: int
    ) -> list[Fault]:
        """Return faults of datasets whose files stay, though graphs were harvested."""
        return [
            Fault(
                Reason.COPY_KEPT,
                f"{dataset.name}: {counted(n_statements, 'statement')} at its endpoint,"
                f" {n_known:,} in its files"[: Fault.MAX_DETAIL],
            )
            async for dataset, n_known in self._taken_from(endpoint, graphs)
            if are_too_few(n_statements, n_known)
        ]

    async def _taken_from(
        self, endpoint: str, graphs: tuple[str, ...]
    ) -> AsyncIterator[tuple[KnownDataset, int]]:
        """Yield the datasets taken from graphs, and how much their files have."""
        for dataset in await self.served_by(endpoint):
            ways = dataset.ways_at(endpoint)
            taken = await self.ways.taken(dataset.name) if ways else None
            if taken in ways and graphs in (ways[taken].graphs, ()):
                yield dataset, await self.files.n_statements(dataset)

    async def instead_of_file(self, document: Document, lack: str) -> Discovery:
        """Return the records to fetch instead of a file with a deficiency, `lack`.

        There is a fault for each dataset of the file.
        """
        record = document.record
        url = record.first_url
        own = record.task.dataset if isinstance(record.task, DumpPart) else ""
        discovery = await self._instead_of(url, document, lack, own)
        dataset = await self.known(own) if own else None
        if dataset is not None:
            discovery += await self._left_to_pages(document, dataset)
        return discovery

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
        uses the opposite order, so that one of the two finds the other.
        """
        if own or await self.ways.has_room():
            await self.ways.note_failed([place], lack)
        url = place.partition(" ")[0]
        names = {name async for name, _ in self._store.entries(url, SERVED)}
        discovery = NOTHING_FOUND
        for name in sorted(names | {own} - {""}):
            dataset = await self.known(name)
            if dataset is None:
                continue
            taken = await self.ways.taken(name) or 0
            is_taken = any(
                place in (url, way.place_of(url)) and url in way.urls
                for way in dataset.ways[taken : taken + 1]
            )
            if place == url:  # all graphs of an endpoint
                places = {way.place_of(url) for way in dataset.ways if url in way.urls}
                await self.ways.note_failed(places, lack)
            if (is_taken or name == own) and url not in dataset.unknown:
                detail = f"{name}: {lack}: {url}"[: Fault.MAX_DETAIL]
                fault = Fault(Reason.WAY_FAILED, detail)
                discovery += Discovery(faults=(fault,))
            depth = document.record.depth
            discovery += await self.ways.take(
                dataset, document.record, depth, has_failed=True
            )
        return discovery

    async def is_taken_otherwise(self, endpoint: str) -> bool:
        """Return whether all datasets of an endpoint are fetched by another method."""
        has_any = False
        async for name, _ in self._store.entries(endpoint, SERVED):
            has_any = True
            dataset = await self.known(name)
            taken = await self.ways.taken(name)
            if dataset is None or taken is None or taken >= len(dataset.ways):
                return False
            if dataset.ways[taken].way in (AccessMethod.SPARQL, AccessMethod.PREFIX):
                return False
        return has_any

    async def served_by(self, endpoint: str) -> list[KnownDataset]:
        """Return the datasets of an endpoint."""
        names = [name async for name, _ in self._store.entries(endpoint, SERVED)]
        datasets = await self._store.gather(map(self.known, names))
        return [dataset for dataset in datasets if dataset is not None]

    async def known(self, name: str) -> KnownDataset | None:
        """Return a dataset by its name."""
        return await self._descriptions.known(name)

    async def _note_places(self, dataset: KnownDataset, text: str) -> None:
        """Note the dataset of each place of data, once per form of a dataset."""
        form = blake2b(text.encode(), digest_size=8).hexdigest()
        if await self._store.get(dataset.name, DATASET, "noted") == form:
            return
        # As many as the description has, which is stored, too.
        urls = dict.fromkeys(url for way in dataset.ways for url in way.urls)
        await self.files.add((dataset.name, url) for url in urls)
        await self._store.put(dataset.name, DATASET, {"noted": form})


def _left_by(before: KnownDataset, now: KnownDataset) -> list[str]:
    """Return the files, endpoints and covered samples that a dataset has no more."""
    places, samples = set(now.places), set(now.samples)
    prefixes = tuple(each.url for each in now.prefixes)
    left = [url for url in before.places if url not in places]
    pages = [url for url in before.samples if url not in samples]
    return left + [url for url in pages if url.startswith(prefixes)]


def _is_list(document: Document, *, has_entries: bool) -> bool:
    """Return whether datasets that a document does not name are withdrawn.

    A document with a fault must name at least one, so an error page withdraws none. One
    that is gone names none.
    """
    if document.status in GONE:
        return True
    if document.status >= 300 or document.has_losses:
        return False
    is_kept = any(fault.reason is Reason.COPY_KEPT for fault in document.faults)
    return not document.faults or (has_entries and not is_kept)
