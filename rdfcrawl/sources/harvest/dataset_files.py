"""The files of datasets, and the documents to withdraw when none has them any more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.last_copies import LastCopy
from rdfcrawl.core.records import GONE, Kind
from rdfcrawl.sources.access import AccessMethod
from rdfcrawl.sources.harvest.discovery import FOUND, NOTHING_FOUND, Discovery
from rdfcrawl.sources.harvest.former_files import FormerFiles
from rdfcrawl.sources.harvest.last_copies import CRAWL, STORED, copy_key
from rdfcrawl.sources.harvest.page_fetches import PageFetches, shortfall_of

if TYPE_CHECKING:
    from rdfcrawl.core.records import Document
    from rdfcrawl.core.tasks import DumpPart, SamplePage
    from rdfcrawl.frontier.queue.tables import StateStore
    from rdfcrawl.sources.access import DatasetAccess
    from rdfcrawl.sources.harvest.known_datasets import KnownDataset, KnownDatasets

_CRAWL: Final = "crawl:"  # the crawl, in place of a source
SERVED: Final = "datasets"  # of a file or an endpoint: the datasets in it
_DROPPED: Final = "dropped"  # of a document: dataset and file -> run
_SAMPLED: Final = "sample pages"  # of a dataset: URI of a sample -> its document
_READ: Final = "read parts"  # of a dataset: the first mirror of each part


class DatasetFiles:
    """The datasets that have each file, shared by all workers of a crawl.

    Each document of a dataset has an owner: a file that no dataset has any more is
    withdrawn, without a request.

    Attributes:
        former: files of datasets that stay until others are read.
    """

    def __init__(self, store: StateStore, fetches: PageFetches, run: int) -> None:
        self._store, self._fetches, self._run = store, fetches, run
        self.former = FormerFiles(store, run)

    async def add(self, owned: Iterable[tuple[str, str]]) -> None:
        """Note datasets and the URLs of their files."""
        await self._store.gather(
            self._store.put(url, SERVED, {name: ""}) for name, url in owned
        )

    async def drop(self, name: str, files: Sequence[str]) -> tuple[str, ...]:
        """Drop places or samples of a dataset; return the documents to withdraw.

        A file was read at the URL to which it redirects. One that was never fetched has
        no document; there may be a page of that URL.
        """
        await self._store.gather(self._store.drop(url, SERVED, [name]) for url in files)
        gone = await self._had_by(files, most=0)
        responses = await self._store.gather(map(self.responses_of, gone))
        pages = await self._drop_samples(name, files)
        copies = await self._copies(gone, most=0)
        return (*copies, *chain.from_iterable(responses), *pages)

    async def note_sample(self, sample: SamplePage, url: str) -> None:
        """Note the document of a sample."""
        await self._store.put(sample.dataset, _SAMPLED, {sample.uri: url})

    async def _drop_samples(self, name: str, uris: Sequence[str]) -> list[str]:
        """Drop samples of a dataset; return their pages that nothing else lists."""
        found = await self._store.get_many(name, _SAMPLED, uris)
        pages = await self._had_by(list(found.values()), most=0)
        if pages:  # otherwise as usual
            await self._store.drop(name, _SAMPLED, uris)
        fetches = await self._fetches.last_of(pages)
        return [url for url, fetch in fetches.items() if fetch is None]

    async def note(self, source: str, name: str, files: Iterable[str]) -> None:
        """Note files that a document may drop from a dataset.

        They are noted before its description changes: if a worker is killed, then the
        document is read again, but its description is the same then.
        """
        entries = {f"{name} {url}": str(self._run) for url in files}
        if entries:
            await self._store.put(source, _DROPPED, entries)

    async def drop_noted(self, source: str, datasets: KnownDatasets) -> Discovery:
        """Withdraw the noted files that their datasets do not have any more.

        If no other file of a dataset has been read, then they stay until one is.
        """
        now, old = str(self._run), []
        dropped: defaultdict[str, list[str]] = defaultdict(list)
        async for place, run in self._store.entries(source, _DROPPED):
            name, _, url = place.rpartition(" ")
            if run == now:
                dropped[name].append(url)
            else:
                old.append(place)
        await self._store.drop(source, _DROPPED, old)
        withdrawn: list[str] = []
        for name, urls in dropped.items():
            known = await datasets.known(name)
            kept = {*known.places, *known.samples} if known else set()
            left = [url for url in urls if url not in kept]
            if known and left and await self._lacks_copy(known):
                await self.former.keep(name, left)
            else:
                withdrawn += await self.drop(name, left)
        return Discovery(withdrawn=tuple(withdrawn)) if withdrawn else NOTHING_FOUND

    async def expired(self, dataset: KnownDataset) -> Discovery:
        """Withdraw former files once others are read, or have failed for some runs."""
        if not await self.former.are_kept(dataset.name):
            return NOTHING_FOUND
        has_others = not await self._lacks_copy(dataset)
        withdrawn = await self.drop_former(dataset, has_others=has_others)
        return Discovery(withdrawn=withdrawn)

    async def drop_former(
        self, dataset: KnownDataset, *, has_others: bool = True
    ) -> tuple[str, ...]:
        """Drop former files that need not stay; return the documents to withdraw."""
        present, name = {*dataset.places, *dataset.samples}, dataset.name
        files = await self.former.released(name, present, has_others=has_others)
        return await self.drop(name, files) if files else ()

    async def lacking(self, files: Sequence[str]) -> list[str]:
        """Return the files that were never read to their end, except as a page."""
        copies = await self._stored(files) if files else {}
        read = {x for x, copy in copies.items() if not (copy.is_page or copy.is_cut)}
        return [url for url in files if url not in read]

    async def read_file(self, document: Document) -> Discovery:
        """Withdraw the former files of a portal's dataset, as another one is read."""
        record = document.record
        name, url = record.parent, record.first_url
        if not await self.former.is_last_read(name, url):
            return NOTHING_FOUND
        files = await self.former.released(name, (), has_others=True)
        return Discovery(withdrawn=await self.drop(name, files or ()))

    async def withdraw_left(self, document: Document, url: str) -> Discovery | None:
        """Withdraw the former URL of a file that now redirects elsewhere.

        The result is None if the file has not been read there; then the response of the
        former URL says whether it is gone.
        """
        is_gone = document.status in GONE
        is_read = document.n_quads and not (
            shortfall_of(document) or document.is_doubtful
        )
        if not (is_gone or is_read):
            return None
        return Discovery(withdrawn=tuple(await self._had_by([url], most=0)))

    async def replaced_by(
        self, document: Document, part: DumpPart, dataset: KnownDataset
    ) -> tuple[Discovery, bool]:
        """Withdraw the files that a completely read part of a dataset replaces.

        Earlier runs may have read other mirrors of it, or another way to the dataset.
        Files that another dataset has, too, stay. The result has whether all parts have
        been read.
        """
        way = dataset.ways[part.way]
        read = {document.url, *document.record.chain, *document.response.requested}
        urls = [url for url in way.parts[part.part] if url not in read]
        copies = await self._copies(urls, most=1)
        has_all = await self._has_all(dataset, part)
        if has_all:
            copies += await self.copies_of(dataset, {*way.urls, *read})
            copies += await self.drop_former(dataset)
        withdrawn = tuple(x for x in copies if x not in read)
        return Discovery(withdrawn=withdrawn), has_all

    async def copies_of(
        self, dataset: KnownDataset, kept: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Return the documents of a dataset's files, for another way to its data.

        Files that another dataset has, too, stay. All parts of the others have to be
        read once more before they replace that way.
        """
        others = [url for url in dataset.urls_of_files if url not in kept]
        if not others:  # as usual
            return ()
        urls = await self._had_by(others, most=1)
        await self._store.drop(dataset.name, _READ, urls)
        return await self._copies(urls, most=1)

    async def has_copy(self, ways: Iterable[DatasetAccess]) -> bool:
        """Return whether all data of an access method are stored, by an earlier run."""
        from rdfcrawl.sources.harvest.sparql_state import SCOPES, EndpointState

        for way in ways:
            if way.way is AccessMethod.SPARQL:
                for url in way.urls:
                    async for key, graphs in self._store.entries(url, SCOPES):
                        state = EndpointState(self._store, self._run, key)
                        if graphs == " ".join(way.graphs) and await state.n_believed():
                            return True
            else:
                copies = await self._stored(way.urls)
                whole = {url for url, copy in copies.items() if not copy.is_cut}
                if all(not whole.isdisjoint(mirrors) for mirrors in way.parts):
                    return True
        return False

    async def _lacks_copy(self, dataset: KnownDataset) -> bool:
        """Return whether a dataset has files or graphs, some of which were never read.

        Files that may be pages without data do not count.
        """
        unknown = set(dataset.unknown)
        parts = {
            way: tuple(x for x in way.parts if not unknown.issuperset(x))
            for way in dataset.ways
            if way.way is not AccessMethod.PREFIX
        }
        ways = [replace(way, parts=some) for way, some in parts.items() if some]
        return bool(ways) and not await self.has_copy(ways)

    async def _stored(self, files: Iterable[str]) -> dict[str, LastCopy]:
        """Return the copies of files that are stored."""
        fetches = await self._fetches.last_of(files)
        keys = {x: copy_key((y and y.read_at) or x) for x, y in fetches.items()}
        texts = await self._store.get_many(CRAWL, STORED, keys.values())
        found = {url: texts[key] for url, key in keys.items() if key in texts}
        return {url: LastCopy.of_text(text) for url, text in found.items()}

    async def n_statements(self, dataset: KnownDataset) -> int:
        """Return the number of the stored statements of a dataset's own files."""
        urls = await self._had_by(dataset.urls_of_files, most=1)
        return sum(copy.n_quads for copy in (await self._stored(urls)).values())

    async def _has_all(self, dataset: KnownDataset, part: DumpPart) -> bool:
        """Note a part that is read; return whether all of them have been."""
        parts = [mirrors[0] for mirrors in dataset.ways[part.way].parts]
        if len(parts) == 1:
            return True
        await self._store.put(dataset.name, _READ, {parts[part.part]: ""})
        read = await self._store.get_many(dataset.name, _READ, parts)
        return len(read) == len(set(parts))

    async def responses_of(self, endpoint: str, graphs: str | None = None) -> list[str]:
        """Return the documents to withdraw of an endpoint that is no source by itself.

        They are those that datasets with such graphs have had from it; None: any ones.
        """
        from rdfcrawl.sources.harvest.sparql_state import SCOPES, EndpointState

        if await self._store.get(_CRAWL, FOUND, f"{int(Kind.SPARQL)} {endpoint}"):
            return []
        withdrawn: list[str] = []
        async for key, each in self._store.entries(endpoint, SCOPES):
            if graphs in (each, None):
                state = EndpointState(self._store, self._run, key)
                withdrawn += [x async for x in state.iter_left()]
        return withdrawn

    async def _copies(self, files: Sequence[str], *, most: int) -> tuple[str, ...]:
        """Return the documents of the files that at most so many datasets have."""
        fetches = await self._fetches.withdrawn(await self._had_by(files, most=most))
        copies = [x.read_at or url for url, x in fetches.items() if x and x.has_copy]
        return tuple(await self._had_by(copies, most=most))

    async def is_left(self, document: Document) -> bool:
        """Return whether no dataset has a file any more."""
        record = document.record
        url = record.first_url
        return bool(await self._had_by([url], most=0))

    async def _had_by(self, files: Sequence[str], *, most: int) -> list[str]:
        """Return the files that at most so many datasets have."""
        numbers = await self._store.gather(
            self._store.size(url, SERVED) for url in files
        )
        return [url for url, n in zip(files, numbers, strict=True) if n <= most]
