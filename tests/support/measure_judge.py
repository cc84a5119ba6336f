"""The measures of a crawl, counted by hand from its requests and the truth of the web.

They follow from the definitions of the paper and of the reference. Of a crawl, only its
requests are used: URL, begin and status.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from tests.support.random_web import LIVING, PRIVATE, SOFT_404, Answer, normal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

K = 8  # words of a shingle
DAMPING = 0.85
MOVED = 301
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


class SeenRequest(NamedTuple):
    """A request of a crawl that got a response.

    Attributes:
        ms: its begin.
        answers: of the web at that time.
        pinged: sitemaps that were read after a ping.
    """

    url: str
    ms: int
    status: int
    answers: Mapping[str, Answer]
    pinged: frozenset[str] = frozenset()

    @property
    def answer(self) -> Answer:
        """The answer of the URL itself."""
        return self.answers.get(self.url, Answer(404))

    @property
    def end(self) -> str:
        """The URL at which its redirects end."""
        url = self.url
        while (answer := self.answers.get(url)) and answer.target:
            url = answer.target
        return url

    def hops(self) -> Iterator[SeenRequest]:
        """Yield the requests for the targets that were requested with the URL."""
        url = self.answer.target
        while url and self.status != MOVED:
            target = self.answers.get(url, Answer(404)).target
            yield self._replace(url=url, status=MOVED if target else self.status)
            url = target

    @property
    def content(self) -> Answer:
        """The answer at which its redirects end."""
        return self.answers.get(self.end, Answer(404))


class Listing(NamedTuple):
    """What one reading of a sitemap says about a URL."""

    ms: int
    dates: tuple[int, ...]
    changefreq: str
    priority: str
    is_by_ping: bool


def site_of(url: str) -> str:
    """Return the site of a URL: a host, as all names are addresses."""
    return urlsplit(url).hostname or ""


def shingles(text: str) -> set[tuple[str, ...]]:
    """Return the shingles of a text; one of all words if they are few."""
    words = text.lower().split()
    if len(words) < K:
        return {tuple(words)} if words else set()
    return {tuple(words[n : n + K]) for n in range(len(words) - K + 1)}


def likeness(one: Answer, other: Answer) -> float:
    """Return the resemblance of two contents."""
    if not (one.text and other.text):
        return float(one.body() == other.body())
    some, others = shingles(one.text), shingles(other.text)
    return len(some & others) / len(some | others)


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
    lost: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Read the requests."""
        fetches, readings = defaultdict(list), defaultdict(list)
        named: dict[str, dict[str, list[Listing]]] = defaultdict(dict)
        for each in self.requests:
            if each.answer.is_sitemap:
                if each.status in LIVING:
                    readings[each.url].append(each)
                    self._read_sitemap(each, named)
                continue
            if each.url.endswith(".xml"):
                self.lost.add(each.url)
                continue
            fetches[each.url].append(each)
            for hop in each.hops():
                self.led.add(hop.url)
                fetches[hop.url].append(hop)
            if each.url in self.seeds:
                self.linked.setdefault(each.url, each.ms)
            if each.status == MOVED:
                self.led.add(each.answer.target)
            if each.url not in named:
                self.led.add(each.url)
            for url in each.content.links if each.status in LIVING else ():
                if normal(url) != each.end:
                    self.linked.setdefault(normal(url), each.ms)
        self.fetches, self.readings = dict(fetches), dict(readings)
        self.listings = dict(named)

    @staticmethod
    def _read_sitemap(
        each: SeenRequest, named: dict[str, dict[str, list[Listing]]]
    ) -> None:
        found = defaultdict(list)
        for entry in each.answer.entries or ():
            found[normal(entry.url)].append(entry)
        for url, entries in found.items():
            dates = tuple(_secs(x.date) * 1000 for x in entries if x.date)
            last = entries[-1]
            listing = Listing(
                *(each.ms, dates, last.changefreq, last.priority),
                each.url in each.pinged,
            )
            named[url].setdefault(each.url, []).append(listing)

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

    def clusters(self) -> dict[str, frozenset[str]]:
        """Return the cluster of each crawled URL, of one site."""
        return self._clusters(lambda one, other: site_of(one) == site_of(other))

    def _clusters(self, may_join) -> dict[str, frozenset[str]]:
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
        found, clusters = {}, self.clusters()
        for way, urls in self.seen().items():
            seen = self._of(site, urls)
            crawled = seen & self.fetches.keys()
            distinct = {clusters[url] for url in crawled}
            useful = {x for x in distinct if self.is_useful(self.representative(x))}
            found[way] = tuple(map(len, (seen, crawled, distinct, useful)))
        return found

    def is_useful(self, url: str) -> bool:
        """Return whether the last request was read and stored a statement."""
        last = self.last(url)
        return bool(last and last.content.says)

    def pagerank_share(self, site: str) -> float | None:
        """Return formula (4)."""
        ranks = self.pagerank()
        targets = {target for _, target in self.links()}
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
            read = [each for each in fetches if each.status in LIVING]
            content = read[-1].content if read else Answer()
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

    def is_duplicate(self, url: str, clusters: dict[str, frozenset[str]]) -> bool:
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

    def _class_of(self, url: str, clusters: dict[str, frozenset[str]]) -> str:
        last = self.last(url)
        if self.has_failed(url) or (last and last.content.text == SOFT_404):
            return CLASSES[0]
        if self.is_redirect(url) or last is None:
            return CLASSES[1]
        copies = self._copies(url, clusters)
        if any(x.partition("?")[0] == url.partition("?")[0] for x in copies):
            return CLASSES[2]
        if copies:
            return CLASSES[3]
        content = last.content
        if content.text and len(content.text.split()) < 50 and content.n_images:
            return CLASSES[5]
        own = shingles(content.text)
        for other in self._of(site_of(url), self.fetches):
            longer = self.last(other)
            if longer is None or other in clusters[url]:
                continue
            whole = shingles(longer.content.text)
            is_within = own and len(own & whole) >= 0.9 * len(own)
            if is_within and len(own) < len(whole) <= 4 * len(own):
                return CLASSES[6]
        return CLASSES[7]

    def _copies(self, url: str, clusters: dict[str, frozenset[str]]) -> list[str]:
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

    def listed_outcomes(self, site: str = "") -> tuple[int, ...]:
        """Return the row of the listed URLs by outcome."""
        outcomes: Counter[str] = Counter()
        for url in self._of(site, self.listings):
            outcomes[self.outcome(url)] += 1
        read = [x for x in self._of(site, self.fetches) if self.outcome(x) == "read"]
        names = "read", "redirected", "not found", "error page", "refused", "failed"
        return (
            *(outcomes.total(), *(outcomes[each] for each in names)),
            *(outcomes["not requested"], len(read)),
        )

    def outcome(self, url: str) -> str:
        """Return the outcome of the last try to fetch a URL."""
        if PRIVATE in url:
            return "refused"
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

    def intervals(self, url: str) -> Iterator[dict[str, object]]:
        """Yield the intervals between two requests of a URL that were read."""
        read = [each for each in self.fetches[url] if each.status in LIVING]
        for before, after in pairwise(read):
            stated, last = self.stated(url, after.ms), self.stated(url, before.ms)
            is_later = last is not None and stated is not None and stated > last
            changed = before.content.body() != after.content.body()
            at = after.content.changed * 1000
            if not (after.content.is_dated and before.ms < at <= after.ms):
                at = (before.ms + after.ms) / 2
            yield {
                "claimed": stated is not None and (is_later or stated > before.ms),
                "content": changed,
                "statements": before.content.says != after.content.says,
                "dated": stated is not None,
                "age": after.ms - at if changed else 0,
                "length": after.ms - before.ms,
            }

    def _intervals(self, site: str) -> list[dict[str, object]]:
        urls = sorted(self._of(site, self.fetches))
        return [each for url in urls for each in self.intervals(url)]

    def lastmod(self, site: str) -> tuple[int, ...]:
        """Return the counts of the accuracy of dates of a site."""
        found = self._intervals(site)
        return (
            len(found),
            sum(bool(x["claimed"]) for x in found),
            sum(bool(x["content"]) for x in found),
            sum(bool(x["claimed"] and x["content"]) for x in found),
            sum(bool(x["dated"] and x["content"]) for x in found),
            sum(bool(x["statements"]) for x in found),
        )

    def copies(self, site: str = "") -> tuple[float, ...]:
        """Return refetches, changes, sum of ages in s, days fresh and in all."""
        found = self._intervals(site)
        age = sum(x["age"] for x in found) / 1000
        length = sum(x["length"] for x in found) / 1000
        return (
            *(len(found), sum(bool(x["content"]) for x in found)),
            *(age, (length - age) / 86_400, length / 86_400),
            sum(bool(x["statements"]) for x in found),
        )

    # Usage

    def formats(self) -> Counter[str]:
        """Return table 1."""
        found: Counter[str] = Counter()
        for by_sitemap in self.listings.values():
            for sitemap in by_sitemap:
                found[self.readings[sitemap][-1].answer.form] += 1
        found["unknown"] += sum(
            readings[-1].answer.form == "broken" for readings in self.readings.values()
        )
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
            if site_of(url) == site and not readings[-1].answer.children
        ]
        lost = self._of(site, self.lost)
        again = [x for x in files if len(x) > 1 and x[-1].answer.form != "broken"]
        same = [
            readings
            for readings in again
            if len({tuple(x.url for x in y.answer.entries or ()) for y in readings})
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


def _secs(date: str) -> int:
    from datetime import datetime

    return int(datetime.fromisoformat(date).timestamp())
