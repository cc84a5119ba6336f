"""The registry of datasets: each is fetched by the best known access method.

Sitemaps, VoID, DCAT and service descriptions feed the registry. If a method fails, the
next is tried; each run of a crawl begins with the best method, and requests files that
may have changed.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.codec import encode
from rdfcrawl.core.errors import LOSSES, Decision, Fault, Reason
from rdfcrawl.core.last_copies import are_too_few
from rdfcrawl.core.records import Document, FollowUp, Kind, Record, Urgency
from rdfcrawl.core.source_tasks import SourceTask
from rdfcrawl.core.tasks import DescribedSample, DumpPart, RevisitedPage
from rdfcrawl.frontier.queue.tables import MAX_DEFERRED
from rdfcrawl.sources.access import (
    AccessMethod,
    DatasetAccess,
    DatasetDescriptions,
    place_of,
)
from rdfcrawl.sources.alternatives import ways_by_dataset
from rdfcrawl.sources.harvest.dataset_files import SERVED, DatasetFiles
from rdfcrawl.sources.harvest.discovery import (
    FOUND,
    NOTHING_FOUND,
    Discovery,
    combined,
    found,
)
from rdfcrawl.sources.harvest.known_datasets import (
    DATASET,
    MAX_GRAPHS_CHARS,
    KnownDataset,
    KnownDatasets,
    credible_spaces,
    describe_url,
    graphs_elsewhere,
    sample_of,
)
from rdfcrawl.sources.harvest.listed_pages import ListedPageClaim, RevisitPolicy
from rdfcrawl.sources.harvest.page_fetches import (
    PageFetch,
    PageFetches,
)
from rdfcrawl.sources.sitemaps.access import choose_way
from rdfcrawl.uri import BadUri, requestable

if TYPE_CHECKING:
    from rdfcrawl.frontier.session import CrawlSession

_CRAWL: Final = "crawl:"  # the crawl, in place of a source
_FAILED: Final = "failed places"  # of the crawl: URL -> its deficiency
_MAX_FAILED: Final = 100_000  # not named by a dataset so far
_MAX_NAME_CHARS: Final = 4096  # of a dataset, stored in the tasks of its files
MAX_SAMPLES: Final = 20  # compared per dataset
_COMPLETE_METHODS: Final = frozenset(
    {AccessMethod.DUMP, AccessMethod.FRAGMENTS, AccessMethod.SPARQL}
)


class DatasetRegistry:
    """The known datasets, shared by all workers of a crawl.

    Attributes:
        files: the datasets that have each file.
    """

    def __init__(self, session: CrawlSession, revisit_secs: int) -> None:
        self._session = session
        self._store = session.state_store
        self._descriptions = KnownDatasets(session.state_store)
        self._fetches = PageFetches(session.state_store)
        self.files = DatasetFiles(session.state_store, self._fetches, session.run)
        self._revisit_secs = revisit_secs

    async def described(
        self, findings: DatasetDescriptions, document: Document
    ) -> Discovery:
        """Return the records for the datasets that a document describes."""
        if document.status == 304:
            return await self.of_unchanged(document.record.url, document.record)
        trust = self._session.profiles.of(document.record).trust
        named = ways_by_dataset(findings.named)
        datasets: list[KnownDataset] = []
        services: list[KnownDataset] = []
        for name, ways in named.items():
            prefixes = credible_spaces(
                findings.spaces.get(name, ()), ways, document, trust
            )
            modified = findings.modified.get(name, "")
            known = KnownDataset(
                name=name, ways=ways, prefixes=prefixes, modified=modified
            )
            (services if name in findings.services else datasets).append(known)
        discovery = await self._register_all(datasets, document)
        # Services come later: a dump may have the data of a service.
        services = await self._not_taken_otherwise(services)
        discovery += await self._register_all(services, document)
        is_read = document.status < 300 and not document.is_partial
        if self._session.run and is_read and not document.faults:
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
        if before is not None and before.ways != dataset.ways:
            own = set(dataset.urls_of_files)
            others = [url for url in before.urls_of_files if url not in own]
            await self.files.note(source, dataset.name, others)
        dataset = await self._descriptions.add(dataset, source)
        await self._note_places(dataset, encode(dataset))
        depth = document.record.depth + 1
        if not (is_read or isinstance(document.record.task, RevisitedPage)):
            await self._descriptions.note_for_revisits(dataset.name, depth)
        found_records = await self._take(dataset, document.record, depth)
        if before is not None and before.ways != dataset.ways:
            found_records += await self._drop_noted(source, document)
        return found_records

    async def revisits(self) -> AsyncIterator[list[FollowUp]]:
        """Yield the data of datasets with descriptions that later runs do not read."""
        async for group in self._descriptions.for_revisits():
            calls = (
                self._take(
                    dataset, Record(dataset.name, depth=max(0, depth - 1)), depth
                )
                for dataset, depth in group
            )
            yield list(combined(await self._store.gather(calls)).follow_ups)

    async def of_unchanged(self, source: str, record: Record) -> Discovery:
        """Return the records of the datasets of an unchanged sitemap."""
        names = await self._descriptions.described_by(source)
        calls = (self._known_records(name, record) for name in names)
        return combined(await self._store.gather(calls))

    async def _known_records(self, name: str, record: Record) -> Discovery:
        known = await self.known(name)
        if known is None:
            return NOTHING_FOUND
        return await self._take(known, record, record.depth + 1)

    async def withdraw(
        self, source: str, kept: Collection[str], document: Document
    ) -> Discovery:
        """Drop the datasets that a completely read document no longer describes.

        The URLs below the prefixes of an undescribed dataset are crawled.
        """
        names = await self._descriptions.described_by(source, except_for=kept)
        calls = (self._withdraw(name, source) for name in names)
        discovery = combined(await self._store.gather(calls))
        return discovery + await self._drop_noted(source, document)

    async def _withdraw(self, name: str, source: str) -> Discovery:
        discovery = NOTHING_FOUND
        known = await self.known(name)
        if known is not None:
            await self.files.note(source, name, known.urls_of_files)
        rest = await self._descriptions.drop(name, source)
        if known is not None and rest is None:
            prefixes = [prefix.url for prefix in known.prefixes]
            discovery = await self._uncover(prefixes, name)
            await self._descriptions.forget(name)
        await self._descriptions.end(name, source)
        return discovery

    async def _drop_noted(self, source: str, document: Document) -> Discovery:
        """Withdraw the files that no dataset has any more, without a request.

        Of a description that is not read completely, the rest may name them.
        """
        if document.is_partial or any(x.reason in LOSSES for x in document.faults):
            return NOTHING_FOUND
        return await self.files.drop_noted(source, self._descriptions)

    async def replaced_by(
        self, document: Document, part: DumpPart, kept: Collection[str]
    ) -> Discovery:
        """Withdraw the documents that a completely read part of a dataset replaces.

        Args:
            document: the part.
            part: its task.
            kept: endpoints that the operator named.
        """
        dataset = await self.known(part.dataset)
        if dataset is None or part.way >= len(dataset.ways):
            return NOTHING_FOUND
        replaced, has_all = await self.files.replaced_by(document, part, dataset)
        if not has_all:
            return replaced
        ways = (x for x in dataset.ways if part.run and x.way is AccessMethod.SPARQL)
        left = []
        for url in {url for way in ways for url in way.urls}.difference(kept):
            is_source = await self._store.get(
                _CRAWL, FOUND, f"{int(Kind.SPARQL)} {url}"
            )
            if not is_source and await self.is_taken_otherwise(url):
                left.append(url)
        return replaced + await self.files.left_scopes(dataset, left)

    async def replaced_by_endpoint(
        self, endpoint: str, graphs: tuple[str, ...], n_statements: int
    ) -> list[str]:
        """Return the documents that completely harvested graphs replace.

        These are files of the datasets that are taken from there, unless their copies
        have many more statements.
        """
        copies: list[str] = []
        for dataset in await self.served_by(endpoint):
            ways = dataset.ways_at(endpoint)
            taken = await self.way_taken(dataset.name) if ways else None
            if taken in ways and graphs in (ways[taken].graphs, ()):
                replaced = await self.files.copies_of(dataset)
                n_known = await self.files.n_statements(replaced)
                copies += () if are_too_few(n_statements, n_known) else replaced
        return copies

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
        uses the opposite order, so that one of the two finds the other.
        """
        is_noted = own or await self._store.size(_CRAWL, _FAILED) < _MAX_FAILED
        if is_noted:
            await self._store.put(_CRAWL, _FAILED, {place: self._of_run(lack)})
        url = place.partition(" ")[0]
        names = {name async for name, _ in self._store.entries(url, SERVED)}
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
            if place == url:  # all graphs of an endpoint
                places = {way.place_of(url) for way in dataset.ways if url in way.urls}
                failed = dict.fromkeys(places, self._of_run(lack))
                await self._store.put(_CRAWL, _FAILED, failed)
            if is_taken or name == own:
                detail = f"{name}: {lack}: {url}"[: Fault.MAX_DETAIL]
                fault = Fault(Reason.WAY_FAILED, detail)
                discovery += Discovery(faults=(fault,))
            depth = document.record.depth
            discovery += await self._take(
                dataset, document.record, depth, has_failed=True
            )
        return discovery

    async def is_taken_otherwise(self, endpoint: str) -> bool:
        """Return whether all datasets of an endpoint are fetched by another method."""
        has_any = False
        async for name, _ in self._store.entries(endpoint, SERVED):
            has_any = True
            dataset = await self.known(name)
            taken = await self.way_taken(name)
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

    async def way_taken(self, name: str) -> int | None:
        """Return the index of the access method in use; their number if all failed."""
        text = await self._store.get(name, DATASET, "way")
        return None if text is None else int(text.partition(" ")[0])

    def _of_run(self, text: str) -> str:
        """Return a text that is valid only in this run."""
        return f"{text} {self._session.run}"

    def _is_of_run(self, text: str | None) -> bool:
        return text is not None and text.endswith(f" {self._session.run}")

    # -- ways ------------------------------------------------------------------------

    async def _note_places(self, dataset: KnownDataset, text: str) -> None:
        """Note the dataset of each place of data, once per form of a dataset."""
        form = blake2b(text.encode(), digest_size=8).hexdigest()
        if await self._store.get(dataset.name, DATASET, "noted") == form:
            return
        # As many as the description has, which is stored, too.
        urls = dict.fromkeys(url for way in dataset.ways for url in way.urls)
        await self.files.add((dataset.name, url) for url in urls)
        await self._store.put(dataset.name, DATASET, {"noted": form})

    async def _take(
        self,
        dataset: KnownDataset,
        record: Record,
        depth: int,
        *,
        has_failed: bool = False,
    ) -> Discovery:
        """Return the records of the best access method, and remember the method.

        Failures are noted before, so a repetition gives the same result. Another worker
        may find a failure too early to see the method remembered here; so failures are
        looked up once more. Each run begins with the best method.

        Args:
            dataset: the known dataset.
            record: the record of the description, or of a deficient document.
            depth: depth of the new records.
            has_failed: the record is of a failed place of data.
        """
        prefixes = [prefix.url for prefix in dataset.prefixes]
        usable = await self._usable(dataset, record, depth)
        discovery = NOTHING_FOUND
        while True:
            text = await self._store.get(dataset.name, DATASET, "way")
            is_begun = self._is_of_run(text)
            taken = await self.way_taken(dataset.name) if is_begun else None
            index = choose_way(dataset.ways, taken, usable)
            chosen = self._of_run(str(index))
            await self._store.put(dataset.name, DATASET, {"way": chosen})
            way = dataset.ways[index] if index < len(dataset.ways) else None
            if way is not None and way.way in _COMPLETE_METHODS:
                await self._session.datasets.cover(prefixes, dataset.name)
            elif has_failed or (text is not None and taken != index):
                discovery += await self._uncover(prefixes, dataset.name)
            before = usable
            usable = await self._usable(dataset, record, depth)
            if usable == before:
                break
            has_failed = True
        if way is None:
            return discovery
        records = await self._records(dataset, index, way, usable, record, depth)
        return discovery + found(*records)

    async def _uncover(self, prefixes: list[str], name: str) -> Discovery:
        """Release the URLs below the prefixes of a dataset that cannot be fetched."""
        if await self._session.datasets.uncover(prefixes, name):
            return NOTHING_FOUND
        detail = f"more than {MAX_DEFERRED} URLs below one of {prefixes}"
        fault = Fault(Reason.TOO_MANY_ENTRIES, detail[: Fault.MAX_DETAIL])
        return Discovery(faults=(fault,))

    async def _usable(
        self, dataset: KnownDataset, record: Record, depth: int
    ) -> frozenset[str]:
        """Return the places of data that have not failed and that the crawl accepts."""
        places = {
            way.place_of(url): url
            for way in dataset.ways
            if way.way in _COMPLETE_METHODS
            and sum(map(len, way.graphs)) <= MAX_GRAPHS_CHARS
            for url in way.urls
        }
        failed = await self._store.get_many(_CRAWL, _FAILED, places)
        return frozenset(
            place
            for (place, url), lack in zip(places.items(), failed, strict=True)
            if not self._is_of_run(lack) and self._is_accepted(url, depth, record)
        )

    def _is_accepted(self, url: str, depth: int, record: Record) -> bool:
        """Return whether the crawl accepts data of a dataset; log a refusal."""
        try:
            why = self._session.ingests.of(record).refusal(requestable(url), depth)
        except BadUri:
            why = Decision.BAD_URI
        if why is not None:
            self._session.links.note_decision(why, [url], record.url)
        return why is None

    async def _records(
        self,
        dataset: KnownDataset,
        index: int,
        way: DatasetAccess,
        usable: frozenset[str],
        record: Record,
        depth: int,
    ) -> list[FollowUp]:
        parent, run = record.url, self._session.run
        if way.way is AccessMethod.PREFIX:
            records = [Record(x[0], depth=depth, parent=parent) for x in way.parts]
            return [FollowUp(record, is_part_of_source=True) for record in records]
        chosen = [
            next(n for n, url in enumerate(mirrors) if way.place_of(url) in usable)
            for mirrors in way.parts
        ]
        if way.way is AccessMethod.SPARQL:
            source_task = SourceTask(run, graphs=way.graphs)
            url = way.parts[0][chosen[0]]
            endpoint = Record(url, Kind.SPARQL, depth, parent, task=source_task)
            samples = await self._sample_pages(dataset, depth, parent)
            descriptions = self._sample_descriptions(dataset, endpoint, way.graphs)
            return [FollowUp(endpoint), *samples, *descriptions]
        urls = [mirrors[n] for mirrors, n in zip(way.parts, chosen, strict=True)]
        changes = await self._changes(dataset, urls)
        files = []
        for number, (url, change) in enumerate(zip(urls, changes, strict=True)):
            graphs = graphs_elsewhere(dataset, url)
            lastmod = dataset.lastmod or dataset.modified
            task = DumpPart(dataset.name, index, number, run, lastmod, graphs)
            part = Record(url, Kind.DUMP, depth, parent, task=task)
            if change is not None:
                files.append(FollowUp(part, change=change, urgency=Urgency.SOON))
        return [*files, *await self._sample_pages(dataset, depth, parent)]

    async def _sample_pages(
        self, dataset: KnownDataset, depth: int, parent: str
    ) -> list[FollowUp]:
        """Return the pages of samples that are due in this run."""
        changes = await self._changes(dataset, list(dataset.samples))
        due = zip(dataset.samples, changes, strict=True)
        return [
            sample_of(dataset, uri, depth, parent, change)
            for uri, change in due
            if change is not None
        ]

    def _sample_descriptions(
        self, dataset: KnownDataset, endpoint: Record, graphs: Sequence[str]
    ) -> Iterator[FollowUp]:
        """Yield the descriptions of samples by the endpoint of their dataset."""
        depth, parent = endpoint.depth, endpoint.parent
        for uri in dataset.samples[:MAX_SAMPLES]:
            task = DescribedSample(dataset.name, uri)
            url = describe_url(endpoint.url, uri, graphs)
            yield FollowUp(Record(url, Kind.PAGE, depth, parent, task=task))

    async def _changes(
        self, dataset: KnownDataset, urls: list[str]
    ) -> list[str | None]:
        """Return the change that makes each file due in this run; None if not due.

        A file with validators is requested in each run: a 304 has no body.
        """
        run = self._session.run
        if not run:
            return ["" for _ in urls]
        lastmod, changefreq = dataset.lastmod, dataset.changefreq
        claim = ListedPageClaim(run, 0, lastmod, changefreq, since=run)
        policy = RevisitPolicy(run, int(time.time()), self._revisit_secs)
        fetches = await self._fetches.last_of(urls)
        changes: list[str | None] = []
        for url in urls:
            fetch = fetches[url]
            # A repeated record of this run is due again.
            is_due = fetch is None or fetch.run == run or _is_cheap_or_failed(fetch)
            is_due = is_due or policy.change_of(claim, fetch) is not None
            # Without a date from a sitemap, other dates are compared as texts.
            if fetch and dataset.modified and not lastmod:
                is_due = is_due or fetch.lastmod != dataset.modified
            changes.append(f"run {run}" if is_due else None)
        return changes


def _is_cheap_or_failed(fetch: PageFetch) -> bool:
    return bool(fetch.n_failures or fetch.etag or fetch.last_modified)
