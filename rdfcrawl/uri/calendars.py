"""Detect calendars without end among the links of a site.

No single URL shows whether `/2500/03` is a month of a calendar or a numbered record.
In a calendar, each year links to the next, all months are equally frequent, and no
other URL has the same form.
"""

from __future__ import annotations

import re
import time
from typing import Final, NamedTuple

YEARS_AHEAD: Final = 5  # that pages of a calendar are followed
FIRST_YEAR: Final = 1700  # below are numbers; a calendar is known before it is there
MIN_STEPS: Final = 3  # years that were reached from the year before
MAX_ELSE: Final = 10  # URLs of a form that are in no calendar: it is none
MONTHS: Final = 12

_MONTH: Final = r"(?:0?[1-9]|1[0-2])"
_DAY: Final = r"(?:0?[1-9]|[12][0-9]|3[01])"
_IN_WORDS: Final = re.compile(
    rf"(?<![0-9])(?P<year>[0-9]{{4}})[/-](?P<month>{_MONTH})"
    rf"(?:[/-]{_DAY})?(?![0-9])"
)
_YEAR: Final = re.compile(r"(?<=[?&])y(ear)?=(?P<year>[0-9]{4})(?![0-9])")
# Some count the months of a year from 0.
_MONTH_OF_YEAR: Final = re.compile(
    rf"(?<=[?&])m(?:onth)?=(?P<month>{_MONTH}|0)(?![0-9])"
)


class PageDate(NamedTuple):
    """The month or year in the URL of a calendar page.

    Attributes:
        month: 0 to 12; None is a page of a year.
        rest: the URL without its dates.
    """

    year: int
    month: int | None
    rest: str

    def is_far_ahead(self) -> bool:
        """Return whether the year is too far in the future to be planned for."""
        return self.year > time.gmtime().tm_year + YEARS_AHEAD

    def leads_to(self, later: PageDate) -> bool:
        """Return whether `later` is in the next year, at most twelve months ahead."""
        return (
            self.rest == later.rest
            and later.year == self.year + 1
            and (later.month or 0) <= (self.month or 0)
        )


def date_of(url: str) -> PageDate | None:
    """Return the last date in a URL; None if no part of it looks like a date.

    >>> date_of("https://example.org/calendar/2031/05/17?view=day")
    PageDate(year=2031, month=5, rest='https://example.org/calendar/?view=day')
    >>> date_of("https://example.org/item/2500/13")
    """
    found = [(int(x["year"]), int(x["month"])) for x in _IN_WORDS.finditer(url)]
    if found:
        return PageDate(*max(found), _IN_WORDS.sub("", url))
    year = _YEAR.search(url)
    if year is None:
        return None
    month = _MONTH_OF_YEAR.search(url)
    if month is None:  # `y` alone is more often a place on a map
        return (
            PageDate(int(year["year"]), None, _YEAR.sub("", url)) if year[1] else None
        )
    rest = _MONTH_OF_YEAR.sub("", _YEAR.sub("", url))
    return PageDate(int(year["year"]), int(month["month"]), rest)


class Calendar:
    """Evidence that the URLs of one form belong to a calendar without end."""

    __slots__ = ("_is_endless", "_months", "_n_else", "_steps")

    def __init__(self) -> None:
        self._steps: set[int] = set()
        self._months = [0] * MONTHS
        self._n_else = 0
        self._is_endless = False

    def note_else(self) -> None:
        """Count a URL that is no calendar page."""
        self._n_else += 1

    def leads_on(self, date: PageDate, parent: PageDate | None) -> bool:
        """Count a link; return whether it leads on in a calendar without end.

        `parent` is the date of the linking page, whatever the form of its URL.
        """
        if self._is_endless or self._n_else > MAX_ELSE:
            return self._is_endless
        if date.month is not None:
            self._months[date.month % MONTHS] += 1
        if date.year < FIRST_YEAR:
            self.note_else()
        elif parent and parent.leads_to(date):
            if date.year > time.gmtime().tm_year:
                self._steps.add(date.year)
        elif date.is_far_ahead() and not (parent and abs(date.year - parent.year) <= 1):
            self.note_else()  # nobody lists the years to come: these are numbers
        self._is_endless = self._steps_on() and self._has_all_months(date)
        return self._is_endless

    def _steps_on(self) -> bool:
        return len(self._steps) >= MIN_STEPS and self._n_else <= MAX_ELSE

    def _has_all_months(self, date: PageDate) -> bool:
        """Return whether no month is rare, as high page numbers of records are."""
        if date.month is None:
            return True
        return min(self._months) * 2 * MONTHS >= sum(self._months)
