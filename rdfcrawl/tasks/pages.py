"""Tasks of pages and dumps: whom they were asked for, and as what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page that a sitemap lists."""

    TAG: ClassVar = "listed"

    priority: float  # 0 to 1
    listed_secs: int  # when the sitemap was fetched, Unix time in seconds


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


@dataclass(frozen=True, slots=True)
class SamplePage:
    """A page that is a sample of a dataset."""

    TAG: ClassVar = "sample"

    dataset: str  # name
    uri: str  # as it is in the data
