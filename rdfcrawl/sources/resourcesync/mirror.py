"""Compare versions of resources with the state of the mirror, and decide what to do.

All state is plain values, kept in a store between pages and crawls. Versions that come
twice, or late, change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias

from rdfcrawl.core.tasks.sync import ResourceChange, SyncStep, SyncTask
from rdfcrawl.sources.resourcesync.fixity import ExpectedBytes


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorState:
    """State of a set of resources."""

    url: str = ""  # of its capability list, or of the list that stands for one
    at_us: int | None = None  # when the source began the snapshot of the baseline
    seen_us: int | None = None  # latest change that was applied, or `at_us`
    # end of the latest change list that was read to its end and takes no more changes
    closed_us: int | None = None
    has_baseline: bool = False  # all of it was read once


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownResource:
    """State of one resource in the mirror."""

    # time of this state, by the source's clock; None: unknown
    as_of_us: int | None = None
    modified_us: int | None = None  # its last modification, by the source
    hashes: str = ""  # of its bytes, as `ExpectedBytes.text`
    length: int | None = None
    is_gone: bool = False
    run: str = ""  # last audit that listed it

    @property
    def fixity(self) -> ExpectedBytes:
        """Digests and length of the bytes."""
        return ExpectedBytes.stated(self.hashes, self.length)


Lookup: TypeAlias = Callable[[Sequence[str]], Mapping[str, KnownResource]]
"""Gives what is known of resources; one that is not known is not in it."""


def nothing(uris: Sequence[str]) -> Mapping[str, KnownResource]:
    """Return no states: the lookup of an empty mirror."""
    del uris
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedResource:
    """A version of a resource, as its source describes it."""

    uri: str
    change: ResourceChange = ResourceChange.UPDATED  # that led to it
    as_of_us: int | None = None  # time of the change, or of the snapshot
    modified_us: int | None = None
    fixity: ExpectedBytes = ExpectedBytes()  # noqa: RUF009  frozen, and empty
    media_type: str = ""  # lower case, without parameters; may be empty
    encoding: str = ""  # content coding of the bytes
    is_snapshot: bool = False  # from a list of all resources, not of changes
    run: str = ""  # audit that listed it, or empty

    def known(self) -> KnownResource:
        """Return the state of the resource once the mirror has this version."""
        return KnownResource(
            as_of_us=self.as_of_us,
            modified_us=self.modified_us,
            hashes=self.fixity.text,
            length=self.fixity.length,
            is_gone=self.change is ResourceChange.DELETED,
            run=self.run,
        )


class VersionAction(StrEnum):
    """What to do with a version."""

    FETCH = "fetch"
    DELETE = "delete"
    NONE = "none"  # the mirror has it
    STALE = "stale"  # the mirror has a later one


def decide(version: StatedResource, known: KnownResource | None) -> VersionAction:
    """Return what to do with a version, given the state in the mirror.

    A later version is never undone by an earlier one that comes late, nor by the same
    one that comes again.
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
    """Return whether a resource no longer needs a request when its turn comes.

    `wanted_us` is the latest `as_of_us` that was ever queued. Of several changes only
    the last can be fetched: the bytes are not those of the earlier ones.
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
    """Return the version that a task requests; `url` is that of its record."""
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
    """Return URL and task of the next attempt after a failed one; None if none is left.

    After a patch that does not fit, or a mirror that fails or gives other bytes than
    stated, the next mirror is tried, and at last the resource itself. `url` is that of
    the record of the task, which is `GET` or `PATCH`.
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
