"""Requests of a crawl of a random web, and how much contents resemble each other."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from tests.support.random_web import MOVED, Answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

K = 8  # words of a shingle


class SeenRequest(NamedTuple):
    """A request of a crawl that got a response.

    Attributes:
        ms: its begin.
        answers: of the web at that time.
        last_url: the URL to which redirects were followed, or its own.
        asked: all URLs that the same run has requested.
        pinged: sitemaps that were read after a ping.
        is_lost: the crawl was killed before it noted the request. Only its statements
            or its links are known.
    """

    url: str
    ms: int
    status: int
    answers: Mapping[str, Answer]
    last_url: str
    asked: AbstractSet[str]
    pinged: frozenset[str] = frozenset()
    is_lost: bool = False

    @property
    def answer(self) -> Answer:
        """The answer of the URL itself."""
        return self.answers.get(self.url, Answer(404))

    @property
    def end(self) -> str:
        """The URL at which its redirects end, as far as they were followed."""
        url, target = self.url, self.answer.target
        while url in self.asked and target:
            url, target = target, self.answers.get(target, Answer(404)).target
        return url

    def hops(self) -> Iterator[SeenRequest]:
        """Yield the requests for the targets that were requested with the URL."""
        url = self.url
        while url != self.last_url and (url := self.answers[url].target):
            target = self.answers.get(url, Answer(404)).target
            yield self._replace(url=url, status=MOVED if target else self.status)

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


class JudgedInterval(NamedTuple):
    """The time between two requests of a URL that were read."""

    is_claimed: bool
    content_changed: bool
    statements_changed: bool
    is_dated: bool
    age_ms: float
    length_ms: int


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


def unix_ms(date: str) -> int:
    """Return the time of a date."""
    return round(datetime.fromisoformat(date).timestamp() * 1000)
