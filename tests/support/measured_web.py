"""A web of two sites that change in steps, and its measures counted by hand.

The measures follow from the definitions of the paper and of the reference. Of a crawl,
only its requests are used: URL, begin and status.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tests.support.sitemap_sites import urlset

if TYPE_CHECKING:
    from tests.support.crawl_webs import Loopback

FIRST_STEP_MS = 1_704_067_200_000  # 2024-01-01
DAY_MS = 86_400_000


class Answer(NamedTuple):
    """The response of a URL in a step.

    Attributes:
        links: paths of its links.
        target: of its redirect.
        lists: for a sitemap, paths and dates in days since `FIRST_STEP_MS`.
    """

    text: str = ""
    says: str = ""
    links: tuple[str, ...] = ()
    target: str = ""
    lists: tuple[tuple[str, int | None], ...] = ()


class Request(NamedTuple):
    """A request of a crawl that got a response.

    Attributes:
        answer: what the URL said at that time.
    """

    url: str
    ms: int
    status: int
    answer: Answer
    is_by_ping: bool = False


def words(name: str, version: int = 0) -> str:
    """Return a text that is like no other one."""
    return " ".join(f"{name}{version}x{n}" for n in range(60))


class MeasuredWeb:
    """Two sites; the second one has the target of a redirect alone.

    Attributes:
        step: number of changes so far.
    """

    def __init__(self, loopback: Loopback, host: str, other: str) -> None:
        self._loopback = loopback
        self.servers = loopback(host=host), loopback(host=other)
        self.at, self.far = (server.url for server in self.servers)
        self.step = 0

    def answers(self) -> dict[str, Answer]:
        """Return the responses of the first site in this step."""
        k = self.step
        new = tuple(f"/new/{n}" for n in range(1, k + 1))
        missing = "/gone", "/soft/1", "/soft/2"
        links = "/p/3", "/moved", "/far", "/dup", "/q?b=1&a=2", "/data", *missing, *new
        pages = {
            "/": Answer(words("front"), "front", links),
            "/lone": Answer(words("lone", k), "lone"),
            "/p/0": Answer(words("dated", k), "0"),
            "/p/1": Answer(words("still"), "1"),
            "/p/2": Answer(words("undated", k), "2"),
            "/p/3": Answer(words("said"), f"3 {k}"),
            "/dup": Answer(words("still"), "dup"),
            "/q?b=1&a=2": Answer(words("query"), "q"),
            "/data": Answer(str(k % 2), "in any order"),
            "/soft/1": Answer("Not found: there is no such page"),
            "/soft/2": Answer("Not found: there is no such page"),
            "/moved": Answer(words("still"), "1", target="/p/1"),
            "/far": Answer(target=self.far("/x")),
            "/new/4": Answer(words("by ping"), "4"),
            **{path: Answer(words(path), path) for path in new},
        }
        dated = ("/p/0", k), ("/p/0", 0), ("/p/1", 0), ("/q?a=2&b=1", 0)
        late = [(path, None) for path in ("/p/0", "/p/1", "/q?a=2&b=1", "/new/4")]
        return {
            **pages,
            "/dated.xml": Answer(lists=dated),
            "/undated.xml": Answer(lists=(("/p/2", None),)),
            "/late.xml": Answer(lists=tuple(late)),
        }

    def serve(self) -> None:
        """Serve the present step."""
        respond, pages = self._loopback.response, self.servers[0].pages
        for path, answer in self.answers().items():
            if answer.target:
                moved = "301 Moved Permanently"
                pages[path] = respond(status=moved, Location=answer.target)
            elif path == "/data":
                lines = sorted((b"<> <urn:x:a> 1 .\n", b"<> <urn:x:b> 2 .\n"))
                order = -1 if answer.text == "1" else 1
                pages[path] = respond(b"".join(lines[::order]), "text/turtle")
            elif answer.lists:
                pages[path] = respond(self._sitemap(answer), "application/xml")
            else:
                pages[path] = respond(self._page(answer), "text/html")
        robots = "".join(
            f"Sitemap: {self.at(f'/{x}.xml')}\n" for x in ("dated", "undated")
        )
        pages["/robots.txt"] = respond(robots.encode(), "text/plain")
        far = self._page(Answer(words("still"), "far"))
        self.servers[1].pages["/x"] = respond(far, "text/html")

    def _sitemap(self, answer: Answer) -> bytes:
        return urlset(
            f"<loc>{self.at(path).replace('&', '&amp;')}</loc>"
            + ("" if day is None else f"<lastmod>2024-01-{day + 1:02}</lastmod>")
            for path, day in answer.lists
        )

    def _page(self, answer: Answer) -> bytes:
        links = "".join(
            f'<a href="{x.replace("&", "&amp;")}">.</a>' for x in answer.links
        )
        script = ""
        if answer.says:
            said = f'{{"@id": "urn:x:s", "urn:x:says": "{answer.says}"}}'
            script = f'<script type="application/ld+json">{said}</script>'
        return f"<html>{script}<body>{answer.text}{links}</body></html>".encode()

    def answer_of(self, url: str) -> Answer:
        """Return the response of a URL in this step."""
        if url == self.far("/x"):
            return Answer(words("still"), "far")
        return self.answers().get(url.removeprefix(self.at("")), Answer())

    def normal(self, path: str) -> str:
        """Return the URL of a path; the parameters of a query have an order."""
        path, mark, query = path.partition("?")
        return self.at(path + mark + "&".join(sorted(query.split("&"))))


@dataclass
class RequestMeasures:
    """The measures of the requests of a crawl.

    Args:
        web: that was crawled.
        seeds: of the crawl.
        requests: all of the crawl, oldest first.
    """

    web: MeasuredWeb
    seeds: tuple[str, ...]
    requests: list[Request]
    listed: dict[str, tuple[int, bool]] = field(default_factory=dict)
    linked: dict[str, int] = field(default_factory=dict)
    fetches: dict[str, list[Request]] = field(default_factory=dict)
    stated: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read the requests."""
        fetches, stated = defaultdict(list), defaultdict(list)
        for each in self.requests:
            for path in {path for path, _ in each.answer.lists}:
                seen = each.ms, each.is_by_ping
                url = self.web.normal(path)
                self.listed.setdefault(url, seen)
                days = [
                    day for x, day in each.answer.lists if x == path and day is not None
                ]
                if days:
                    stated[url].append((each.ms, FIRST_STEP_MS + max(days) * DAY_MS))
            if each.answer.lists:
                continue
            fetches[self._name(each.url)].append(each)
            if each.url in self.seeds:
                self.linked.setdefault(each.url, each.ms)
            for path in each.answer.links if each.status == 200 else ():
                self.linked.setdefault(self.web.normal(path), each.ms)
        self.fetches, self.stated = dict(fetches), dict(stated)

    def _name(self, url: str) -> str:
        here = self.web.at("")
        return self.web.normal(url.removeprefix(here)) if url.startswith(here) else url

    def sets(self) -> dict[str, list[set[str]]]:
        """Return the URLs seen and crawled: of both ways, of sitemaps, of links."""
        by_lists, crawled = set(self.listed), set(self.fetches)
        by_links = set(self.linked) | (crawled - by_lists)
        ways = [by_lists | by_links, by_lists, by_links]
        return {"seen": ways, "crawled": [each & crawled for each in ways]}

    def sizes(self) -> list[list[int]]:
        """Return URLs seen, crawled, distinct and useful, for each way."""
        sets, found = self.sets(), []
        for seen, crawled in zip(sets["seen"], sets["crawled"], strict=True):
            distinct = {self._content(url) for url in crawled}
            useful = {self._content(url) for url in crawled if self._is_useful(url)}
            found.append([len(x) for x in (seen, crawled, distinct, useful)])
        return found

    def _content(self, url: str) -> str:
        last = self.fetches[url][-1]
        is_read = last.status == 200
        if last.answer.target.startswith("/"):
            return self._content(self.web.at(last.answer.target))
        return f"{url.split('/')[2]} {last.answer.text}" if is_read else url

    def _is_useful(self, url: str) -> bool:
        last = self.fetches[url][-1]
        return last.status == 200 and bool(last.answer.says)

    def mirrored(self) -> tuple[int, int]:
        """Return how many URLs and sites have the content that both sites have."""
        hosts = [
            url.split("/")[2]
            for url, (*_, last) in self.fetches.items()
            if last.answer.target or last.answer.text == words("still")
        ]
        return len(hosts), len(set(hosts))

    def first_seen(self) -> tuple[int, int, int, int]:
        """Return SeenDelta, and how often sitemaps, links and none were first."""
        deltas = [
            self.linked[url] // 1000 - self.listed[url][0] // 1000
            for url in self.linked.keys() & self.listed.keys()
        ]
        signs = Counter((x > 0) - (x < 0) for x in deltas)
        return sum(deltas), signs[1], signs[-1], signs[0]

    def by_ping(self) -> dict[tuple[bool, bool], int]:
        """Return figure 7: URLs by who was first, and by ping."""
        return Counter(
            (
                self.listed[url][0] // 1000 < self.linked[url] // 1000,
                self.listed[url][1],
            )
            for url in self.linked.keys() & self.listed.keys()
        )

    def lastmod(self) -> dict[str, list[int]]:
        """Return refetches, claimed, changed, both and new statements, by group."""
        names = "dated", "undated", "of the other site"
        found: dict[str, list[int]] = {name: [0] * 5 for name in names}
        for url, fetches in self.fetches.items():
            read = [each for each in fetches if each.status == 200]
            for before, after in pairwise(read):
                stated = self._stated(url, after.ms)
                last = self._stated(url, before.ms)
                is_claimed = bool(stated) and stated > max(last, 0) > 0
                is_changed = self._differs(before.answer, after.answer)
                row = found["dated" if stated else "undated"]
                if not url.startswith(self.web.at("")):
                    row = found["of the other site"]
                for place, holds in enumerate(
                    (
                        *(True, is_claimed, is_changed, is_claimed and is_changed),
                        before.answer.says != after.answer.says,
                    )
                ):
                    row[place] += holds
        return found

    @staticmethod
    def _differs(one: Answer, other: Answer) -> bool:
        return one._replace(target="") != other._replace(target="")

    def _stated(self, url: str, ms: int) -> int:
        return max(
            (stated for at, stated in self.stated.get(url, ()) if at <= ms), default=0
        )

    def inlinks(self) -> dict[str, int]:
        """Return how many other URLs link to each, by their last version."""
        pairs: set[tuple[str, str]] = set()
        for url, fetches in self.fetches.items():
            last = fetches[-1]
            read = [each for each in fetches if each.status == 200]
            for path in read[-1].answer.links if read else ():
                pairs.add((url, self.web.normal(path)))
            if last.answer.target:
                target = last.answer.target
                pairs.add((url, target if "//" in target else self.web.at(target)))
        return dict(Counter(target for source, target in pairs if source != target))
