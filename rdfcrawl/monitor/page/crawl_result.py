"""The result of a crawl by its logs: runs, sums, and the most frequent classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rdfcrawl.analysis.crawl_index.vocabulary import CLASS, PROPERTY
from rdfcrawl.monitor.page.crawl_access import CrawlAccess

MOST_CLASSES: Final = 8
_MOST_RUNS: Final = 20
_RUNS: Final = """
SELECT run + 1, first_ms, last_ms, (last_ms - first_ms) / 1000.0, n_documents,
    n_filled, n_statements, n_bytes, n_faulty
FROM crawl_run ORDER BY run DESC LIMIT ?
"""
_HOSTS: Final = "SELECT COUNT(*) FROM web_host WHERE n_documents > 0"
_N_TERMS: Final = "SELECT COUNT(*) FROM vocabulary WHERE kind = ? AND term <> ''"
_TERMS: Final = """
SELECT term, n FROM vocabulary WHERE kind = ? AND term <> ''
ORDER BY n DESC, term LIMIT ?
"""


@dataclass(frozen=True, slots=True)
class RunSums:
    """One run of a crawl.

    Attributes:
        run: its number, from 1.
        first_ms: start of its first fetch, Unix time.
        last_ms: end of its last one.
        secs: between these.
        n_documents: with any result.
        n_filled: documents with stored statements.
        n_statements: stored.
        n_bytes: of decoded bodies.
        n_faulty: documents with faults.
    """

    run: int
    first_ms: int
    last_ms: int
    secs: float
    n_documents: int
    n_filled: int
    n_statements: int
    n_bytes: int
    n_faulty: int


@dataclass(frozen=True, slots=True)
class TermCount:
    """A class or property.

    Attributes:
        term: its IRI.
        n: stored statements with it.
    """

    term: str
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlResult:
    """The result of a crawl so far.

    Attributes:
        runs: the latest 20, the last one first.
        n_hosts: with fetched documents.
        n_classes: found, up to `MOST_TERMS`.
        n_properties: likewise.
        classes: the most frequent ones.
    """

    runs: tuple[RunSums, ...]
    n_hosts: int
    n_classes: int
    n_properties: int
    classes: tuple[TermCount, ...]


async def read_result(access: CrawlAccess) -> CrawlResult | None:
    """Return the result of a crawl; None before anything is indexed."""
    runs = await access.indexed(_RUNS, (_MOST_RUNS,))
    if not runs:
        return None
    ((n_hosts,),) = await access.indexed(_HOSTS) or [(0,)]
    ((n_classes,),) = await access.indexed(_N_TERMS, (CLASS,)) or [(0,)]
    ((n_properties,),) = await access.indexed(_N_TERMS, (PROPERTY,)) or [(0,)]
    classes = await access.indexed(_TERMS, (CLASS, MOST_CLASSES))
    return CrawlResult(
        runs=tuple(RunSums(*row) for row in runs),
        n_hosts=n_hosts,
        n_classes=n_classes,
        n_properties=n_properties,
        classes=tuple(TermCount(*row) for row in classes),
    )
