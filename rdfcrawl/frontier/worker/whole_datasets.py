"""Datasets fetched as dumps or from endpoints, whose pages are not crawled.

The prefixes of their URLs are in Redis, shared by all workers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.tasks import DumpPart
from rdfcrawl.frontier.queue.deferred import MAX_DEFERRED, DeferredLinks

if TYPE_CHECKING:
    from rdfcrawl.core.records import Document
    from rdfcrawl.frontier.queue.state_store import StateStore
    from rdfcrawl.frontier.worker.link_sender import LinkSender
    from rdfcrawl.frontier.worker.profile_ingests import ProfileIngests

_CRAWL: Final = "crawl:"  # the crawl, in place of a source
_TABLE: Final = "covered"  # prefix -> dataset


class WholeDatasets:
    """Covers URLs by the prefixes of datasets, and defers links to such URLs."""

    def __init__(
        self,
        store: StateStore,
        ingests: ProfileIngests,
        links: LinkSender,
        prime: Callable[..., Awaitable[None]],
    ) -> None:
        self._store = store
        self._deferred = DeferredLinks(store)
        self._ingests = ingests
        self._links = links
        self._prime = prime

    async def cover(self, prefixes: Iterable[str], dataset: str) -> None:
        """Skip URLs with these prefixes, which the dataset contains."""
        names = dict.fromkeys(prefixes, dataset)
        if names:
            await self._store.put(_CRAWL, _TABLE, names)
            # Prefixes of other workers are read periodically, as each dataset would
            # read all.
            self._ingests.own.covered.add(names)

    async def uncover(self, prefixes: Sequence[str], dataset: str) -> bool:
        """Crawl URLs with these prefixes again, unless another dataset covers them.

        Return whether no prefix was removed.
        """
        names = await self._store.get_many(_CRAWL, _TABLE, prefixes)
        pairs = zip(prefixes, names, strict=True)
        prefixes = [x for x, name in pairs if name in (dataset, None)]
        if not prefixes:
            return True
        await self._store.drop(_CRAWL, _TABLE, prefixes)
        await self.learn()
        for prefix in prefixes:
            await self._offer(prefix)
        return not any([await self._deferred.is_full(x) for x in prefixes])

    async def learn(self) -> None:
        """Read prefixes that other workers have covered or uncovered."""
        found = [prefix async for prefix, _ in self._store.entries(_CRAWL, _TABLE)]
        covered = self._ingests.own.covered
        if covered.prefixes != set(found):
            covered.replace(found)
            self._ingests.forget_recent()

    def full(self, document: Document) -> set[str]:
        """Return the prefixes whose links in a document are no longer deferred."""
        return self._deferred.full(_limit_of(document))

    async def defer(self, document: Document | None = None) -> None:
        """Store the covered links of a document.

        They are stored before the check that their prefixes are still covered:
        otherwise, links stored just after another worker uncovers a prefix would be
        lost.
        """
        waiting = self._ingests.own.take_deferred()
        if not waiting:
            return
        limit = MAX_DEFERRED if document is None else _limit_of(document)
        for prefix, records in waiting.items():
            await self._deferred.put(prefix, records, limit=limit)
        datasets = await self._store.get_many(_CRAWL, _TABLE, waiting)
        for prefix, dataset in zip(waiting, datasets, strict=True):
            if dataset is None:
                await self.learn()
                await self._offer(prefix)

    async def _offer(self, prefix: str) -> None:
        """Queue links deferred under a prefix that no other prefix covers."""
        ingest = self._ingests.own
        async for group in self._deferred.groups(prefix):
            await self._prime(*(each.record.url for each in group))
            ingest.full = self._deferred.full()
            self._links.offer(ingest.uncovered(group))
            for other, waiting in ingest.take_deferred().items():
                await self._deferred.put(other, waiting)
            await self._links.room()


def _limit_of(document: Document) -> int:
    """Return how many URLs of a prefix may be deferred while a document adds some.

    A dump links to everything that it covers, and must leave room for other documents.
    """
    is_dump = isinstance(document.record.task, DumpPart)
    return MAX_DEFERRED // 2 if is_dump else MAX_DEFERRED
