"""The datasets that a document no longer describes, until that is believed.

A catalog that is being loaded, or whose portal fails, may answer without datasets, or
with few. Then the former ones stay until a later run misses them, too. A page about one
dataset that has become another page is believed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.core.last_copies import is_plausible
from rdfcrawl.core.messages import counted

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.tables import StateStore

_MISSED: Final = "missed datasets"  # of a document: name of a dataset -> first run
_LISTS: Final = "doubted lists"  # of the crawl: URL of a document -> run
_CRAWL: Final = "crawl:"  # the crawl, in place of a source
_MAX_LISTS: Final = 100_000
_LEAST: Final = 2  # datasets of a list; others are pages about their dataset


class MissingNames(NamedTuple):
    """The names of datasets that are gone, and of those that are doubted."""

    gone: Sequence[str]
    doubted: Sequence[str] = ()


class MissingDatasets:
    """The datasets that documents do not describe any more, shared by all workers."""

    def __init__(self, store: StateStore, run: int) -> None:
        self._store, self._run = store, run
        self._lists: frozenset[str] | None = None  # doubted by earlier runs

    async def is_doubted(self, source: str) -> bool:
        """Return whether earlier runs kept datasets that a document lacks."""
        if self._lists is None:
            entries = self._store.entries(_CRAWL, _LISTS)
            self._lists = frozenset(
                [x async for x, run in entries if int(run) < self._run]
            )
        return source in self._lists

    async def judge(
        self, source: str, missing: Sequence[str], n_left: int
    ) -> MissingNames:
        """Return which missing datasets of a document are gone.

        Args:
            source: URL of the document.
            missing: names of its former datasets.
            n_left: number of those that it describes.
        """
        missed = await self._missed(source)
        back = missed.keys() - set(missing)
        if back:
            await self._store.drop(source, _MISSED, back)
        if not missing and await self.is_doubted(source):
            await self._store.drop(_CRAWL, _LISTS, [source])
        n_known = n_left + len(missing)
        if not missing or n_known < _LEAST or is_plausible(n_left, n_known):
            return MissingNames(missing)
        gone = [x for x in missing if missed.get(x, self._run) < self._run]
        doubted = [x for x in missing if missed.get(x, self._run) >= self._run]
        now = str(self._run)
        await self._store.put(source, _MISSED, dict.fromkeys(doubted, now))
        await self._store.put_up_to(_CRAWL, _LISTS, {source: now}, _MAX_LISTS)
        return MissingNames(gone, doubted)

    async def confirmed(self, source: str, known: Collection[str]) -> list[str]:
        """Return which datasets an unchanged document has lacked since a former run."""
        missed = await self._missed(source)
        return [x for x in known if missed.get(x, self._run) < self._run]

    async def _missed(self, source: str) -> dict[str, int]:
        entries = self._store.entries(source, _MISSED)
        return {name: int(run) async for name, run in entries}


def fault_of(names: MissingNames, n_left: int) -> Fault:
    """Return the fault of a document whose former datasets stay for now."""
    n_all = counted(n_left + len(names.gone) + len(names.doubted), "dataset")
    detail = f"{n_left:,} of {n_all}: the others stay until a later run misses them too"
    return Fault(Reason.COPY_KEPT, detail)
