"""Small webs that change by chance: pages, links, redirects, copies and sitemaps."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import formatdate
from hashlib import blake2b
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from tests.support.sitemap_sites import index, urlset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import RawRequest, RawServer
    from tests.support.crawl_webs import Loopback

N_WORDS = 28  # of a page: so few that sketches are exact
SOFT_404 = "Not found: there is no such page"
PRIVATE = "/private/"  # no crawler may go there
LIVING = 200, 304
LATE_MS = 60_000  # most between the begin of a request and its arrival
MOVED = 301


class Entry(NamedTuple):
    """An entry of a sitemap: a URL as spelled there, and its metadata."""

    url: str
    date: str = ""
    changefreq: str = ""
    priority: str = ""


class Answer(NamedTuple):
    """The answer of a URL.

    Attributes:
        says: of JSON-LD, or of Turtle if there is no text.
        links: URLs as spelled.
        target: of a redirect.
        entries: of a sitemap, of any form; None for a page.
        children: sitemaps of an index.
        form: of a sitemap: `xml`, `text`, `atom`, `rss`, `broken` or `moved`.
        changed: time of the last change of the content, in seconds.
    """

    status: int = 200
    text: str = ""
    says: str = ""
    links: tuple[str, ...] = ()
    target: str = ""
    n_images: int = 0
    canonical: str = ""
    entries: tuple[Entry, ...] | None = None
    children: tuple[str, ...] = ()
    form: str = ""
    changed: int = 0
    is_dated: bool = False

    @property
    def is_sitemap(self) -> bool:
        """Whether it is the file of a sitemap or of an index, or leads to one."""
        return self.entries is not None or bool(self.children or self.form)

    @property
    def is_readable(self) -> bool:
        """Whether it is a sitemap that shows its form."""
        is_empty = self.form == "text" and not self.entries
        return self.is_sitemap and self.form != "broken" and not is_empty

    def body(self) -> tuple[bytes, str]:
        """Return the body and its media type."""
        if self.is_sitemap:
            return _sitemap(self)
        if not self.text and self.says:
            return f'<> <urn:x:says> "{self.says}" .'.encode(), "text/turtle"
        parts = [f'<a href="{escape(each)}"></a>' for each in self.links]
        parts += ["<img src='/i.png'>"] * self.n_images
        if self.says:
            said = f'{{"@id": "urn:x:s", "urn:x:says": "{self.says}"}}'
            parts.append(f'<script type="application/ld+json">{said}</script>')
        head = (
            f'<link rel="canonical" href="{self.canonical}">' if self.canonical else ""
        )
        page = (
            f"<html><head>{head}</head><body>{self.text}{''.join(parts)}</body></html>"
        )
        return page.encode(), "text/html"


def _sitemap(answer: Answer) -> tuple[bytes, str]:
    if answer.children:
        return index(
            f"<loc>{each}</loc>" for each in answer.children
        ), "application/xml"
    entries = answer.entries or ()
    if answer.form == "broken":
        return b"<html><body>Welcome</body></html>", "text/html"
    if answer.form == "text":
        return "".join(f"{each.url}\n" for each in entries).encode(), "text/plain"
    urls = [(escape(each.url), each) for each in entries]
    if answer.form == "atom":
        rows = "".join(
            f"<entry><link href='{url}'/>"
            + (f"<updated>{each.date}</updated>" if each.date else "")
            + "</entry>"
            for url, each in urls
        )
        feed = f"<feed xmlns='http://www.w3.org/2005/Atom'>{rows}</feed>"
        return feed.encode(), "application/atom+xml"
    if answer.form == "rss":
        rows = "".join(f"<item><link>{url}</link></item>" for url, _ in urls)
        feed = f"<rss version='2.0'><channel>{rows}</channel></rss>"
        return feed.encode(), "application/rss+xml"
    names = ("lastmod", "date"), ("changefreq",) * 2, ("priority",) * 2
    found = []
    for url, each in urls:
        values = "".join(
            f"<{tag}>{getattr(each, name)}</{tag}>"
            for tag, name in names
            if getattr(each, name)
        )
        found.append(f"<loc>{url}</loc>{values}")
    return urlset(found), "application/xml"


class RandomWeb:
    """Sites of one host each, which change by chance.

    Args:
        hosts: addresses of the sites.
        seed: of chance.

    Attributes:
        answers: by URL in normal form.
        seeds: where a crawl begins.
        robots: the sitemaps that `robots.txt` names, by site.
        unnamed: sitemaps that only a ping names.
        ahead_secs: how far the clock of the web is ahead.
    """

    def __init__(self, loopback: Loopback, hosts: list[str], seed: int) -> None:
        self._loopback, self._random = loopback, random.Random(seed)
        self._moves = random.Random(-seed - 1)  # of sitemaps
        self.servers: list[RawServer] = [loopback(host=host) for host in hosts]
        self.roots = [server.url("") for server in self.servers]
        self.answers: dict[str, Answer] = {}
        self.robots: dict[str, list[str]] = {root: [] for root in self.roots}
        self.unnamed: list[str] = []
        self.ahead_secs = 0
        self._styles: dict[str, str] = {}
        self._now = int(time.time())
        self._n = 0
        self._lag: dict[str, Entry] = {}
        for root in self.roots:
            self._begin(root)
        for root in self.roots:
            self._link(root)
        self.seeds = [f"{root}/" for root in self.roots[:-1]]
        lone = f"{self.roots[0]}/lone"
        self._page(lone)
        self.seeds.append(lone)
        self.serve()

    def _begin(self, root: str) -> None:
        """Make the pages of a site, and its sitemaps."""
        chance = self._random
        self._page(f"{root}/")
        for n in range(chance.randint(5, 8)):
            silent = {"says": ""} if chance.random() < 0.2 else {}
            self._page(f"{root}/p/{n}", **silent)
        for n in range(chance.randint(2, 4)):
            self._odd(root, n)
        styles = ("right", "now", "frozen", "none")
        for n in range(chance.randint(1, 3)):
            form = chance.choice(["xml", "xml", "xml", "text", "atom", "rss", "broken"])
            url = f"{root}/map-{n}.xml"
            self._styles[url] = chance.choice(styles)
            self.answers[url] = Answer(entries=(), form=form)
            where = chance.random()
            if where < 0.2:
                self.unnamed.append(url)
            elif where < 0.5:
                above = f"{root}/index-{n}.xml"
                self.answers[above] = Answer(children=(url,))
                self.robots[root].append(above)
            elif self._moves.random() < 0.3:
                above = f"{root}/moved-{n}.xml"
                self._put(above, Answer(MOVED, target=url, form="moved"))
                self.robots[root].append(above)
            else:
                self.robots[root].append(url)
            for each in self._pages(root):
                if chance.random() < 0.4:
                    self._list(url, each)
        if chance.random() < 0.3:
            self.robots[root].append(f"{root}/no-such-map.xml")
        self._date()

    def words(self, n: int = N_WORDS) -> str:
        """Return a text that is like no other one."""
        self._n += 1
        digest = blake2b(str(self._n).encode(), digest_size=4).hexdigest()
        return " ".join(f"w{digest}x{n}" for n in range(n))

    def _page(self, url: str, **values: Any) -> None:
        given: dict[str, Any] = {
            "text": self.words(),
            "says": self.words(1),
            "changed": self._now,
        }
        if "/data/" in url:  # a page in its place would not replace the copy
            given["text"] = ""
        is_dated = self._random.random() < 0.3
        self.answers[url] = Answer(**given | {"is_dated": is_dated} | values)

    def _pages(self, root: str = "") -> list[str]:
        """Return the URLs of a site that are no sitemaps."""
        return sorted(
            url
            for url, answer in self.answers.items()
            if url.startswith(f"{root}/" if root else "") and not answer.is_sitemap
        )

    def _odd(self, root: str, n: int) -> None:
        """Add a URL of another kind."""
        chance = self._random
        texts = ("", SOFT_404)  # of which no other page is made
        here = [x for x in self._pages(root) if self.answers[x].text not in texts]
        here = [x for x in here if "?" not in x]
        page, there = chance.choice(here), self._target("")
        text, other = self.answers[page].text, self.answers[there].text
        words = text.split()
        new = self.words(chance.choice([1, 2, 4])).split()  # one is a near-duplicate
        query = text if chance.random() < 0.7 else self.words()
        makers: dict[str, Callable[[str], object]] = {
            "copy": lambda url: self._page(url, text=text),
            "mirror": lambda url: self._page(url, text=other),
            "near": lambda url: self._page(
                url, text=" ".join([*words[len(new) :], *new])
            ),
            "part": lambda url: self._page(
                url, text=" ".join(words[: len(words) * 2 // 3])
            ),
            "query": lambda _: self._page(f"{page}?a=1&b={n}", text=query),
            "moved": lambda url: self._put(url, Answer(MOVED, target=page)),
            "far": lambda url: self._put(url, Answer(MOVED, target=there)),
            "soft": lambda url: self._put(url, Answer(text=SOFT_404)),
            "data": self._page,
            "image": lambda url: self._page(url, text=self.words(9), n_images=2),
            "canonical": lambda url: self._page(url, canonical=page),
            "slow": lambda url: self._put(url, Answer(500)),
            "lost": lambda url: self._put(url, Answer(chance.choice([404, 410]))),
            "private": lambda _: self._page(f"{root}{PRIVATE}{n}"),
        }
        kind = chance.choice(sorted(makers))
        makers[kind](f"{root}/{kind}/{n}")

    def _put(self, url: str, answer: Answer) -> None:
        self.answers[url] = answer

    def _link(self, root: str) -> None:
        """Let pages of a site link to others, and to some of other sites."""
        chance = self._random
        front = f"{root}/"
        for url in self._pages():
            is_near = url.startswith(front)
            if url != front and chance.random() < (0.4 if is_near else 0.07):
                self._add_link(front, url)
            with_text = [x for x in self._pages(root) if self.answers[x].text]
            if is_near and chance.random() < 0.4:
                self._add_link(chance.choice(with_text), url)

    def _add_link(self, page: str, url: str) -> None:
        answer = self.answers[page]
        if answer.text != SOFT_404:
            links = tuple(dict.fromkeys((*answer.links, self._spelled(url))))
            self.answers[page] = answer._replace(links=links)

    def _spelled(self, url: str) -> str:
        """Return one of the spellings of a URL."""
        page, mark, query = url.partition("?")
        if query and self._random.random() < 0.5:
            query = "&".join(reversed(query.split("&")))
        return page + mark + query

    def _list(self, sitemap: str, url: str) -> None:
        """Add an entry to a sitemap."""
        chance, answer = self._random, self.answers[sitemap]
        if answer.form == "broken":
            return
        entry = Entry(self._spelled(url))
        if answer.form == "xml":
            entry = entry._replace(
                changefreq=chance.choice(["", "", "daily"]),
                priority=chance.choice(["", "", "0.8", "0.3"]),
            )
        entries = tuple(x for x in answer.entries or () if normal(x.url) != url)
        self.answers[sitemap] = answer._replace(entries=(*entries, entry))

    def _date(self) -> None:
        """Date the entries of all sitemaps, each in its style."""
        for sitemap, style in self._styles.items():
            answer = self.answers[sitemap]
            entries = []
            for each in answer.entries or ():
                page = self.answers[normal(each.url)]
                date = {
                    "right": _text_of(page.changed or self._now),
                    "now": _text_of(self._now),
                    "frozen": "2020-01-01T00:00:00Z",
                    "none": "",
                }[style]
                has_date = answer.form in ("xml", "atom")
                entries.append(each._replace(date=date if has_date else ""))
            self.answers[sitemap] = answer._replace(entries=tuple(entries))

    def evolve(self) -> None:
        """Let some time pass: pages change, come and go; sitemaps follow."""
        chance = self._random
        self._now = max(int(time.time()) + self.ahead_secs, self._now + 1)
        for url in self._pages():
            answer = self.answers[url]
            if answer.target or answer.text == SOFT_404:
                self._move(url)
            elif answer.status != 200:
                if chance.random() < 0.4:
                    self._page(url)
            elif chance.random() < 0.35:
                self._change(url)
        for root in self.roots:
            self._grow(root)
        self._drop()
        self._move_sitemaps()
        self._date()
        self.serve()

    def _grow(self, root: str) -> None:
        """Add pages, which links or sitemaps may name."""
        chance = self._random
        self._odd(root, self._n)
        new = f"{root}/new/{self._n}"
        self._page(new)
        if chance.random() < 0.7:
            self._add_link(f"{root}/", new)
        for sitemap in self._styles:
            if sitemap.startswith(f"{root}/") and chance.random() < 0.5:
                self._list(sitemap, new)

    def _drop(self) -> None:
        """Let some sitemaps lose an entry."""
        for sitemap in self._styles:
            entries = self.answers[sitemap].entries or ()
            if entries and self._random.random() < 0.2:
                gone = self._random.choice(entries)
                left = tuple(each for each in entries if each != gone)
                self.answers[sitemap] = self.answers[sitemap]._replace(entries=left)

    def _move_sitemaps(self) -> None:
        """Let some sitemaps move elsewhere; the old URLs lead there."""
        for old in [x for x in self._styles if self._moves.random() < 0.1]:
            new = f"{old.removesuffix('.xml')}-{self._n}.xml"
            self._put(new, self.answers[old])
            self._put(old, Answer(MOVED, target=new, form="moved"))
            self._styles[new] = self._styles.pop(old)

    def _change(self, url: str) -> None:
        chance, answer = self._random, self.answers[url]
        text, says = answer.text, answer.says
        is_front = urlsplit(url).path == "/"
        match chance.choice(["text", "says", "both", "leaves", "moves"]):
            case "text" if text:
                answer = answer._replace(text=self.words())
            case "says" if says:
                answer = answer._replace(says=self.words(1))
            case "leaves" if not is_front:
                answer = Answer(chance.choice([404, 410, 500]))
            case "moves" if text and not (is_front or self._is_far_end(url)):
                answer = Answer(MOVED, target=self._target(url))
            case _:
                text = self.words() if text else ""
                answer = answer._replace(text=text, says=self.words(1))
        self.answers[url] = answer._replace(changed=self._now)

    def _is_far_end(self, url: str) -> bool:
        """Return whether another site redirects to a page.

        A crawl sees the rest of such a chain in an order of its own.
        """
        root = url[: url.index("/", 8)]
        return any(
            answer.target == url and not source.startswith(f"{root}/")
            for source, answer in self.answers.items()
        )

    def _target(self, url: str) -> str:
        """Return a page to which a URL can be redirected, often of its site."""
        is_near = bool(url) and self._random.random() < 0.6
        root = url[: url.index("/", 8)] if is_near else ""
        others = (x for x in self._pages(root) if x != url and "?" not in x)
        pages = [x for x in others if PRIVATE not in x]
        texts = [x for x in pages if self.answers[x].text and self.answers[x].says]
        return self._random.choice([x for x in texts if urlsplit(x).path != "/"])

    def _move(self, url: str) -> None:
        """Let a redirect lead elsewhere, or end."""
        answer = self.answers[url]
        is_over = answer.target and self.answers[answer.target].status != 200
        if is_over or self._random.random() < 0.2:
            self._page(url)

    def was_asked(self, url: str, ms: int) -> bool:
        """Return whether a URL was requested within some seconds of a time."""
        later_ms = 1000 * (time.time() - time.monotonic() + self.ahead_secs) - ms
        return any(
            normal(root + each.target) == url
            and abs(1000 * each.at + later_ms) <= LATE_MS
            for root, server in zip(self.roots, self.servers, strict=True)
            for each in server.requests
        )

    def serve(self) -> None:
        """Serve the present answers."""
        for root, server in zip(self.roots, self.servers, strict=True):
            server.pages.clear()
            lines = ["User-agent: *", f"Disallow: {PRIVATE}"]
            lines += [f"Sitemap: {each}" for each in self.robots[root]]
            body = "\n".join(lines).encode()
            server.pages["/robots.txt"] = self._loopback.response(body, "text/plain")
            for url, answer in self.answers.items():
                if url.startswith(f"{root}/"):
                    for target in self._spellings(url.removeprefix(root)):
                        self._serve(server, target, answer)

    @staticmethod
    def _spellings(target: str) -> Iterator[str]:
        yield target
        page, mark, query = target.partition("?")
        if query:
            yield page + mark + "&".join(reversed(query.split("&")))

    def _serve(self, server: RawServer, target: str, answer: Answer) -> None:
        respond = self._loopback.response
        if answer.status != 200:
            status = {MOVED: "301 Moved", 404: "404 No", 410: "410 Gone", 500: "500 Oh"}
            headers = {"Location": answer.target} if answer.target else {}
            failure = respond(b"", "", status=status[answer.status], **headers)
            server.pages[target] = failure
            return
        body, media_type = answer.body()
        tag = f'"{blake2b(body, digest_size=8).hexdigest()}"'
        headers = {"ETag": tag}
        if answer.is_dated and not answer.is_sitemap:
            headers["Last_Modified"] = formatdate(answer.changed, usegmt=True)

        def reply(request: RawRequest) -> bytes:
            if request.headers.get("if-none-match") == tag:
                return respond(b"", "", status="304 Not Modified", **headers)
            return respond(body, media_type, **headers)

        server.pages[target] = reply


def normal(url: str) -> str:
    """Return the normal form: the parameters of a query have an order."""
    with suppress(ValueError):
        page, query = url.split("?")
        return f"{page}?{'&'.join(sorted(query.split('&')))}"
    return url


def _text_of(secs: int) -> str:
    return datetime.fromtimestamp(secs, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
