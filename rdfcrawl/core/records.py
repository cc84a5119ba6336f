"""The values that rooms pass to each other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    ClassVar,
    Final,
    NamedTuple,
    TypeAlias,
)

from rdfcrawl.core.errors import safe_text
from rdfcrawl.core.reservations import NOTHING, Reservations
from rdfcrawl.core.times import now_ms

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterator,
        Awaitable,
        Callable,
        Iterable,
        Mapping,
        Sequence,
    )
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from rdfcrawl.core.content import ArchiveMember, QuadChunk, QuadCopy
    from rdfcrawl.core.errors import Fault, Reason
    from rdfcrawl.core.formats import Format, Link
    from rdfcrawl.core.tasks import Task


_NO_COUNTS: Final[Mapping[str, int]] = MappingProxyType({})
_NO_LINKS: Final[AbstractSet[Link]] = frozenset()
MAX_RETRIES: Final = 3  # two bits in the frontier


class Kind(IntEnum):
    """How a URI is requested and its response is read; four bits in the frontier.

    Attributes:
        is_source: its responses are not documents but lead to them.
        is_of_url: two records with one URL are the same.
    """

    is_source: bool
    is_of_url: bool

    PAGE = 0
    DUMP = 1
    # Sources: the task of the record determines the meaning of a URL.
    SITEMAP = 2
    RESOURCESYNC = 3
    CKAN = 4
    SPARQL = 5
    REQUEST = 6  # of a user's spider, with a callback
    CUSTOM = 7  # of a user's harvester, which the task names
    WARC = 8

    def __init__(self, number: int) -> None:
        self.is_source = number > 1 and number != 6  # read often: not a property
        self.is_of_url = number < 2


@dataclass(frozen=True, slots=True)
class Record:
    """One URI in the frontier.

    Records of sources are equal if URL, kind and task are; others, if URL and `change`
    are.

    Attributes:
        lost: 1 if a worker died while it held the record, which is then handled
            separately; else 0.
        task: the step of a source, or the set that a page belongs to
            (`core.tasks`).
        change: identifies a change of a known document, for which it is fetched again;
            empty for all others.
        profile: number of the arguments of the spider that queued it
            (`frontier/queue/profiles.py`).
        blame: eighths of lives that it lost when workers died while it was requested or
            read; kept by `lua/reap.lua`.
        refusal: the fault for which it was requeued last, for people: at most
            `MAX_REFUSAL` characters of ASCII.
    """

    url: str  # absolute, as in the request, without fragment
    kind: Kind = Kind.PAGE
    depth: int = 0  # links followed from a seed to here, at most 255
    parent: str = ""  # URL of the document that named it; empty for seeds
    chain: tuple[str, ...] = ()  # URLs that redirected here from other hosts, in order
    lost: int = 0
    retries: int = 0  # attempts after which it was requeued, at most `MAX_RETRIES`
    task: Task | None = None
    change: str = ""
    profile: int = 0
    blame: int = 0
    refusal: str = field(default="", compare=False)

    MAX_REFUSAL: ClassVar[int] = 120

    @property
    def first_url(self) -> str:
        """The URL before redirects from other hosts."""
        return self.chain[0] if self.chain else self.url

    def requeued(self, faults: Sequence[Fault], *, retries: int) -> Record:
        """Return the record as it goes back to its queue, with the first fault."""
        if not faults:
            return replace(self, retries=retries)
        fault = faults[0]
        text = f"{fault.reason}: {fault.detail}" if fault.detail else fault.reason
        shown = text[: self.MAX_REFUSAL].encode("ascii", "replace").decode()
        return replace(self, retries=retries, refusal=safe_text(shown))

    def task_text(self) -> str:
        """Return the text of its task; empty without one.

        Raises:
            SourceFault: `TOO_LARGE`: the text is too long for a record.
        """
        if self.task is None:  # the usual case
            return ""
        from rdfcrawl.core.tasks import encode_task  # noqa: PLC0415

        return encode_task(self.task)


class Urgency(IntEnum):
    """The urgency of a record among those of its host.

    The numbers are stored in queues and tables; later additions are out of order.
    """

    SOON = 1
    HIGHEST = 4
    HIGH = 5
    RAISED = 6
    ORDINARY = 2
    LOWERED = 7
    LOW = 8
    LATER = 3  # when the host has nothing else
    REFRESH = 9  # in at most half of the host's turns, if other URIs are queued


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A record that a source leads to.

    Attributes:
        record: to queue; its URL need not be requestable.
        is_part_of_source: exempt from the scope and filters for links.
        urgency: of the record.
        change: identifies a change of a known document, which is fetched again once
            for each change.
        yields_to_dump: the page waits, also if it has changed, while a dump or an
            endpoint has its data.
    """

    record: Record
    is_part_of_source: bool = False
    urgency: Urgency = Urgency.ORDINARY
    change: str = ""
    yields_to_dump: bool = False


