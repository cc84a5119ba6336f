"""Results of `scrapy verify`, source by source, and their files in a crawl's folder."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from rdfcrawl.stores.files import replacing_file
from rdfcrawl.uri import registered_domain

_FOLDER: Final = "verified"
_MAX_BYTES: Final = 16 * 1024 * 1024  # more than 50,000 sources


class SourceKind(StrEnum):
    """The kind of source that documents come from."""

    SITEMAP = "sitemap"
    DATASET = "dataset"
    CATALOG = "catalog"
    COLLECTION = "collection"
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

    def numbers(self) -> dict[str, int]:
        """Return the counts by their names in JSON."""
        return {
            **{str(verdict): self.counts[verdict] for verdict in MatchVerdict},
            "unsampled": self.n_unsampled,
            "requests": self.n_requests,
        }

    def documents_as_json(self) -> dict[str, Any]:
        """Return the documents that are not equal, by their name in JSON."""
        return {"documents": [asdict(each) for each in sorted(self.documents)]}


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteVerification:
    """The result of a verification.

    Attributes:
        site: its host.
        ended: when it ended, in UTC, as an ISO 8601 text.
        is_full: all pages were requested.
        sources: verdicts on the documents of each source.
        n_requests: of all kinds, with robots.txt, redirects and repeated ones.
    """

    site: str
    ended: str
    is_full: bool
    sources: Mapping[SourceName, SourceReport]
    n_requests: int

    @property
    def is_equal(self) -> bool:
        """Whether all compared documents are equal."""
        return not any(each.documents for each in self.sources.values())

    def as_json(self, *, is_brief: bool = False) -> dict[str, Any]:
        """Return the result as JSON values; if brief, without the documents."""
        return {
            "site": self.site,
            "ended": self.ended,
            "full": self.is_full,
            "requests": self.n_requests,
            "sources": [
                {
                    "kind": source.kind,
                    "name": source.name,
                    **report.numbers(),
                    **({} if is_brief else report.documents_as_json()),
                }
                for source, report in self.sources.items()
            ],
        }

    def keep(self, root: Path) -> None:
        """Write the numbers to the folder of the crawl, in place of the last ones.

        Raises:
            OSError: the disk is full, or refuses the file.
        """
        folder = root / _FOLDER
        folder.mkdir(exist_ok=True)
        with replacing_file(folder / f"{quote(self.site, safe='')}.json") as file:
            json.dump(self.as_json(is_brief=True), file)
            file.write("\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedSource:
    """One source in the last verification of its site.

    Attributes:
        site: its host.
        ended: when the verification ended, as an ISO 8601 text.
        is_full: all pages were requested.
        kind: of the source.
        name: of the source.
        equal, stale, surplus, missing, unknown: number of documents by verdict.
        unsampled: number of documents that the sample leaves out.
        requests: for the source, without robots.txt.
    """

    site: str
    ended: str
    is_full: bool
    kind: str
    name: str
    equal: int
    stale: int
    surplus: int
    missing: int
    unknown: int
    unsampled: int
    requests: int


NUMBERS: Final = (*map(str, MatchVerdict), "unsampled", "requests")
"""Names of the numbers of a source."""


def iter_verified(root: Path, domain: str | None = None) -> Iterator[VerifiedSource]:
    """Yield the sources in the last verification of each site of a crawl, in order.

    Files that cannot be read, or are of another version, are left out.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
        domain: only sites of this registered domain; None: all.
    """
    for path in sorted((root / _FOLDER).glob("*.json")):
        with suppress(OSError, KeyError, TypeError, ValueError):
            if path.stat().st_size > _MAX_BYTES:
                continue
            found = json.loads(path.read_bytes())
            site = str(found["site"])
            if domain not in (None, registered_domain(site)):
                continue
            yield from [
                VerifiedSource(
                    site=site,
                    ended=str(found["ended"]),
                    is_full=bool(found["full"]),
                    kind=str(each["kind"]),
                    name=str(each["name"]),
                    **{name: int(each[name]) for name in NUMBERS},
                )
                for each in found["sources"]
            ]
