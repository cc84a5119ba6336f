"""IRIs of the described crawl: reserved names that begin with the name of the log."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

from rdfcrawl.analysis.description.turtle import resource


class DescribedCrawl(NamedTuple):
    """The described crawl, and the IRIs of its parts as terms of Turtle.

    Attributes:
        log: name of its log.
        title: of the crawl, for people: its `CRAWL_ID`.
        publisher: who publishes the description, for people.
    """

    log: str
    title: str
    publisher: str

    @property
    def dataset(self) -> str:
        """The dataset of the crawl."""
        return resource(f"urn:rdfcrawl:crawl:{self.log}")

    @property
    def catalog(self) -> str:
        """The catalogue of the crawl and its hosts."""
        return resource(f"urn:rdfcrawl:crawl:{self.log}:catalog")

    @property
    def agent(self) -> str:
        """The publisher."""
        return resource(f"urn:rdfcrawl:crawl:{self.log}:publisher")

    def host(self, name: str) -> str:
        """Return the dataset of a host."""
        return resource(f"urn:rdfcrawl:crawl:{self.log}:host:{quote(name, safe=':')}")
