"""Parameters of a site that changes: rates, shares, behaviours."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from rdfcrawl.core.errors import ConfigError

MAX_PAGES = 1_000_000
MAX_RATE = 1440.0  # changes of a page, or new pages, in a day


class LastmodBehaviour(StrEnum):
    """Claims of sitemaps about the changes of pages."""

    TRUTHFUL = "truthful"
    LATE = "late"  # truthful, but only `delay_days` after the change
    NOW = "now"  # always the time of the request
    FROZEN = "frozen"  # always the first
    ABSENT = "absent"


class SitemapLayout(StrEnum):
    """How entries are split among sitemaps."""

    FIXED = "fixed"  # a page stays in its file
    LOG = "log"  # appended at each change; a full file never changes again
    REWRITTEN = "rewritten"  # the latest change first, all files rewritten


class IndexLastmod(StrEnum):
    """Claims of the index about the changes of sitemaps."""

    TRUTHFUL = "truthful"
    STALE = "stale"  # when the sitemap was first there
    ABSENT = "absent"


class ValidatorBehaviour(StrEnum):
    """How a host fares with `ETag`, `Last-Modified` and conditional requests."""

    CORRECT = "correct"
    ETAG = "etag"  # alone
    MODIFIED = "modified"  # `Last-Modified` alone
    NONE = "none"
    EVER_NEW = "ever-new"  # a new ETag at each moment: never 304
    STUCK = "stuck"  # always the first: 304 after any change


class DiscoveryWay(StrEnum):
    """How the URL of a page becomes known; the second way follows after a while."""

    BOTH = "both"
    LINK_FIRST = "link-first"
    SITEMAP_FIRST = "sitemap-first"
    LINK_ONLY = "link-only"
    SITEMAP_ONLY = "sitemap-only"


class VanishedAs(StrEnum):
    """How a page is answered that has vanished."""

    NOT_FOUND = "404"
    GONE = "410"
    SOFT = "200"  # a page that says that there is none; so are made-up URLs


B = TypeVar("B", bound=StrEnum)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvolutionParameters:
    """Rates and behaviours of one site; equal ones have an equal history.

    Of behaviours with several values, a site has one: that in the place seed modulo
    their number. So the sites of a generated web, whose seeds follow one another, have
    them in turn.

    Attributes:
        seed: of all random choices.
        n_pages: at the beginning.
        rates: changes of a page in a day; each page has one of them.
        births: new pages in a day.
        vanishing: probability, for each day, that a page vanishes (a rate).
        vanished_as: how vanished pages are answered; each has one of them.
        dropped: share of vanished pages that leave sitemaps and lists of links.
        failing: share of hours in which a page answers 503.
        html: share of pages in HTML with RDFa; the others are in Turtle.
        discovery: how pages become known; each has one of them.
        lag_days: mean time from the first way to the second.
        duplicates: share of pages that have a second URL, with a parameter.
        near: share of the second URLs whose document differs, by a number or more.
        added: additional numbers of these documents, as a share of a page; at least
            one.
        has_canonical: documents declare their canonical URL.
        lastmods: claims of sitemaps about changes.
        delay_days: how late the late ones are.
        is_day_precise: times in sitemaps are dates.
        layouts: how entries are split among sitemaps.
        per_sitemap: most entries of one sitemap.
        index_lastmods: claims of the index about the changes of sitemaps.
        has_index: robots.txt names the index; else each of the sitemaps.
        has_changefreq: entries say how often pages change, as the rates are.
        has_priority: entries have a priority.
        validators: how the host fares with conditional requests.
        mirror_of: origin of the site whose pages this one has, too; empty for none.
            Seed, rates and shares have to be those of that site.

    Raises:
        ConfigError: a parameter is out of its range; the message names it.
    """

    seed: int = 1
    n_pages: int = 60
    rates: tuple[float, ...] = (0.0, 0.02, 0.1, 0.5, 2.0)
    births: float = 1.0
    vanishing: float = 0.01
    vanished_as: tuple[VanishedAs, ...] = (VanishedAs.NOT_FOUND, VanishedAs.GONE)
    dropped: float = 0.5
    failing: float = 0.0
    html: float = 0.5
    discovery: tuple[DiscoveryWay, ...] = tuple(DiscoveryWay)
    lag_days: float = 1.0
    duplicates: float = 0.1
    near: float = 0.5
    added: float = 0.0
    has_canonical: bool = True
    lastmods: tuple[LastmodBehaviour, ...] = (LastmodBehaviour.TRUTHFUL,)
    delay_days: float = 2.0
    is_day_precise: bool = False
    layouts: tuple[SitemapLayout, ...] = (SitemapLayout.FIXED,)
    per_sitemap: int = 50
    index_lastmods: tuple[IndexLastmod, ...] = (IndexLastmod.TRUTHFUL,)
    has_index: bool = True
    has_changefreq: bool = False
    has_priority: bool = False
    validators: tuple[ValidatorBehaviour, ...] = (ValidatorBehaviour.CORRECT,)
    mirror_of: str = ""

    def __post_init__(self) -> None:
        _check("n_pages", self.n_pages, 0, MAX_PAGES)
        _check("per_sitemap", self.per_sitemap, 1, 50_000)
        for name in ("births", "vanishing"):
            _check(name, getattr(self, name), 0, MAX_RATE)
        for name in ("dropped", "failing", "html", "duplicates", "near", "added"):
            _check(name, getattr(self, name), 0, 1)
        for name in ("lag_days", "delay_days"):
            _check(name, getattr(self, name), 0, 36_600)
        for rate in self.rates:
            _check("rates", rate, 0, MAX_RATE)
        for name, values in (
            ("rates", self.rates),
            ("vanished_as", self.vanished_as),
            ("discovery", self.discovery),
            ("lastmods", self.lastmods),
            ("layouts", self.layouts),
            ("index_lastmods", self.index_lastmods),
            ("validators", self.validators),
        ):
            if not values:
                raise ConfigError(f"evolving.{name} has no value")

    @property
    def lastmod(self) -> LastmodBehaviour:
        """Claims of the sitemaps of this site about changes."""
        return self._choice(self.lastmods)

    @property
    def layout(self) -> SitemapLayout:
        """How the entries of this site are split."""
        return self._choice(self.layouts)

    @property
    def index_lastmod(self) -> IndexLastmod:
        """Claims of the index of this site."""
        return self._choice(self.index_lastmods)

    @property
    def validator(self) -> ValidatorBehaviour:
        """How this host fares with conditional requests."""
        return self._choice(self.validators)

    @property
    def answers_errors_with_200(self) -> bool:
        """Whether made-up URLs are answered with 200."""
        return VanishedAs.SOFT in self.vanished_as

    def _choice(self, values: tuple[B, ...]) -> B:
        return values[self.seed % len(values)]


def _check(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ConfigError(f"evolving.{name} is {value}, allowed are {low} to {high:g}")
