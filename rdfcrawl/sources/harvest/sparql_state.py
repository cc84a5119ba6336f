"""What the harvest of one endpoint keeps: its tasks, and responses of earlier runs."""

from __future__ import annotations

from base64 import b64encode
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.sources.harvest.emptied_lists import EmptiedLists
from rdfcrawl.sources.harvest.run_state import RunState

if TYPE_CHECKING:
    from rdfcrawl.core.errors import Fault
    from rdfcrawl.frontier.queue.tables import StateStore

SCOPES: Final = "scopes"  # of an endpoint: key of a harvest -> its graphs
_RESPONSES: Final = "answers"  # document -> `_KeptResponse`, or `gone RUN`
_SIZE: Final = "size"  # statements of the last run that was believed
_OPEN: Final = "open"  # in a run: tasks that were queued
# in a run: tasks that were done -> number of their statements, and tasks they queued
_DONE: Final = "done"
# in a run: `by_post`, `by_get`, `by_parameter`, `location`, `has_results`, `has_data`,
# `is_dead`, `is_lossy`, `is_doubtful`, `lessons`, `pings`
_STATE: Final = "sparql"
_FAILED: Final = "failed"  # in a run: tasks that failed since the last success
_LOSSY: Final = "lossy"  # in a run: marks of graphs that were read in part
_LOSSES: Final = "losses"  # statements of the last run that lost some, see `RunState`
_ENOUGH: Final = 0.9  # of the last copy, for a run that loses statements again
_MARK_BYTES: Final = 5


class _KeptResponse(NamedTuple):
    """A document with statements, in the table of responses.

    Attributes:
        run: that wrote it.
        n_statements: of it.
        is_new: no earlier run wrote it, or its statements were deleted.
        graphs: marks of the graphs that were requested; empty: unknown.
    """

    run: str
    n_statements: str
    is_new: bool = False
    graphs: frozenset[str] = frozenset()

    def __str__(self) -> str:
        marks = ",".join(sorted(self.graphs))
        return f"{self.run} {self.n_statements} {'+' if self.is_new else '-'}{marks}"


def _kept(text: str | None) -> _KeptResponse | None:
    """Return a response that has statements; None if it has none any more."""
    if not text or text.startswith("gone"):
        return None
    run, _, rest = text.partition(" ")
    n_statements, _, marks = rest.partition(" ")
    names = frozenset(filter(None, marks[1:].split(",")))
    return _KeptResponse(run, n_statements, marks.startswith("+"), names)


def _graph_mark(name: str) -> str:
    octets = blake2b(name.encode(), digest_size=_MARK_BYTES).digest()
    return b64encode(octets).decode()


class _ReadGraphs:
    """The graphs of an endpoint that responses are about, by their marks.

    Attributes:
        earlier: those of earlier runs.
        now: those of this run.
    """

    def __init__(self) -> None:
        self.earlier, self.now = set[str](), set[str]()
        self._joined = defaultdict[str, list[frozenset[str]]](list)

    def add(self, graphs: frozenset[str], *, is_now: bool, is_new: bool) -> None:
        """Add the graphs of one response, which an earlier run may have had."""
        if is_now:
            self.now |= graphs
        if not is_new:
            self.earlier |= graphs
        if len(graphs) > 1:
            for mark in graphs:
                self._joined[mark].append(graphs)

    def with_joined(self, marks: Sequence[str]) -> set[str]:
        """Return graphs with all that responses have together with them."""
        found, waiting = set(marks), list(marks)
        while waiting:
            for graphs in self._joined.pop(waiting.pop(), ()):
                waiting += graphs - found
                found |= graphs
        return found


