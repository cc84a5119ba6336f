"""The records of the provenance: workers, their activities, and equal contents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Literal, NamedTuple

from rdfcrawl.core import __version__
from rdfcrawl.core.records import RowCounts
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.rdf.terms import iri_of_url, without_surrogates

Status = Literal[
    "SUCCESSFUL", "PARTIAL", "FAILED", "UNCHANGED", "REDIRECTED", "DELETED", "UNKNOWN"
]


@dataclass(frozen=True, slots=True)
class WorkerAgent:
    """One process of one crawl, as the agent of its activities."""

    name: str  # unique within its crawl
    crawl: str  # `CRAWL_ID`
    version: str = __version__
    run: int | None = None  # number of earlier runs of the crawl
    # by the number of their arguments, as far as known
    spiders: Mapping[int, str] = field(default_factory=dict, compare=False)
    iri: str = field(init=False)

    def __post_init__(self) -> None:
        digest = digest_of(self.crawl, self.name, self.version)
        object.__setattr__(self, "iri", f"urn:rdfcrawl:worker:{digest}")


class ReadMember(NamedTuple):
    """A file of an archive."""

    name: str
    format: str  # empty if it was not read
    n_statements: int


class LoggedFault(NamedTuple):
    """A fault of a document."""

    reason: str
    n_times: int
    detail: str


class Activity(NamedTuple):
    """The processing of one URI; `docs/reference/provenance.md` defines the terms.

    Attributes:
        url: of the record in the frontier.
        started_ms: begin of the fetch, Unix time; 0 if unknown.
        ended_ms: its end.
        run: number of earlier runs of the crawl; negative if unknown.
        n_statements: that were stored.
        depth: links from a seed.
        n_links: passed to the frontier.
        parent: URL of the document that named the URI.
        task: text of the task; empty for ordinary pages, and those of `rank`.
        rank: priority in the sitemap that lists the page, from 0 to 10,000; negative
            for other pages.
        listed_secs: time when that sitemap was fetched, Unix time.
        content_hash: this and the following ones are those of `DocumentFacts`.
        spider: its name, if it is not the first one of the crawl.
        found_by: how a sitemap was found.
        format: name of the format of the body; empty if it was not read.
        decided_by: the reason for that format.
        compared_to_last: `same` or `other`, if an earlier version is known.
        packing: names from the outside in, separated by spaces.
        document: URL of the document, if it is not `url`.
        replaced: URL of another document whose statements were deleted.
        http_status: of the last response; 0 if there was none.
        immutable_until_ms: time until which the response does not change; 0: unknown.
        location: of a redirect that was not followed.
        n_bytes: length of the decoded body; negative for a part of a response.
        requested: URLs in their order, if there were redirects.
        extracted: extractors, and the statements of each, if there are several.
        members: the first files of an archive.
        n_members: number of all of them.
        rows: of the partitions of an endpoint: by its own count, and read.
        is_lookalike: the host of the document imitates another one.
        robots_directives: from its publisher.
        tdm: reservation of text and data mining, 0 or 1; negative if unknown.
        faults: the first ones.
        n_faults: number of all of them.
        key: of the activity, if it does not follow from worker, URL and begin.
    """

    url: str
    started_ms: int = 0
    ended_ms: int = 0
    run: int = -1
    status: Status = "UNKNOWN"
    n_statements: int = 0
    depth: int = 0
    n_links: int = 0
    parent: str = ""
    task: str = ""
    rank: int = -1
    listed_secs: int = 0
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
    spider: str = ""
    found_by: str = ""
    format: str = ""
    decided_by: str = ""
    compared_to_last: str = ""
    packing: str = ""
    document: str = ""
    replaced: str = ""
    http_status: int = 0
    media_type: str = ""
    etag: str = ""
    last_modified: str = ""
    immutable_until_ms: int = 0
    location: str = ""
    n_bytes: int = -1
    requested: tuple[str, ...] = ()
    extracted: tuple[tuple[str, int], ...] = ()
    members: tuple[ReadMember, ...] = ()
    n_members: int = 0
    rows: tuple[RowCounts, ...] = ()
    is_lookalike: bool = False
    robots_directives: tuple[str, ...] = ()
    tdm: int = -1
    tdm_policy: str = ""
    content_signals: tuple[str, ...] = ()
    faults: tuple[LoggedFault, ...] = ()
    n_faults: int = 0
    key: str = ""

    @property
    def uri(self) -> str:
        """The URI of the record, as in the statements."""
        return written_url(self.url)

    @property
    def document_url(self) -> str:
        """URL of the document."""
        return self.document or self.url

    @property
    def has_document(self) -> bool:
        """Whether the statements of a document were stored."""
        return self.status in ("SUCCESSFUL", "PARTIAL")

    @property
    def reason(self) -> str:
        """Reason of the first fault; empty if there is none."""
        return self.faults[0].reason if self.faults else ""

    def withdraws(self, url: str) -> bool:
        """Return whether the statements of another URL were deleted."""
        gone = self.replaced if self.http_status else ""
        if self.status == "DELETED":
            gone = self.replaced or self.document_url
        return bool(gone) and graph_iri(gone) == graph_iri(url)

    def iri(self, worker: WorkerAgent) -> str:
        """Return the IRI of the activity."""
        return activity_iri(worker, self.url, self.started_ms, self.key)


class SameContent(NamedTuple):
    """The content of an activity was fetched from another URL before.

    Attributes:
        url: of the record.
        started_ms: begin of the fetch.
        first_url: from which the content was fetched first.
    """

    url: str
    started_ms: int
    first_url: str


def activity_iri(worker: WorkerAgent, url: str, started_ms: int, key: str = "") -> str:
    """Return the IRI of an activity, derived from worker, URL and begin.

    Args:
        worker: that processed the URL.
        url: of the record.
        started_ms: begin of the fetch, Unix time.
        key: of the activity of a source; empty for others.
    """
    key = key or digest_of(worker.iri, url, str(started_ms))
    return f"urn:rdfcrawl:activity:{key}"


def digest_of(*parts: str) -> str:
    """Return a hash of some texts."""
    key = "\n".join(parts).encode(errors="surrogatepass")
    return blake2b(key, digest_size=16).hexdigest()


def written_url(url: str) -> str:
    """Return the text of the term that the provenance has for a URL."""
    return iri_of_url(url) or without_surrogates(url)
