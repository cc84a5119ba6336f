"""One step of the harvest of a CKAN portal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final

DEFAULT_ROWS: Final = 100  # 0.2 to 2 MB with the usual descriptions


class CkanStep(StrEnum):
    """What is asked for."""

    SEARCH = "search"  # a page of package_search
    CURRENT = "current"  # a page of current_package_list_with_resources
    NAMES = "names"  # a page of package_list, whose datasets are then asked for
    SHOW = "show"  # one dataset
    LISTING = "listing"  # a page of package_list, to find what was deleted
    CONFIRM = "confirm"  # datasets that the listing does not have
    ABOUT = "about"  # the portal itself


class CkanOrder(StrEnum):
    """How the pages of a search follow each other; each is weaker than the one before.

    By `KEYSET` a page begins at the time of the last row of the page before, so that
    no row is passed over when others move. By `SORTED` and `PLAIN` rows are counted;
    `PLAIN` is for portals that refuse to sort.
    """

    KEYSET = "keyset"
    SORTED = "sorted"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class CkanTask:
    """One request of the harvest of a portal; equal tasks are the same request."""

    TAG: ClassVar = "ckan"

    step: CkanStep  # what is asked for
    ids: tuple[str, ...] = ()  # what is shown or confirmed
    start: int = 0  # rows left out before the page
    rows: int = DEFAULT_ROWS  # asked for
    most: int = DEFAULT_ROWS  # rows that may be asked for
    # id of the row before the page, which is its first row again; by `NAMES` and
    # `LISTING` the first name of the page before
    last: str = ""
    page: int = 0  # number of pages before
    cursor: str = ""  # least time of the page, by `KEYSET`
    expected: int = 0  # rows there must at least be, as far as is known
    since: str = ""  # only what was modified at this time or later is given out
    is_sweep: bool = False  # all pages are walked nevertheless, to mark what there is
    finds_deleted: bool = False  # compare identifiers at the end
    # the sweep stands for the list of names, which is not to be had
    is_listing: bool = False
    order: CkanOrder = CkanOrder.KEYSET  # of the pages of a search
    n_backs: int = 0  # times that the walk had to go back
    is_alone: bool = False  # by `CONFIRM`: each is asked for by itself
