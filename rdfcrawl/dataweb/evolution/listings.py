"""The sitemaps of a site at any time: entries, files, and claims of changes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from rdfcrawl.dataweb.evolution.draws import DAY_SECS, draw_uniform
from rdfcrawl.dataweb.evolution.parameters import (
    IndexLastmod,
    LastmodBehaviour,
    SitemapLayout,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfcrawl.dataweb.evolution.histories import PagePath, SiteHistory

INDEX_PATH = "/sitemap.xml"

# Changes in a day, from which on the word is stated.
_FREQUENCIES = (
    (12.0, "hourly"),
    (0.5, "daily"),
    (1 / 14, "weekly"),
    (1 / 60, "monthly"),
    (1e-9, "yearly"),
    (0.0, "never"),
)


@dataclass(frozen=True, slots=True)
class ListingEntry:
    """One entry of a sitemap.

    Attributes:
        path: the URL of a page.
        lastmod: time that is stated; None if none is.
        since: time of the latest change of the entry.
    """

    path: PagePath
    lastmod: float | None
    since: float


@dataclass(frozen=True, slots=True)
class SitemapFile:
    """One sitemap at one time.

    Attributes:
        number: of the file.
        entries: in their order.
        modified: time of the latest change.
        first: when it was first there.
    """

    number: int
    entries: tuple[ListingEntry, ...]
    modified: float
    first: float

    @property
    def path(self) -> str:
        """Where it is."""
        return f"/sitemap-{self.number}.xml"


class SitemapListings:
    """All sitemaps of a site, at any time.

    Args:
        history: of the site.
    """

    def __init__(self, history: SiteHistory) -> None:
        self._history = history
        self._parameters = history.parameters
        self._size = history.parameters.per_sitemap
        self._files = lru_cache(maxsize=4)(self._make_files)

    def files(self, at: float) -> tuple[SitemapFile, ...]:
        """Return the sitemaps of a time, in their order; there is one at least."""
        return self._files(at)

    def index_lastmod(self, sitemap: SitemapFile) -> float | None:
        """Return the lastmod that the index states for a sitemap, if any."""
        match self._parameters.index_lastmod:
            case IndexLastmod.TRUTHFUL:
                return sitemap.modified
            case IndexLastmod.STALE:
                return sitemap.first
        return None

    def priority(self, path: PagePath) -> str:
        """Return the priority that entries of a URL have; empty for none."""
        if not self._parameters.has_priority:
            return ""
        draw = draw_uniform(self._parameters.seed, path.path, "priority")
        return f"{draw:.1f}"

    def changefreq(self, path: PagePath) -> str:
        """Return how often entries of a URL say that it changes; empty for nothing."""
        if not self._parameters.has_changefreq:
            return ""
        return next(word for rate, word in _FREQUENCIES if path.page.rate >= rate)

    # -- files -----------------------------------------------------------------------

    def _make_files(self, at: float) -> tuple[SitemapFile, ...]:
        match self._parameters.layout:
            case SitemapLayout.LOG:
                return self._cut(self._log(at))
            case SitemapLayout.REWRITTEN:
                return self._cut_anew(at)
        return self._make_fixed(at)

    def _make_fixed(self, at: float) -> tuple[SitemapFile, ...]:
        """Give each page its file, by its number."""
        by_file: dict[int, list[PagePath]] = {}
        for path in self._history.paths(at):
            if path.listed.start <= at:
                by_file.setdefault(path.page.number // self._size, []).append(path)
        files = []
        for number, paths in sorted(by_file.items()):
            entries = [self._entry(path, at) for path in paths if path.listed.holds(at)]
            files.append(
                SitemapFile(
                    number,
                    tuple(entries),
                    max((*(e.since for e in entries), *_ends(paths, at))),
                    min(path.listed.start for path in paths),
                )
            )
        return tuple(files) or (_EMPTY,)

    def _cut_anew(self, at: float) -> tuple[SitemapFile, ...]:
        """Write all entries in the order of their changes, the latest first."""
        paths = [path for path in self._history.paths(at) if path.listed.start <= at]
        entries = [self._entry(path, at) for path in paths if path.listed.holds(at)]
        entries.sort(key=lambda entry: (-entry.since, entry.path.path))
        modified = max((0.0, *(e.since for e in entries), *_ends(paths, at)))
        starts = sorted(path.listed.start for path in paths)[:: self._size] or [0.0]
        return tuple(
            SitemapFile(one.number, one.entries, modified, starts[one.number])
            for one in self._cut(entries)
        )

    def _cut(self, entries: list[ListingEntry]) -> tuple[SitemapFile, ...]:
        """Fill one file after the other."""
        numbers = range(0, len(entries), self._size)
        parts = [entries[n : n + self._size] for n in numbers]
        return tuple(
            SitemapFile(
                number,
                tuple(part),
                max(entry.since for entry in part),
                min(entry.since for entry in part),
            )
            for number, part in enumerate(parts)
        ) or (_EMPTY,)

    # -- entries ---------------------------------------------------------------------

    def _entry(self, path: PagePath, at: float) -> ListingEntry:
        """Return the entry of a URL that is listed."""
        lastmod, since = self._claim(path, at), path.listed.start
        if lastmod is not None and lastmod > path.page.born:
            since = max(lastmod + self._delay, since)
        return ListingEntry(path, lastmod, since)

    def _log(self, at: float) -> list[ListingEntry]:
        """Return an entry for each URL that came to be listed, and for each claim."""
        entries = [
            entry
            for path in self._history.paths(at)
            if path.listed.start <= at
            for entry in self._entries_of(path, at)
        ]
        return sorted(entries, key=lambda entry: (entry.since, entry.path.path))

    def _entries_of(self, path: PagePath, at: float) -> Iterator[ListingEntry]:
        start = path.listed.start
        if self._parameters.lastmod is LastmodBehaviour.NOW:
            yield ListingEntry(path, at, start)
            return
        yield ListingEntry(path, self._claim(path, start), start)
        if self._parameters.lastmod in _CLAIMING:
            for change in path.page.changes(at):
                shown = change + self._delay
                if start < shown <= at and shown < path.listed.end:
                    yield ListingEntry(path, change, shown)

    def _claim(self, path: PagePath, at: float) -> float | None:
        """Return the lastmod of a URL at a time."""
        match self._parameters.lastmod:
            case LastmodBehaviour.NOW:
                return at
            case LastmodBehaviour.FROZEN:
                return path.page.born
            case LastmodBehaviour.ABSENT:
                return None
        return path.page.last_change(max(at - self._delay, path.page.born))

    @property
    def _delay(self) -> float:
        is_late = self._parameters.lastmod is LastmodBehaviour.LATE
        return self._parameters.delay_days * DAY_SECS if is_late else 0.0


_CLAIMING = (LastmodBehaviour.TRUTHFUL, LastmodBehaviour.LATE)
_EMPTY = SitemapFile(0, (), 0.0, 0.0)


def _ends(paths: Iterable[PagePath], at: float) -> Iterator[float]:
    """Yield when URLs were dropped."""
    return (path.listed.end for path in paths if path.listed.end <= at)
