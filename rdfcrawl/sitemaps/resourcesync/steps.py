"""What reading a source leads to: the values that the adapter acts on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from rdfcrawl.sitemaps.resourcesync.runs import Part

if TYPE_CHECKING:
    from rdfcrawl.bytesource import ByteSource
    from rdfcrawl.records import Link
    from rdfcrawl.sitemaps.resourcesync.documents import Entry
    from rdfcrawl.sitemaps.resourcesync.fixity import Verdict
    from rdfcrawl.sitemaps.resourcesync.mirror import Version
    from rdfcrawl.tasks.sync import SyncTask


@dataclass(frozen=True, slots=True)
class Follow:
    """A record of the frontier: to be asked for, kind `RESOURCESYNC`."""

    url: str
    task: SyncTask


@dataclass(frozen=True, slots=True)
class Opened:
    """A set of resources: its `State.url` is this from now on.

    Attributes:
        source: its id.
        url: of its capability list, or of the document that stands for one.
    """

    source: str
    url: str


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A resource that its source says is deleted: its document becomes empty."""

    version: Version


@dataclass(frozen=True, slots=True)
class Recorded:
    """A resource that is not fetched, since it is said to be no RDF.

    Attributes:
        version: what the source says of it.
        entry: where it says that.
    """

    version: Version
    entry: Entry | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """A resource whose bytes were in a dump, and are what was stated.

    Attributes:
        version: what the source says of it.
        source: its bytes, in the content coding `version.encoding`; to be read
            before the next step is asked for.
        verdict: `VERIFIED`, or `UNVERIFIED` if no digest was stated.
    """

    version: Version
    source: ByteSource
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Listed:
    """An audit came by these resources: `Known.run` of each is this run.

    Attributes:
        run: of the audit.
        uris: some of its list, in order.
    """

    run: str
    uris: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Related:
    """A link from a resource: to a description, another form, its canonical URI."""

    uri: str
    link: Link


Step: TypeAlias = (
    Follow | Opened | Tombstone | Recorded | Content | Listed | Related | Part
)
