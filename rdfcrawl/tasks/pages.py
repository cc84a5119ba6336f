"""Tasks of pages and dumps: whom they were asked for, and as what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page that a sitemap lists.

    Attributes:
        priority: 0 to 1.
        listed_secs: when the sitemap was fetched, Unix time in seconds.
    """

    TAG: ClassVar = "listed"

    priority: float
    listed_secs: int


@dataclass(frozen=True, slots=True)
class CollectionPage:
    """A page of a collection.

    Attributes:
        run: in which it is asked for.
        number: links from the first page to here, which has 1.
        root: URL of the first page.
    """

    TAG: ClassVar = "page"

    run: int
    number: int
    root: str


@dataclass(frozen=True, slots=True)
class DumpPart:
    """A file that is a part of a dataset.

    Attributes:
        dataset: name.
        way: index among its ways.
        part: index among the parts of the way.
    """

    TAG: ClassVar = "dump"

    dataset: str
    way: int
    part: int


@dataclass(frozen=True, slots=True)
class SamplePage:
    """A page that is a sample of a dataset.

    Attributes:
        dataset: name.
        uri: as it is in the data.
    """

    TAG: ClassVar = "sample"

    dataset: str
    uri: str
