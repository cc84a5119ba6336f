"""The result of a verification, source by source."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from rdfcrawl.core.records import Kind


class SourceKind(StrEnum):
    """The kind of source that documents come from."""

    SITEMAP = "sitemap"
    DATASET = "dataset"
    PORTAL = "portal"
    ENDPOINT = "endpoint"
    RESOURCESYNC = "resourcesync"
    REPOSITORY = "repository"
    LINKED = "linked pages"


class MatchVerdict(StrEnum):
    """How a stored document relates to its site."""

    EQUAL = "equal"
    STALE = "stale"  # the site has other statements
    SURPLUS = "surplus"  # the site does not have it any more
    MISSING = "missing"  # the site has it, and the crawl does not
    UNKNOWN = "unknown"  # the site gave no usable answer


@dataclass(frozen=True, slots=True, order=True)
class SourceName:
    """The name of a source.

    Attributes:
        kind: of the source.
        name: its URL, the name of the dataset, or the host of linked pages.
    """

    kind: SourceKind
    name: str


class SourceRoot(NamedTuple):
    """The first request of a source.

    Attributes:
        kind: of the record, or the name of a harvester.
        url: of the source.
        is_named: the operator has named the source.
    """

    kind: Kind | str
    url: str
    is_named: bool


@dataclass(frozen=True, slots=True, order=True)
class JudgedDocument:
    """A document that is not known to be equal.

    Attributes:
        url: of the document; of an endpoint, the name of the graph.
        verdict: on it.
        detail: the reason, in a few words.
    """

    url: str
    verdict: MatchVerdict
    detail: str


@dataclass(slots=True)
class SourceReport:
    """The verdicts on the documents of one source.

    Attributes:
        counts: number of documents by verdict.
        documents: those that are not equal.
        n_unsampled: documents that were not requested, as the sample leaves them out.
        n_requests: for the source, without robots.txt.
    """

    counts: Counter[MatchVerdict] = field(default_factory=Counter)
    documents: list[JudgedDocument] = field(default_factory=list)
    n_unsampled: int = 0
    n_requests: int = 0

    def add(self, url: str, verdict: MatchVerdict, detail: str = "") -> None:
        """Add the verdict on a document."""
        self.counts[verdict] += 1
        if verdict is not MatchVerdict.EQUAL:
            self.documents.append(JudgedDocument(url, verdict, detail))
