"""Detect URLs that a server generates without end.

Only URLs that no publisher of data would write on purpose are refused. Large sets of
URLs of one form are common on sites with data; they are queued after other URLs of the
host.

No single URL shows whether `/2500/03` is a month of a calendar or a numbered record. In
a calendar, each year links to the next, all months are equally frequent, and no other
URL has the same form.
"""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from rdfcrawl.core.options.table import OptionsTable, integer

YEARS_AHEAD: Final = 5  # for which calendar pages are followed
FIRST_YEAR: Final = 1700  # lower values are numbers, not years
MIN_STEPS: Final = 3  # years reached from the year before
MAX_OTHERS: Final = 10  # other URLs of a form; more, and it is not a calendar
MONTHS: Final = 12

_MONTH: Final = r"(?:0?[1-9]|1[0-2])"
_DAY: Final = r"(?:0?[1-9]|[12][0-9]|3[01])"
_DATE: Final = re.compile(
    rf"(?<![0-9])(?P<year>[0-9]{{4}})[/-](?P<month>{_MONTH})"
    rf"(?:[/-]{_DAY})?(?![0-9])"
)
_YEAR: Final = re.compile(r"(?<=[?&])y(ear)?=(?P<year>[0-9]{4})(?![0-9])")
# Some sites count months from 0.
_MONTH_OF_YEAR: Final = re.compile(
    rf"(?<=[?&])m(?:onth)?=(?P<month>{_MONTH}|0)(?![0-9])"
)
MAX_CACHED: Final = 100_000  # hosts, and forms of URLs
MAX_RUN: Final = 10  # segments that repeat together
_MANY: Final = 4  # numbers in a URL; with more, it may contain a key


class PageDate(NamedTuple):
    """The month or year in the URL of a calendar page."""

    year: int
    month: int | None  # 0 to 12; None for the page of a year
    rest: str  # the URL without its dates

    def is_far_ahead(self) -> bool:
        """Return whether the year is more than `YEARS_AHEAD` years from now."""
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
    found = [(int(x["year"]), int(x["month"])) for x in _DATE.finditer(url)]
    if found:
        return PageDate(*max(found), _DATE.sub("", url))
    year = _YEAR.search(url)
    if year is None:
        return None
    month = _MONTH_OF_YEAR.search(url)
    if month is None:  # `y` alone is usually a map coordinate
        return (
            PageDate(int(year["year"]), None, _YEAR.sub("", url)) if year[1] else None
        )
    rest = _MONTH_OF_YEAR.sub("", _YEAR.sub("", url))
    return PageDate(int(year["year"]), int(month["month"]), rest)


class Calendar:
    """Evidence that the URLs of one form belong to a calendar without end."""

    __slots__ = ("_is_endless", "_months", "_n_others", "_steps")

    def __init__(self) -> None:
        self._steps: set[int] = set()
        self._months = [0] * MONTHS
        self._n_others = 0
        self._is_endless = False

    def count_other(self) -> None:
        """Count a URL that is not a calendar page."""
        self._n_others += 1

    def count_link(self, date: PageDate, parent: PageDate | None) -> bool:
        """Count a link; return whether it continues a calendar without end.

        `parent` is the date of the linking page, which may have another form.
        """
        if self._is_endless or self._n_others > MAX_OTHERS:
            return self._is_endless
        if date.month is not None:
            self._months[date.month % MONTHS] += 1
        if date.year < FIRST_YEAR:
            self.count_other()
        elif parent and parent.leads_to(date):
            if date.year > time.gmtime().tm_year:
                self._steps.add(date.year)
        elif date.is_far_ahead() and not (parent and abs(date.year - parent.year) <= 1):
            self.count_other()  # not reached year by year: a number
        steps_on = len(self._steps) >= MIN_STEPS and self._n_others <= MAX_OTHERS
        self._is_endless = steps_on and self._has_all_months(date)
        return self._is_endless

    def _has_all_months(self, date: PageDate) -> bool:
        """Return whether no month is rare; numbers of records are rarely high."""
        if date.month is None:
            return True
        return min(self._months) * 2 * MONTHS >= sum(self._months)


_NUMBERS = re.compile(r"[0-9]+").subn
# A key of records or sessions is a long word with numbers.
_LONG_WORDS = re.compile(r"[\w-]{16,}+").sub
_has_number = re.compile(r"[0-9]").search


