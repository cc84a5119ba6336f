"""Entries of a sitemap or feed: their values, extensions and limits.

Invalid values are skipped, with the fault `SYNTAX`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.times import PointInTime, parse_point
from rdfcrawl.sources.sitemaps.markup_limits import MarkupLimits

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.sources.sitemaps.elements import Element


_SUBMISSIONS: Final = {"urlset": "xml", "sitemapindex": "xml", "rss1": "rss"}


class SitemapFormat(StrEnum):
    """Format of a sitemap.

    Attributes:
        submission: the format in statistics; `xml` for an index.
    """

    submission: str

    URLSET = "urlset"
    INDEX = "sitemapindex"
    RSS = "rss"
    RSS_1 = "rss1"
    ATOM = "atom"
    TEXT = "text"

    def __init__(self, name: str) -> None:
        self.submission = _SUBMISSIONS.get(name, name)


class ChangeFrequency(StrEnum):
    """Expected change frequency of a page."""

    ALWAYS = "always"
    HOURLY = "hourly"
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    YEARLY = "yearly"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class EntryExtension:
    """Data of an extension of the protocol about a URL.

    Attributes:
        kind: local name of its element, in lower case, such as `image` or `link` (of
            hreflang annotations).
        values: names and texts of its content, in document order. The names are local,
            with those of the enclosing elements: `publication/name`. Attributes are
            `@name`, or `restriction/@relationship`.
    """

    kind: str
    values: tuple[tuple[str, str], ...]

    def value(self, name: str) -> str:
        """Return the first value of this name, or an empty string."""
        return next((text for key, text in self.values if key == name), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapEntry:
    """One URL of a sitemap; `priority` is from 0.0 to 1.0 among those of its site."""

    position: int  # in the document, from 0, including skipped entries
    url: str
    is_sitemap: bool = False  # a sitemap of an index, not a page
    # date of the last change; in a feed, of update or publication
    lastmod: PointInTime | None = None
    changefreq: ChangeFrequency | None = None
    priority: float | None = None
    extensions: tuple[EntryExtension, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapLimits:
    """Limits on one sitemap; entries before a limit are kept."""

    # of the XML; `n_bytes` also applies to URL lists
    markup: MarkupLimits = field(default_factory=MarkupLimits)
    # URLs, sitemaps and datasets. The protocol allows 50,000.
    n_entries: int = 50_000
    n_extensions: int = 1_000  # of one entry; the protocol allows 1,000 images
    depth: int = 3  # of indexes in indexes; the protocol allows none
    n_values: int = 10_000  # of one element of a dataset or extension


DEFAULT_LIMITS: Final = SitemapLimits()


_PRIORITY = re.compile(r"(?:[01](?:\.[0-9]{0,20})?|\.[0-9]{1,20})").fullmatch


def read_lastmod(text: str, log: FaultLog) -> PointInTime | None:
    """Return the date; None and `SYNTAX` if invalid."""
    if not text.strip():
        return None
    point = parse_point(text)
    if point is None:
        log.note(Reason.SYNTAX, f"not a date:  {text[:60]!r}")
    return point


def read_frequency(text: str, log: FaultLog) -> ChangeFrequency | None:
    """Return the frequency; None and `SYNTAX` if invalid."""
    word = text.strip().lower()
    try:
        return ChangeFrequency(word) if word else None
    except ValueError:
        log.note(Reason.SYNTAX, f"not a change frequency:  {text[:60]!r}")
        return None


def read_priority(text: str, log: FaultLog) -> float | None:
    """Return the priority; None and `SYNTAX` if not from 0.0 to 1.0."""
    text = text.strip()
    if not text:
        return None
    if _PRIORITY(text) and (priority := float(text)) <= 1:
        return priority
    log.note(Reason.SYNTAX, f"not a priority:  {text[:60]!r}")
    return None


_MAX_DEPTH = 8


def extension_of(element: Element, max_values: int) -> EntryExtension:
    """Return the data of an extension element, at most `max_values` values."""
    values = tuple(islice(_values(element, ""), max_values))
    return EntryExtension(element.local.lower(), values)


def name_of(path: str) -> str:
    """Return a local name for a term, from the path of its value."""
    plain = "".join(x if x.isalnum() and x.isascii() else " " for x in path).split()
    first, *others = plain or ["value"]
    return first + "".join(word[:1].upper() + word[1:] for word in others)


def _values(element: Element, path: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    for name, value in element.attributes.items():
        if not name.startswith("xmlns"):
            yield f"{path}@{name.rpartition(':')[2]}", value.strip()
    text = element.text.strip()
    if text:
        yield path.removesuffix("/"), text
    if depth < _MAX_DEPTH:
        for child in element.children:
            yield from _values(child, f"{path}{child.local}/", depth + 1)
