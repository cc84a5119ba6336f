"""Calendars without end are left some years ahead; numbers like years are not."""

from __future__ import annotations

import time
from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.uri.traps import YEARS_AHEAD, TrapLimits, UrlForms, date_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

THIS_YEAR = time.gmtime().tm_year
LIMITS = TrapLimits(of_form=20)
MANY = 20_000


def _crawl(
    links: Callable[[str], Iterable[str]], *, start: str, forms: int = 1
) -> tuple[set[str], set[str]]:
    """Follow links from a page, with so many workers in turn.

    Returns:
        The visited pages, at most `MANY`, and the links not followed.
    """
    workers = [UrlForms(LIMITS) for _ in range(forms)]
    seen, refused, queue = {start}, set(), deque([start])
    while queue and len(seen) < MANY:
        url = queue.popleft()
        judge = workers[hash(url) % forms]
        for link in dict.fromkeys(links(url)):
            if link in seen:
                continue
            if judge.is_large(link) and judge.is_far_ahead(link, url):
                refused.add(link)
                continue
            seen.add(link)
            queue.append(link)
    return seen, refused


def _months(url: str, pattern: str, *, also: Iterable[int] = ()) -> Iterable[str]:
    """Return the links of a page of a calendar of months."""
    date = date_of(url)
    assert date is not None
    assert date.month
    n_months = 12 * date.year + date.month - 1
    for step in (1, -1, *also):
        year, month = divmod(n_months + step, 12)
        if year > THIS_YEAR - 3:
            yield f"https://a.example/{pattern.format(year, month + 1)}"


@pytest.mark.parametrize("also", [(), (12,)], ids=["next", "year"])
@pytest.mark.parametrize(
    "pattern",
    [
        "{}/{}",
        "calendar/{}/{:02}",
        "room/17/{}-{:02}",
        "events?date={}-{:02}-01",
        "c?year={}&month={}",
        "c?m={1}&view=list&y={0}",
        "from?from={0}-{1:02}-01&to={0}-{1:02}-28",
    ],
)
def test_calendar_ends(pattern: str, also: tuple[int, ...]) -> None:
    """If a calendar leads on from year to year, then it is followed some years."""
    start = f"https://a.example/{pattern.format(THIS_YEAR, 1)}"
    seen, refused = _crawl(lambda url: _months(url, pattern, also=also), start=start)
    assert refused
    assert len(seen) < 12 * (3 + YEARS_AHEAD + 6)
    near = {pattern.format(THIS_YEAR + n, 7) for n in range(YEARS_AHEAD + 1)}
    assert near <= {url.removeprefix("https://a.example/") for url in seen}


def test_calendar_of_days_ends_for_several_workers() -> None:
    """If a calendar of days is met by several workers, then each of them leaves it."""

    def links(url: str) -> Iterable[str]:
        year, month, day = map(int, url.rpartition("=")[2].split("-"))
        n_days = (12 * year + month - 1) * 28 + day  # as good as any other
        months, day = divmod(n_days, 28)
        year, month = divmod(months, 12)
        yield f"https://a.example/?date={year}-{month + 1:02}-{day + 1:02}"

    start = f"https://a.example/?date={THIS_YEAR}-01-01"
    seen, refused = _crawl(links, start=start, forms=3)
    assert refused
    assert len(seen) < 28 * 12 * 25


def test_calendar_of_years_ends() -> None:
    """If a parameter is a year by its name, then the next one leads to the next."""

    def links(url: str) -> Iterable[str]:
        yield f"https://a.example/report?year={int(url[-4:]) + 1}"

    start = f"https://a.example/report?year={THIS_YEAR}"
    seen, refused = _crawl(links, start=start)
    assert refused
    assert len(seen) < 3 * 20


def _site(paths: list[str], *, chained: bool) -> Callable[[str], Iterable[str]]:
    """Return the links of a site that lists its pages, or leads on from each."""
    urls = [f"https://a.example/{path}" for path in paths]
    after = dict(pairwise(urls))

    def links(url: str) -> Iterable[str]:
        if url == "https://a.example/":
            return urls[:1] if chained else urls
        return [after[url]] if chained and url in after else []

    return links


NUMBERED = [f"item/{n}/{page}" for n in range(1000, 2500) for page in range(1, 13)]
UP_TO_NINE = [f"item/{n}/{page}" for n in range(1990, 2500) for page in range(1, 10)]


@pytest.mark.parametrize(
    "paths",
    [
        pytest.param(NUMBERED, id="records of twelve pages"),
        pytest.param(UP_TO_NINE, id="records of nine pages"),
        pytest.param([f"p/{n}-{n % 12 + 1:02}" for n in range(1000, 9999)], id="codes"),
        pytest.param(
            [f"iso/{1900 + n // 12}/{n % 12 + 1}" for n in range(1400)], id="past"
        ),
        pytest.param(
            [f"std/{1990 + n // 9}-0{n % 9 + 1}" for n in range(900)], id="std"
        ),
        pytest.param([f"tile?x=3&y={n}" for n in range(1000, 9999)], id="map"),
        pytest.param([f"a/{n}/{n % 40}" for n in range(2000, 9999)], id="parts"),
        pytest.param([f"plan/{THIS_YEAR + n}-06" for n in range(60)], id="plans"),
    ],
)
@pytest.mark.parametrize("chained", [False, True], ids=["listed", "chained"])
def test_honest_sites_lose_nothing(paths: list[str], *, chained: bool) -> None:
    """If numbers are those of records, then all are followed, in any form."""
    _, refused = _crawl(_site(paths, chained=chained), start="https://a.example/")
    assert not refused


def test_past_of_a_calendar_is_followed() -> None:
    """If a calendar goes back, as an archive does, then it is followed to its start."""
    paths = [f"{THIS_YEAR - n // 12}/{12 - n % 12}" for n in range(1800)]
    seen, refused = _crawl(_site(paths, chained=True), start="https://a.example/")
    assert not refused
    assert len(seen) == len(paths) + 1


def test_what_is_known_of_calendars_is_bounded() -> None:
    """If there are dates in a form of a URL alone, then it is known by its date."""
    assert date_of("https://a.example/resource/999999/13") is None
    assert date_of("https://a.example/2031/13") is None
    assert date_of("https://a.example/?y=2031") is None
    date = date_of("https://a.example/?month=0&year=2031")
    assert date is not None
    assert (date.year, date.month) == (2031, 0)
