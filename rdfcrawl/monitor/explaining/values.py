"""Values of an explanation of one URI."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rdfcrawl.monitor.operating.uris import UriStatus
    from rdfcrawl.stores.log.decisions import LoggedDecision
    from rdfcrawl.stores.log.documents import DocumentPlace


class Verdict(StrEnum):
    """Result of a URI in one word: the first that applies."""

    WAITING = "waiting"  # queued, granted later, or in flight
    GIVEN_UP = "given up"  # its workers died, or its host failed
    FETCHED = "fetched"  # at least once, with any result
    REDIRECTED_TO = "redirected to"  # fetched as the target of a redirect
    REFUSED = "refused"  # queued, and then not requested
    SET_ASIDE = "set aside"  # queued, and left out as unlikely
    NOT_QUEUED = "not queued"  # found, and refused
    SEEN = "seen"  # the frontier knows it, but no log has it
    LINKED = "linked"  # a document links to it, and the link was not followed
    NEVER_SEEN = "never seen"
    NO_URI = "no URI"  # not crawlable


@dataclass(frozen=True, slots=True)
class UriFault:
    """One fault.

    Attributes:
        reason: a value of `errors.Reason`.
        detail: text, with the place if it is known.
        count: statements or bytes affected.
    """

    reason: str
    detail: str
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPart:
    """Output of one extractor, or of one member of an archive.

    Attributes:
        name: of the extractor or member.
        format: format of a member; empty if it was not read.
        n_statements: number of statements.
    """

    name: str
    format: str
    n_statements: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedReading:
    """Response headers of a document, and how it was read; empty if it was not.

    Attributes:
        n_bytes: of the decoded body; -1: not known.
        media_type: as declared.
        etag: as sent.
        last_modified: as sent.
        immutable_until: time until which it will not change.
        format: in which it was parsed.
        decided_by: source of the format: `content-type`, `extension` or `content`.
        packing: from the outside in, as `gzip tar`.
        compared_to_last: `same` or `other` than the version stored before.
        canonical: canonical URL that it declares.
        is_error_page: its content says that there is no such page.
        robots_directives: as `noindex`.
        content_signals: of `robots.txt`, as `search=yes`.
        tdm_reservation: 1: text and data mining is reserved.
        tdm_policy: address of a licence for it.
        extractors: of a page, with the output of each.
        members: of an archive, the first `MAX_LISTED`.
        n_members: number of members that were read.
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
        uri: taken from the queue, in its spelling.
        started_ms: Unix time; 0: no request was sent.
        ended_ms: likewise.
        status: `sq:status`.
        http_status: of the last response; 0: there was none.
        n_statements: number of stored statements.
        n_links: number of links.
        run: of the crawl; -1: not known.
        depth: links from a seed.
        parent: the document that led to it; empty for seeds.
        found_by: how a sitemap was found; empty for others.
        task: of a source: the step of the harvest.
        spider: whose arguments applied; empty for the first one.
        same_content_as: the URL that had its content before; empty if none.
        hops: requested URLs in order, if there were redirects.
        faults: the first 100.
        n_faults: number of all faults.
        reading: response headers, and how the document was read.
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
        name: identifies the version in addresses.
        graph: IRI of the document.
        version_ms: when its fetch began, Unix time.
        digest: of its statements, in hexadecimal digits.
        n_bytes: of its statements; 0: it is gone or empty.
        place: position in the log; None: a compaction dropped its statements.
    """

    name: str
    graph: str
    version_ms: int
    digest: str
    n_bytes: int
    place: DocumentPlace | None

    @property
    def is_dropped(self) -> bool:
        """Whether a compaction dropped its statements."""
        return self.place is None


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """Verdict of one spider's arguments on the URI, apart from its depth.

    Attributes:
        spider: its name; empty for settings, which hold for all.
        refusal: a value of `errors.Decision`, or `guard_blocked`; empty: accepted.
        detail: text.
    """

    spider: str
    refusal: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UriExplanation:
    """Everything known of one URI of a crawl.

    Attributes:
        given: the URI as the operator typed it.
        url: as requested; empty if it cannot be crawled.
        normal: its normal form, shared by all its spellings.
        verdict: the result in one word.
        frontier: where it is; None if the frontier was not read.
        no_frontier: why the frontier was not read; empty if it was.
        spellings: other spellings that were fetched or refused.
        fetches: oldest first; the latest `MAX_LISTED`.
        n_fetches: number of all fetches; of very many, those examined.
        robots: latest result of `robots.txt`: `permitted`, `disallowed`, `unreachable`;
            empty: it was not needed.
        way: documents that led to it, from its parent to the seed.
        decisions: not to queue it; the latest `MAX_LISTED`.
        n_decisions: number of all decisions.
        links: to it; the first `MAX_LISTED`.
        n_links: number of all links to it.
        targets: of links in its latest version; the first `MAX_TARGETS`.
        n_targets: number of all targets.
        versions: of the document at the URI, oldest first; the latest `MAX_VERSIONS`.
        n_versions: number of known versions.
        copies: URIs that had its content later; the first `MAX_LISTED`.
        n_copies: number of all copies.
        rules: verdicts of settings and spiders if it were found now.
        is_logged: it is in the sample of the log of decisions.
        damages: unreadable parts of the logs.
    """

    given: str
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
