"""Report sections about equal content: copies, and content of several domains."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import nlargest
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.analysis.measures.uri_facts import stored_statements
from rdfcrawl.analysis.report.content import (
    MAX_ROWS,
    ReportRow,
    ReportSection,
    ReportTable,
    shorten,
)
from rdfcrawl.analysis.urldb.facts import fetches_of
from rdfcrawl.analysis.urldb.record import UrlRecord, key_of
from rdfcrawl.core.messages import counted
from rdfcrawl.stores.followers.status import read_statuses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rdfcrawl.analysis.urldb.database import UrlDatabase
    from rdfcrawl.analysis.urldb.mirrors import MirrorCluster, MirrorSearch
    from rdfcrawl.uri import NormalForm

SAME: Final = "sameContentAs"
_N_EXAMPLES: Final = 10  # of each kind
_N_NAMED: Final = 3  # domains


class SharedDocuments(NamedTuple):
    """A store that keeps some documents only as references to equal ones.

    Attributes:
        store: URI, without credentials.
        n_documents: documents kept as references.
        n_statements: statements in them, which are not stored again.
        n_bytes: size of these statements in N-Quads.
    """

    store: str
    n_documents: int
    n_statements: int
    n_bytes: int


def stored_once(root: Path) -> list[SharedDocuments]:
    """Return the stores of a crawl that keep documents as references.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
    """
    names = "documents", "statements", "bytes"
    return [
        SharedDocuments(each.name, *(each.once[name] for name in names))
        for each in read_statuses(root)
        if each.once
    ]


class SameExample(NamedTuple):
    """A document, and the URL whose content it has."""

    url: str
    first: str


@dataclass(slots=True)
class SameContentCount:
    """Documents that have the content of another URL of the same or of another site.

    Attributes:
        n_documents: their number.
        n_statements: statements in their present content.
        examples: the first of them by domain, host and URL.
    """

    n_documents: int = 0
    n_statements: int = 0
    examples: list[SameExample] = field(default_factory=list)

    def add(self, record: UrlRecord, first: str) -> None:
        """Count a document."""
        self.n_documents += 1
        self.n_statements += stored_statements(fetches_of(record)) or 0
        if len(self.examples) < _N_EXAMPLES:
            self.examples.append(SameExample(record.url, first))


def same_content_section(
    database: UrlDatabase, site: str | None, stores: Iterable[SharedDocuments] = ()
) -> ReportSection | None:
    """Return the section; None if no document has the content of another one.

    Args:
        database: of the crawl.
        site: registered domain to report; None: all.
        stores: that keep documents as references.

    Raises:
        OSError: a disk cannot be read.
    """
    within, across = SameContentCount(), SameContentCount()
    for record in database.with_value(SAME):
        first = record.current(SAME)
        if first and site in (None, record.domain):
            is_within = _domain_of(first, database.normal_form) == record.domain
            (within if is_within else across).add(record, first)
    tables = [make_same_table(within, across), make_example_table(across, within)]
    if table := make_once_table(stores):
        tables.append(table)
    if not within.n_documents + across.n_documents and len(tables) < 3:
        return None
    return ReportSection(
        "same-content",
        "Same content",
        "Documents with the same bytes or statements as another URL, at the time when"
        " both were fetched.",
        tuple(tables),
    )


def _domain_of(url: str, normal_form: NormalForm) -> str:
    key = key_of(url, normal_form)
    return key.split(b"\t")[1].decode() if key else ""


def make_same_table(within: SameContentCount, across: SameContentCount) -> ReportTable:
    """Return the number of documents with the content of another URL."""
    rows: list[ReportRow] = [
        ("the same site", within.n_documents, within.n_statements),
        ("another site", across.n_documents, across.n_statements),
    ]
    return ReportTable(
        key="same-content",
        title="Same content",
        sentence="Documents whose content had already been fetched from another URL of"
        " the same site or of another one, and the statements in them.",
        columns=("first fetched from", "documents", "statements"),
        rows=tuple(rows),
    )


def make_example_table(*counts: SameContentCount) -> ReportTable:
    """Return examples of documents with the content of another URL."""
    return ReportTable(
        key="same-content-examples",
        title="Examples of same content",
        sentence=f"At most {_N_EXAMPLES} documents with the content of another site,"
        f" and {_N_EXAMPLES} of the same site.",
        columns=("document", "first fetched from"),
        rows=tuple(
            (shorten(each.url), shorten(each.first))
            for count in counts
            for each in count.examples
        ),
    )


def make_once_table(stores: Iterable[SharedDocuments]) -> ReportTable | None:
    """Return the documents that stores keep as references; None if there are none."""
    rows: list[ReportRow] = [(shorten(x.store), *x[1:]) for x in sorted(stores)]
    if not rows:
        return None
    return ReportTable(
        key="stored-once",
        title="Stored once",
        sentence="Documents that stores keep as references to equal ones; their"
        " statements, which are not stored again, and the bytes of these in N-Quads."
        " State of the last time when the store was up to date.",
        columns=("store", "documents", "statements", "bytes"),
        rows=tuple(rows),
    )


def mirror_section(
    search: MirrorSearch, site: str | None = None
) -> ReportSection | None:
    """Return the section about mirrors; None if there are none.

    Args:
        search: is run once.
        site: registered domain to report; None: all.

    Raises:
        OSError: a disk is full, or cannot be read.
    """
    counts = _MirrorCounts()
    most = nlargest(
        MAX_ROWS,
        counts.counted(each for each in search.find(site) if each.is_of_site),
        key=lambda each: (each.n_domains, len(each.numbers), each.url),
    )
    if not most:
        return None
    contents = counted(counts.n_clusters, "content is", "contents are")
    text = (
        f"{contents} on several sites, under {counted(counts.n_urls, 'URL')}. Each"
        " counts in all its sites, since all other measures concern single sites."
    )
    if search.n_left_out:
        text += (
            f" {counted(search.n_crowded, 'part')} of pages are too common for a"
            " complete comparison; a content was left out"
            f" {counted(search.n_left_out, 'time')}."
        )
    table = ReportTable(
        key="mirrors",
        title="Mirrors",
        sentence="Equal or nearly equal content on several sites, by its"
        " representative URL.",
        columns=("URL", "URLs", "sites", "the first sites"),
        rows=tuple(
            (
                *(each.url, len(each.numbers), each.n_domains),
                ", ".join(each.domains[:_N_NAMED]),
            )
            for each in most
        ),
        n_left_out=counts.n_clusters - len(most),
    )
    return ReportSection("mirrors", "Mirrors", text, (table,))


class _MirrorCounts:
    """Count clusters and their URLs while they pass."""

    def __init__(self) -> None:
        self.n_clusters = self.n_urls = 0

    def counted(self, clusters: Iterator[MirrorCluster]) -> Iterator[MirrorCluster]:
        """Yield the clusters."""
        for each in clusters:
            self.n_clusters += 1
            self.n_urls += len(each.numbers)
            yield each
