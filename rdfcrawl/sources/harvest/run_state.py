"""Values of a source that one run of a crawl leaves to the next one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.tables import StateStore

_RUNS: Final = "runs"  # runs with separate tables


class RunState:
    """Values that one run leaves to the next.

    If a worker dies before its statements are safe, the record is repeated and must
    find the same value as the first time. Therefore the values of this run and of the
    previous run are kept.
    """

    def __init__(self, store: StateStore, run: int) -> None:
        self._store = store
        self._run = run

    async def before(self, source: str, table: str) -> str:
        """Return the value of the previous run; empty if there is none."""
        found = await self._store.get_many(source, table, ("last", "before"))
        for text in found.values():
            run, _, value = text.partition(" ")
            if int(run) < self._run:
                return value
        return ""

    async def put(self, source: str, table: str, value: str) -> None:
        """Set the value of this run."""
        last = await self._store.get(source, table, "last")
        entries = {"last": f"{self._run} {value}"}
        if last and int(last.partition(" ")[0]) < self._run:
            entries["before"] = last
        await self._store.put(source, table, entries)

    def table(self, name: str) -> str:
        """Return the name of a table for this run only."""
        return f"{name} {self._run}"

    async def begin(self, source: str, tables: Iterable[str]) -> None:
        """Clear the tables of other runs at the start of this run."""
        own = str(self._run)
        await self._store.put(source, _RUNS, {own: ""})
        runs = {run async for run, _ in self._store.entries(source, _RUNS)} - {own}
        for run in runs:
            for name in tables:
                await self._store.clear(source, f"{name} {run}")
        await self._store.drop(source, _RUNS, runs)
