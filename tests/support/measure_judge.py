"""The measures of a crawl, counted by hand from its requests and the truth of the web.

They follow from the definitions of the paper and of the reference. Of a crawl, only its
requests are used: URL, begin and status. If one was lost by a kill, then its response
counts as a sight of the URLs in it, and not as a fetch.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from tests.support.judged_requests import (
    JudgedInterval,
    Listing,
    likeness,
    shingles,
    site_of,
    unix_ms,
)
from tests.support.random_web import LIVING, MOVED, PRIVATE, SOFT_404, normal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tests.support.judged_requests import SeenRequest

DAMPING = 0.85
Clusters = dict[str, frozenset[str]]  # by URL
WAYS = "all", "in sitemaps", "by links"
CLASSES = (
    "errors",
    "redirects",
    "duplicate content, extra CGI parameter",
    "duplicate content, unmatched URLs",
    "table of contents",
    "image dominated page",
    "subset of another page",
    "missing content",
)


@dataclass
class WebMeasures:
    """The measures of the requests of a crawl.

    Args:
        seeds: of the crawl.
        requests: all of the crawl, oldest first.
    """

    seeds: list[str]
    requests: list[SeenRequest]
    readings: dict[str, list[SeenRequest]] = field(default_factory=dict)
    fetches: dict[str, list[SeenRequest]] = field(default_factory=dict)
    linked: dict[str, int] = field(default_factory=dict)
    led: set[str] = field(default_factory=set)
    listings: dict[str, dict[str, list[Listing]]] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)  # sitemaps that were never read

    def __post_init__(self) -> None:
        """Read the requests."""
        for each in self.requests:
            if not each.url.endswith(".xml"):
                self._read_page(each)
                continue
            if not each.content.is_readable:
                self.lost.add(each.url)
            elif each.status in LIVING:
                self._read_sitemap(each)
        self.lost -= self.readings.keys()

    def _read_page(self, each: SeenRequest) -> None:
        for fetch in () if each.is_lost else (each, *each.hops()):
            known = self.fetches.setdefault(fetch.url, [])
            if not known or known[-1].ms != fetch.ms:  # else it is the same look at it
                known.append(fetch)
            if fetch is not each or fetch.url not in self.listings:
                self.led.add(fetch.url)
            if fetch.status == MOVED:
                self.led.add(fetch.answer.target)
        if each.url in self.seeds:
            self.linked.setdefault(each.url, each.ms)
        for url in each.content.links if each.status in LIVING else ():
            if normal(url) != each.end:
                self.linked.setdefault(normal(url), each.ms)

    def _read_sitemap(self, each: SeenRequest) -> None:
        sitemap, content = each.end, each.content
        self.lost.discard(each.url)
        self.readings.setdefault(sitemap, []).append(each)
        found = defaultdict(list)
        for entry in content.entries or ():
            found[normal(entry.url)].append(entry)
        for url, entries in found.items():
            dates = tuple(unix_ms(x.date) for x in entries if x.date)
            last, is_by_ping = entries[-1], each.url in each.pinged
            listing = Listing(
                each.ms, dates, last.changefreq, last.priority, is_by_ping
            )
            by_sitemap = self.listings.setdefault(url, {})
            by_sitemap.setdefault(sitemap, []).append(listing)

    # Sets of URLs

    def seen(self) -> dict[str, set[str]]:
        """Return the URLs seen, for each way."""
        by_lists = set(self.listings)
        by_links = set(self.linked) | self.led
        return dict(zip(WAYS, (by_lists | by_links, by_lists, by_links), strict=True))

    def sites(self) -> list[str]:
        """Return the sites with URLs."""
        return sorted({site_of(url) for url in self.seen()["all"]})

    def _of(self, site: str, urls: Iterable[str]) -> set[str]:
        return {url for url in urls if not site or site_of(url) == site}

    def last(self, url: str) -> SeenRequest | None:
        """Return the last request of a URL, if that was read."""
        last = self.fetches[url][-1] if url in self.fetches else None
        return last if last and last.status in LIVING else None

    def is_redirect(self, url: str) -> bool:
        """Return whether the last request was redirected."""
        return bool(self.fetches[url][-1].answer.target)

    def has_failed(self, url: str) -> bool:
        """Return whether the last request failed."""
        last = self.fetches[url][-1]
        return last.status >= 400 or not (last.status in LIVING or last.answer.target)

    # Duplicates

    def clusters(self) -> Clusters:
        """Return the cluster of each crawled URL, of one site."""
        return self._clusters(lambda one, other: site_of(one) == site_of(other))

    def _clusters(self, may_join: Callable[[str, str], bool]) -> Clusters:
        group = {url: {url} for url in self.fetches}
        for one, other in combinations(sorted(self.fetches), 2):
            if may_join(one, other) and self._are_copies(one, other):
                joined = group[one] | group[other]
                for url in joined:
                    group[url] = joined
        return {url: frozenset(each) for url, each in group.items()}

    def _are_copies(self, one: str, other: str) -> bool:
        for source, target in ((one, other), (other, one)):
            last = self.fetches[source][-1]
            if last.answer.target and last.end == target:
                return True
        first, second = self.last(one), self.last(other)
        if not (first and second):
            return False
        return likeness(first.content, second.content) >= 0.9

    def representative(self, urls: Iterable[str]) -> str:
        """Return the URL that represents a cluster."""
        urls = sorted(urls)
        ranks = self.pagerank()
        named, ends = set(), set()
        for url in urls:
            last = self.fetches[url][-1]
            if self.last(url) and last.content.canonical:
                named.add(last.content.canonical)
            if last.answer.target:
                ends.add(last.end)

        def order(url: str) -> tuple[object, ...]:
            listed = self.listings.get(url, {}).values()
            stated = [float(x[-1].priority) for x in listed if x[-1].priority]
            priority = max(stated, default=0.5)
            return (
                *(url not in self.listings, -priority, url not in named),
                *(url not in ends, -ranks.get(url, 0), len(url), url),
            )

        return min(urls, key=order)

    # Coverage

    def sizes(self, site: str = "") -> dict[str, tuple[int, ...]]:
        """Return URLs seen, crawled, distinct and useful, for each way."""
        found: dict[str, tuple[int, ...]] = {}
        clusters = self.clusters()
        for way, urls in self.seen().items():
            seen = self._of(site, urls)
            crawled = seen & self.fetches.keys()
            distinct = {clusters[url] for url in crawled}
            useful = {x for x in distinct if self.is_useful(self.representative(x))}
            found[way] = (len(seen), len(crawled), len(distinct), len(useful))
        return found

    def is_useful(self, url: str) -> bool:
        """Return whether the last request was read and stored a statement."""
        last = self.last(url)
        return bool(last and last.content.says)

    def pagerank_share(self, site: str) -> float | None:
        """Return formula (4).

        A URL that only its other forms name, as canonical, counts once it is seen.
        """
        ranks = self.pagerank()
        targets = {target for _, target in self.links()} & self.seen()["all"]
        known = {url: rank for url, rank in ranks.items() if url in targets}
        own = self._of(site, known)
        whole = sum(known[url] for url in own)
        part = sum(known[url] for url in own & self.listings.keys())
        return part / whole if whole else None

    def links(self) -> set[tuple[str, str]]:
        """Return the links of the last version of each document, and redirects."""
        pairs = set()
        for url, fetches in self.fetches.items():
            if fetches[-1].answer.target:
                pairs.add((url, fetches[-1].end))
                continue
            own = (x for x in fetches if x.status in LIVING and not x.answer.target)
            content = max(own, key=lambda x: x.ms, default=fetches[-1]).answer
            for each in (*content.links, content.canonical):
                pairs.add((url, normal(each or url)))
        return {(one, other) for one, other in pairs if one != other}

    def pagerank(self) -> dict[str, float]:
        """Return the PageRank of each URL, up to a factor."""
        if not hasattr(self, "_ranks"):
            self._ranks = self._rank()
        return self._ranks

    def _rank(self) -> dict[str, float]:
        nodes = self.seen()["all"] | {url for pair in self.links() for url in pair}
        out = defaultdict(list)
        for source, target in self.links():
            out[source].append(target)
        ranks = dict.fromkeys(nodes, 1 / len(nodes))
        for _ in range(150):
            idle = sum(rank for url, rank in ranks.items() if url not in out)
            base = (1 - DAMPING + DAMPING * idle) / len(nodes)
            new = dict.fromkeys(nodes, base)
            for source, targets in out.items():
                for target in targets:
                    new[target] += DAMPING * ranks[source] / len(targets)
            ranks = new
        return ranks

    # What sitemaps miss

    def is_duplicate(self, url: str, clusters: Clusters) -> bool:
        """Return whether another URL represents the content; no redirects."""
        is_other = self.representative(clusters[url]) != url
        return is_other and not self.is_redirect(url)

    def census(self, site: str = "") -> tuple[int, ...]:
        """Return the row of the census."""
        clusters = self.clusters()
        crawled = self._of(site, self.fetches)
        listed = crawled & self.listings.keys()
        missed = crawled - listed
        n_listed = sum(self.is_duplicate(url, clusters) for url in listed)
        n_missed = sum(self.is_duplicate(url, clusters) for url in missed)
        n_seen = len(self._of(site, self.listings))
        return (
            *(len(crawled), n_seen, len(listed), n_listed),
            *(len(missed), n_missed, len(missed) - n_missed),
        )

    def missed_classes(self) -> Counter[str]:
        """Return table 2."""
        clusters = self.clusters()
        missed = [
            url
            for url in self.fetches.keys() - self.listings.keys()
            if not self.is_duplicate(url, clusters)
        ]
        return Counter(self._class_of(url, clusters) for url in missed)

    def _class_of(self, url: str, clusters: Clusters) -> str:
        last = self.last(url)
        text = last.content.text if last else ""
        copies = self._copies(url, clusters) if last else []
        page = url.partition("?")[0]
        is_short = 0 < len(text.split()) < 50
        rules = (
            (CLASSES[0], self.has_failed(url) or text == SOFT_404),
            (CLASSES[1], self.is_redirect(url) or last is None),
            (CLASSES[2], page in {x.partition("?")[0] for x in copies}),
            (CLASSES[3], bool(copies)),
            (CLASSES[5], is_short and last and last.content.n_images),
            (CLASSES[6], self._is_part(url, shingles(text), clusters)),
        )
        return next((name for name, holds in rules if holds), CLASSES[7])

    def _is_part(self, url: str, own: set[tuple[str, ...]], clusters: Clusters) -> bool:
        for other in self._of(site_of(url), self.fetches) - clusters[url]:
            longer = self.last(other)
            whole = shingles(longer.content.text) if longer else set()
            is_longer = 0 < len(own) < len(whole) <= 4 * len(own)
            if is_longer and len(own & whole) >= 0.9 * len(own):
                return True
        return False

    def _copies(self, url: str, clusters: Clusters) -> list[str]:
        last = self.last(url)
        assert last is not None
        found = []
        for other in self._of(site_of(url), self.fetches):
            read = self.last(other)
            if read is None or other in clusters[url]:
                continue
            is_like = likeness(last.content, read.content) >= 0.7
            is_first = self.representative({url, other}) == other
            if (is_like and is_first) or last.content.canonical == other:
                found.append(other)
        return found

    def listed_outcomes(self, site: str = "") -> Counter[str]:
        """Return the URLs that sitemaps list now by outcome, and the pages read."""
        last = {name: found[-1] for name, found in self.readings.items()}
        entries = [x for each in last.values() for x in each.content.entries or ()]
        listed = self._of(site, {normal(x.url) for x in entries})
        found = Counter(map(self.outcome, listed))
        found["listed"] = len(listed)
        pages = self._of(site, self.fetches)
        found["pages read"] = sum(self.outcome(x) == "read" for x in pages)
        return +found

    def outcome(self, url: str) -> str:
        """Return the outcome of the last try to fetch a URL."""
        if PRIVATE in url:
            return "blocked"
        if url not in self.fetches:
            return "not requested"
        last = self.fetches[url][-1]
        if last.answer.target:
            return "redirected"
        if last.status in (404, 410):
            return "not found"
        if last.status not in LIVING:
            return "failed"
        return "error page" if last.content.text == SOFT_404 else "read"

    # Freshness

    def first_listed(self) -> dict[str, Listing]:
        """Return the first listing of each URL."""
        return {
            url: min((x[0] for x in found.values()), key=lambda each: each.ms)
            for url, found in self.listings.items()
        }

    def first_seen(self, site: str = "") -> tuple[int, int, int, int, int]:
        """Return the URLs of both ways, SeenDelta, and how often who was first."""
        listed = self.first_listed()
        both = self._of(site, self.linked.keys() & listed.keys())
        deltas = [self.linked[url] // 1000 - listed[url].ms // 1000 for url in both]
        signs = Counter((x > 0) - (x < 0) for x in deltas)
        return len(both), sum(deltas), signs[1], signs[-1], signs[0]

    def by_ping(self) -> Counter[tuple[bool, bool]]:
        """Return figure 7: URLs by whether sitemaps were first, and by ping."""
        listed = self.first_listed()
        return Counter(
            (
                listed[url].ms // 1000 < self.linked[url] // 1000,
                listed[url].is_by_ping,
            )
            for url in self.linked.keys() & listed.keys()
        )

    def days(self) -> tuple[Counter[int], Counter[int], Counter[tuple[int, int]]]:
        """Return figures 2 and 6: URLs by the days on which they were first seen."""
        day = 86_400_000
        listed = {url: x.ms // day for url, x in self.first_listed().items()}
        linked = {url: ms // day for url, ms in self.linked.items()}
        both = listed.keys() & linked.keys()
        pairs = Counter((listed[url], linked[url]) for url in both)
        return Counter(listed.values()), Counter(linked.values()), pairs

    # Dates and copies

    def stated(self, url: str, ms: int) -> int | None:
        """Return the greatest date that sitemaps stated at a time."""
        dates: list[int] = []
        for sitemap, listings in self.listings.get(url, {}).items():
            times = [x.ms for x in self.readings[sitemap] if x.ms <= ms]
            last = [x for x in listings if times and x.ms == times[-1]]
            dates += [date for each in last for date in each.dates]
        return max(dates, default=None)

    def intervals(self, url: str) -> Iterator[JudgedInterval]:
        """Yield the intervals between two requests of a URL that were read."""
        read = [each for each in self.fetches[url] if each.status in LIVING]
        for before, after in pairwise(read):
            stated, last = self.stated(url, after.ms), self.stated(url, before.ms)
            changed = before.content.body() != after.content.body()
            at: float = after.content.changed * 1000
            if not (after.content.is_dated and before.ms < at <= after.ms):
                at = (before.ms + after.ms) / 2
            yield JudgedInterval(
                is_claimed=stated is not None
                and stated > min(last or stated, before.ms),
                content_changed=changed,
                statements_changed=before.content.says != after.content.says,
                is_dated=stated is not None,
                age_ms=after.ms - at if changed else 0,
                length_ms=after.ms - before.ms,
            )

    def _intervals(self, site: str) -> list[JudgedInterval]:
        urls = sorted(self._of(site, self.fetches))
        return [each for url in urls for each in self.intervals(url)]

    def lastmod(self, site: str) -> tuple[int, ...]:
        """Return the counts of the accuracy of dates of a site."""
        found = self._intervals(site)
        return (
            len(found),
            sum(x.is_claimed for x in found),
            sum(x.content_changed for x in found),
            sum(x.is_claimed and x.content_changed for x in found),
            sum(x.statements_changed for x in found),
            sum(x.is_dated and x.content_changed for x in found),
        )

    def copies(self, site: str = "") -> tuple[float, ...]:
        """Return refetches, changes, and sums in s: ages, times fresh and in all."""
        found = self._intervals(site)
        age = sum(x.age_ms for x in found) / 1000
        length = sum(x.length_ms for x in found) / 1000
        return (
            *(len(found), sum(x.content_changed for x in found)),
            *(age, length - age, length),
            sum(x.statements_changed for x in found),
        )

    # Usage

    def formats(self) -> Counter[str]:
        """Return table 1."""
        found: Counter[str] = Counter()
        for by_sitemap in self.listings.values():
            for sitemap in by_sitemap:
                found[self.readings[sitemap][-1].content.form] += 1
        found["unknown"] += len(self.lost)
        return +found

    def usage(self) -> tuple[int, ...]:
        """Return listings, and those with each value."""
        last = [x[-1] for found in self.listings.values() for x in found.values()]
        return (
            *(len(last), sum(bool(x.dates) for x in last)),
            *(
                sum(bool(x.changefreq) for x in last),
                sum(bool(x.priority) for x in last),
            ),
        )

    def sitemaps(self, site: str) -> tuple[int, int, int]:
        """Return the sitemaps of a site, those read again, and those unchanged."""
        files = [
            readings
            for url, readings in self.readings.items()
            if site_of(url) == site and not readings[-1].content.children
        ]
        lost = self._of(site, self.lost)
        again = [x for x in files if len(x) > 1]
        same = [
            readings
            for readings in again
            if len({tuple(x.url for x in y.content.entries or ()) for y in readings})
            == 1
        ]
        return len(files) + len(lost), len(again), len(same)

    def mirrors(self) -> set[tuple[str, int, int]]:
        """Return the contents on several sites: URL, number of URLs and of sites."""
        found = set(self._clusters(lambda *_: True).values())
        many = [x for x in found if len({site_of(url) for url in x}) > 1]
        return {
            (self.representative(x), len(x), len({site_of(url) for url in x}))
            for x in many
        }
