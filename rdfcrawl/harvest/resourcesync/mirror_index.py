"""What is known of a set of resources, by the pages of a run and from run to run.

A page may be read again after a crash, when what it had put here is there but what it
had written and queued is not. So each entry about a resource says which record has put
it, and that record does not see it, nor do others if it was given up; and the state
that a run begins with is kept until the next: what a page leads to is the same,
whenever it is read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.codec import decode, encode
from rdfcrawl.sitemaps.resourcesync.mirror import KnownResource, MirrorState
from rdfcrawl.sitemaps.resourcesync.steps import RunPart, n_outstanding
from rdfcrawl.tasks.sync import SyncTask  # noqa: TC001  read by the codec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from rdfcrawl.frontier.state_store import StateStore
    from rdfcrawl.sitemaps.resourcesync.mirror import StatedResource

# Tables of a set of resources; and one for the parts of each run.
_STATE: Final = "state"  # "" -> state
_BEGUN: Final = "begun"  # run -> `BegunRun`
_KNOWN: Final = "known"  # URI -> who has put it, and what is known
_WANTED: Final = "wanted"  # URI -> time of the latest version that was asked for
_OPEN: Final = "open"  # record -> run of the crawl in which it was begun
_OWED: Final = "owed"  # URI -> `OwedResource`

_AT_ONCE: Final = 500
_OWED_RUNS: Final = 3  # in which what failed is asked for again
_MAX_OWED: Final = 10_000
_MAX_GIVEN_UP: Final = 1000


@dataclass(frozen=True, slots=True)
class BegunRun:
    """What was known when a run began.

    Attributes:
        state: of the source.
        has_some: resources were known although not all were ever read.
    """

    state: MirrorState
    has_some: bool = False


@dataclass(frozen=True, slots=True)
class OwedResource:
    """A resource that could not be had.

    Attributes:
        run: of the crawl in which it failed first.
        url: that was asked for.
        task: of its record.
    """

    run: int
    url: str
    task: SyncTask


class MirrorIndex:
    """What is known of a set of resources.

    Args:
        store: keeps it.
        source: id of the set.
        own: id of the record that is being harvested.
        run: of the crawl.
    """

    def __init__(self, store: StateStore, source: str, own: str, run: int) -> None:
        self._store = store
        self._source = f"resourcesync {source}"
        self._own = own
        self._run = run
        self._distrusted: tuple[str, ...] = (own,)

    # -- the source ------------------------------------------------------------------

    async def state(self) -> MirrorState:
        """Return what is known of the source now."""
        text = await self._store.get(self._source, _STATE, "")
        return decode(text, MirrorState) if text else MirrorState()

    async def state_of(self, run: str) -> tuple[MirrorState, bool]:
        """Return what was known of the source when a run began.

        Returns:
            The state; and whether resources were known although not all were ever
            read: what an earlier run had begun is to be compared, too.
        """
        state = await self.state()
        n_known = 0
        if not state.has_baseline:
            n_known = await self._store.size(self._source, _KNOWN)
        if not run:
            return state, bool(n_known)
        now = encode(BegunRun(state, has_some=bool(n_known)))
        text = await self._store.claim(self._source, _BEGUN, run, now)
        begun = decode(text, BegunRun)
        return begun.state, begun.has_some

    async def keep(self, state: MirrorState) -> None:
        """Know this of the source from now on."""
        await self._store.put(self._source, _STATE, {"": encode(state)})

    async def begin(self) -> None:
        """Note that the record is begun; learn which of earlier runs were given up."""
        await self._store.put(self._source, _OPEN, {self._own: str(self._run)})
        entries = self._store.entries(self._source, _OPEN)
        given_up = [own async for own, run in entries if int(run) < self._run]
        self._distrusted = (self._own, *given_up[:_MAX_GIVEN_UP])

    async def end(self) -> None:
        """Note that the record came to its end."""
        await self._store.drop(self._source, _OPEN, [self._own])

    async def open(self, url: str) -> None:
        """Note where the source is read from; forget the runs of earlier crawls."""
        state = await self.state()
        if not state.url:
            await self.keep(replace(state, url=url))
        entries = self._store.entries(self._source, _BEGUN)
        old = [name async for name, _ in entries if _crawl_run(name) < self._run]
        for name in old:
            await self._store.clear(self._source, f"parts {name}")
        await self._store.drop(self._source, _BEGUN, old)

    # -- parts of a run --------------------------------------------------------------

    async def put_part(self, part: RunPart) -> dict[str, RunPart]:
        """Keep a part; return all parts by place if the run is complete, else none."""
        source, table = self._source, f"parts {part.run}"
        await self._store.put(source, table, {part.place: encode(part)})
        root = await self._store.get(source, table, "")
        if root is None:
            return {}
        # Most often it is not, and that is seen without looking at all of them.
        least = 1 + decode(root, RunPart).n_children
        if await self._store.size(source, table) < least:
            return {}
        entries = self._store.entries(source, table)
        parts = {place: decode(text, RunPart) async for place, text in entries}
        return {} if n_outstanding(parts.values()) else parts

    # -- resources -------------------------------------------------------------------

    async def known(self, uris: Sequence[str]) -> dict[str, KnownResource]:
        """Return what is known of resources, if it is sure that it was written."""
        texts = await self._store.get_many(self._source, _KNOWN, uris)
        return {
            uri: decode(_what(text), KnownResource)
            for uri, text in zip(uris, texts, strict=True)
            if text is not None and not text.startswith(self._distrusted)
        }

    async def remember(self, versions: Iterable[StatedResource]) -> None:
        """Know that the mirror has these."""
        latest = {version.uri: version.known() for version in versions}
        if not latest:
            return
        texts = await self._store.get_many(self._source, _KNOWN, latest)
        entries = {}
        for (uri, known), text in zip(latest.items(), texts, strict=True):
            run = known.run or (decode(_what(text), KnownResource).run if text else "")
            entries[uri] = f"{self._own} {encode(replace(known, run=run))}"
        await self._store.put(self._source, _KNOWN, entries)

    async def mark(self, run: str, uris: Sequence[str]) -> None:
        """Note that an audit came by these resources."""
        texts = await self._store.get_many(self._source, _KNOWN, uris)
        entries = {}
        for uri, text in zip(uris, texts, strict=True):
            if text is not None:
                own, _, what = text.partition(" ")
                known = replace(decode(what, KnownResource), run=run)
                entries[uri] = f"{own} {encode(known)}"
        if entries:
            await self._store.put(self._source, _KNOWN, entries)

    async def resources(self) -> AsyncIterator[dict[str, KnownResource]]:
        """Yield all that is known, some at a time.

        What this record has buried is given as alive: it buries it again.
        """
        group: dict[str, KnownResource] = {}
        async for uri, text in self._store.entries(self._source, _KNOWN):
            known = decode(_what(text), KnownResource)
            if known.is_gone and text.startswith(self._own):
                known = replace(known, is_gone=False, run="")
            group[uri] = known
            if len(group) == _AT_ONCE:
                yield group
                group = {}
        yield group

    # -- what is still to come -------------------------------------------------------

    async def want(self, wanted: dict[str, int]) -> None:
        """Note versions that are asked for, as times by URI."""
        if not wanted:
            return
        before = await self._store.get_many(self._source, _WANTED, wanted)
        latest = {
            uri: str(max(time_us, int(text or time_us)))
            for (uri, time_us), text in zip(wanted.items(), before, strict=True)
        }
        await self._store.put(self._source, _WANTED, latest)

    async def wanted(self, uri: str) -> int | None:
        """Return the time of the latest version that was asked for."""
        text = await self._store.get(self._source, _WANTED, uri)
        return None if text is None else int(text)

    async def owe(self, uri: str, url: str, task: SyncTask) -> None:
        """Note that a resource could not be had; the first time counts."""
        text = encode(OwedResource(self._run, url, task))
        await self._store.claim(self._source, _OWED, uri, text)

    async def is_had(self, uri: str) -> None:
        """Note that a resource was had, if it may be owed; and what was asked for."""
        await self._store.drop(self._source, _WANTED, [uri])
        if self._run:
            await self._store.drop(self._source, _OWED, [uri])

    async def owed(self) -> list[tuple[str, SyncTask]]:
        """Return URLs and tasks of what failed in earlier runs of the crawl."""
        found: list[tuple[str, SyncTask]] = []
        given_up: list[str] = []
        async for uri, text in self._store.entries(self._source, _OWED):
            owed = decode(text, OwedResource)
            if self._run - owed.run > _OWED_RUNS:
                given_up.append(uri)
            elif owed.run < self._run and len(found) < _MAX_OWED:
                found.append((owed.url, owed.task))
        await self._store.drop(self._source, _OWED, given_up)
        return found


def _what(text: str) -> str:
    return text.partition(" ")[2]


def _crawl_run(run: str) -> int:
    """Return the run of the crawl that a run of a source is of."""
    number = run.rstrip("+-!")
    return int(number) if number.isdecimal() else 0