class LinkedIris(NamedTuple):
    """Links in the statements of a document, found by its harvester."""

    iris: frozenset[bytes]


class RowCounts(NamedTuple):
    """Rows of a partition of an endpoint; it is in the provenance of a response.

    Attributes:
        wanted: by the endpoint's own count; negative if unknown.
        read: rows that were read.
    """

    wanted: int
    read: int


HarvestedPart: TypeAlias = "bytes | FollowUp | Fault | LinkedIris | RowCounts"
"""Part of a document from a harvester: a chunk of N-Quads, or another value."""


@dataclass(slots=True, kw_only=True, eq=False)
class FetchedResponse:
    """The response of a server for one URI, with unmodified header values.

    `body` holds a small body of a 2xx response, `path` names the spool file of a large
    one; both are None if there is no document.
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
    # Headers that the request asked to keep: lower-case names and values.
    headers: tuple[tuple[str, str], ...] = ()
    # Scrapy's response to a request of a user's spider, without its body.
    scrapy_response: object = None
    body: bytes | None = None
    path: Path | None = None
    error_body: bytes = b""  # its beginning, of a 4xx or 5xx response
    n_bytes: int = 0  # length of the decoded body
    redirects_to: str = ""  # target, not followed with this record
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
    members: tuple[ArchiveMember, ...] = ()
    n_members: int = 0
    extracted: Mapping[str, int] = _NO_COUNTS
    links: AbstractSet[Link] = _NO_LINKS
    outlinks: bytes = b""
    targets: AbstractSet[bytes] | None = None
    is_partial: bool = False


NOT_READ: Final = ReadResult()


class DocumentFacts(NamedTuple):
    """Values to compare a document with later versions and other documents.

    Attributes:
        content_hash: of the decoded body; see `rdf.fingerprints`.
        text_hash: of the text of a page, or of the statements of another document.
        sketch: of the same.
        n_shingles: number of different shingles in the sketch.
        canonical: canonical URL that the document declares.
        sitemap_format: of a sitemap.
        n_images: of a page with few words; else 0.
        n_words: of a page with many links; else 0.
        n_linked_words: of these, within links.
        is_error_page: the page reports that it does not exist.
        statements_hash: of the statements of a page, or of a document without
            `text_hash`.
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
    statements_hash: str = ""


NO_FACTS: Final = DocumentFacts()
GONE: Final = frozenset({404, 410})
"""HTTP statuses of a resource that does not exist any more."""


