"""Steps after reading a source, to be executed by the adapter, and runs.

A run reads one set of resources. Its parts are read in any order and repeatedly: the
root has the place "", the third child of its second child "2.3". Each finished part is
one `RunPart`; the adapter keeps them by source, run and place, one value each. The run
is complete when all announced leaves are finished.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from rdfcrawl.core.source_tasks import SyncMode, SyncStep, SyncTask
from rdfcrawl.sources.resourcesync.mirror import MirrorState, StatedResource

if TYPE_CHECKING:
    from rdfcrawl.core.content import ByteSource
    from rdfcrawl.core.formats import Link
    from rdfcrawl.sources.resourcesync.documents import ResourceEntry


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
