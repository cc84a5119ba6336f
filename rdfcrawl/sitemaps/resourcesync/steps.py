"""Steps that follow from reading a source, for the adapter to execute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from rdfcrawl.sitemaps.resourcesync.runs import RunPart

if TYPE_CHECKING:
    from rdfcrawl.bytesource import ByteSource
    from rdfcrawl.links.relations import Link
    from rdfcrawl.sitemaps.resourcesync.documents import ResourceEntry
    from rdfcrawl.sitemaps.resourcesync.mirror import StatedResource
    from rdfcrawl.tasks.sync import SyncTask


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
