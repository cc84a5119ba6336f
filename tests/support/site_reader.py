"""A crawler of a few lines, and what it sees of a site that changes."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from rdfcrawl.core.errors import Reason
from rdfcrawl.dataweb.evolution.draws import DAY_SECS
from tests.support.evolving_sites import ask
from tests.support.url_events import (
    LinksFound,
    ListedUrl,
    SitemapRead,
    UrlEvent,
    UrlFetched,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.dataweb.evolution.node import EvolvingNode

FORMATS = "xml", "text", "rss", "atom"  # of one sitemap after another
_find_links = re.compile(
    r'<a[^>]* href="([^"]+)"|<(http[^>]+)> \.$', re.MULTILINE
).finditer
_find_entries = re.compile(
    r"<url><loc>(.*?)</loc>(?:<lastmod>(.*?)</lastmod>)?"
    r"(?:<changefreq>(.*?)</changefreq>)?(?:<priority>(.*?)</priority>)?</url>"
).findall


class PageRead(NamedTuple):
    """One fetch of a page; no body if it failed."""

    ms: int
    body: bytes


@dataclass
class SiteReader:
    """What a crawler sees of one site, and the logs of it.

    Attributes:
        way: how its sitemaps were found.
        listed, linked: when each URL was first seen, in ms.
        said: of each sitemap, its URLs with what it said of them last.
        lists: of each sitemap, the bodies of all readings.
        read_at: of each sitemap, the times of these.
        lastmods: of each URL, the time of each pass with the `lastmod` of then.
        reads: of each page that was asked for.
    """

    node: EvolvingNode
    way: str
    events: list[UrlEvent] = field(default_factory=list)
    listed: dict[str, int] = field(default_factory=dict)
    linked: dict[str, int] = field(default_factory=dict)
    said: dict[str, dict[str, tuple[str, str, str]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    lists: dict[str, list[tuple[str, ...]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    read_at: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    lastmods: dict[str, list[tuple[int, str]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    reads: dict[str, list[PageRead]] = field(default_factory=lambda: defaultdict(list))

    @property
    def domain(self) -> str:
        """The name of the site in reports."""
        return urlsplit(self.node.origin).hostname or ""

    def ms(self, day: float) -> int:
        """Return a time of the web in ms since 1970."""
        return round(self.node.date(day * DAY_SECS).timestamp() * 1000)

    def crawl(self, day: float) -> None:
        """Make one pass."""
        origin, ms = self.node.origin, self.ms(day)
        self.linked.setdefault(f"{origin}/", ms)
        self._read_sitemaps(day, ms)
        queue = dict.fromkeys([f"{origin}/", *self.listed, *self.linked])
        visited: set[str] = set()
        while left := [url for url in queue if url not in visited]:
            for url in left:
                visited.add(url)
                if not re.search(r"/\d*7(\?|$)", url):  # some are never asked for
                    at = ms + 500 * len(visited)
                    queue |= dict.fromkeys(self._visit(url, day, at))

    def _read_sitemaps(self, day: float, ms: int) -> None:
        number, told = 0, dict[str, str]()
        if self.way == "index":
            self._read_index(day, ms)
        while (body := self._get(f"/sitemap-{number}.xml", day)) is not None:
            url = f"{self.node.origin}/sitemap-{number}.xml"
            written = FORMATS[number % len(FORMATS)]
            facts = (("foundBy", self.way), ("sitemapFormat", written))
            self.events.append(UrlFetched(url, ms, facts=facts))
            entries = _find_entries(body.decode())
            self.events.append(SitemapRead(url, ms, tuple(map(_entry, entries))))
            self.read_at[url].append(ms)
            self.lists[url].append(tuple(entry[0] for entry in entries))
            for page, *said in entries:
                self.listed.setdefault(page, ms)
                self.said[url][page] = (said[0], said[1], said[2])
                told[page] = max(told.get(page, ""), said[0])
            number += 1
        for page in self.listed:
            self.lastmods[page].append((ms, told.get(page, "")))

    def _read_index(self, day: float, ms: int) -> None:
        """Read an index that came by ping."""
        names = [f"{self.node.origin}{x.path}" for x in self._files(day)]
        entries = tuple(ListedUrl(name, is_sitemap=True) for name in names)
        url = f"{self.node.origin}/sitemap.xml"
        facts = (("foundBy", "ping"), ("sitemapFormat", "xml"))
        self.events += [UrlFetched(url, ms, facts=facts), SitemapRead(url, ms, entries)]

    def _files(self, day: float) -> Any:
        return self.node.listings.files(day * DAY_SECS)

    def _visit(self, url: str, day: float, ms: int) -> Iterator[str]:
        path = url.removeprefix(self.node.origin)
        body = self._get(path, day)
        parent = () if path == "/" else (("parent", f"{self.node.origin}/"),)
        self.reads[url].append(PageRead(ms, body or b""))
        if body is None:
            fault = Reason.NOT_FOUND
            self.events.append(UrlFetched(url, ms, 404, fault=fault, facts=parent))
            return
        digest = sha256(body).hexdigest()[:32]
        facts = (("contentHash", digest), ("textHash", digest), *parent)
        self.events.append(UrlFetched(url, ms, facts=facts))
        found = []
        for match in _find_links(body.decode()):
            target = match[1] or match[2]
            found.append(self.node.origin + target if target[0] == "/" else target)
        for target in found:
            if target != url:
                self.linked.setdefault(target, ms)
        self.events.append(LinksFound(url, ms, tuple(dict.fromkeys(found))))
        yield from found

    def _get(self, path: str, day: float) -> bytes | None:
        answer = ask(self.node, path, day)
        return answer.body if answer.status == 200 else None

    # -- what must be counted -------------------------------------------------------

    @property
    def both(self) -> set[str]:
        """URLs that sitemaps and links name."""
        return self.listed.keys() & self.linked.keys()

    def deltas(self) -> list[int]:
        """Return by how many seconds sitemaps were earlier, of each such URL."""
        return [self.linked[u] // 1000 - self.listed[u] // 1000 for u in self.both]

    def census(self) -> list[int]:
        """Return the numbers of the table of missed pages."""
        crawled, listed = set(self.reads), set(self.listed)
        groups: dict[bytes, set[str]] = defaultdict(set)
        for url, reads in self.reads.items():
            groups[reads[-1].body or url.encode()].add(url)
        twice = [0, 0]  # a listed one represents its duplicates
        for urls in groups.values():
            n_listed = len(urls & listed)
            n_others = len(urls) - n_listed
            twice[0] += max(n_listed - 1, 0)
            twice[1] += n_others if n_listed else n_others - 1
        missed = len(crawled - listed)
        numbers = [len(crawled), len(listed), len(crawled & listed), twice[0]]
        return [*numbers, missed, twice[1], missed - twice[1]]

    def was_judged(self, url: str, begin: int, end: int) -> bool:
        """Return whether a sitemap with a URL was read between two times."""
        names = [name for name, said in self.said.items() if url in said]
        return any(begin < ms <= end for name in names for ms in self.read_at[name])

    @property
    def listed_now(self) -> set[str]:
        """URLs in the last readings of sitemaps."""
        return set(chain.from_iterable(lists[-1] for lists in self.lists.values()))

    def intervals(self) -> Iterator[tuple[int, bool, bool]]:
        """Yield end, change and claim of each interval between two reads of a page."""
        for _, _, end, is_changed, is_claimed in self.intervals_of_urls():
            yield end, is_changed, is_claimed

    def intervals_of_urls(self) -> Iterator[tuple[str, int, int, bool, bool]]:
        """Yield the same, behind the URL and the begin."""
        for url, reads in self.reads.items():
            stated = self.lastmods.get(url, [])
            for one, other in pairwise([read for read in reads if read.body]):
                before, after = _at(stated, one.ms), _at(stated, other.ms)
                fetched = (
                    f"{datetime.fromtimestamp(one.ms / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"
                )
                is_claimed = (bool(before) and after > before) or after > fetched
                yield url, one.ms, other.ms, one.body != other.body, is_claimed


def _at(stated: list[tuple[int, str]], ms: int) -> str:
    """Return what was stated last up to a time."""
    return next((text for when, text in reversed(stated) if when <= ms), "")


def _entry(found: tuple[str, str, str, str]) -> ListedUrl:
    url, lastmod, changefreq, priority = found
    word: Any = changefreq or None
    return ListedUrl(url, lastmod, word, float(priority) if priority else None)
