"""Choice of the access method of each dataset, and the records that fetch its data."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Decision, Fault, Reason
from rdfcrawl.core.records import FollowUp, Kind, Record, Urgency
from rdfcrawl.core.source_tasks import SourceTask
from rdfcrawl.core.tasks import DescribedSample, DumpPart
from rdfcrawl.frontier.queue.tables import MAX_DEFERRED
from rdfcrawl.sources.access import AccessMethod
from rdfcrawl.sources.harvest.discovery import NOTHING_FOUND, Discovery, found
from rdfcrawl.sources.harvest.known_datasets import (
    COMPLETE_METHODS,
    DATASET,
    MAX_GRAPHS_CHARS,
    KnownDataset,
    describe_url,
    graphs_elsewhere,
    sample_of,
)
from rdfcrawl.sources.harvest.listed_pages import ListedPageClaim, RevisitPolicy
from rdfcrawl.sources.harvest.page_fetches import PageFetches
from rdfcrawl.sources.harvest.released_pages import ReleasedPages
from rdfcrawl.sources.sitemaps.access import choose_way
from rdfcrawl.uri import BadUri, requestable

if TYPE_CHECKING:
    from rdfcrawl.frontier.session import CrawlSession
    from rdfcrawl.sources.harvest.dataset_files import DatasetFiles

_CRAWL: Final = "crawl:"  # the crawl, in place of a source
_KEPT: Final = "kept"  # of a dataset: runs in a row in which its copy was kept
_MAX_KEPT: Final = 3  # such runs, before the pages are requested instead
_FAILED: Final = "failed places"  # of the crawl: URL -> its deficiency
_MAX_FAILED: Final = 100_000  # not named by a dataset so far
MAX_SAMPLES: Final = 20  # compared per dataset


class DatasetWays:
    """The access methods in use, shared by all workers of a crawl.

    Attributes:
        pages: that were requested as no access method gave the data.
    """

    def __init__(
        self,
        session: CrawlSession,
        fetches: PageFetches,
        files: DatasetFiles,
        revisit_secs: int,
    ) -> None:
        self._session = session
        self._store = session.state_store
        self._fetches, self._files = fetches, files
        self.pages = ReleasedPages(session, fetches, revisit_secs)
        self._revisit_secs = revisit_secs

    async def taken(self, name: str) -> int | None:
        """Return the index of the access method in use; their number if all failed."""
        text = await self._store.get(name, DATASET, "way")
        return None if text is None else int(text.partition(" ")[0])

    async def note_failed(self, places: Iterable[str], lack: str) -> None:
        """Note that places of data have failed in this run."""
        failed = dict.fromkeys(places, self._of_run(lack))
        await self._store.put(_CRAWL, _FAILED, failed)

    async def has_room(self) -> bool:
        """Return whether a place that no known dataset has may be noted as failed."""
        return await self._store.size(_CRAWL, _FAILED) < _MAX_FAILED

    def _of_run(self, text: str) -> str:
        """Return a text that is valid only in this run."""
        return f"{text} {self._session.run}"

    def _is_of_run(self, text: str | None) -> bool:
        return text is not None and text.endswith(f" {self._session.run}")

    async def take(
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
            index, has_changed = await self._choose(dataset, usable)
            is_complete = index < len(dataset.ways) and (
                dataset.ways[index].way in COMPLETE_METHODS
            )
            is_kept = not is_complete and await self._is_kept(dataset, record, usable)
            if is_complete or is_kept:
                await self._session.datasets.cover(prefixes, dataset.name)
            elif has_failed or has_changed:
                await self.pages.defer_due(prefixes, record)
                discovery += await self.release(prefixes, dataset.name)
            before = usable
            usable = await self._usable(dataset, record, depth)
            if usable == before:
                break
            has_failed = True
        if is_kept or index == len(dataset.ways):
            return discovery
        return discovery + found(
            *await self._records(dataset, index, usable, record, depth)
        )

    async def _choose(
        self, dataset: KnownDataset, usable: frozenset[str]
    ) -> tuple[int, bool]:
        """Return the index of an access method, and whether it is another one."""
        text = await self._store.get(dataset.name, DATASET, "way")
        is_begun = self._is_of_run(text)
        taken = await self.taken(dataset.name) if is_begun else None
        index = choose_way(dataset.ways, taken, usable)
        chosen = self._of_run(str(index))
        await self._store.put(dataset.name, DATASET, {"way": chosen})
        return index, text is not None and taken != index

    async def _is_kept(
        self, dataset: KnownDataset, record: Record, usable: frozenset[str]
    ) -> bool:
        """Return whether the last good copy stays, and no page is requested instead.

        It does for some runs; and if it has slices, which are in the graphs of the
        pages, as long as there is one.
        """
        run = self._session.run
        refused = [
            way
            for way in dataset.ways
            if way.way in COMPLETE_METHODS
            and not usable.issuperset(map(way.place_of, way.urls))
        ]
        has_copy = run and (
            await self._files.has_copy(refused)
            or await self._files.former.are_kept(dataset.name)
        )
        if not has_copy:
            return False
        text = await self._store.get(dataset.name, DATASET, _KEPT) or "0 0"
        n_runs, last = map(int, text.split())
        n_runs = n_runs + (last < run) if last >= run - 1 else 1
        await self._store.put(dataset.name, DATASET, {_KEPT: f"{n_runs} {run}"})
        return n_runs <= _MAX_KEPT or self.are_sliced(record)

    def are_sliced(self, record: Record) -> bool:
        """Return whether dumps are cut into slices, by the arguments of a record."""
        return self._session.profiles.of(record).slice

    async def release(
        self, prefixes: list[str], name: str, *, is_forgotten: bool = False
    ) -> Discovery:
        """Release the URLs below the prefixes of a dataset that cannot be fetched."""
        whole = self._session.datasets
        if await whole.uncover(prefixes, name, is_forgotten=is_forgotten):
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
            if way.way in COMPLETE_METHODS
            and sum(map(len, way.graphs)) <= MAX_GRAPHS_CHARS
            for url in way.urls
        }
        failed = await self._store.get_many(_CRAWL, _FAILED, places)
        return frozenset(
            place
            for place, url in places.items()
            if not self._is_of_run(failed.get(place, ""))
            and self._is_accepted(url, depth, record)
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
        usable: frozenset[str],
        record: Record,
        depth: int,
    ) -> list[FollowUp]:
        parent, run, way = record.url, self._session.run, dataset.ways[index]
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
            kind = Kind.PAGE if url in dataset.unknown else Kind.DUMP
            part = Record(url, kind, depth, parent, task=task)
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
            is_due = fetch is None or fetch.run == run or fetch.n_failures > 0
            is_due = is_due or bool(fetch and (fetch.etag or fetch.last_modified))
            is_due = is_due or policy.change_of(claim, fetch) is not None
            # Without a date from a sitemap, other dates are compared as texts.
            if fetch and dataset.modified and not lastmod:
                is_due = is_due or fetch.lastmod != dataset.modified
            changes.append(f"run {run}" if is_due else None)
        return changes