class EndpointState:
    """The tables of one endpoint and the scope of its harvest."""

    def __init__(self, store: StateStore, run: int, key: str) -> None:
        self._store, self._run, self._key = store, str(run), key
        self._run_state = RunState(store, run)
        self._emptied = EmptiedLists(store, run)

    def _table(self, name: str) -> str:
        return self._run_state.table(name)

    async def begin(self) -> None:
        """Clear the tables of other runs."""
        await self._run_state.begin(self._key, (_OPEN, _DONE, _STATE, _FAILED, _LOSSY))

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
        """Mark a task as done, and `more` as queued.

        A task that is repeated, since its worker died, may queue other ones: those of
        the first time are not waited for.
        """
        names, key = [task, *more], self._key
        done, opened = self._table(_DONE), self._table(_OPEN)
        before = (await self._store.get(key, done, task) or "").split()[1:]
        if left := [name for name in before if name not in names]:
            known = await self._store.get_many(key, done, left)
            await self._store.drop(key, opened, [x for x in left if x not in known])
        await self._store.put(key, opened, dict.fromkeys(names, ""))
        words = " ".join([str(n_statements), *names[1:]])
        await self._store.put(key, done, {task: words})

    async def is_finished(self) -> bool:
        """Return whether all tasks are done."""
        # Done ones are counted first, since the others only grow.
        n_done = await self._store.size(self._key, self._table(_DONE))
        return n_done == await self._store.size(self._key, self._table(_OPEN))

    async def n_statements(self) -> int:
        """Return the number of statements in the responses of this run."""
        done = self._store.entries(self._key, self._table(_DONE))
        return sum([int(text.partition(" ")[0]) async for _, text in done])

    async def fail_task(self, task: str) -> int:
        """Return the number of tasks that failed since the last success."""
        await self._store.put(self._key, self._table(_FAILED), {task: ""})
        return await self._store.size(self._key, self._table(_FAILED))

    async def clear_failures(self) -> None:
        """Forget the failed tasks, since the endpoint works."""
        await self._store.clear(self._key, self._table(_FAILED))

    # -- responses -----------------------------------------------------------------

    async def keep(self, url: str, n_statements: int, graphs: Iterable[str]) -> None:
        """Remember the document of a response of this run, and its graphs."""
        before = _kept(await self._store.get(self._key, _RESPONSES, url))
        is_new = before is None or (before.run == self._run and before.is_new)
        marks = frozenset(map(_graph_mark, graphs))
        kept = _KeptResponse(self._run, str(n_statements), is_new, marks)
        await self._store.put(self._key, _RESPONSES, {url: str(kept)})

    async def lose(self, graphs: Iterable[str]) -> None:
        """Note that statements of graphs could not be read in this run."""
        await self.note("is_lossy")
        marks = dict.fromkeys(map(_graph_mark, graphs), "")
        await self._store.put(self._key, self._table(_LOSSY), marks)

    async def has_statements(self, url: str) -> bool:
        """Return whether a document has statements, of any run."""
        kept = _kept(await self._store.get(self._key, _RESPONSES, url))
        return kept is not None and kept.n_statements not in ("", "0")

    async def doubt(self) -> Fault | None:
        """Return a fault if an endpoint has implausibly few statements in this run."""
        if not await self.is_finished() or await self.noted("is_lossy"):
            return None
        n_now, n_before = await self.n_statements(), await self.n_believed()
        fault = await self._emptied.doubt(self._key, n_now, n_before, "statement")
        if fault is None:
            await self._run_state.put(self._key, _SIZE, str(n_now))
        else:
            await self.note("is_doubtful")
        return fault

    async def n_believed(self) -> int:
        """Return the number of statements of the last complete harvest before."""
        return int(await self._run_state.before(self._key, _SIZE) or 0)

    async def _is_accepted(self) -> bool:
        """Return whether a run that lost statements replaces the earlier ones.

        It does if the run before lost some, too, and hardly more were read then.
        """
        n_now, before = await self.n_statements(), self._run_state
        lost = await before.before(self._key, _LOSSES)
        await before.put(self._key, _LOSSES, f"{n_now} {self._run}")
        n_before, _, run = lost.partition(" ")
        if not lost or int(run) != int(self._run) - 1:
            return False
        return n_now >= _ENOUGH * (await self.n_believed() or int(n_before))

    async def iter_gone(self) -> AsyncIterator[str]:
        """Yield documents that a finished harvest deletes.

        Their names depend on the requests, which depend on the earlier data. A complete
        harvest deletes those of earlier runs. One that has lost statements deletes
        those of graphs without losses, and otherwise its own new ones.
        """
        if await self.is_replaced() or (
            await self.noted("is_lossy") and await self._is_accepted()
        ):
            async for url in self._marked_gone(lambda kept: kept.run != self._run):
                yield url
            return
        graphs = await self._graphs()
        if await self.noted("is_doubtful"):
            kept_back = graphs.earlier
        else:
            table = self._table(_LOSSY)
            lossy = self._store.entries(self._key, table)
            kept_back = graphs.with_joined([mark async for mark, _ in lossy])
            # Deleted responses join no graphs when this is repeated.
            await self._store.put(self._key, table, dict.fromkeys(kept_back, ""))

        def is_gone(kept: _KeptResponse) -> bool:
            if kept.run != self._run:
                return bool(kept.graphs) and kept.graphs <= graphs.now - kept_back
            return kept.is_new and not kept.graphs.isdisjoint(
                kept_back & graphs.earlier
            )

        async for url in self._marked_gone(is_gone):
            yield url

    async def _graphs(self) -> _ReadGraphs:
        found = _ReadGraphs()
        async for _, text in self._store.entries(self._key, _RESPONSES):
            if kept := _kept(text):
                is_now = kept.run == self._run
                found.add(kept.graphs, is_now=is_now, is_new=is_now and kept.is_new)
        return found

    async def _marked_gone(
        self, is_gone: Callable[[_KeptResponse], bool]
    ) -> AsyncIterator[str]:
        """Yield chosen documents, and those that this run has deleted before."""
        own, forgotten = f"gone {self._run}", []
        async for url, text in self._store.entries(self._key, _RESPONSES):
            kept = _kept(text)
            if kept is None and text != own:
                forgotten.append(url)
            elif kept is None or is_gone(kept):
                await self._store.put(self._key, _RESPONSES, {url: own})
                yield url
        # Another worker may have written one of them meanwhile.
        texts = await self._store.get_many(self._key, _RESPONSES, forgotten)
        gone = [url for url in forgotten if not _kept(texts.get(url))]
        await self._store.drop(self._key, _RESPONSES, gone)

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
