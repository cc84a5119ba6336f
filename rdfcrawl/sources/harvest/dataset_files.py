"""The files of datasets, and the documents to withdraw when none has them any more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from rdfcrawl.sources.harvest.discovery import NOTHING_FOUND, Discovery
from rdfcrawl.sources.harvest.page_fetches import PageFetches, shortfall_of

if TYPE_CHECKING:
    from rdfcrawl.core.records import Document
    from rdfcrawl.core.tasks import DumpPart
    from rdfcrawl.frontier.queue.tables import StateStore
    from rdfcrawl.sources.harvest.known_datasets import KnownDataset

SERVED: Final = "datasets"  # of a file or an endpoint: the datasets in it


class DatasetFiles:
    """The datasets that have each file, shared by all workers of a crawl.

    Each document of a dataset has an owner: a file that no dataset has any more is
    withdrawn, without a request.
    """

    def __init__(self, store: StateStore, fetches: PageFetches) -> None:
        self._store, self._fetches = store, fetches

    async def add(self, owned: Iterable[tuple[str, str]]) -> None:
        """Note datasets and the URLs of their files."""
        await self._store.gather(
            self._store.put(url, SERVED, {name: ""}) for name, url in owned
        )

    async def drop(self, name: str, files: Sequence[str]) -> tuple[str, ...]:
        """Drop files of a dataset; return the documents to withdraw with them.

        A file was read at the URL to which it redirects. One that was never fetched has
        no document; there may be a page of that URL.
        """
        await self._store.gather(self._store.drop(url, SERVED, [name]) for url in files)
        gone = await self._had_by(files, most=0)
        fetches = await self._fetches.without_validators(gone)
        documents = [x.read_at or url for url, x in fetches.items() if x and x.has_copy]
        return tuple(await self._had_by(documents, most=0))

    async def withdraw_left(self, document: Document, url: str) -> Discovery | None:
        """Withdraw the former URL of a file that now redirects elsewhere.

        The result is None if the file has not been read there; then the response of the
        former URL says whether it is gone.
        """
        is_gone = document.status in (404, 410)
        is_read = document.n_quads and not (
            shortfall_of(document) or document.is_doubtful
        )
        if not (is_gone or is_read):
            return None
        return Discovery(withdrawn=tuple(await self._had_by([url], most=0)))

    async def replaced_by(
        self, document: Document, part: DumpPart, dataset: KnownDataset
    ) -> Discovery:
        """Withdraw the files that a completely read part of a dataset replaces.

        Earlier runs may have read other mirrors of it, or another way to the dataset.
        Files that another dataset has, too, stay.
        """
        way = dataset.ways[part.way]
        is_all = len(way.parts) == 1
        others = dataset.urls_of_files if is_all else way.parts[part.part]
        read = {document.url, *document.record.chain, *document.response.requested}
        urls = [url for url in others if url not in read]
        if not urls:  # as usual
            return NOTHING_FOUND
        fetches = await self._fetches.last_of(await self._had_by(urls, most=1))
        copies = [x.read_at or url for url, x in fetches.items() if x and x.has_copy]
        copies = await self._had_by(copies, most=1)
        return Discovery(withdrawn=tuple(x for x in copies if x not in read))

    async def _had_by(self, files: Sequence[str], *, most: int) -> list[str]:
        """Return the files that at most so many datasets have."""
        numbers = await self._store.gather(
            self._store.size(url, SERVED) for url in files
        )
        return [url for url, n in zip(files, numbers, strict=True) if n <= most]
