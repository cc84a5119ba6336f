"""One step of synchronizing with a source by ResourceSync.

A document, a page of a long one, a part of a dump and a resource are each one record,
so that a crash costs one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Literal


class SyncStep(StrEnum):
    """What is done with the answer."""

    READ = "read"  # a document of ResourceSync
    UNPACK = "unpack"  # a part of a dump
    GET = "get"  # a resource
    PATCH = "patch"  # what changed of a resource


class SyncMode(StrEnum):
    """Why a source is read."""

    SYNC = "sync"  # whatever its state asks for
    BASELINE = "baseline"  # all of it, for the first time
    CHANGES = "changes"  # what changed since the last time
    AUDIT = "audit"  # all of it, to compare with what is there


class SyncCapability(StrEnum):
    """What a document is for, by its `rs:md`."""

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
    """What became of a resource; one that moved was deleted here, created there."""

    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncTask:
    """What a record of the frontier is for.

    Attributes:
        do: see `SyncStep`.
        mode: see `SyncMode`.
        source: `source_id` of the set of resources; empty until that is known.
        site: registered domain of the source: what it may speak of.
        run: one reading of the source, for whatever reason; the parts of different
            runs are different records.
        change: what became of the resource.
        as_of_us: when that was so; Unix time in microseconds.
        modified_us: its last modification.
        hashes: of the resource, as `Fixity.text`.
        length: of the resource in bytes.
        media_type: of the resource; of a patch, that of the patch.
        encoding: the content coding that hashes and length are of.
        uri: of the resource, if that is not the URL of the record.
        others: where else the resource is, in the order to try.
        patch_hashes: of a patch.
        patch_length: of a patch.
        part: place in the run, see `runs`.
        expected: what the document has to be; None: any.
        without: capabilities that failed in this run and are not tried again.
        depth: documents from the first one to here.
        cursor: entries of the document that are done.
        version: of the document that `cursor` counts in.
        seen_us: latest change before `cursor`.
        has_datetime: `datetime` was seen before `cursor`.
        manifest: of a part of a dump, where a copy of its manifest is.
    """

    TAG: ClassVar = "sync"

    do: SyncStep = SyncStep.READ
    mode: SyncMode = SyncMode.SYNC
    source: str = ""
    site: str = ""
    run: str = ""
    # of resources
    change: ResourceChange | None = None
    as_of_us: int | None = None
    modified_us: int | None = None
    hashes: str = ""
    length: int | None = None
    media_type: str = ""
    encoding: str = ""
    uri: str = ""
    others: tuple[str, ...] = ()
    patch_hashes: str = ""
    patch_length: int | None = None
    # of documents
    part: str = ""
    expected: SyncCapability | None = None
    without: tuple[str, ...] = ()
    depth: int = 0
    cursor: int = 0
    version: str = ""
    seen_us: int | None = None
    has_datetime: bool = False
    manifest: str = ""


@dataclass(frozen=True, slots=True)
class SyncSearch:
    """The search for a source that can be synchronized.

    Attributes:
        step: `site`, its description; `page`; `robots`; `given`, whatever the operator
            named; `list`, a document of ResourceSync or none; `above`, one that such a
            document names, and `below`, that one again.
        below: of `above`: the document that names it.
    """

    TAG: ClassVar = "search"

    step: Literal["site", "page", "robots", "given", "list", "above", "below"]
    below: str = ""
