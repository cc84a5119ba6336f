"""The values that cross the borders between rooms."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, Protocol, TypeAlias

from rdfcrawl.core.clock import now_ms
from rdfcrawl.core.reservations import NOTHING, Reservations

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterator,
        Awaitable,
        Callable,
        Iterable,
        Mapping,
    )
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from rdfcrawl.core.errors import Fault, Reason
    from rdfcrawl.core.formats import Format
    from rdfcrawl.core.link_relations import Link
    from rdfcrawl.core.quad_chunks import QuadChunk
    from rdfcrawl.core.tasks.text import Task

_NO_COUNTS: Final[Mapping[str, int]] = MappingProxyType({})
_NO_LINKS: Final[AbstractSet[Link]] = frozenset()
MAX_RETRIES: Final = 3  # a record has two bits for it in the frontier


class Kind(IntEnum):
    """How a URI is requested and what its response means; four bits in the frontier.

    Attributes:
        is_source: its responses are no documents but lead to them.
        is_of_url: two records with one URL are the same.
    """

    is_source: bool
    is_of_url: bool

    PAGE = 0
    DUMP = 1
    # Sources: what is meant by one of their URLs is said by the record's task.
    SITEMAP = 2
    RESOURCESYNC = 3
    CKAN = 4
    SPARQL = 5
    REQUEST = 6  # of a user's spider, with a callback
    CUSTOM = 7  # of a harvester of the user's, which the task names
    WARC = 8

    def __init__(self, number: int) -> None:
        self.is_source = number > 1 and number != 6  # asked for often: no property
        self.is_of_url = number < 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One file in an archive, as it was read.

    Attributes:
        name: as the archive has it; data, never a path.
        format: name of what the file was read as; empty if it was not.
    """

    name: str
    format: str = ""
    n_quads: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    """One URI in the frontier.

    Records of sources are the same if URL, kind and task are; of others, if URL and
    `change` are.

    Attributes:
        lost: 1 if a worker died that held it: it is handled with care since; else 0.
        task: what it is for beyond its URL: which step of a source is meant, or what
            a page is a part of (`core.tasks.text`).
        change: stands for a change of a document that was seen before, and for which
            it is fetched again; empty for all others.
        profile: number of the arguments that it is dealt with by: those of the spider
            that queued it (`frontier/queue/profiles.py`).
        blame: eighths of lives that it lost, as workers died while it was asked for or
            read; kept by `lua/reap.lua`.
    """

    url: str  # absolute, as it will be requested, without fragment
    kind: Kind = Kind.PAGE
    depth: int = 0  # links followed from a seed to here, at most 255
    parent: str = ""  # URL of the document that named it; empty for seeds
    chain: tuple[str, ...] = ()  # URLs that redirected here from other hosts, in order
    lost: int = 0
    retries: int = 0  # times it was tried and put back, at most `MAX_RETRIES`
    task: Task | None = None
    change: str = ""
    profile: int = 0
    blame: int = 0

    def task_text(self) -> str:
        """Return the text of its task; empty without one.

        Raises:
            SourceFault: `TOO_LARGE`: it is longer than a record holds.
        """
        if self.task is None:  # as of most
            return ""
        from rdfcrawl.core.tasks.text import encode_task  # noqa: PLC0415

        return encode_task(self.task)


