"""Tasks of pages, of parts of dumps, and of requests of users' spiders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page that a sitemap lists."""

    TAG: ClassVar = "listed"

    rank: int  # its priority there, from 0 to 10,000
    listed_secs: int  # when the sitemap was fetched, Unix time in seconds
    run: int = 0  # in which the page is fetched
    lastmod: str = ""  # its date there


@dataclass(frozen=True, slots=True)
class CollectionPage:
    """A page of a collection."""

    TAG: ClassVar = "page"

    run: int  # in which it is requested
    number: int  # links from the first page to here, which has 1
    root: str  # URL of the first page


@dataclass(frozen=True, slots=True)
class DumpPart:
    """A file that is a part of a dataset."""

    TAG: ClassVar = "dump"

    dataset: str  # name
    way: int  # index among its ways
    part: int  # index among the parts of the way
    run: int = 0  # in which the file is fetched
    lastmod: str = ""  # date of the dataset in its description
    # prefixes of URIs on other hosts, which confirm that the data belong to them
    graphs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SamplePage:
    """A page that is a sample of a dataset."""

    TAG: ClassVar = "sample"

    dataset: str  # name
    uri: str  # as in the data


@dataclass(frozen=True, slots=True)
class DescribedSample:
    """An endpoint's description of a sample of a dataset, only for comparison."""

    TAG: ClassVar = "described"

    dataset: str  # name
    uri: str  # as in the data


@dataclass(frozen=True, slots=True)
class RevisitedPage:
    """A page that each run fetches again."""

    TAG: ClassVar = "revisited"

    run: int  # in which it is fetched
    lastmod: str = ""  # undated


@dataclass(frozen=True, slots=True)
class RefreshedPage:
    """A page that is fetched again when it is due (`scrapy refresh`)."""

    TAG: ClassVar = "refreshed"

    # validators of the last read response; empty if it had none
    etag: str = ""
    last_modified: str = ""
    is_stored: bool = False  # the store has statements of it
    # redirect target where it was read; empty: its own URL
    read_at: str = ""
    # Unix time in ms from which status 404 means that it is gone; -1: not yet
    gone_from_ms: int = -1
    # another page was read there before, and left these statements
    is_left: bool = False

    def is_gone(self, status: int, at_ms: int) -> bool:
        """Return whether a status means that the page is gone (RFC 9110 15.5)."""
        if status == 410:
            return True
        return status == 404 and 0 <= self.gone_from_ms <= at_ms


@dataclass(frozen=True, slots=True)
class RequestTask:
    """The serializable parts of a request, except its URL."""

    TAG: ClassVar = "request"

    callback: str = ""  # method of the spider; empty for its `parse`
    errback: str = ""  # method of the spider; empty if there is none
    method: str = "GET"  # of HTTP
    body: str = ""  # in Base64
    nonce: str = ""  # makes a request unique that is sent in any case
    headers: tuple[tuple[str, str], ...] = ()  # names and values, in Latin-1
    # `meta`, `cb_kwargs`, `cookies`, `flags` and `encoding`, if present, as a JSON
    # object
    details: str = ""

    @property
    def identity(self) -> str:
        """Distinguishes requests for the same URL."""
        return f"{self.method} {self.body} {self.nonce}"
