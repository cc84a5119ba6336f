"""Steps that follow from reading a source, for the adapter to execute, and runs.

A run reads one set of resources. Its parts are read in any order and more than once:
the root has the place "", the third child of its second child "2.3". Each finished part
is one `RunPart`; the adapter keeps them by source, run and place, one value each, and
the run is complete when as many leaves came as were announced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from rdfcrawl.core.tasks.sync import SyncMode, SyncStep, SyncTask
from rdfcrawl.sources.resourcesync.mirror import MirrorState, StatedResource

if TYPE_CHECKING:
    from rdfcrawl.core.bytesource import ByteSource
    from rdfcrawl.core.link_relations import Link
    from rdfcrawl.sources.resourcesync.documents import ResourceEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPart:
    """A part of a run, read to the end, at a `place`."""

    source: str
    run: str
    mode: SyncMode
    place: str = ""
    n_children: int = 0  # parts that it announces; 0 for a leaf
    at_us: int | None = None  # start of its snapshot
    seen_us: int | None = None  # latest change in it
    closed_us: int | None = None  # its end, if it takes no more changes


def n_outstanding(parts: Iterable[RunPart]) -> int:
    """Return how many leaves are still to come; 0: the run is complete.

    `parts` has one for each finished place. An adapter may as well add up
    `n_children - 1` of each place that it did not have before, from 1.
    """
    return 1 + sum(part.n_children - 1 for part in parts)


def commit(
    state: MirrorState, parts: Mapping[str, RunPart]
) -> tuple[MirrorState, list[SyncTask]]:
    """Return the state after a complete run, and what to do next.

    The tasks are for the record of `MirrorState.url`: after a baseline or an audit, the
    changes since the snapshot was begun. `parts` has all parts by place.
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

    `url` is that of its capability list, or of the document that stands for one.
    """

    source: str
    url: str


@dataclass(frozen=True, slots=True)
class DeletedResource:
    """Store a deleted resource as an empty document."""

    version: StatedResource


@dataclass(frozen=True, slots=True)
class UnfetchedResource:
    """Record a resource that is not fetched, since its media type is not of RDF."""

    version: StatedResource
    entry: ResourceEntry | None = None


@dataclass(frozen=True, slots=True)
class DumpedResource:
    """Store a resource whose bytes were in a dump and were verified.

    Its bytes are in the content coding `version.encoding`, and have to be read
    before the next step is taken.
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

    uri: str
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
