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

    run: int  # in which it is asked for
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
    # prefixes of URIs on other hosts, which confirm that the data are theirs
    graphs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SamplePage:
    """A page that is a sample of a dataset."""

    TAG: ClassVar = "sample"

    dataset: str  # name
    uri: str  # as it is in the data


@dataclass(frozen=True, slots=True)
class DescribedSample:
    """What an endpoint says of a sample of a dataset: only to be compared."""

    TAG: ClassVar = "described"

    dataset: str  # name
    uri: str  # as it is in the data


@dataclass(frozen=True, slots=True)
class RevisitedPage:
    """A page that each run fetches again."""

    TAG: ClassVar = "revisited"

    run: int  # in which it is fetched
    lastmod: str = ""  # nothing dates it


@dataclass(frozen=True, slots=True)
class RefreshedPage:
    """A page that is fetched again as it is due (`scrapy refresh`)."""

    TAG: ClassVar = "refreshed"

    # validators of the answer that was read last; empty if it had none
    etag: str = ""
    last_modified: str = ""
    is_stored: bool = False  # there are statements of it
    # where it was read, if it was redirected there; empty: at its own URL
    read_at: str = ""
    # Unix time in ms from which an answer of 404 says that it is gone; -1: not yet
    gone_from_ms: int = -1
    # another page was read there before, and left it with these statements
    is_left: bool = False

    def is_gone(self, status: int, at_ms: int) -> bool:
        """Return whether an answer says that the page is gone (RFC 9110 15.5)."""
        if status == 410:
            return True
        return status == 404 and 0 <= self.gone_from_ms <= at_ms


@dataclass(frozen=True, slots=True)
class RequestTask:
    """What a request is beside its URL, as far as it can be kept."""

    TAG: ClassVar = "request"

    callback: str = ""  # method of the spider; empty for its `parse`
    errback: str = ""  # method of the spider; empty if there is none
    method: str = "GET"  # of HTTP
    body: str = ""  # in Base64
    nonce: str = ""  # what sets a request apart that is to be sent in any case
    headers: tuple[tuple[str, str], ...] = ()  # names and values, in Latin-1
    # `meta`, `cb_kwargs`, `cookies`, `flags` and `encoding`, those that it has, as an
    # object in JSON
    details: str = ""

    @property
    def identity(self) -> str:
        """What two requests for one URL differ in."""
        return f"{self.method} {self.body} {self.nonce}"
