"""What is remembered of a source and of its resources, and what follows from it.

All of it is plain text, to be kept in a store between pages and between crawls. To be
told anything twice, or late, changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias

from rdfcrawl.sitemaps.resourcesync.fixity import Fixity
from rdfcrawl.tasks.sync import Change, SyncStep, SyncTask


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What is remembered of a set of resources.

    Attributes:
        url: of its capability list, or of the list that stands for one.
        at_us: when the source began to take the snapshot that was the baseline.
        seen_us: latest change that was applied, or `at_us`.
        closed_us: end of the latest change list that was read to its end and takes no
            more changes.
        has_baseline: all of it was read once.
    """

    url: str = ""
    at_us: int | None = None
    seen_us: int | None = None
    closed_us: int | None = None
    has_baseline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is remembered of one resource.

    Attributes:
        as_of_us: when it was so, by the source's clock; None: not known.
        modified_us: its last modification, as the source said.
        hashes: of its bytes, as `Fixity.text`.
        length: of its bytes.
        is_gone: it was deleted.
        run: last audit that has listed it.
    """

    as_of_us: int | None = None
    modified_us: int | None = None
    hashes: str = ""
    length: int | None = None
    is_gone: bool = False
    run: str = ""

    @property
    def fixity(self) -> Fixity:
        """What its bytes are."""
        return Fixity.stated(self.hashes, self.length)


Lookup: TypeAlias = Callable[[Sequence[str]], Mapping[str, Known]]
"""Gives what is known of resources; one that is not known is not in it."""


def nothing(uris: Sequence[str]) -> Mapping[str, Known]:
    """Know nothing."""
    del uris
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What a source says that a resource is, or was.

    Attributes:
        uri: of the resource.
        change: what became of it.
        as_of_us: when that was so: the time of the change, or that of the snapshot.
        modified_us: last modification.
        fixity: of its bytes.
        media_type: lower case, without parameters; may be empty.
        encoding: content coding that the bytes have.
        is_snapshot: it is one of a list of all resources, not a change.
        run: audit that came by it, or empty.
    """

    uri: str
    change: Change = Change.UPDATED
    as_of_us: int | None = None
    modified_us: int | None = None
    fixity: Fixity = Fixity()  # noqa: RUF009  frozen, and empty
    media_type: str = ""
    encoding: str = ""
    is_snapshot: bool = False
    run: str = ""

    def known(self) -> Known:
        """Return what is to be remembered once it is in the mirror."""
        return Known(
            as_of_us=self.as_of_us,
            modified_us=self.modified_us,
            hashes=self.fixity.text,
            length=self.fixity.length,
            is_gone=self.change is Change.DELETED,
            run=self.run,
        )


class Action(StrEnum):
    """What a version asks for."""

    FETCH = "fetch"
    DELETE = "delete"
    NONE = "none"  # the mirror has it
    STALE = "stale"  # the mirror has a later one


def decide(version: Version, known: Known | None) -> Action:
    """Return what is to be done, given what is known of the resource.

    A later word of the source is never undone by an earlier one that comes late, nor
    by the same one that comes again.
    """
    is_deleted = version.change is Change.DELETED
    if known is None:
        return Action.DELETE if is_deleted else Action.FETCH
    if version.as_of_us is not None and known.as_of_us is not None:
        if version.as_of_us < known.as_of_us:
            return Action.STALE
        if is_deleted and known.is_gone and version.as_of_us == known.as_of_us:
            return Action.NONE
    if is_deleted:
        return Action.DELETE
    return Action.NONE if _is_same(version, known) else Action.FETCH


def is_settled(
    version: Version, known: Known | None, *, wanted_us: int | None = None
) -> bool:
    """Tell whether a resource need not be asked for any more when its turn comes.

    Args:
        version: that was to be fetched.
        known: what is known of the resource by now.
        wanted_us: the latest `as_of_us` that was ever asked for. Of several changes
            only the last is there to be fetched: the bytes are not those that the
            earlier ones state.
    """
    as_of_us = version.as_of_us
    if wanted_us is not None and as_of_us is not None and wanted_us > as_of_us:
        return True
    return decide(version, known) is not Action.FETCH


def _is_same(version: Version, known: Known) -> bool:
    if known.is_gone:
        return False
    agrees = version.fixity.agrees(known.fixity)
    if agrees is None and version.is_snapshot and version.modified_us is not None:
        return version.modified_us == known.modified_us
    return bool(agrees)


def version_of(task: SyncTask, url: str) -> Version:
    """Return the version that a task asks for.

    Args:
        task: `GET` or `PATCH`.
        url: of its record.
    """
    return Version(
        uri=task.uri or url,
        change=task.change or Change.UPDATED,
        as_of_us=task.as_of_us,
        modified_us=task.modified_us,
        fixity=Fixity.stated(task.hashes, task.length),
        media_type=task.media_type,
        encoding=task.encoding,
        is_snapshot=task.change is None,
        run=task.run,
    )


def next_attempt(task: SyncTask, url: str) -> tuple[str, SyncTask] | None:
    """Return where a resource is asked for next, after an attempt that failed.

    A patch that does not fit and a mirror that does not answer or gives other bytes
    than stated come to the next mirror, and at last to the resource itself.

    Args:
        task: `GET` or `PATCH`.
        url: of its record.

    Returns:
        URL and task of a record; None if nothing is left.
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


NO_STATE: Final = State()
