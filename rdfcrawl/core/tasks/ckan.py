"""One step of the harvest of a CKAN portal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final

DEFAULT_ROWS: Final = 100  # 0.2 to 2 MB with the usual descriptions


class CkanStep(StrEnum):
    """The kind of request."""

    SEARCH = "search"  # a page of package_search
    CURRENT = "current"  # a page of current_package_list_with_resources
    NAMES = "names"  # a page of package_list, whose datasets are then requested
    SHOW = "show"  # one dataset
    LISTING = "listing"  # a page of package_list, to find deletions
    CONFIRM = "confirm"  # datasets that the listing lacks
    ABOUT = "about"  # the portal itself


class CkanOrder(StrEnum):
    """Order of the pages of a search; each is weaker than the one before.

    By `KEYSET` a page begins at the time of the last row of the previous page, so no
    row is missed when others move. By `SORTED` and `PLAIN` rows are counted; `PLAIN` is
    for portals that refuse to sort.
    """

    KEYSET = "keyset"
    SORTED = "sorted"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class CkanTask:
    """One request of the harvest of a portal; equal tasks are the same request."""

    TAG: ClassVar = "ckan"

    step: CkanStep
    ids: tuple[str, ...] = ()  # datasets to show or confirm
    start: int = 0  # offset of the page in rows
    rows: int = DEFAULT_ROWS  # requested
    most: int = DEFAULT_ROWS  # maximum to request
    # id of the last row of the previous page, which is repeated; for `NAMES` and
    # `LISTING` the first name of the previous page
    last: str = ""
    page: int = 0  # number of pages before
    cursor: str = ""  # least time of the page, by `KEYSET`
    expected: int = 0  # known minimum number of rows
    since: str = ""  # only yield datasets modified at this time or later
    is_sweep: bool = False  # read all pages anyway, to mark existing datasets
    finds_deleted: bool = False  # compare identifiers at the end
    # the sweep replaces the list of names, which is unavailable
    is_listing: bool = False
    order: CkanOrder = CkanOrder.KEYSET  # of the pages of a search
    n_backs: int = 0  # times that reading had to go back
    is_alone: bool = False  # for `CONFIRM`: each dataset is requested separately
