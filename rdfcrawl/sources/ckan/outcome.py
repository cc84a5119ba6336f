"""Outcome of a portal's response, and the limits of a harvest."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rdfcrawl.core.source_tasks import CkanTask
    from rdfcrawl.sources.ckan.envelope import PackageText


class DatasetListing(StrEnum):
    """Source of a list of existing datasets."""

    NAMES = "names"  # listed by the portal: look up names
    SWEEP = "sweep"  # found during the walk: look up ids


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLimits:
    """Limits of the walk through one portal."""

    n_pages: int = 100_000  # per walk; beyond, `TOO_MANY_ENTRIES`
    n_backs: int = 20  # steps back after rows moved; beyond, `INCOMPLETE`
    # minimum page size after failures; after a truncated or too large page it is one
    # row
    least_rows: int = 10
    n_names: int = 10_000  # names in a page of a listing
    n_shown: int = 100  # the same, with one request per name
    # share of the expected rows that may be missing (deleted meanwhile) before the
    # order by time is given up; 5 rows always may
    lost_share: float = 0.02


DEFAULT_PLAN_LIMITS: Final = PlanLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class CkanOutcome:
    """Outcome of a response; processing it twice is harmless."""

    # datasets to write, each as one document
    packages: tuple[PackageText, ...] = ()
    # ids of datasets found by a sweep, written or not
    present: tuple[str, ...] = field(default=(), repr=False)
    deleted: tuple[str, ...] = ()  # ids of datasets that become tombstones
    names: tuple[str, ...] = field(default=(), repr=False)  # in a listing
    tasks: tuple[CkanTask, ...] = ()  # next tasks, in order
    newest: str = ""  # greatest `metadata_modified`, as `solr_time`
    count: int | None = None  # of datasets in the scope, if stated
    is_swept: bool = False  # the walk is complete
    # source of a complete listing, to find deletions; otherwise None
    listing: DatasetListing | None = None
    # description of the portal; None if it was not requested
    catalogue: dict[str, Any] | None = None
