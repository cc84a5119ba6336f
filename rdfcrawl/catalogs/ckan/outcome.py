"""What an answer of a portal brings, and how far a harvest may go."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rdfcrawl.catalogs.ckan.envelope import PackageText
    from rdfcrawl.tasks.ckan import CkanTask


class DatasetListing(StrEnum):
    """What a harvest knows of the datasets that there still are."""

    NAMES = "names"  # the portal's list: look up the name
    SWEEP = "sweep"  # all that was met on the way: look up the id


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLimits:
    """Bounds on the walk through one portal.

    Attributes:
        n_pages: of one walk; what is left is `TOO_MANY_ENTRIES`.
        n_backs: times it goes back where rows moved; then it goes on, with
            `INCOMPLETE`.
        least_rows: a page is not made smaller than this when a portal fails; one
            that is cut off or too large is, down to one row.
        n_names: names in a page of a listing, and
        n_shown: where each of them is a request.
        lost_share: of the rows expected may be missing (deleted meanwhile) before
            the order by time is not believed any more; as few as 5 may always.
    """

    n_pages: int = 100_000
    n_backs: int = 20
    least_rows: int = 10
    n_names: int = 10_000
    n_shown: int = 100
    lost_share: float = 0.02


DEFAULT_PLAN_LIMITS: Final = PlanLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class CkanOutcome:
    """What an answer brings; all of it may be taken in twice.

    Attributes:
        packages: datasets to be written, each as a document of its own.
        present: ids of datasets that a sweep met, written or not; to be marked as
            met by this run.
        deleted: ids of datasets that are gone: tombstones.
        names: that a listing has, to be marked as listed by this run.
        tasks: to be done next, in this order.
        newest: greatest `metadata_modified`, as `solr_time`; keep the maximum.
        count: of datasets in the scope, where the answer says so.
        is_swept: the walk is at its end; all has been given out.
        listing: identifiers can be compared now, by this; None if they cannot.
        catalogue: what the portal tells of itself; None if that was not asked.
    """

    packages: tuple[PackageText, ...] = ()
    present: tuple[str, ...] = field(default=(), repr=False)
    deleted: tuple[str, ...] = ()
    names: tuple[str, ...] = field(default=(), repr=False)
    tasks: tuple[CkanTask, ...] = ()
    newest: str = ""
    count: int | None = None
    is_swept: bool = False
    listing: DatasetListing | None = None
    catalogue: dict[str, Any] | None = None
