"""State of a set of resources, shared by the pages of a run and kept between runs.

A page may be read again after a crash that lost its statements but not its entries
here. So each entry about a resource names its record: the record itself ignores such
entries, and so do others if the record was given up. The state at the start of a run is
kept until the next run, so a page has the same result at any time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.source_tasks import SyncTask
from rdfcrawl.sources.resourcesync.mirror import (
    KnownResource,
    MirrorState,
    RunPart,
    StatedResource,
    n_outstanding,
)

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.tables import StateStore

# Tables of a set of resources; the parts of each run have another one.
_STATE: Final = "state"  # "" -> state
_BEGUN: Final = "begun"  # run -> `BegunRun`
_KNOWN: Final = "known"  # URI -> record that stored it, and `KnownResource`
_WANTED: Final = "wanted"  # URI -> time of the latest requested version
_OPEN: Final = "open"  # record -> run of the crawl that began it
_OWED: Final = "owed"  # URI -> `OwedResource`
_ABOUT: Final = "about"  # URLs of a document and a page about it -> run that dropped it

_OWED_RUNS: Final = 3  # that retry failed resources
_MAX_OWED: Final = 10_000
_MAX_GIVEN_UP: Final = 1000
_MAX_ABOUT: Final = 1000


@dataclass(frozen=True, slots=True)
class BegunRun:
    """State at the start of a run.

    `has_some`: resources were known, although no run was complete.
    """

    state: MirrorState
    has_some: bool = False


@dataclass(frozen=True, slots=True)
class OwedResource:
    """A resource that could not be fetched, since a run of the crawl."""

    run: int
    url: str
    task: SyncTask


class MirrorIndex:
    """State of the set of resources of a source; `own` is the id of the record."""

    def __init__(self, store: StateStore, source: str, own: str, run: int) -> None:
        self._store = store
        self._source = f"resourcesync {source}"
        self._own = own
        self._run = run
        self._distrusted: tuple[str, ...] = (own,)

    # -- the source ------------------------------------------------------------------

    async def state(self) -> MirrorState:
        """Return the current state of the source."""
        text = await self._store.get(self._source, _STATE, "")
        return decode(text, MirrorState) if text else MirrorState()

    async def state_of(self, run: str) -> tuple[MirrorState, bool]:
        """Return the state at the start of a run, and `BegunRun.has_some`.

        With known resources of an incomplete run, compare everything.
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
        """Set the state of the source."""
        await self._store.put(self._source, _STATE, {"": encode(state)})

    async def begin(self) -> None:
        """Note the start of the record; look up abandoned records of earlier runs."""
        await self._store.put(self._source, _OPEN, {self._own: str(self._run)})
        entries = self._store.entries(self._source, _OPEN)
        given_up = [own async for own, run in entries if int(run) < self._run]
        self._distrusted = (self._own, *given_up[:_MAX_GIVEN_UP])

    async def end(self) -> None:
        """Note the end of the record."""
        await self._store.drop(self._source, _OPEN, [self._own])

    async def open(self, url: str) -> None:
        """Note the URL of the source; forget earlier runs of the crawl."""
        state = await self.state()
        if not state.url:
            await self.keep(replace(state, url=url))
        entries = self._store.entries(self._source, _BEGUN)
        old = [name async for name, _ in entries if _crawl_run(name) < self._run]
        for name in old:
            await self._store.clear(self._source, f"parts {name}")
        await self._store.drop(self._source, _BEGUN, old)

    # -- pages about the source ------------------------------------------------------

    async def describe(self, document: str, pages: Iterable[str]) -> list[str]:
        """Note the pages about the source that a document names.

        Return those that it named in earlier runs only.
        """
        named = dict.fromkeys((f"{document} {url}" for url in pages), "")
        await self._store.put_up_to(self._source, _ABOUT, named, _MAX_ABOUT)
        run, dropped = str(self._run), {}
        async for name, since in self._store.entries(self._source, _ABOUT):
            if name not in named and name.startswith(f"{document} "):
                dropped[name] = since or run
        old = [name for name, since in dropped.items() if since != run]
        await self._store.drop(self._source, _ABOUT, old)
        new = {name: run for name in dropped if name not in old}
        if new:
            await self._store.put(self._source, _ABOUT, new)
        return sorted(name.partition(" ")[2] for name in new)

    async def pages_about(self) -> list[str]:
        """Return the pages that documents name, whether this run reads them or not."""
        entries = self._store.entries(self._source, _ABOUT)
        return sorted({x.partition(" ")[2] async for x, since in entries if not since})

    # -- parts of a run --------------------------------------------------------------

    async def put_part(self, part: RunPart) -> dict[str, RunPart]:
        """Keep a part; return all parts by place if the run is complete, else empty."""
        source, table = self._source, f"parts {part.run}"
        await self._store.put(source, table, {part.place: encode(part)})
        root = await self._store.get(source, table, "")
        if root is None:
            return {}
        # Usually the size shows that the run is incomplete.
        least = 1 + decode(root, RunPart).n_children
        if await self._store.size(source, table) < least:
            return {}
        entries = self._store.entries(source, table)
        parts = {place: decode(text, RunPart) async for place, text in entries}
        return {} if n_outstanding(parts.values()) else parts

    # -- resources -------------------------------------------------------------------

    async def known(self, uris: Sequence[str]) -> dict[str, KnownResource]:
        """Return the known resources with safely written statements."""
        texts = await self._store.get_many(self._source, _KNOWN, uris)
        return {
            uri: decode(_what(text), KnownResource)
            for uri, text in texts.items()
            if not text.startswith(self._distrusted)
        }

    async def remember(self, versions: Iterable[StatedResource]) -> None:
        """Note the versions in the mirror."""
        latest = {version.uri: version.known() for version in versions}
        if not latest:
            return
        texts = await self._store.get_many(self._source, _KNOWN, latest)
        entries = {}
        for uri, known in latest.items():
            text = texts.get(uri)
            run = known.run or (decode(_what(text), KnownResource).run if text else "")
            entries[uri] = f"{self._own} {encode(replace(known, run=run))}"
        await self._store.put(self._source, _KNOWN, entries)

    async def mark(self, run: str, uris: Sequence[str]) -> None:
        """Note the resources found by an audit."""
        texts = await self._store.get_many(self._source, _KNOWN, uris)
        entries = {}
        for uri, text in texts.items():
            own, _, what = text.partition(" ")
            known = replace(decode(what, KnownResource), run=run)
            entries[uri] = f"{own} {encode(known)}"
        if entries:
            await self._store.put(self._source, _KNOWN, entries)

    async def resources(self) -> AsyncIterator[dict[str, KnownResource]]:
        """Yield all known resources, in batches.

        Resources deleted by this record are included, to repeat their deletion.
        """
        async for batch in self._store.batches(self._source, _KNOWN):
            group = {}
            for uri, text in batch.items():
                known = decode(_what(text), KnownResource)
                if known.is_gone and text.startswith(self._own):
                    known = replace(known, is_gone=False, run="")
                group[uri] = known
            yield group

    # -- outstanding resources -------------------------------------------------------

    async def note_requested(self, wanted: dict[str, int]) -> None:
        """Note the times of requested versions by URI."""
        if not wanted:
            return
        before = await self._store.get_many(self._source, _WANTED, wanted)
        latest = {
            uri: str(max(time_us, int(before.get(uri, time_us))))
            for uri, time_us in wanted.items()
        }
        await self._store.put(self._source, _WANTED, latest)

    async def latest_requested(self, uri: str) -> int | None:
        """Return the time of the latest requested version."""
        text = await self._store.get(self._source, _WANTED, uri)
        return None if text is None else int(text)

    async def owe(self, uri: str, url: str, task: SyncTask) -> None:
        """Note the first failure of a resource."""
        text = encode(OwedResource(self._run, url, task))
        await self._store.claim(self._source, _OWED, uri, text)

    async def mark_fetched(self, uri: str) -> None:
        """Clear the requests and failures of a fetched resource."""
        await self._store.drop(self._source, _WANTED, [uri])
        if self._run:
            await self._store.drop(self._source, _OWED, [uri])

    async def owed(self) -> list[tuple[str, SyncTask]]:
        """Return URLs and tasks of resources that failed in earlier runs."""
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
    """Return the run of the crawl in the name of a run of a source."""
    number = run.rstrip("+-!")
    return int(number) if number.isdecimal() else 0
