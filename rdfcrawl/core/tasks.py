"""The tasks of records, and the text that stands for a task in the frontier."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import lru_cache
from typing import ClassVar, Final, TypeAlias

from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.source_tasks import SourceTask

MAX_TASK_CHARS: Final = 8192
_MOST_KEPT: Final = 256  # the pages of a sitemap have few different tasks


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
class PortalFile:
    """A file of a dataset of a portal."""

    TAG: ClassVar = "file"

    run: int  # in which it is fetched
    lastmod: str = ""  # digest of the claims of the portal about its content


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


Task: TypeAlias = (
    ListedPage
    | RevisitedPage
    | PortalFile
    | RefreshedPage
    | CollectionPage
    | DumpPart
    | SamplePage
    | DescribedSample
    | SourceTask
    | RequestTask
)


@lru_cache(_MOST_KEPT)
def encode_task(task: Task) -> str:
    """Return the text of a task: ASCII without control characters.

    Equal tasks have equal texts; with URL and kind, the text of a source's task is the
    identity of its record.

    Raises:
        SourceFault: `TOO_LARGE`: the text is too long for a record.

    >>> encode_task(ListedPage(8000, 1790000000))
    '["listed",8000,1790000000]'
    """
    text = encode(task)
    if len(text) > MAX_TASK_CHARS:
        raise SourceFault(Reason.TOO_LARGE, f"a task: {text[:100]}")
    return text


@lru_cache(_MOST_KEPT)
def decode_task(text: str) -> Task:
    """Return the task of a text.

    Raises:
        SourceFault: `BAD_RECORD`: the text is not a task.

    >>> decode_task('["page",2,7,"http://a.example/"]')
    CollectionPage(run=2, number=7, root='http://a.example/')
    """
    if len(text) > MAX_TASK_CHARS:
        raise SourceFault(Reason.BAD_RECORD, "the text of a task is too long")
    task: Task = decode(text, Task)
    return task


def describe_task(task: object) -> str:
    """Return a task for people, without fields that have their defaults.

    >>> describe_task(DumpPart("http://a.example/d", 0, 1))
    'dump(dataset=http://a.example/d, way=0, part=1)'
    """
    if isinstance(task, tuple):
        return f"[{', '.join(map(describe_task, task))}]"
    if isinstance(task, Enum):
        return str(task.value)
    if not is_dataclass(task):
        return str(task)
    members = (
        f"{each.name}={describe_task(value)}"
        for each in fields(task)
        if (value := getattr(task, each.name)) != each.default
        or each.default is MISSING
    )
    name = getattr(task, "TAG", type(task).__name__)
    return f"{name}({', '.join(members)})"
