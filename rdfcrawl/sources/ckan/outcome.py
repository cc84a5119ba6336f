"""Outcome of a portal's response, and the limits of a harvest."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rdfcrawl.core.tasks.ckan import CkanTask
    from rdfcrawl.sources.ckan.envelope import PackageText


class DatasetListing(StrEnum):
    """How the datasets that still exist were listed."""

    NAMES = "names"  # by the portal: look up the name
    SWEEP = "sweep"  # met on the way: look up the id


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLimits:
    """Bounds on the walk through one portal."""

    n_pages: int = 100_000  # of one walk; the rest is `TOO_MANY_ENTRIES`
    n_backs: int = 20  # steps back where rows moved; afterwards they are `INCOMPLETE`
    # of a page when a portal fails; a page that is cut off or too large shrinks to one
    # row
    least_rows: int = 10
    n_names: int = 10_000  # names in a page of a listing
    n_shown: int = 100  # the same where each name is a request
    # of the expected rows that may be missing (deleted meanwhile) while the order by
    # time is still believed; 5 rows always may
    lost_share: float = 0.02


DEFAULT_PLAN_LIMITS: Final = PlanLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class CkanOutcome:
    """Outcome of a response; processing it twice changes nothing."""

    # datasets to be written, each as a document of its own
    packages: tuple[PackageText, ...] = ()
    # ids of datasets that a sweep met, written or not
    present: tuple[str, ...] = field(default=(), repr=False)
    deleted: tuple[str, ...] = ()  # ids of datasets that become tombstones
    names: tuple[str, ...] = field(default=(), repr=False)  # in a listing
    tasks: tuple[CkanTask, ...] = ()  # next ones, in this order
    newest: str = ""  # greatest `metadata_modified`, as `solr_time`; keep the maximum
    count: int | None = None  # of datasets in the scope, where the response has it
    is_swept: bool = False  # the walk is at its end
    # a complete listing, by which deletions can be found; else None
    listing: DatasetListing | None = None
    # description of the portal; None if it was not requested
    catalogue: dict[str, Any] | None = None
