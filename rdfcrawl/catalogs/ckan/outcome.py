"""Outcome of a portal's response, and the limits of a harvest."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rdfcrawl.catalogs.ckan.envelope import PackageText
    from rdfcrawl.tasks.ckan import CkanTask


class DatasetListing(StrEnum):
    """How the datasets that still exist were listed."""

    NAMES = "names"  # by the portal: look up the name
    SWEEP = "sweep"  # met on the way: look up the id


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLimits:
    """Bounds on the walk through one portal.

    Attributes:
        n_pages: of one walk; the rest is `TOO_MANY_ENTRIES`.
        n_backs: steps back where rows moved; afterwards they are `INCOMPLETE`.
        least_rows: of a page when a portal fails; a page that is cut off or too large
            shrinks to one row.
        n_names: names in a page of a listing.
        n_shown: the same where each name is a request.
        lost_share: of the expected rows that may be missing (deleted meanwhile) while
            the order by time is still believed; 5 rows always may.
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
    """Outcome of a response; processing it twice changes nothing.

    Attributes:
        packages: datasets to be written, each as a document of its own.
        present: ids of datasets that a sweep met, written or not.
        deleted: ids of datasets that become tombstones.
        names: in a listing.
        tasks: next ones, in this order.
        newest: greatest `metadata_modified`, as `solr_time`; keep the maximum.
        count: of datasets in the scope, where the response has it.
        is_swept: the walk is at its end.
        listing: a complete listing, by which deletions can be found; else None.
        catalogue: description of the portal; None if it was not requested.
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
