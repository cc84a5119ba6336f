"""Which remembered datasets a portal does not have any more.

A listing that does not look whole deletes nothing at all, and what it lacks is asked
for once more before it becomes a tombstone (`Step.CONFIRM`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.tasks.ckan import CkanStep, CkanTask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CONFIRMED_AT_ONCE: Final = 20  # ids in one request
MAX_IDS_CHARS: Final = 1400  # of one task


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionLimits:
    """When a listing is not believed.

    Attributes:
        small: portals with at most so many remembered datasets may lose any share
            of them, even all: each is confirmed anyway.
        share: of the remembered datasets that may be missing else; 0 to 1.
        unlisted_share: of the datasets that the portal counts itself may be missing
            from its listing, as both change while they are read.
    """

    small: int = 20
    share: float = 0.5
    unlisted_share: float = 0.1


DEFAULT_DELETION_LIMITS: Final = DeletionLimits()


def check_listing(
    *,
    n_listed: int,
    n_known: int,
    count: int | None = None,
    limits: DeletionLimits = DEFAULT_DELETION_LIMITS,
) -> None:
    """Raise if a listing cannot be used to tell what was deleted.

    Args:
        n_listed: distinct datasets in it.
        n_known: remembered ones.
        count: datasets that the portal itself counted in the same harvest.
        limits: what is believed.

    Raises:
        SourceFault: `BAD_ANSWER`: it has far less than what is known;
            `INCOMPLETE`: it has less than the portal counts.
    """
    if count and n_listed < count * (1 - limits.unlisted_share):
        detail = f"{n_listed} listed of {count} that the portal counts"
        raise SourceFault(Reason.INCOMPLETE, detail)
    if n_known <= limits.small:
        return
    if n_listed < n_known * (1 - limits.share):
        detail = f"{n_listed} listed where {n_known} are known: nothing is deleted"
        raise SourceFault(Reason.BAD_ANSWER, detail)


def check_missing(
    *,
    n_missing: int,
    n_known: int,
    limits: DeletionLimits = DEFAULT_DELETION_LIMITS,
) -> None:
    """Raise if a listing lacks more datasets than can have been deleted.

    Args:
        n_missing: remembered datasets that the listing lacks, as far as is known.
        n_known: remembered ones.
        limits: what is believed.

    Raises:
        SourceFault: `BAD_ANSWER`.
    """
    most = n_known if n_known <= limits.small else int(n_known * limits.share)
    if n_missing > most:
        detail = f"more than {most} of {n_known} are missing"
        raise SourceFault(Reason.BAD_ANSWER, detail)


def iter_confirmations(
    missing: Iterable[str], *, by_search: bool
) -> Iterator[CkanTask]:
    """Yield the tasks that ask once more for what is missing.

    Args:
        missing: ids.
        by_search: some in one request, from the search index; else one by one, from
            the database. It should be the other one of what the listing is from:
            `package_list` is the database, a sweep the index.
    """
    ids: list[str] = []
    n_chars = 0
    for one in missing:
        size = 2 + sum(1 if char.isascii() else 6 for char in one)
        is_full = len(ids) == CONFIRMED_AT_ONCE or n_chars + size > MAX_IDS_CHARS
        if ids and (is_full or not by_search):
            yield _confirm(ids, by_search=by_search)
            ids, n_chars = [], 0
        ids.append(one)
        n_chars += size
    if ids:
        yield _confirm(ids, by_search=by_search)


def _confirm(ids: list[str], *, by_search: bool) -> CkanTask:
    return CkanTask(
        step=CkanStep.CONFIRM, ids=tuple(ids), is_alone=not by_search, rows=1
    )
