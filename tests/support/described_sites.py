"""Sites that describe data in Turtle, many of them for one crawl."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import CrawlResult
    from tests.support.crawl_webs import Loopback

PREFIXES = """
@prefix void: <http://rdfs.org/ns/void#> .
@prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix hydra: <http://www.w3.org/ns/hydra/core#> .
@prefix ldes: <https://w3id.org/ldes#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix tree: <https://w3id.org/tree#> .
@prefix x: <urn:x:> .
"""


class TurtleSite:
    """A scripted site of Turtle documents."""

    def __init__(self, loopback: Loopback, host: str) -> None:
        self._loopback = loopback
        self.server: RawServer = loopback(host=host)
        self.at = self.server.url

    def put(self, path: str, turtle: str, **headers: str) -> str:
        """Serve Turtle, with the usual prefixes; return its URL."""
        body = (PREFIXES + turtle).encode()
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        self.server.pages[path] = self._loopback.response(body, "text/turtle", **fields)
        return self.at(path)

    def page(self, path: str) -> str:
        """Serve a page of one statement; return its URL."""
        return self.put(path, f'<> x:says "{path}" .')

    def asked(self) -> Counter[str]:
        """Return the number of requests for each target."""
        targets = Counter(self.server.targets)
        del targets["/robots.txt"]
        return targets


Describe = Callable[[TurtleSite], list[str]]


class SharedCrawl:
    """One crawl of sites that have nothing to do with one another.

    Attributes:
        result: of the crawl, once it has run.
    """

    result: CrawlResult

    def __init__(
        self, loopback: Loopback, net: int, describe: Sequence[Describe]
    ) -> None:
        self._hosts = (f"127.94.{net}.{number}" for number in count(1))
        self._loopback = loopback
        self._sites = {each.__name__: self.new_site() for each in describe}
        self.seeds = [url for d in describe for url in d(self.site(d))]

    def new_site(self) -> TurtleSite:
        """Return a site on a separate host."""
        return TurtleSite(self._loopback, next(self._hosts))

    def site(self, describe: Describe) -> TurtleSite:
        """Return the site that a function has described something on."""
        return self._sites[describe.__name__]
