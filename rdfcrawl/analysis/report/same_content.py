"""Report section about documents with the same content as another one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.analysis.report.activities import shorten
from rdfcrawl.analysis.report.content import ReportRow, ReportSection, ReportTable
from rdfcrawl.analysis.urldb.keys import key_of
from rdfcrawl.stores.followers.status import read_statuses

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rdfcrawl.analysis.urldb.database import UrlDatabase
    from rdfcrawl.analysis.urldb.record import UrlRecord
    from rdfcrawl.uri import NormalForm

SAME: Final = "sameContentAs"
_N_EXAMPLES: Final = 10  # of each kind


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
        fetches = (x for x in reversed(record.fetches) if x.outcome != "UNCHANGED")
        self.n_statements += next((each.n_statements for each in fetches), 0)
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
