"""Lists that have lost all of their entries, or most, until that is believed.

A source that is being loaded, or that fails, may list nothing, or a part, without an
error. Then the former entries stay until a later run misses as many. The same rule
holds for the datasets of documents and portals, the items of repositories, resources,
and the statements of endpoints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.core.last_copies import is_plausible
from rdfcrawl.core.messages import counted

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.tables import StateStore

_LISTS: Final = "doubted lists"  # of the crawl: name of a list -> run, and entries
_CRAWL: Final = "crawl:"  # the crawl, in place of a source
_MAX_LISTS: Final = 100_000


class EmptiedLists:
    """The lists that are not believed yet, shared by all workers."""

    def __init__(self, store: StateStore, run: int) -> None:
        self._store, self._run = store, run
        self._doubted: frozenset[str] | None = None  # by earlier runs

    async def is_doubted(self, name: str) -> bool:
        """Return whether earlier runs kept entries that a list lacks."""
        if self._doubted is None:
            entries = self._store.entries(_CRAWL, _LISTS)
            self._doubted = frozenset(
                [x async for x, text in entries if _run_of(text) < self._run]
            )
        return name in self._doubted

    async def doubt(
        self, name: str, n_left: int, n_known: int, kind: str
    ) -> Fault | None:
        """Return a fault if the entries that a list lacks stay for now.

        If the same response is read again in a run, then the result is the same.

        Args:
            name: URL of the list, or key of its source.
            n_left: number of its entries now.
            n_known: number of these, and of the former ones that it lacks.
            kind: of its entries, in the singular.
        """
        text = await self._store.get(_CRAWL, _LISTS, name) or ""
        if is_plausible(n_left, n_known):
            if text:
                await self._store.drop(_CRAWL, _LISTS, [name])
            return None
        n_doubted = int(text.partition(" ")[2]) if text else None
        if _run_of(text) < self._run and is_plausible(n_left, n_known, n_doubted):
            return None
        entry = {name: f"{self._run} {n_left}"}
        await self._store.put_up_to(_CRAWL, _LISTS, entry, _MAX_LISTS)
        detail = f"{n_left:,} of {counted(n_known, kind)}"
        detail += ": the others stay until a later run misses them too"
        return Fault(Reason.COPY_KEPT, detail)


def _run_of(text: str) -> int:
    return int(text.partition(" ")[0] or 0)
