"""The JSON-LD contexts that a crawl refers to, each fetched once for all workers.

A context comes from the memory of the worker, else from Redis, else from the web, like
any document. The built-in contexts are not loaded here.
"""

from __future__ import annotations

import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.core.shared_tasks import SharedTasks, SizedMemory
from rdfcrawl.downloader.contexts.cache import ContextEntry, SharedContexts
from rdfcrawl.uri import BadUri, requestable

if TYPE_CHECKING:
    from rdfcrawl.downloader.contexts.download import ContextDownloader, ContextOptions
    from rdfcrawl.rdf.environment import ContextDocument

MAX_DOCUMENTS: Final = 10_000  # whose loads are counted


@dataclass(eq=False)
class ContextStore:
    """Load contexts; close the store at the end.

    Attributes:
        shared: cache shared by the workers of a crawl; None with a single worker.
        count: called with a variant of the statistic `context/*`.
    """

    download: ContextDownloader
    options: ContextOptions
    _: KW_ONLY
    shared: SharedContexts | None = None
    count: Callable[[str], None] = lambda _: None

    def __post_init__(self) -> None:
        most = self.options.memory_bytes
        self._memory = SizedMemory[str, ContextEntry](sys.maxsize, most)
        self._loading = SharedTasks[ContextEntry]()
        self._n_loaded: OrderedDict[str, int] = OrderedDict()

    def peek(self, url: str) -> ContextDocument | None:
        """Return a fresh context from memory; None if there is none.

        Raises:
            SourceFault: `REMOTE_CONTEXT`: a recent request failed.
        """
        entry = self._memory.fresh(_checked(url))
        if entry is None:
            return None
        self.count("memory")
        return entry.document()

    async def load(self, url: str, *, document_url: str) -> ContextDocument:
        """Return a context for a document that refers to it, perhaps indirectly.

        Raises:
            SourceFault: `REMOTE_CONTEXT`: it is unavailable; the detail says why.
        """
        if (known := self.peek(url)) is not None:
            return known
        url = _checked(url)
        if url not in self._loading:
            self._spend(url, document_url)
        return (await self._loading.run(url, partial(self._load, url))).document()

    async def close(self) -> None:
        """Cancel all loads."""
        await self._loading.close()

    def _spend(self, url: str, document_url: str) -> None:
        """Count a load for a document, which may cause only a limited number."""
        most = self.options.most_per_document
        n = self._n_loaded.pop(document_url, 0)
        self._n_loaded[document_url] = n + 1
        if len(self._n_loaded) > MAX_DOCUMENTS:
            self._n_loaded.popitem(last=False)
        if n >= most:
            self.count("failed")
            detail = f"over {counted(most, 'context')} of one document <{url}>"
            raise SourceFault(Reason.REMOTE_CONTEXT, detail)

    async def _load(self, url: str) -> ContextEntry:
        known = self._memory.last(url)
        shared = self.shared
        if shared is None:
            return await self._fetched(url, known)
        entry = await shared.get(url)
        if entry is not None and entry.is_fresh:
            return self._shared(url, entry)
        known = entry if entry is not None and entry.is_usable else known
        entry = await shared.claim(url)
        if entry is not None:
            return self._shared(url, entry)
        try:
            return await self._fetched(url, known)
        finally:
            await shared.release(url)

    def _shared(self, url: str, entry: ContextEntry) -> ContextEntry:
        self.count("shared")
        self._keep(url, entry)
        return entry

    def _keep(self, url: str, entry: ContextEntry) -> None:
        self._memory.keep(url, entry, entry.fresh_until - time.time())

    async def _fetched(self, url: str, known: ContextEntry | None) -> ContextEntry:
        found = await self.download(url, known=known)
        self.count(found.how)
        self._keep(url, found.entry)
        if self.shared is not None:
            await self.shared.put(url, found.entry)
        return found.entry


def _checked(url: str) -> str:
    try:
        return requestable(url)
    except BadUri as exc:
        detail = f"{exc.fault.detail} <{url}>"
        raise SourceFault(Reason.REMOTE_CONTEXT, detail) from exc
