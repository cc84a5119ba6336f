"""Compare versions of resources with the state of the mirror; the steps of a run.

All state is plain values, kept in a store between pages and crawls. Repeated or late
versions change nothing.

A run reads one set of resources. Its parts are read in any order and repeatedly: the
root has the place "", the third child of its second child "2.3". Each finished part is
one `RunPart`; the adapter keeps them by source, run and place, one value each. The run
is complete when all announced leaves are finished.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias

from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.formats import Link
from rdfcrawl.core.source_tasks import ResourceChange, SyncMode, SyncStep, SyncTask
from rdfcrawl.sources.resourcesync.documents import ResourceEntry
from rdfcrawl.sources.resourcesync.fixity import ExpectedBytes


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorState:
    """State of a set of resources."""

    url: str = ""  # of its capability list, or of the list in its place
    at_us: int | None = None  # start of the baseline snapshot
    seen_us: int | None = None  # latest applied change, or `at_us`
    # end of the latest complete and closed change list
    closed_us: int | None = None
    has_baseline: bool = False  # it was read completely once


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownResource:
    """State of one resource in the mirror."""

    # time of this state, by the source's clock; None: unknown
    as_of_us: int | None = None
    modified_us: int | None = None  # its last modification, by the source
    hashes: str = ""  # of its bytes, in the form of `ExpectedBytes.text`
    length: int | None = None
    is_gone: bool = False
    run: str = ""  # last audit that listed it

    @property
    def fixity(self) -> ExpectedBytes:
        """Digests and length of the bytes."""
        return ExpectedBytes.stated(self.hashes, self.length)


Lookup: TypeAlias = Callable[[Sequence[str]], Mapping[str, KnownResource]]
"""Looks up the known resources among some URIs."""


def nothing(uris: Sequence[str]) -> Mapping[str, KnownResource]:
    """Return no resources: the lookup of an empty mirror."""
    del uris
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedResource:
    """A version of a resource, described by its source."""

    uri: str
    change: ResourceChange = ResourceChange.UPDATED  # leading to this version
    as_of_us: int | None = None  # time of the change, or of the snapshot
    modified_us: int | None = None
    fixity: ExpectedBytes = ExpectedBytes()  # noqa: RUF009  frozen, and empty
    media_type: str = ""  # lower case, without parameters; may be empty
    encoding: str = ""  # content coding of the bytes
    is_snapshot: bool = False  # from a list of all resources, not of changes
    run: str = ""  # audit that listed it, or empty

    def known(self) -> KnownResource:
        """Return the state of the resource with this version."""
        return KnownResource(
            as_of_us=self.as_of_us,
            modified_us=self.modified_us,
            hashes=self.fixity.text,
            length=self.fixity.length,
            is_gone=self.change is ResourceChange.DELETED,
            run=self.run,
        )


class VersionAction(StrEnum):
    """Action for a version."""

    FETCH = "fetch"
    DELETE = "delete"
    NONE = "none"  # the mirror has it
    STALE = "stale"  # the mirror has a later one


def decide(version: StatedResource, known: KnownResource | None) -> VersionAction:
    """Return the action for a version, given the state in the mirror.

    A later version is never undone by a late earlier one, nor by the same one repeated.
    """
    is_deleted = version.change is ResourceChange.DELETED
    if known is None:
        return VersionAction.DELETE if is_deleted else VersionAction.FETCH
    if version.as_of_us is not None and known.as_of_us is not None:
        if version.as_of_us < known.as_of_us:
            return VersionAction.STALE
        if is_deleted and known.is_gone and version.as_of_us == known.as_of_us:
            return VersionAction.NONE
    if is_deleted:
        return VersionAction.DELETE
    return VersionAction.NONE if _is_same(version, known) else VersionAction.FETCH


def is_settled(
    version: StatedResource,
    known: KnownResource | None,
    *,
    wanted_us: int | None = None,
) -> bool:
    """Return whether a queued resource no longer needs a request.

    `wanted_us` is the latest `as_of_us` ever queued. Only the last of several changes
    can be fetched: the bytes of earlier ones are gone.
    """
    as_of_us = version.as_of_us
    if wanted_us is not None and as_of_us is not None and wanted_us > as_of_us:
        return True
    return decide(version, known) is not VersionAction.FETCH


def _is_same(version: StatedResource, known: KnownResource) -> bool:
    if known.is_gone:
        return False
    agrees = version.fixity.agrees(known.fixity)
    if agrees is None and version.is_snapshot and version.modified_us is not None:
        return version.modified_us == known.modified_us
    return bool(agrees)


def version_of(task: SyncTask, url: str) -> StatedResource:
    """Return the version requested by a task; `url` is of its record."""
    return StatedResource(
        uri=task.uri or url,
        change=task.change or ResourceChange.UPDATED,
        as_of_us=task.as_of_us,
        modified_us=task.modified_us,
        fixity=ExpectedBytes.stated(task.hashes, task.length),
        media_type=task.media_type,
        encoding=task.encoding,
        is_snapshot=task.change is None,
        run=task.run,
    )


def next_attempt(task: SyncTask, url: str) -> tuple[str, SyncTask] | None:
    """Return URL and task of the next attempt after a failure; None if none is left.

    After a patch that does not apply, or a mirror that fails or has other bytes, the
    next mirror is tried, and finally the resource itself. `url` is of the record of the
    task, which is `GET` or `PATCH`.
    """
    if not task.others:
        return None
    uri = task.uri or url
    following = replace(
        task,
        do=SyncStep.GET,
        uri=uri,
        others=task.others[1:],
        patch_hashes="",
        patch_length=None,
    )
    return task.others[0], following


NO_STATE: Final = MirrorState()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPart:
    """A completely read part of a run, at a `place`."""

    source: str
    run: str
    mode: SyncMode
    place: str = ""
    n_children: int = 0  # announced parts; 0 for a leaf
    at_us: int | None = None  # start of its snapshot
    seen_us: int | None = None  # latest change in it
    closed_us: int | None = None  # its end, if it is closed


def n_outstanding(parts: Iterable[RunPart]) -> int:
    """Return the number of unfinished leaves; 0: the run is complete.

    `parts` has one part for each finished place. Alternatively, an adapter may start
    from 1 and add `n_children - 1` for each new place.
    """
    return 1 + sum(part.n_children - 1 for part in parts)


def commit(
    state: MirrorState, parts: Mapping[str, RunPart]
) -> tuple[MirrorState, list[SyncTask]]:
    """Return the state after a complete run, and the next tasks.

    The tasks are for the record of `MirrorState.url`: after a baseline or an audit,
    read the changes since the start of the snapshot. `parts` has all parts by place.
    """
    mode = parts[""].mode
    if mode is SyncMode.CHANGES:
        seen_us = _latest(state.seen_us, *(part.seen_us for part in parts.values()))
        ends = (part.closed_us for part in parts.values())
        closed_us = _latest(state.closed_us, *ends)
        after = replace(state, seen_us=seen_us, closed_us=closed_us, has_baseline=True)
        return after, []
    begins = [part.at_us for part in parts.values() if part.at_us is not None]
    at_us = parts[""].at_us
    if at_us is None:
        at_us = min(begins, default=None)
    after = MirrorState(url=state.url, at_us=at_us, seen_us=at_us, has_baseline=True)
    task = SyncTask(
        do=SyncStep.READ,
        mode=SyncMode.CHANGES,
        source=parts[""].source,
        run=f"{parts[''].run}+",
    )
    return after, [task]


def _latest(*times: int | None) -> int | None:
    return max((time for time in times if time is not None), default=None)


@dataclass(frozen=True, slots=True)
class FollowStep:
    """Queue a record of kind `RESOURCESYNC`."""

    url: str
    task: SyncTask


@dataclass(frozen=True, slots=True)
class OpenedSet:
    """Set the `State.url` of the set of resources with this id (`source`).

    `url` is of its capability list, or of the document in its place.
    """

    source: str
    url: str


@dataclass(frozen=True, slots=True)
class DeletedResource:
    """Store a deleted resource as an empty document."""

    version: StatedResource


@dataclass(frozen=True, slots=True)
class UnfetchedResource:
    """Record a resource that is not fetched, because its media type is not RDF."""

    version: StatedResource
    entry: ResourceEntry | None = None


@dataclass(frozen=True, slots=True)
class DumpedResource:
    """Store a resource of a dump, with verified bytes.

    Its bytes are in the content coding `version.encoding`, and must be read before the
    next step.
    """

    version: StatedResource
    source: ByteSource


@dataclass(frozen=True, slots=True)
class ListedResources:
    """Set `Known.run` of these resources to the run of an audit."""

    run: str
    uris: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RelatedLink:
    """Follow a link of a resource: description, other format or canonical URI."""

    link: Link


Step: TypeAlias = (
    FollowStep
    | OpenedSet
    | DeletedResource
    | UnfetchedResource
    | DumpedResource
    | ListedResources
    | RelatedLink
    | RunPart
)
