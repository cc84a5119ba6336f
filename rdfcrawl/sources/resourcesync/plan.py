"""Plan the steps after one document of a source: requests, tombstones and state.

Source: ANSI/NISO Z39.99-2017, sections "Synchronization Processes", "Describing
Changes" and "Linking to Related Resources".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Final

from rdfcrawl.core.codec import encode
from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import Decision, FaultLog, Reason
from rdfcrawl.core.messages import counted
from rdfcrawl.core.source_tasks import (
    ResourceChange,
    SyncCapability,
    SyncMode,
    SyncStep,
    SyncTask,
)
from rdfcrawl.core.times import begin_us, end_us
from rdfcrawl.sources.resourcesync.documents import (
    DocumentEntries,
    DocumentHeading,
    ResourceEntry,
    ResourceFacts,
    linked,
)
from rdfcrawl.sources.resourcesync.mirror import (
    NO_STATE,
    FollowStep,
    KnownResource,
    Lookup,
    MirrorState,
    OpenedSet,
    RunPart,
    StatedResource,
    Step,
    nothing,
)
from rdfcrawl.sources.resourcesync.policy import (
    CHANGES,
    DEFAULT_POLICY,
    SNAPSHOTS,
    SyncPolicy,
)
from rdfcrawl.sources.resourcesync.resources import (
    ChangeReader,
    ResourceSteps,
    source_id,
)

_LISTS: Final = frozenset({SyncCapability.RESOURCE_LIST, SyncCapability.CHANGE_LIST})
_DUMPS: Final = frozenset({SyncCapability.RESOURCE_DUMP, SyncCapability.CHANGE_DUMP})
_MAX_GROWTH: Final = 10  # of a page
_BATCH: Final = 500  # resources per lookup


def follow(  # keywords with defaults
    source: bytes | Path | ByteSource,
    task: SyncTask,
    *,
    url: str,
    log: FaultLog,
    state: MirrorState = NO_STATE,
    lookup: Lookup = nothing,
    policy: SyncPolicy = DEFAULT_POLICY,
    charset: str = "",
) -> Iterator[Step]:
    """Yield the steps for an uncompressed document of ResourceSync.

    The same input gives the same steps. A `RunPart` comes last, and only if the
    document was complete and expected: the next run repeats a truncated document. The
    source is opened twice if it changed between two pages. The task is `READ`; `state`
    is of the set of resources (`SyncTask.source`), `lookup` of resources in the mirror.

    `log` receives `BAD_ANSWER`: another document than expected; `CROSS_SITE`: outside
    of the source's scope; `TOO_DEEP`: circular documents; `TOO_MANY_ENTRIES`;
    `INCOMPLETE`: changes are missing since the last run; `UNSUPPORTED_PATCH`; and the
    faults of `DocumentEntries`.
    """
    source = ByteSource.of(source)

    def read(skip: int) -> DocumentEntries:
        return DocumentEntries(source, url=url, log=log, charset=charset, skip=skip)

    reading = read(task.cursor)
    version = _version(reading.heading)
    if task.cursor and version != task.version and source.can_reopen:
        reading = read(0)  # the list was replaced
        task = replace(task, cursor=0, seen_us=None, has_datetime=False)
    following = _Following(reading, task, state, lookup, policy, log)
    yield from following.steps()


def fallback(task: SyncTask) -> SyncTask | None:
    """Return the task for the capability list after a document has finally failed.

    The task is for the record of `MirrorState.url`, and reads the source by another
    capability; None if no other is left.
    """
    ways = SNAPSHOTS if task.mode in {SyncMode.BASELINE, SyncMode.AUDIT} else CHANGES
    failed = task.expected
    if failed not in ways or task.mode is SyncMode.SYNC:
        return None
    without = tuple(dict.fromkeys((*task.without, failed.value)))
    if set(without) >= {way.value for way in ways}:
        return None
    run = f"{task.run}-"
    # Resources read before the failure may have been deleted meanwhile.
    mode = SyncMode.AUDIT if task.mode is SyncMode.BASELINE else task.mode
    return SyncTask(
        mode=mode, source=task.source, site=task.site, run=run, without=without
    )


class _Following(ResourceSteps):
    """The reading of one document."""

    def steps(self) -> Iterator[Step]:
        heading, task = self._reading.heading, self._task
        found = heading.facts.capability
        if not self._reading.is_document:
            return
        if found is None and not heading.facts.text("capability"):
            # A plain sitemap is a simple list of resources.
            found = task.expected or SyncCapability.RESOURCE_LIST
        if found is None or (task.expected is not None and found != task.expected):
            wanted = task.expected or "of ResourceSync"
            detail = f"a document {wanted}: {heading.facts.text('capability')[:80]!r}"
            self._log.note(Reason.BAD_ANSWER, detail)
            return
        if task.depth > self._policy.depth:
            detail = f"circular documents: {heading.url[:200]}"
            self._log.note(Reason.TOO_DEEP, detail)
            return
        if heading.is_index and found is SyncCapability.CAPABILITY_LIST:
            found = SyncCapability.DESCRIPTION  # an index of capability lists
        yield from self._dispatch(found)

    def _dispatch(self, found: SyncCapability) -> Iterator[Step]:
        if found is SyncCapability.DESCRIPTION:
            yield from self._description()
        elif found is SyncCapability.CAPABILITY_LIST:
            yield from self._capability_list()
        elif found in _LISTS or found in _DUMPS:
            yield from self._set_of_resources(found)
        else:  # manifests are read with their dumps; archives are outdated
            detail = f"{found.value} does not describe the current resources"
            self._log.note(Reason.UNSUPPORTED_FORMAT, detail)

    # -- documents that lead to lists ----------------------------------------------

    def _description(self) -> Iterator[Step]:
        for entry in islice(self._reading, self._policy.children):
            stated = entry.facts.text("capability")
            if stated in {
                "",
                SyncCapability.CAPABILITY_LIST,
                SyncCapability.DESCRIPTION,
            }:
                depth, expected = self._task.depth + 1, entry.facts.capability
                task = replace(self._task, depth=depth, expected=expected)
                yield from self._follow(entry.uri, task)

    def _capability_list(self) -> Iterator[Step]:
        url = self._reading.heading.url
        task = self._task
        source = task.source or source_id(url)
        yield OpenedSet(source, url)
        offers: dict[SyncCapability, ResourceEntry] = {}
        for entry in islice(self._reading, 1000):
            if entry.facts.capability is not None:
                offers.setdefault(entry.facts.capability, entry)
        mode, ways = self._mode(task.mode, offers)
        for way in ways:
            if way in offers and way.value not in task.without:
                run = task.run or _run_id(source, mode, self._state)
                following = replace(
                    task, mode=mode, source=source, run=run, expected=way
                )
                following = replace(following, depth=task.depth + 1, part="")
                yield from self._follow(offers[way].uri, following)
                return
        if task.without:
            detail = f"not read, and nothing takes its place: {', '.join(task.without)}"
            self._log.note(Reason.INCOMPLETE, detail)
        elif mode is not SyncMode.CHANGES:
            detail = "a source without a list or dump of its resources"
            self._log.note(Reason.BAD_ANSWER, detail)

    def _mode(
        self, mode: SyncMode, offers: dict[SyncCapability, ResourceEntry]
    ) -> tuple[SyncMode, tuple[SyncCapability, ...]]:
        policy = self._policy

        def offers_any(ways: tuple[SyncCapability, ...]) -> bool:
            return any(way in offers for way in ways)

        if mode is SyncMode.SYNC:
            mode = SyncMode.BASELINE
            if self._state.has_baseline:
                mode = (
                    SyncMode.CHANGES if offers_any(policy.changes) else SyncMode.AUDIT
                )
            elif offers_any(policy.changes) and not offers_any(policy.snapshots):
                mode = SyncMode.CHANGES  # this source has no snapshots
        if mode is SyncMode.CHANGES:
            return mode, policy.changes
        if mode is SyncMode.AUDIT:  # a list is enough to compare
            return mode, tuple(reversed(policy.snapshots))
        return mode, policy.snapshots

    # -- lists and dumps -----------------------------------------------------------

    def _set_of_resources(self, found: SyncCapability) -> Iterator[Step]:
        task, url = self._task, self._reading.heading.url
        is_changes = found in CHANGES
        if not task.source:  # found without a capability list
            mode = SyncMode.CHANGES if is_changes else SyncMode.BASELINE
            is_repeated = self._state.has_baseline or task.mode is SyncMode.AUDIT
            if is_repeated and not is_changes:
                mode = SyncMode.AUDIT
            source = source_id(url)
            run = task.run or _run_id(source, mode, self._state)
            task = replace(task, source=source, mode=mode, run=run, part="")
            self._task = task
            yield OpenedSet(source, url)
        self._task = replace(task, expected=found)
        if is_changes and not task.part and not task.cursor:
            yield from self._check_gap()
        if self._reading.heading.is_index:
            yield from self._children(SyncStep.READ)
        elif found in _DUMPS:
            yield from self._children(SyncStep.UNPACK)
        elif is_changes:
            yield from self._change_list()
        else:
            yield from self._resource_list()

    def _check_gap(self) -> Iterator[Step]:
        """Request an audit if changes since the last run are missing."""
        begin = begin_us(self._reading.heading.facts.time("from"))
        seen = self._state.seen_us
        if begin is None or seen is None or begin <= seen:
            return
        if self._state.closed_us is not None and begin <= self._state.closed_us:
            return
        self._log.note(Reason.INCOMPLETE, "changes are missing since the last run")
        task, url = self._task, self._state.url
        # After an audit they are still missing: its list is older than the changes.
        is_audited = "!" in task.run
        if url and url != self._reading.heading.url and not is_audited:
            run = f"{task.run}!"
            audit = SyncTask(
                mode=SyncMode.AUDIT, source=task.source, site=task.site, run=run
            )
            yield FollowStep(url, audit)

    def _children(self, do: SyncStep) -> Iterator[Step]:
        n = 0
        for entry in self._reading:
            if self._is_over(entry.facts):
                continue
            if n == self._policy.children:
                self._log.note(
                    Reason.TOO_MANY_ENTRIES, f"more than {counted(n, 'part')}"
                )
                return
            if not self._scope.admits(entry.uri):
                self._log.note(Reason.CROSS_SITE, entry.uri)
                self._log.refuse(Decision.CROSS_SITE, entry.uri)
                return  # without this part, the run is incomplete
            n += 1
            yield FollowStep(entry.uri, self._child(entry, do, n))
        if self._reading.is_complete:
            yield self._part(n_children=n)

    def _child(self, entry: ResourceEntry, do: SyncStep, n: int) -> SyncTask:
        task = self._task
        child = SyncTask(
            do=do,
            mode=task.mode,
            source=task.source,
            site=task.site,
            run=task.run,
            part=f"{task.part}.{n}" if task.part else str(n),
            expected=task.expected,
            without=task.without,
            depth=task.depth + 1,
        )
        if do is SyncStep.READ:
            return child
        contents = linked(entry.links, "contents")
        facts, heading = entry.facts, self._reading.heading.facts
        begin = facts.time("at") or heading.time("at")
        ends = facts.time("until")
        return replace(
            child,
            as_of_us=self._times.begin(begin),
            seen_us=self._times.begin(ends),
            hashes=facts.fixity.text,
            length=facts.length,
            manifest=contents[0].url if contents else "",
        )

    def _is_over(self, facts: ResourceFacts) -> bool:
        """Return whether a list is closed and was read completely."""
        until = facts.time("until")
        if self._task.mode is not SyncMode.CHANGES or not until:
            return False
        begin, end = begin_us(until) or 0, end_us(until) or 0
        closed, seen = self._state.closed_us, self._state.seen_us
        return (closed is not None and begin <= closed) or (
            seen is not None and end < seen
        )

    def _part(self, *, n_children: int = 0, seen_us: int | None = None) -> RunPart:
        facts = self._reading.heading.facts
        until = facts.time("until") if not n_children else ""
        task = self._task
        return RunPart(
            source=task.source,
            run=task.run,
            mode=task.mode,
            place=task.part,
            n_children=n_children,
            at_us=self._times.begin(facts.time("at")),
            seen_us=seen_us,
            closed_us=self._times.begin(until),
        )

    def _page(self) -> Iterator[list[ResourceEntry]]:
        """Yield the entries of one page in batches.

        Only queued entries fill a page, not skipped ones. Each page may be as large as
        all pages before it; otherwise long lists would be fetched too often.
        """
        most = self._policy.page_entries
        most = min(max(most, self._task.cursor), _MAX_GROWTH * most)
        while self._n_queued < most:
            n = min(_BATCH, most - self._n_queued)
            batch = list(islice(self._reading, n))
            if not batch:
                return
            self._cursor = batch[-1].index + 1
            yield batch

    # -- resources -----------------------------------------------------------------

    def _resource_list(self) -> Iterator[Step]:
        at_us = self._times.begin(self._reading.heading.facts.time("at"))
        snapshot = self._snapshot(at_us)
        for batch in self._page():
            yield from self._resources(snapshot.stated(batch))
        yield from self._end(None)

    def _change_list(self) -> Iterator[Step]:
        changes = self._changes(self._task.seen_us)
        for batch in self._page():
            yield from self._resources(changes.stated(batch))
        yield from self._end(changes)

    def _end(self, changes: ChangeReader | None) -> Iterator[Step]:
        """Request the next page, or finish."""
        reading = self._reading
        latest_us = changes.latest_us if changes else None
        if not reading.has_more():
            if reading.is_complete:
                yield self._part(seen_us=latest_us)
        else:
            following = replace(
                self._task,
                cursor=self._cursor,
                version=_version(reading.heading),
                seen_us=latest_us,
                has_datetime=changes is not None and changes.has_datetime,
            )
            yield FollowStep(reading.heading.url, following)

    def _follow(self, url: str, task: SyncTask) -> Iterator[Step]:
        if self._scope.admits(url):
            yield FollowStep(url, task)
        else:
            self._log.note(Reason.CROSS_SITE, url)
            self._log.refuse(Decision.CROSS_SITE, url)


def _version(heading: DocumentHeading) -> str:
    """Return a value that differs between a list and its successor."""
    facts = heading.facts
    times = (facts.text(name) for name in ("at", "from", "modified"))
    return next(filter(None, times), "")[:40]


def _run_id(source: str, mode: SyncMode, state: MirrorState) -> str:
    """Return a name for an unnamed run."""
    text = f"{source} {mode} {encode(state)}"
    return blake2b(text.encode(), digest_size=4).hexdigest()


def superfluous(
    uris: Iterable[str], known: Lookup, *, run: str, at_us: int | None
) -> Iterator[StatedResource]:
    """Yield tombstones for resources of the mirror that an audit did not list.

    Call it when the run of the audit is complete, before its state is kept. `at_us` is
    of the state after the audit; a resource that changed later is not gone.
    """
    rest = iter(uris)
    while batch := list(islice(rest, _BATCH)):
        found = known(batch)
        for uri in batch:
            if uri in found and _is_superfluous(found[uri], run, at_us):
                yield StatedResource(
                    uri=uri, change=ResourceChange.DELETED, as_of_us=at_us
                )


def _is_superfluous(known: KnownResource, run: str, at_us: int | None) -> bool:
    if known.run == run or known.is_gone:
        return False
    return at_us is None or known.as_of_us is None or known.as_of_us <= at_us
