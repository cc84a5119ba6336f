"""What the harvest of one endpoint keeps: its tasks, and responses of earlier runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.core.last_copies import is_plausible
from rdfcrawl.core.messages import counted
from rdfcrawl.sources.harvest.run_state import RunState

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.tables import StateStore

SCOPES: Final = "scopes"  # of an endpoint: key of a harvest -> its graphs
# document -> run that wrote it and number of its statements, or `gone RUN`
_RESPONSES: Final = "answers"
_SIZE: Final = (
    "size"  # statements of the last run that was believed, and of a later one
)
_OPEN: Final = "open"  # in a run: tasks that were queued
_DONE: Final = "done"  # in a run: tasks that were done -> number of their statements
# in a run: `by_post`, `by_get`, `by_parameter`, `location`, `has_results`, `has_data`,
# `is_dead`, `is_lossy`, `is_doubtful`, `lessons`, `pings`
_STATE: Final = "sparql"
_FAILED: Final = "failed"  # in a run: tasks that failed since the last success


class EndpointState:
    """The tables of one endpoint and the scope of its harvest."""

    def __init__(self, store: StateStore, run: int, key: str) -> None:
        self._store, self._run, self._key = store, str(run), key
        self._run_state = RunState(store, run)

    def _table(self, name: str) -> str:
        return self._run_state.table(name)

    async def begin(self) -> None:
        """Clear the tables of other runs."""
        await self._run_state.begin(self._key, (_OPEN, _DONE, _STATE, _FAILED))

    async def note(self, name: str, value: str = "1") -> None:
        """Set a value for this run."""
        await self._store.put(self._key, self._table(_STATE), {name: value})

    async def noted(self, name: str) -> str | None:
        """Return a value of this run."""
        return await self._store.get(self._key, self._table(_STATE), name)

    async def note_scope(
        self, endpoint: str, graphs: Iterable[str], *, is_named: bool
    ) -> None:
        """Note a harvest that datasets own, if the operator has not named it."""
        if is_named:
            await self._store.drop(endpoint, SCOPES, [self._key])
        else:
            await self._store.put(endpoint, SCOPES, {self._key: " ".join(graphs)})

    # -- tasks ---------------------------------------------------------------------

    async def end_task(self, task: str, n_statements: int, more: Iterable[str]) -> None:
        """Mark a task as done, and `more` as queued."""
        opened = dict.fromkeys([task, *more], "")
        await self._store.put(self._key, self._table(_OPEN), opened)
        done = {task: str(n_statements)}
        await self._store.put(self._key, self._table(_DONE), done)

    async def is_finished(self) -> bool:
        """Return whether all tasks are done."""
        # Done ones are counted first, since the others only grow.
        n_done = await self._store.size(self._key, self._table(_DONE))
        return n_done == await self._store.size(self._key, self._table(_OPEN))

    async def n_statements(self) -> int:
        """Return the number of statements in the responses of this run."""
        done = self._store.entries(self._key, self._table(_DONE))
        return sum([int(number) async for _, number in done])

    async def fail_task(self, task: str) -> int:
        """Return the number of tasks that failed since the last success."""
        await self._store.put(self._key, self._table(_FAILED), {task: ""})
        return await self._store.size(self._key, self._table(_FAILED))

    async def clear_failures(self) -> None:
        """Forget the failed tasks, since the endpoint works."""
        await self._store.clear(self._key, self._table(_FAILED))

    # -- responses -----------------------------------------------------------------

    async def keep(self, url: str, n_statements: int) -> None:
        """Remember the document of a response of this run."""
        entry = {url: f"{self._run} {n_statements}"}
        await self._store.put(self._key, _RESPONSES, entry)

    async def has_statements(self, url: str) -> bool:
        """Return whether a document has statements, of any run."""
        when = await self._store.get(self._key, _RESPONSES, url) or ""
        return not when.startswith("gone") and when.partition(" ")[2] not in ("", "0")

    async def doubt(self) -> Fault | None:
        """Return a fault if an endpoint has implausibly few statements in this run."""
        if not await self.is_finished() or await self.noted("is_lossy"):
            return None
        n_now = await self.n_statements()
        good, doubted = await self._sizes()
        if not good or is_plausible(
            n_now, int(good), int(doubted) if doubted else None
        ):
            await self._run_state.put(self._key, _SIZE, str(n_now))
            return None
        await self._run_state.put(self._key, _SIZE, f"{good} {n_now}")
        await self.note("is_doubtful")
        n_all = counted(n_now, "statement")
        detail = f"{n_all} after {good}: nothing is deleted in this run"
        return Fault(Reason.COPY_KEPT, detail)

    async def n_believed(self) -> int:
        """Return the number of statements of the last complete harvest before."""
        return int((await self._sizes())[0] or 0)

    async def _sizes(self) -> tuple[str, str]:
        """Return the sizes of the last run that was believed, and of a later one."""
        text = await self._run_state.before(self._key, _SIZE)
        good, _, doubted = text.partition(" ")
        return good, doubted

    async def iter_gone(self) -> AsyncIterator[str]:
        """Yield documents of earlier runs that a complete harvest has replaced.

        Their names depend on the requests, which depend on the earlier data.
        """
        own, forgotten = f"gone {self._run}", []
        async for url, when in self._store.entries(self._key, _RESPONSES):
            if when.partition(" ")[0] == self._run:
                continue
            if when != own and when.startswith("gone"):
                forgotten.append(url)
                continue
            await self._store.put(self._key, _RESPONSES, {url: own})
            yield url
        await self._store.drop(self._key, _RESPONSES, forgotten)

    async def iter_left(self) -> AsyncIterator[str]:
        """Yield all documents, of a scope that is harvested no longer."""
        own = f"gone {self._run}"
        async for url, when in self._store.entries(self._key, _RESPONSES):
            if when == own or not when.startswith("gone"):
                await self._store.put(self._key, _RESPONSES, {url: own})
                yield url

    async def is_replaced(self) -> bool:
        """Return whether this run has harvested the scope completely."""
        return await self.is_finished() and not (
            await self.noted("is_lossy") or await self.noted("is_doubtful")
        )
