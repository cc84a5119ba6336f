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
    """What a record of the frontier is for."""

    TAG: ClassVar = "sync"

    do: SyncStep = SyncStep.READ  # see `SyncStep`
    mode: SyncMode = SyncMode.SYNC  # see `SyncMode`
    source: str = ""  # `source_id` of the set of resources; empty until that is known
    site: str = ""  # registered domain of the source: what it may speak of
    # one reading of the source, for whatever reason; the parts of different runs are
    # different records
    run: str = ""
    # of resources
    change: ResourceChange | None = None  # what became of the resource
    as_of_us: int | None = None  # when that was so; Unix time in microseconds
    modified_us: int | None = None  # its last modification
    hashes: str = ""  # of the resource, as `Fixity.text`
    length: int | None = None  # of the resource in bytes
    media_type: str = ""  # of the resource; of a patch, that of the patch
    encoding: str = ""  # the content coding that hashes and length are of
    uri: str = ""  # of the resource, if that is not the URL of the record
    others: tuple[str, ...] = ()  # where else the resource is, in the order to try
    patch_hashes: str = ""  # of a patch
    patch_length: int | None = None  # of a patch
    # of documents
    part: str = ""  # place in the run, see `runs`
    expected: SyncCapability | None = None  # what the document has to be; None: any
    # capabilities that failed in this run and are not tried again
    without: tuple[str, ...] = ()
    depth: int = 0  # documents from the first one to here
    cursor: int = 0  # entries of the document that are done
    version: str = ""  # of the document that `cursor` counts in
    seen_us: int | None = None  # latest change before `cursor`
    has_datetime: bool = False  # `datetime` was seen before `cursor`
    manifest: str = ""  # of a part of a dump, where a copy of its manifest is


@dataclass(frozen=True, slots=True)
class SyncSearch:
    """The search for a source that can be synchronized."""

    TAG: ClassVar = "search"

    # `site`, its description; `page`; `robots`; `given`, whatever the operator named;
    # `list`, a document of ResourceSync or none; `above`, one that such a document
    # names, and `below`, that one again
    step: Literal["site", "page", "robots", "given", "list", "above", "below"]
    below: str = ""  # of `above`: the document that names it
