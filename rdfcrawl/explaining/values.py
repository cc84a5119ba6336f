"""What is known of one URI of a crawl, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rdfcrawl.log.decisions import LoggedDecision
    from rdfcrawl.operating.uris import UriStatus


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
    """What was wrong: a value of `errors.Reason`, and words."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedFetch:
    """One activity of the provenance about the URI.

    Attributes:
        uri: that was taken from the queue, as it was spelled.
        started_ms: Unix time; 0: nothing was asked for.
        status: `sq:status`.
        http_status: of the last answer; 0: there was none.
        n_statements: that were stored.
        run: of the crawl; -1: not known.
        depth: links from a seed.
        parent: the document that led to it; empty for seeds.
        found_by: how a sitemap was found; empty for others.
        same_content_as: the URL that had its content before; empty if none.
        hops: URLs that were asked for in order, if there were redirects.
        faults: that were found.
    """

    uri: str
    started_ms: int
    status: str
    http_status: int
    n_statements: int
    run: int
    depth: int
    parent: str
    found_by: str
    same_content_as: str
    hops: tuple[str, ...]
    faults: tuple[UriFault, ...]


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
        way: documents that led to it, from its parent to the seed.
        decisions: that it is not queued; the latest `MAX_LISTED`.
        n_decisions: how many there are.
        links: to it; the first `MAX_LISTED`.
        n_links: how many there are.
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
    way: tuple[UriStep, ...] = ()
    decisions: tuple[LoggedDecision, ...] = ()
    n_decisions: int = 0
    links: tuple[UriLink, ...] = ()
    n_links: int = 0
    rules: tuple[RuleVerdict, ...] = ()
    is_logged: bool = True
    damages: tuple[str, ...] = ()
