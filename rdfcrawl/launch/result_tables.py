"""The results of seeds and hosts: at the end of a crawl, and of `scrapy results`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from rdfcrawl.core.console import program
from rdfcrawl.core.errors import safe_text
from rdfcrawl.core.messages import clipped, counted, listed
from rdfcrawl.launch.empty_advice import advice_for_seeds
from rdfcrawl.monitor.operating.tables import table as table_lines
from rdfcrawl.stores.log.result_table import (
    ResultTable,
    SeedCounts,
    incomplete_sources,
)
from rdfcrawl.stores.log.results import HOSTS, SEEDS, HostResults, SeedResult
from rdfcrawl.stores.segment_file import log_bytes

_MOST_SEEDS: Final = 20
_NO_SEEDS: Final = SeedCounts(0, 0)
_MOST_HOSTS: Final = 5
_MOST_INCOMPLETE: Final = 3
_MOST_LOG_BYTES: Final = 64 * 1024 * 1024  # compressed; larger ones take too long
_MOST_CHARS: Final = 70  # of a URL or detail in a table
_MOST_RESULTS: Final = 5  # of a host


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSummary:
    """The first results of a crawl, the worst first.

    Attributes:
        seeds: number of seeds with a result, and of failed ones.
        incomplete: sources that this run has read in part, each with a detail.
        why_empty: why seeds have no statements, and what to type.
        lines: a table of the seeds if there are several or one failed, and a table of
            the hosts with requests that failed if there are several hosts.
    """

    seeds: SeedCounts = _NO_SEEDS
    incomplete: Mapping[str, str] = field(default_factory=dict)
    why_empty: str = ""
    lines: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, root: Path, run: int) -> ResultSummary:
        """Read the logs of results of a crawl, unless they are very large.

        Args:
            root: of the results, `CRAWL_DIR/<CRAWL_ID>/results`.
            run: of the crawl.
        """
        try:
            incomplete = incomplete_sources(root, run)
            kinds = [x for x in (SEEDS, HOSTS) if log_bytes(root / x) < _MOST_LOG_BYTES]
            with ResultTable.opened(root, *kinds) as table:
                counts = table.counts()
                why_empty = advice_for_seeds(table.empty_reasons())
                lines = [*_first_seeds(table, counts), *_first_hosts(table)]
        except (OSError, sqlite3.Error) as error:
            return cls(lines=[f"results: {error}"])
        return cls(
            seeds=counts,
            incomplete=incomplete,
            why_empty=safe_text(why_empty),
            lines=lines,
        )

    @property
    def failed(self) -> str:
        """Failed seeds and incomplete sources, behind an outcome; empty if none are.

        >>> ResultSummary(seeds=SeedCounts(6, 3), incomplete={"http://a/": ""}).failed
        '; 3 of 6 seeds failed; 1 source is incomplete'
        """
        n_seeds, n_failed = self.seeds.n_seeds, self.seeds.n_failed
        text = (
            f"; {n_failed:,} of {counted(n_seeds, 'seed')} failed" if n_failed else ""
        )
        n = len(self.incomplete)
        if n:
            text += f"; {counted(n, 'source is', 'sources are')} incomplete"
        return text

    @property
    def lacks(self) -> str:
        """The first incomplete sources, with what they lack."""
        found = self.incomplete.items()
        parts = [f"{_short(url)} ({_short(detail)})" for url, detail in found]
        return listed(parts, _MOST_INCOMPLETE)


def _first_seeds(table: ResultTable, counts: SeedCounts) -> Iterator[str]:
    if counts.n_seeds > 1 or counts.n_failed:
        yield ""
        yield from seed_lines(islice(table.seeds(), _MOST_SEEDS))
        yield from left_out(SEEDS, counts.n_seeds, _MOST_SEEDS)


def _first_hosts(table: ResultTable) -> Iterator[str]:
    n_hosts = table.n_hosts()
    found = [x for x in islice(table.hosts(), _MOST_HOSTS) if x.n_bad]
    if n_hosts > 1 and found:
        yield ""
        yield from host_lines(found)
        yield from left_out(HOSTS, n_hosts, len(found))


def left_out(kind: str, n: int, n_shown: int) -> list[str]:
    """Return a line with the command that lists the rest; none if there is no rest."""
    if n <= n_shown:
        return []
    return [f"{n - n_shown:,} more: `{program()} results {kind} --csv`"]


def seed_lines(seeds: Iterable[SeedResult]) -> list[str]:
    """Return seeds as a table for a terminal."""
    heads = ("seed", "status", "HTTP", "statements", "links")
    return _lines(heads, "fault", map(_seed_cells, seeds))


def _seed_cells(seed: SeedResult) -> tuple[object, ...]:
    return (
        _short(seed.url),
        seed.status.lower(),
        seed.http_status or "-",
        seed.n_statements,
        seed.n_links,
        _short(": ".join(text for text in (seed.reason, seed.detail) if text)),
    )


def host_lines(hosts: Iterable[HostResults]) -> list[str]:
    """Return hosts as a table for a terminal."""
    heads = ("host", "documents", "statements", "failed")
    return _lines(heads, "results", map(_host_cells, hosts))


def _host_cells(host: HostResults) -> tuple[object, ...]:
    results = [f"{name} {n:,}" for name, n in host.results.items()]
    shown = listed(results, _MOST_RESULTS, "kind")
    return host.host, host.n_documents, host.n_statements, host.n_bad, shown


def _lines(
    heads: Sequence[str], last: str, rows: Iterable[tuple[object, ...]]
) -> list[str]:
    """Return a table whose last column is a text of any length."""
    found = list(rows)
    lines = table_lines(heads, [row[:-1] for row in found])
    texts = [last, *(str(row[-1]) for row in found)]
    pairs = zip(lines, texts, strict=True)
    return [safe_text(f"{line}  {text}".rstrip()) for line, text in pairs]


def _short(text: str) -> str:
    return clipped(text, _MOST_CHARS)