@dataclass(frozen=True, slots=True)
class TrapLimits(OptionsTable):
    """Limits beyond which URLs count as a trap; 0 is no limit."""

    repeats: int = integer("TRAP_REPEATS", 3, 0, 1000)
    """a link is not followed in whose path a run of up to ten segments comes more often
    in a row, or in which twice as many words repeat earlier ones, or one parameter
    comes more often; 0: however often; see
    [traps](../explanation/politeness.md#traps)"""
    segments: int = integer("TRAP_SEGMENTS", 40, 0, 2000)
    """a link is not followed that has more segments of a path, or more parameters; 0:
    however many"""
    of_form: int = integer("TRAP_FORM_URLS", 1000, 0)
    """links of a host go behind its others after so many of one form; 0: never"""
    least: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the number of segments or parameters from which a URL is examined."""
        least = min(self.repeats or math.inf, self.segments or math.inf)
        object.__setattr__(self, "least", least)


NO_TRAPS: Final = TrapLimits(repeats=0, segments=0, of_form=0)


def is_endless(url: str, limits: TrapLimits) -> bool:
    """Return whether a requestable URL seems to grow from page to page.

    >>> is_endless("https://example.org/a/b/a/b/a/b/a/b/", TrapLimits())
    True
    >>> is_endless("https://example.org/2031/01/01/01/01/01", TrapLimits())
    False
    """
    rest, _, query = url.partition("?")
    path = rest[rest.find("/", 8) :]
    parameters = query.split("&")
    if limits.segments and max(path.count("/"), len(parameters)) > limits.segments:
        return True
    if not limits.repeats:
        return False
    return _repeats(path, limits.repeats) or any(
        parameters.count(each) > limits.repeats for each in set(parameters) if each
    )


def _repeats(path: str, most: int) -> bool:
    """Return whether runs of segments, or words among them, repeat too often."""
    segments = path.split("/")
    words = [each for each in segments if len(each) > 1 and _has_letters([each])]
    if len(words) - len(set(words)) > 2 * most:
        return True
    longest = min(MAX_RUN, len(segments) // (most + 1))
    for length in range(1, longest + 1):
        n_same = 0
        for i in range(length, len(segments)):
            n_same = n_same + 1 if segments[i] == segments[i - length] else 0
            if n_same >= length * most and _has_letters(
                segments[i - length + 1 : i + 1]
            ):
                return True
    return False


def _has_letters(segments: list[str]) -> bool:
    return any(char.isalpha() for segment in segments for char in segment)


def form_of(url: str) -> str:
    """Return the form of a URL, with `#` for its numbers and long keys.

    It keeps all words, unlike `page_forms`: URLs of a trap differ in numbers alone.

    >>> form_of("https://example.org/item/17?page=2&s=5f0c2e9ab41d77e0")
    'https://example.org/item/#?page=#&s=#'
    """
    form, n_numbers = _NUMBERS("#", url)
    if n_numbers <= _MANY:
        return form
    return _NUMBERS("#", _LONG_WORDS(_form_of_word, url))[0]


def _form_of_word(word: re.Match[str]) -> str:
    return "#" if _has_number(word[0]) else word[0]


class LinkVerdict(Enum):
    """Judgement on the URL of a link, by itself and compared with earlier ones."""

    ORDINARY = "ordinary"
    LATER = "later"  # one of very many: queued after other URLs of its host
    TRAP = "trap"


class UrlForms:
    """Count the URLs of each form that a worker sees.

    All counts are reset when there are too many; this affects only the order of URLs,
    and how far a calendar is followed.
    """

    def __init__(self, limits: TrapLimits) -> None:
        self._limits = limits
        self._limit = limits.of_form or math.inf
        self._hosts: dict[str, int] = {}
        self._forms: dict[str, int] = {}
        self._calendars: dict[str, Calendar] = {}

    def judge(self, url: str, key: str, parent: str) -> LinkVerdict:
        """Count a link from `parent` to the requestable `url`, and judge it."""
        least = self._limits.least  # most URLs are too short for any trap
        is_long = url.count("/") >= least + 3 or url.count("&") >= least
        if is_long and is_endless(url, self._limits):
            return LinkVerdict.TRAP
        n_of_host = self._hosts.get(key, 0) + 1
        if n_of_host == 1:
            self._forget_if_many()
        self._hosts[key] = n_of_host
        if n_of_host <= self._limit or not self.is_large(url):
            return LinkVerdict.ORDINARY
        if self.is_far_ahead(url, parent):
            return LinkVerdict.TRAP
        return LinkVerdict.LATER

    def is_large(self, url: str) -> bool:
        """Count a URL of a large host; return whether very many have its form."""
        form = form_of(url)
        n = self._forms.get(form, 0) + 1
        if n == 1:
            self._forget_if_many()
        self._forms[form] = n
        return n > self._limit

    def _forget_if_many(self) -> None:
        if len(self._hosts) + len(self._forms) >= MAX_CACHED:
            self._hosts.clear()
            self._forms.clear()
            self._calendars.clear()

    def is_far_ahead(self, url: str, parent: str) -> bool:
        """Return whether a URL of a large form continues a calendar without end."""
        date = date_of(url)
        if date is None and not self._calendars:
            return False
        form = form_of(url)
        calendar = self._calendars.get(form)
        if date is None:
            if calendar:
                calendar.count_other()
            return False
        if calendar is None:
            calendar = self._calendars[form] = Calendar()
        return calendar.count_link(date, date_of(parent)) and date.is_far_ahead()
