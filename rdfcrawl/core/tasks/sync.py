"""One step of synchronizing with a source by ResourceSync.

A document, a page of a long one, a part of a dump and a resource are each one record,
so that a crash costs one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Literal


class SyncStep(StrEnum):
    """How the response is read."""

    READ = "read"  # a document of ResourceSync
    UNPACK = "unpack"  # a part of a dump
    GET = "get"  # a resource
    PATCH = "patch"  # changes of a resource


class SyncMode(StrEnum):
    """Why a source is read."""

    SYNC = "sync"  # as its state requires
    BASELINE = "baseline"  # all of it, for the first time
    CHANGES = "changes"  # changes since the last time
    AUDIT = "audit"  # all of it, to compare with the stored state


class SyncCapability(StrEnum):
    """The capability of a document, by its `rs:md`."""

    DESCRIPTION = "description"
    CAPABILITY_LIST = "capabilitylist"
    RESOURCE_LIST = "resourcelist"
    RESOURCE_DUMP = "resourcedump"
    RESOURCE_DUMP_MANIFEST = "resourcedump-manifest"
    CHANGE_LIST = "changelist"
    CHANGE_DUMP = "changedump"
    CHANGE_DUMP_MANIFEST = "changedump-manifest"
    RESOURCE_LIST_ARCHIVE = "resourcelist-archive"
    RESOURCE_DUMP_ARCHIVE = "resourcedump-archive"
    CHANGE_LIST_ARCHIVE = "changelist-archive"
    CHANGE_DUMP_ARCHIVE = "changedump-archive"


class ResourceChange(StrEnum):
    """The change of a resource; a move is a deletion and a creation."""

    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncTask:
    """One step of the synchronization with a source."""

    TAG: ClassVar = "sync"

    do: SyncStep = SyncStep.READ  # see `SyncStep`
    mode: SyncMode = SyncMode.SYNC  # see `SyncMode`
    source: str = ""  # `source_id` of the set of resources; empty if still unknown
    site: str = ""  # registered domain of the source, which limits its statements
    # one reading of the source; the parts of different runs are different records
    run: str = ""
    # of resources
    change: ResourceChange | None = None  # of the resource
    as_of_us: int | None = None  # time of that state; Unix time in microseconds
    modified_us: int | None = None  # its last modification
    hashes: str = ""  # of the resource, as `Fixity.text`
    length: int | None = None  # of the resource in bytes
    media_type: str = ""  # of the resource; of a patch, that of the patch
    encoding: str = ""  # content coding to which hashes and length refer
    uri: str = ""  # of the resource, if different from the URL of the record
    others: tuple[str, ...] = ()  # alternative URLs of the resource, in order
    patch_hashes: str = ""  # of a patch
    patch_length: int | None = None  # of a patch
    # of documents
    part: str = ""  # place in the run, see `runs`
    expected: SyncCapability | None = None  # required of the document; None: any
    # capabilities that failed in this run and are not tried again
    without: tuple[str, ...] = ()
    depth: int = 0  # documents from the first one to here
    cursor: int = 0  # number of processed entries of the document
    version: str = ""  # of the document that `cursor` refers to
    seen_us: int | None = None  # latest change before `cursor`
    has_datetime: bool = False  # `datetime` occurs before `cursor`
    manifest: str = ""  # of a part of a dump: place of a copy of its manifest


@dataclass(frozen=True, slots=True)
class SyncSearch:
    """The search for a source that can be synchronized."""

    TAG: ClassVar = "search"

    # `site`, its description; `page`; `robots`; `given`, named by the operator;
    # `list`, maybe a document of ResourceSync; `above`, one that such a document names;
    # `below`, the first document again
    step: Literal["site", "page", "robots", "given", "list", "above", "below"]
    below: str = ""  # of `above`: the document that names it
