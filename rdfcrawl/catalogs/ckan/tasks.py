"""One step of a harvest, as the short text that waits in the frontier."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Final

from rdfcrawl.errors import Reason, SourceFault

MAX_TASK_CHARS: Final = 2048
DEFAULT_ROWS: Final = 100  # 0.2 to 2 MB with the usual descriptions


class Step(StrEnum):
    """What is asked for."""

    SEARCH = "search"  # a page of package_search
    CURRENT = "current"  # a page of current_package_list_with_resources
    NAMES = "names"  # a page of package_list, whose datasets are then asked for
    SHOW = "show"  # one dataset
    LISTING = "listing"  # a page of package_list, to find what was deleted
    CONFIRM = "confirm"  # datasets that the listing does not have
    ABOUT = "about"  # the portal itself


class Order(StrEnum):
    """How the pages of a search follow each other; each is weaker than the one before.

    By `KEYSET` a page begins at the time of the last row of the page before, so that
    no row is passed over when others move. By `SORTED` and `PLAIN` rows are counted;
    `PLAIN` is for portals that refuse to sort.
    """

    KEYSET = "k"
    SORTED = "o"
    PLAIN = "p"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One request of the harvest of a portal; equal tasks are the same request.

    Attributes:
        step: what is asked for.
        run: name of the harvest, so that tasks of the next one are others.
        order: of the pages of a search.
        since: only what was modified at this time or later is given out.
        is_sweep: all pages are walked nevertheless, to mark what there is.
        is_listing: the sweep stands for the list of names, which is not to be had.
        finds_deleted: compare identifiers at the end.
        cursor: least time of the page, by `KEYSET`.
        start: rows left out before the page.
        rows: asked for, and
        most: that may be asked for.
        last: id of the row before the page, which is its first row again; by
            `NAMES` and `LISTING` the first name of the page before.
        expected: rows there must at least be, as far as is known.
        page: number of pages before.
        n_backs: times that the walk had to go back.
        ids: what is shown or confirmed.
        is_alone: by `CONFIRM`: each is asked for by itself.
    """

    step: Step
    run: str = ""
    order: Order = Order.KEYSET
    since: str = ""
    is_sweep: bool = False
    is_listing: bool = False
    finds_deleted: bool = False
    cursor: str = ""
    start: int = 0
    rows: int = DEFAULT_ROWS
    most: int = DEFAULT_ROWS
    last: str = ""
    expected: int = 0
    page: int = 0
    n_backs: int = 0
    ids: tuple[str, ...] = ()
    is_alone: bool = False

    def encode(self) -> str:
        """Return the task as ASCII, at most `MAX_TASK_CHARS`.

        Raises:
            SourceFault: `BAD_ANSWER`: a name in it is longer than names can be.
        """
        members = {
            short: getattr(self, name)
            for name, short in _SHORT.items()
            if name == "step" or getattr(self, name) != _DEFAULTS[name]
        }
        text = json.dumps(members, separators=(",", ":"))
        if len(text) > MAX_TASK_CHARS:
            raise SourceFault(Reason.BAD_ANSWER, f"name too long: {text[:100]}")
        return text

    @classmethod
    def decode(cls, text: str) -> Task:
        """Return the task of a text that `encode` made.

        Raises:
            SourceFault: `BAD_ANSWER`: it is another text.
        """
        try:
            members = json.loads(text)
            named = {_LONG[short]: value for short, value in members.items()}
            return cls(**{name: _checked(name, value) for name, value in named.items()})
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise SourceFault(Reason.BAD_ANSWER, f"no task: {text[:100]}") from None


_DEFAULTS: Final = {
    one.name: Step.SEARCH if one.name == "step" else one.default for one in fields(Task)
}
_SHORT: Final = {
    "step": "s",
    "run": "r",
    "order": "o",
    "since": "m",
    "is_sweep": "w",
    "is_listing": "q",
    "finds_deleted": "d",
    "cursor": "c",
    "start": "a",
    "rows": "n",
    "most": "u",
    "last": "l",
    "expected": "e",
    "page": "p",
    "n_backs": "b",
    "ids": "i",
    "is_alone": "x",
}
_LONG: Final = {short: name for name, short in _SHORT.items()}


def _checked(name: str, value: Any) -> Any:
    """Return the value if it is of the member's type."""
    default = _DEFAULTS[name]
    if isinstance(default, tuple):
        if not all(isinstance(one, str) for one in value):
            raise TypeError(name)
        return tuple(value)
    if isinstance(default, StrEnum):
        return type(default)(value)
    if type(value) is not type(default):
        raise TypeError(name)
    return value
