"""What is known of one URI of a crawl, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rdfcrawl.monitor.operating.uris import UriStatus
    from rdfcrawl.stores.log.decisions import LoggedDecision
    from rdfcrawl.stores.log.documents import DocumentPlace


class Verdict(StrEnum):
    """The answer in one word, the first one to hold."""

    WAITING = "waiting"  # queued, granted later, or in flight
    GIVEN_UP = "given up"  # workers died of it, or its host failed
    FETCHED = "fetched"  # at least once, with whatever result
    REDIRECTED_TO = "redirected to"  # fetched as the target of a redirect
    REFUSED = "refused"  # queued, and then not asked for
    NOT_QUEUED = "not queued"  # found, and turned away
    SEEN = "seen"  # the frontier knows it, and no log tells more
    LINKED = "linked"  # a document links to it, and nobody followed that
    NEVER_SEEN = "never seen"
    NO_URI = "no URI"  # that can be crawled


@dataclass(frozen=True, slots=True)
class UriFault:
    """What was wrong.

    Attributes:
        reason: a value of `errors.Reason`.
        detail: words, with the place where that is known.
        count: statements or bytes that it stands for.
    """

    reason: str
    detail: str
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPart:
    """What one extractor gave, or one member of an archive.

    Attributes:
        name: of the extractor or member.
        format: that a member was read as; empty if it was not read.
        n_statements: that came of it.
    """

    name: str
    format: str
    n_statements: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedReading:
    """What the server said of a document, and how it was read; empty: nothing.

    Attributes:
        n_bytes: of the decoded body; -1: not known.
        media_type: as it was declared.
        etag: as it was sent.
        last_modified: as it was sent.
        immutable_until: time until which it is not to change.
        format: that it was read as.
        decided_by: what said so: `content-type`, `extension` or `content`.
        packing: from the outside in, as `gzip tar`.
        compared_to_last: `same` or `other` as what was stored before.
        canonical: URL that it declares to be its own.
        is_error_page: it says that there is no such page.
        robots_directives: as `noindex`.
        content_signals: of `robots.txt`, as `search=yes`.
        tdm_reservation: 1: text and data mining is reserved.
        tdm_policy: how that may be had.
        extractors: of a page, with what each gave.
        members: of an archive, the first `MAX_LISTED`.
        n_members: how many were read.
    """

    n_bytes: int = -1
    media_type: str = ""
    etag: str = ""
    last_modified: str = ""
    immutable_until: str = ""
    format: str = ""
    decided_by: str = ""
    packing: str = ""
    compared_to_last: str = ""
    canonical: str = ""
    is_error_page: bool = False
    robots_directives: tuple[str, ...] = ()
    content_signals: tuple[str, ...] = ()
    tdm_reservation: str = ""
    tdm_policy: str = ""
    extractors: tuple[ReadPart, ...] = ()
    members: tuple[ReadPart, ...] = ()
    n_members: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedFetch:
    """One activity of the provenance about the URI.

    Attributes:
        uri: that was taken from the queue, as it was spelled.
        started_ms: Unix time; 0: nothing was asked for.
        ended_ms: likewise.
        status: `sq:status`.
        http_status: of the last answer; 0: there was none.
        n_statements: that were stored.
        n_links: that were found.
        run: of the crawl; -1: not known.
        depth: links from a seed.
        parent: the document that led to it; empty for seeds.
        found_by: how a sitemap was found; empty for others.
        task: of a source, which step was asked for.
        spider: by whose arguments it was dealt with; empty for the first one.
        same_content_as: the URL that had its content before; empty if none.
        hops: URLs that were asked for in order, if there were redirects.
        faults: the first 100 that were found.
        n_faults: how many there were.
        reading: what the server said of it, and how it was read.
    """

    uri: str
    started_ms: int
    ended_ms: int
    status: str
    http_status: int
    n_statements: int
    n_links: int
    run: int
    depth: int
    parent: str
    found_by: str
    task: str
    spider: str
    same_content_as: str
    hops: tuple[str, ...]
    faults: tuple[UriFault, ...]
    n_faults: int
    reading: ExplainedReading


@dataclass(frozen=True, slots=True)
class UriStep:
    """One document on the way from the URI back to a seed.

    Attributes:
        uri: of the document.
        depth: links from a seed; -1: not known, as its fetch is in no log here.
    """

    uri: str
    depth: int


@dataclass(frozen=True, slots=True)
class UriLink:
    """A link to the URI, in the log of links."""

    document: str
    relation: str
    ms: int


@dataclass(frozen=True, slots=True)
class UriTarget:
    """A link of the document at the URI, in the log of links."""

    target: str
    relation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UriVersion:
    """A version of the document at the URI.

    Attributes:
        name: what tells it from other versions, in addresses.
        graph: IRI of the document.
        version_ms: when its fetch began, Unix time.
        digest: of its statements, in hexadecimal digits.
        n_bytes: of its statements; 0: it is gone, or says nothing.
        place: where it stands in the log; None: a compaction dropped its statements.
    """

    name: str
    graph: str
    version_ms: int
    digest: str
    n_bytes: int
    place: DocumentPlace | None

    @property
    def is_dropped(self) -> bool:
        """Whether its statements are not in the log any more."""
        return self.place is None


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """What the arguments of one spider say of the URI, apart from its depth.

    Attributes:
        spider: its name; empty for settings, which hold for all.
        refusal: a value of `errors.Decision`, or `guard_blocked`; empty: it is wanted.
        detail: words.
    """

    spider: str
    refusal: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UriExplanation:
    """Everything known of one URI of a crawl.

    Attributes:
        asked: what was asked for.
        url: as it is requested; empty if it cannot be crawled.
        normal: its normal form: URIs that share one are one.
        verdict: the answer in one word.
        frontier: where it is; None if no frontier was asked.
        no_frontier: why none was asked; empty if one was.
        spellings: other spellings that were fetched or refused.
        fetches: oldest first; the latest `MAX_LISTED`.
        n_fetches: how many there are; of very many, those that were looked at.
        robots: what became of it by `robots.txt`, the last time: `permitted`,
            `disallowed`, `unreachable`; empty: it was not asked for.
        way: documents that led to it, from its parent to the seed.
        decisions: that it is not queued; the latest `MAX_LISTED`.
        n_decisions: how many there are.
        links: to it; the first `MAX_LISTED`.
        n_links: how many there are.
        targets: of links in its latest version; the first `MAX_TARGETS`.
        n_targets: how many there are.
        versions: of the document at the URI, oldest first; the latest `MAX_VERSIONS`.
        n_versions: how many are known.
        copies: URIs that had its content later; the first `MAX_LISTED`.
        n_copies: how many there are.
        rules: what would become of it if it was found now, as far as rules tell.
        is_logged: the log of decisions has decisions about it, by its share.
        damages: of the logs: what they had cannot be read.
    """

    asked: str
    url: str
    normal: str
    verdict: Verdict
    frontier: UriStatus | None = None
    no_frontier: str = ""
    spellings: tuple[str, ...] = ()
    fetches: tuple[ExplainedFetch, ...] = ()
    n_fetches: int = 0
    robots: str = ""
    way: tuple[UriStep, ...] = ()
    decisions: tuple[LoggedDecision, ...] = ()
    n_decisions: int = 0
    links: tuple[UriLink, ...] = ()
    n_links: int = 0
    targets: tuple[UriTarget, ...] = ()
    n_targets: int = 0
    versions: tuple[UriVersion, ...] = ()
    n_versions: int = 0
    copies: tuple[str, ...] = ()
    n_copies: int = 0
    rules: tuple[RuleVerdict, ...] = ()
    is_logged: bool = True
    damages: tuple[str, ...] = ()
