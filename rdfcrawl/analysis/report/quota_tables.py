"""Table of the epochs of registered domains that have a quota, from their log."""

from __future__ import annotations

import json
from dataclasses import dataclass
from heapq import nlargest
from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.analysis.measures.ratio import MeasuredRatio
from rdfcrawl.analysis.report.content import MAX_ROWS, ReportSection, ReportTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

EPOCHS: Final = "epochs"  # folder of their logs, in that of a crawl
_KEY: Final = "domain", "epoch", "began_ms"  # numbers begin anew with `fresh=1`
_MAX_LINE_BYTES: Final = 10_000


@dataclass(slots=True)
class QuotaUse:
    """What the epochs of a domain have granted, and what the last one found."""

    epochs: int = 0
    sitemaps: int = 0
    links: int = 0
    further: int = 0
    last_ms: int = -1  # when the latest of them ended
    share: float = 0.0  # of sitemaps, in that one
    utility_sitemaps: float = 0.0
    utility_links: float = 0.0

    @property
    def granted(self) -> int:
        """How many URLs were granted."""
        return self.sitemaps + self.links + self.further

    def add(self, entry: dict[str, Any]) -> None:
        """Add an entry of the log.

        Raises:
            KeyError, TypeError, ValueError: it is none; nothing was added.
        """
        counts = [int(entry[name]) for name in ("sitemaps", "links", "further")]
        names = "share", "utility_sitemaps", "utility_links"
        shares = [float(entry[name]) for name in names]
        ended_ms = int(entry["ended_ms"])
        self.epochs += 1
        self.sitemaps += counts[0]
        self.links += counts[1]
        self.further += counts[2]
        if ended_ms > self.last_ms:
            self.last_ms = ended_ms
            self.share, self.utility_sitemaps, self.utility_links = shares


def quota_section(
    entries: Iterable[dict[str, Any]], site: str | None = None, begin_ms: int = 0
) -> ReportSection | None:
    """Return the section about quotas; None for a crawl that has none.

    Args:
        entries: of the logs of all workers; what two have logged counts once.
        site: registered domain that is reported; None: all.
        begin_ms: epochs that ended before are passed over.
    """
    uses: dict[str, QuotaUse] = {}
    for entry in _once(entries):
        try:
            domain = str(entry["domain"])
            if site in (None, domain) and int(entry["ended_ms"]) >= begin_ms:
                uses.setdefault(domain, QuotaUse()).add(entry)
        except (KeyError, TypeError, ValueError):
            continue
    if not uses:
        return None
    return ReportSection(
        "quotas",
        "Quotas",
        "What sitemaps and links had of the quotas of registered domains, and what it"
        " was worth.",
        (make_quota_table(uses),),
    )


def iter_quota_entries(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the entries of the logs of all workers.

    A line that is torn, as its worker was killed, is passed over.

    Raises:
        OSError: a log cannot be read.
    """
    for path in sorted(folder.glob("*.jsonl")):
        with path.open("rb") as file:
            while line := file.readline(_MAX_LINE_BYTES):
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue
                if isinstance(entry, dict):
                    yield entry


def _once(entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield each entry once: two workers may have logged one."""
    known: set[tuple[object, ...]] = set()
    for entry in entries:
        key = tuple(str(entry.get(name)) for name in _KEY)
        if key not in known:
            known.add(key)
            yield entry


def make_quota_table(uses: dict[str, QuotaUse]) -> ReportTable:
    """Return what was granted in each domain, those with most grants first."""
    order = nlargest(
        MAX_ROWS, sorted(uses.items()), key=lambda pair: (pair[1].granted, pair[0])
    )
    return ReportTable(
        key="quotas",
        title="Quotas of sites",
        sentence="URLs granted in all epochs that are over: to sitemaps, to links, and"
        " further ones of either where the other had too few. Then of the latest epoch:"
        " the share of sitemaps, and which part of the last URLs granted to either was"
        " worth it. Where these differ, the better one gets more of the next epoch.",
        columns=(
            *("site", "epochs", "sitemaps", "links", "further"),
            *("share of sitemaps", "worth it, sitemaps", "worth it, links"),
        ),
        rows=tuple(
            (
                domain,
                use.epochs,
                MeasuredRatio(use.sitemaps, use.granted),
                MeasuredRatio(use.links, use.granted),
                MeasuredRatio(use.further, use.granted),
                use.share,
                use.utility_sitemaps,
                use.utility_links,
            )
            for domain, use in order
        ),
        n_left_out=len(uses) - len(order),
    )
