"""The history of a site: when pages came, changed, became known and vanished."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal, TypeVar

from rdfcrawl.dataweb.evolution.draws import (
    DAY_SECS,
    HOUR_SECS,
    NEVER,
    PoissonProcess,
    draw_exponential,
    draw_uniform,
)
from rdfcrawl.dataweb.evolution.parameters import DiscoveryWay, VanishedAs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rdfcrawl.dataweb.evolution.parameters import EvolutionParameters

PER_HUB = 20  # pages that one list of links has
MAX_RELATED = 3  # other pages that a page links to
FRONT_PATH = "/"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """From a time on, until before another; seconds since the web began."""

    start: float = NEVER
    end: float = NEVER

    def holds(self, at: float) -> bool:
        """Return whether a time is within."""
        return self.start <= at < self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePath:
    """One URL of a page.

    Attributes:
        page: whose.
        path: with the query.
        duplicate: whether it is the page's own URL, or has an equal document, or one
            that differs by a number.
        listed: when sitemaps list it.
        linked: when a list of links has it.
    """

    page: PageHistory
    path: str
    duplicate: Literal["", "exact", "near"] = ""
    listed: TimeSpan
    linked: TimeSpan


@dataclass(frozen=True, kw_only=True)
class PageHistory:
    """History of one page.

    Attributes:
        parameters: of its site.
        number: of the page.
        born: when it came.
        gone: when it vanishes; `NEVER` if it does not.
        is_html: else it is in Turtle.
        rate: mean number of changes in a day.
        vanished_as: how it is answered after it has vanished.
    """

    parameters: EvolutionParameters
    number: int
    born: float
    gone: float
    is_html: bool
    rate: float
    vanished_as: VanishedAs

    @property
    def path(self) -> str:
        """Where it is."""
        return f"/{'page' if self.is_html else 'data'}/{self.number}"

    @cached_property
    def _changes(self) -> PoissonProcess:
        key = (self.parameters.seed, "change", self.number)
        return PoissonProcess(self.rate, start=self.born, key=key)

    def is_there(self, at: float) -> bool:
        """Return whether it has come and not vanished."""
        return self.born <= at < self.gone

    def fails(self, at: float) -> bool:
        """Return whether it exists, but is unavailable in this hour."""
        share = self.parameters.failing
        hour = int(at // HOUR_SECS)
        return self.is_there(at) and self._draw("failing", hour) < share

    def failing_hours(self, until: float) -> list[float]:
        """Return the begin of each hour up to a time in which it is unavailable."""
        if not self.parameters.failing:
            return []
        first, last = (
            int(at // HOUR_SECS) for at in (self.born, min(until, self.gone))
        )
        hours = range(first, last + 1)
        share = self.parameters.failing
        return [n * HOUR_SECS for n in hours if self._draw("failing", n) < share]

    def revision(self, at: float) -> int:
        """Return how often it has changed up to a time."""
        return self._changes.count(min(at, self.gone))

    def changes(self, until: float) -> list[float]:
        """Return the times of its changes up to a time; none after it has vanished."""
        return self._changes.times(min(until, self.gone))

    def last_change(self, at: float) -> float:
        """Return the time of its latest change up to a time, or when it came."""
        return self._changes.last(min(at, self.gone))

    @cached_property
    def paths(self) -> tuple[PagePath, ...]:
        """Its own URL, and that of its duplicate, if it has one."""
        return tuple(self._iter_paths())

    def _iter_paths(self) -> Iterator[PagePath]:
        yield self._path_of(self.path, "")
        parameters = self.parameters
        if self._draw("duplicate") < parameters.duplicates:
            if self._draw("near") < parameters.near:
                number = int(self._draw("session") * 1e6)
                yield self._path_of(f"{self.path}?session={number}", "near")
            else:
                yield self._path_of(f"{self.path}?ref=feed", "exact")

    def _path_of(self, path: str, duplicate: Literal["", "exact", "near"]) -> PagePath:
        way = _choose(self.parameters.discovery, self._draw("way", duplicate))
        mean = self.parameters.lag_days * DAY_SECS
        key = (self.parameters.seed, "lag", self.number, duplicate)
        late = self.born + draw_exponential(mean, *key)
        listed = {
            DiscoveryWay.LINK_FIRST: late,
            DiscoveryWay.LINK_ONLY: NEVER,
        }.get(way, self.born)
        linked = {
            DiscoveryWay.SITEMAP_FIRST: late,
            DiscoveryWay.SITEMAP_ONLY: NEVER,
        }.get(way, self.born)
        return PagePath(
            page=self,
            path=path,
            duplicate=duplicate,
            listed=self._known_from(listed),
            linked=self._known_from(linked),
        )

    def _known_from(self, start: float) -> TimeSpan:
        if start >= self.gone:
            return TimeSpan()
        is_dropped = self._draw("dropped") < self.parameters.dropped
        return TimeSpan(start, self.gone if is_dropped else NEVER)

    def _draw(self, *what: object) -> float:
        return draw_uniform(self.parameters.seed, self.number, *what)


class SiteHistory:
    """All pages of a site and its lists of links, at any time.

    Links: the front page links to each list that has links, a list to `PER_HUB` pages
    while they are linked, a page to up to `MAX_RELATED` earlier ones that had been
    linked when it came.

    Args:
        parameters: of the site.
    """

    def __init__(self, parameters: EvolutionParameters) -> None:
        self.parameters = parameters
        self._births = PoissonProcess(
            parameters.births, start=0.0, key=(parameters.seed, "birth")
        )
        self._page = lru_cache(maxsize=None)(self._make_page)

    def n_pages(self, at: float) -> int:
        """Return how many pages have come up to a time."""
        return self.parameters.n_pages + self._births.count(at)

    def pages(self, at: float) -> list[PageHistory]:
        """Return the pages that have come up to a time, vanished ones too."""
        return [self._page(number) for number in range(self.n_pages(at))]

    def page(self, number: int, at: float) -> PageHistory | None:
        """Return a page; None if it has not come yet."""
        return self._page(number) if number < self.n_pages(at) else None

    def paths(self, at: float) -> Iterator[PagePath]:
        """Yield all URLs of the pages that have come up to a time."""
        for page in self.pages(at):
            yield from page.paths

    def related(self, page: PageHistory) -> list[PageHistory]:
        """Return the pages that a page links to, from its first revision on."""
        found: dict[int, PageHistory] = {}
        for n in range(MAX_RELATED if page.number else 0):
            draw = draw_uniform(self.parameters.seed, page.number, "related", n)
            other = self._page(int(draw * page.number))
            if other.paths[0].linked.holds(page.born):
                found[other.number] = other
        return list(found.values())

    def hub_paths(self, hub: int, at: float) -> list[PagePath]:
        """Return the URLs that a list has had up to a time."""
        last = min((hub + 1) * PER_HUB, self.n_pages(at))
        pages = (self._page(number) for number in range(hub * PER_HUB, last))
        return [one for page in pages for one in page.paths if one.linked.start <= at]

    def hub_changes(self, hub: int, until: float) -> list[float]:
        """Return when a list came and when it changed, up to a time."""
        spans = [one.linked for one in self.hub_paths(hub, until)]
        times = {span.start for span in spans} | {span.end for span in spans}
        return sorted(time for time in times if time <= until)

    def hubs(self, at: float) -> list[int]:
        """Return the lists that have had a link up to a time."""
        n_hubs = -(-self.n_pages(at) // PER_HUB)
        return [hub for hub in range(n_hubs) if self.hub_paths(hub, at)]

    def front_changes(self, until: float) -> list[float]:
        """Return when the front page came and when it changed, up to a time."""
        firsts = {self.hub_changes(hub, until)[0] for hub in self.hubs(until)}
        return sorted({0.0, *firsts})

    def _make_page(self, number: int) -> PageHistory:
        parameters, seed = self.parameters, self.parameters.seed
        nth = number - parameters.n_pages
        born = self._births.time_of(nth) if nth >= 0 else 0.0
        mean = DAY_SECS / parameters.vanishing if parameters.vanishing else NEVER
        return PageHistory(
            parameters=parameters,
            number=number,
            born=born,
            gone=born + draw_exponential(mean, seed, "gone", number),
            is_html=draw_uniform(seed, number, "html") < parameters.html,
            rate=_choose(parameters.rates, draw_uniform(seed, number, "rate")),
            vanished_as=_choose(
                parameters.vanished_as, draw_uniform(seed, number, "vanished")
            ),
        )


def hub_path(hub: int) -> str:
    """Return where a list of links is."""
    return f"/list/{hub}"


def _choose(values: Sequence[T], draw: float) -> T:
    return values[int(draw * len(values))]