@dataclass(slots=True, kw_only=True, eq=False)
class Document:
    """The document of one URI with its results: the item of all pipelines.

    Extract sets `chunks`, Store and Discover wrap it; the last reads it to its end.

    Attributes:
        url: final URL after redirects on the same host, without fragment.
        reservations: of the publisher, without ignored ones; complete when `chunks`
            are read.
        fetch_site: returns the reservations of its site; call it before
            extraction. None if they are known or irrelevant.
        withheld: why its statements are not stored, if its publisher reserves that.
        is_nofollow: its links are not followed, since its publisher reserves that.
        listed_links: that its source gives in addition to the document.
        is_read: its harvester has read the body; there is nothing to extract.
        parts: results of its harvester; processing turns them into `chunks`.
        chunks: its statements.
        is_followed: its quads are searched for links.
        n_quads: statements that have passed the store.
        n_wanted: statements with wanted classes or properties, stored or not.
        n_links: links passed to the frontier.
        n_follow_ups: records that it led to, other than links.
        n_documents: number of documents in the response, as in a page of a portal.
        has_same_statements: as the stored ones; it is not written.
        has_new_statements: an earlier run has stored others.
        is_deleted: the source reports its deletion; its statements are deleted.
        is_doubtful: it is not stored, since it is worse than the last good copy.
        row_counts: of the partitions of an endpoint that it completes.
        withdrawn: URLs of other documents that no source has any more; their statements
            are deleted after it is processed.
        replaced: another document, whose statements were deleted since its page has
            moved here.
        facts: for comparison; complete when `chunks` are read.
        faults: all faults, in order.
        kept: a copy of its statements, for the spider's `parse_document`.
        extra: values for feeds, from item pipelines of users.
    """

    record: Record
    url: str
    response: FetchedResponse = field(default_factory=FetchedResponse)
    reading: ReadResult = NOT_READ
    reservations: Reservations = NOTHING
    fetch_site: Callable[[], Awaitable[Reservations | None]] | None = None
    withheld: Reason | None = None
    is_nofollow: bool = False
    listed_links: set[Link] = field(default_factory=set)
    is_read: bool = False
    parts: AsyncIterator[HarvestedPart] | None = None
    chunks: AsyncIterator[QuadChunk] | None = None
    is_followed: bool = True
    n_quads: int = 0
    n_wanted: int = 0
    n_links: int = 0
    n_follow_ups: int = 0
    n_documents: int = 0
    has_same_statements: bool = False
    has_new_statements: bool = False
    is_deleted: bool = False
    is_doubtful: bool = False
    replaced: str = ""
    row_counts: tuple[RowCounts, ...] = ()
    withdrawn: tuple[str, ...] = ()
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

    @property
    def has_losses(self) -> bool:
        """Whether a part of the document was not fetched, or not read."""
        return self.is_partial or any(fault.is_loss for fault in self.faults)

    def harvested(
        self,
        parts: AsyncIterator[HarvestedPart] | None = None,
        *,
        url: str = "",
        is_followed: bool = True,
        faults: Iterable[Fault] | None = None,
        n_documents: int = 0,
    ) -> Document:
        """Return the document with the results of its harvester.

        Args:
            parts: its content: statements, follow-ups and faults, in any order.
            url: to store it under; by default that of the document.
            is_followed: search its statements for links.
            faults: replace those of the document.
            n_documents: number of documents in the response.
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
        """Return a further document, which this response contains or mentions.

        The arguments are those of `harvested`; `is_deleted` deletes its statements.
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

    def withdrawal(self, url: str) -> Document:
        """Return the tombstone of a document that this response withdraws.

        If it is this document, then the tombstone is a later version and activity:
        of two versions that began in the same millisecond, the log keeps either.
        """
        tombstone = self.part(url, is_deleted=True)
        tombstone.response.started_ms += url in (self.url, self.record.url)
        record = Record(url, Kind.PAGE, self.record.depth, self.url)
        return replace(tombstone, record=record)

    def __repr__(self) -> str:
        """Return a one-line summary: logs must not contain the body."""
        return f"<Document {self.status} {self.url!r}>"


class CrawlBudget(NamedTuple):
    """Limits of accepted URIs and hosts; 0: no limit."""

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


class RankScore(StrEnum):
    """A score of a URI that a ranking computes."""

    PAGERANK = "pagerank"
    PRIORITYRANK = "priorityrank"
    INLINKS = "inlinks"