class Urgency(IntEnum):
    """The urgency of a record among those of its host.

    The numbers are in queues and tables: those that came later stand in between.
    """

    SOON = 1
    HIGHEST = 4
    HIGH = 5
    RAISED = 6
    ORDINARY = 2
    LOWERED = 7
    LOW = 8
    LATER = 3  # when the host has nothing else
    REFRESH = 9  # in half of the host's turns, if all others want some, too


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A record that a source leads to.

    Attributes:
        record: to be queued; its URL need not be requestable.
        is_part_of_source: the scope and filters of the crawl do not judge it, as they
            do links.
        urgency: when it is wanted.
        change: of a document that was seen before, what says that it changed since:
            it is fetched again, once for each change.
    """

    record: Record
    is_part_of_source: bool = False
    urgency: Urgency = Urgency.ORDINARY
    change: str = ""


class LinkedIris(NamedTuple):
    """IRIs that the statements of a document link to, found by its harvester."""

    iris: frozenset[bytes]


HarvestedPart: TypeAlias = "bytes | FollowUp | Fault | LinkedIris"
"""What a harvester yields of one document: a chunk of N-Quads, or something else."""


@dataclass(slots=True, kw_only=True, eq=False)
class FetchedResponse:
    """The response of a server for one URI; header values are as it sent them.

    `body` holds a small body of a response of 2xx, `path` names the spool file of a
    large one; both are unset for a URI that gave no document.
    """

    requested: tuple[str, ...] = ()  # URLs, in order; none if part of a response
    status: int = 0  # of HTTP, of the last response; 0 if there was none
    media_type: str = ""  # of `Content-Type`, lower case, without parameters
    charset: str = ""  # of `Content-Type`, lower case; empty if it was not declared
    etag: str = ""
    last_modified: str = ""
    cache_control: str = ""
    http_links: str = ""  # of all `Link` headers, joined by commas; at most 64 KiB
    # Names and lines of the headers in `reservations`.
    reservation_headers: tuple[tuple[str, str], ...] = ()
    # Those that the request wanted kept: lower-case names and values.
    headers: tuple[tuple[str, str], ...] = ()
    # Of Scrapy, to a request of a user's spider; without its body.
    scrapy_response: object = None
    body: bytes | None = None
    path: Path | None = None
    error_body: bytes = b""  # its beginning, of a response of 4xx or 5xx
    n_bytes: int = 0  # length of the decoded body
    started_ms: int = 0  # beginning and end of the fetch, Unix time in ms
    ended_ms: int = 0
    is_partial: bool = False  # a part of the body is missing


class ReadResult(NamedTuple):
    """The result of reading a document; set once, when its chunks are read.

    Attributes:
        format: unset if the body was not read.
        decided_by: the reason for the format (see `sniffing.decide`).
        packings: of the body, from the outside in.
        members: of an archive, the first 100.
        n_members: of an archive.
        extracted: statements by extractor, if there are several.
        links: of the page and of `http_links`.
        outlinks: links in the statements, as lines of the log of links.
        targets: of all of these, if the document was read at once.
        is_partial: the document has statements that were not read.
    """

    format: Format | None = None
    decided_by: str = ""
    packings: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()
    n_members: int = 0
    extracted: Mapping[str, int] = _NO_COUNTS
    links: AbstractSet[Link] = _NO_LINKS
    outlinks: bytes = b""
    targets: AbstractSet[bytes] | None = None
    is_partial: bool = False


NOT_READ: Final = ReadResult()


class DocumentFacts(NamedTuple):
    """What a later run compares a document by, and other documents; empty if unknown.

    Attributes:
        content_hash: of the decoded body; see `rdf.fingerprints`.
        text_hash: of the text of a page, or of the statements of another document.
        sketch: of the same.
        n_shingles: different ones that the sketch is made of.
        canonical: URL that the document declares to be its own.
        sitemap_format: of a sitemap.
        n_images: of a page of few words; else 0.
        n_words: of a page of many links; else 0.
        n_linked_words: of these, within links.
        is_error_page: the page says that there is none.
    """

    content_hash: str = ""
    text_hash: str = ""
    sketch: str = ""
    n_shingles: int = 0
    canonical: str = ""
    sitemap_format: str = ""
    n_images: int = 0
    n_words: int = 0
    n_linked_words: int = 0
    is_error_page: bool = False


NO_FACTS: Final = DocumentFacts()


class QuadCopy(Protocol):
    """A copy of the statements of a document, whole if these were read to the end."""

    n_bytes: int
    is_whole: bool

    def open(self) -> BinaryIO:
        """Return the copy, from its beginning."""

    def close(self) -> None:
        """Delete the copy."""


@dataclass(slots=True, kw_only=True, eq=False)
class Document:
    """The document of one URI, and what became of it: the item of all pipelines.

    Extract sets `chunks`, Store and Discover pass it on; whoever is last has read it
    to its end.

    Attributes:
        url: final URL after redirects on the same host, without fragment.
        reservations: of the publisher, without ignored ones; complete when `chunks`
            are read.
        asks_site: returns the reservations of its site, to be called before anything
            is taken from it; None if they are known or do not matter.
        withheld: why its statements are not stored, if its publisher asks for that.
        is_nofollow: its links are not followed, as its publisher asks.
        listed_links: that its source gives beside the document.
        is_read: its harvester has read the body; there is nothing to extract.
        parts: what its harvester yields of it; becomes `chunks` when it is processed.
        chunks: its statements.
        is_followed: its quads are looked through for links.
        n_quads: statements that have passed the store.
        n_links: links handed to the frontier.
        n_follow_ups: records that it led to, beside its links.
        n_documents: of their own, that it stands for, as a page of a portal does.
        is_unchanged: it was read again, and says what is stored; it is not written.
        is_changed: an earlier run has stored other statements.
        is_deleted: the source says that it is gone; its statements are to be, too.
        replaced: another document, whose statements were deleted, as the page that had
            them has moved.
        facts: by which it is compared; complete when `chunks` are read.
        faults: all that was wrong, in order.
        kept: a copy of its statements, for the spider's `parse_document`.
        extra: what item pipelines of users have set, for feeds.
    """

    record: Record
    url: str
    response: FetchedResponse = field(default_factory=FetchedResponse)
    reading: ReadResult = NOT_READ
    reservations: Reservations = NOTHING
    asks_site: Callable[[], Awaitable[Reservations | None]] | None = None
    withheld: Reason | None = None
    is_nofollow: bool = False
    listed_links: set[Link] = field(default_factory=set)
    is_read: bool = False
    parts: AsyncIterator[HarvestedPart] | None = None
    chunks: AsyncIterator[QuadChunk] | None = None
    is_followed: bool = True
    n_quads: int = 0
    n_links: int = 0
    n_follow_ups: int = 0
    n_documents: int = 0
    is_unchanged: bool = False
    is_changed: bool = False
    is_deleted: bool = False
    replaced: str = ""
    facts: DocumentFacts = NO_FACTS
    faults: list[Fault] = field(default_factory=list)
    kept: QuadCopy | None = None
    extra: dict[str, object] | None = None

    @property
    def status(self) -> int:
        """HTTP status of the response; 0 if there was none."""
        return self.response.status

    @property
    def media_type(self) -> str:
        """Media type that the server declared; lower case, without parameters."""
        return self.response.media_type

    @property
    def links(self) -> AbstractSet[Link]:
        """Links of the document that are no statements."""
        listed, links = self.listed_links, self.reading.links
        return links | listed if listed else links

    @property
    def is_partial(self) -> bool:
        """Whether the document has statements that were not fetched, or not read."""
        return self.response.is_partial or self.reading.is_partial

    def harvested(
        self,
        parts: AsyncIterator[HarvestedPart] | None = None,
        *,
        url: str = "",
        is_followed: bool = True,
        faults: Iterable[Fault] | None = None,
        n_documents: int = 0,
    ) -> Document:
        """Return the document as its harvester has read it.

        Args:
            parts: what is in it: statements, follow-ups and faults, in any order.
            url: by which it is stored; that of the document if it is empty.
            is_followed: its statements are looked through for links.
            faults: in place of those of the document.
            n_documents: that the response has in it.
        """
        return replace(
            self,
            url=url or self.url,
            is_read=True,
            parts=parts,
            is_followed=is_followed,
            faults=list(self.faults if faults is None else faults),
            n_documents=n_documents,
            listed_links=set(self.listed_links),
        )

    def part(
        self,
        url: str,
        parts: AsyncIterator[HarvestedPart] | None = None,
        *,
        is_followed: bool = True,
        is_deleted: bool = False,
    ) -> Document:
        """Return a further document, which this response contains or tells of.

        The arguments are as for `harvested`; of a deleted document, the statements go.
        """
        response = FetchedResponse(
            status=self.response.status,
            started_ms=self.response.started_ms,
            ended_ms=self.response.ended_ms,
        )
        return Document(
            record=self.record,
            url=url,
            response=response,
            is_read=True,
            parts=parts,
            is_followed=is_followed,
            is_deleted=is_deleted,
        )

    def __repr__(self) -> str:
        """Return a summary in one line: logs must not have the body."""
        return f"<Document {self.status} {self.url!r}>"


class CrawlBudget(NamedTuple):
    """The most that is ever accepted; 0 is no limit each time."""

    of_host: int = 0  # URIs of one host
    hosts: int = 0  # of one registered domain
    of_domain: int = 0  # URIs of one registered domain


NO_BUDGET: Final = CrawlBudget()


def refused(record: Record, faults: list[Fault]) -> Document:
    """Return the document of a record that is not requested."""
    at_ms = now_ms()
    return Document(
        record=record,
        url=record.url,
        response=FetchedResponse(started_ms=at_ms, ended_ms=at_ms),
        faults=faults,
    )
