"""Table of the epochs of registered domains with a quota, from the epoch logs."""

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

EPOCHS: Final = "epochs"  # folder of the logs, within that of the crawl
_KEY: Final = "domain", "epoch", "began_ms"  # `fresh=1` restarts the epoch numbers
_MAX_LINE_BYTES: Final = 10_000


@dataclass(slots=True)
class QuotaUse:
    """URLs granted in the epochs of a domain, and the results of the latest epoch."""

    epochs: int = 0
    sitemaps: int = 0
    links: int = 0
    further: int = 0
    last_ms: int = -1  # end of the latest epoch
    share: float = 0.0  # of sitemaps, in the latest epoch
    utility_sitemaps: float = 0.0
    utility_links: float = 0.0

    @property
    def granted(self) -> int:
        """Number of granted URLs."""
        return self.sitemaps + self.links + self.further

    def add(self, entry: dict[str, Any]) -> None:
        """Add an entry of the log.

        Raises:
            KeyError, TypeError, ValueError: the entry is invalid; nothing was added.
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
    """Return the section about quotas; None if the crawl has none.

    Args:
        entries: of the logs of all workers; duplicates count once.
        site: registered domain to report; None: all.
        begin_ms: epochs that ended earlier are skipped.
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
        "The share of each site's quota that sitemaps and links received, and its"
        " utility.",
        (make_quota_table(uses),),
    )


def iter_quota_entries(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the entries of the logs of all workers.

    Incomplete lines, which killed workers leave behind, are skipped.

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
    """Skip entries that a second worker has logged as well."""
    known: set[tuple[object, ...]] = set()
    for entry in entries:
        key = tuple(str(entry.get(name)) for name in _KEY)
        if key not in known:
            known.add(key)
            yield entry


def make_quota_table(uses: dict[str, QuotaUse]) -> ReportTable:
    """Return the granted URLs of each domain, those with most grants first."""
    order = nlargest(
        MAX_ROWS, sorted(uses.items()), key=lambda pair: (pair[1].granted, pair[0])
    )
    return ReportTable(
        key="quotas",
        title="Quotas of sites",
        sentence="URLs granted in all finished epochs: to sitemaps, to links, and"
        " further ones to either if the other had too few. For the latest epoch: the"
        " share of sitemaps, and the share of the last URLs granted to each that were"
        " worth it. If these two differ, the better one gets more of the next epoch.",
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
