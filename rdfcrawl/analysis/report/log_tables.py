"""Tables from the logs: outcomes, formats, faults, slow and faulty hosts, quotas."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import nlargest
from pathlib import Path
from typing import Any, Final

from rdfcrawl.analysis.measures.ratio import MeasuredRatio
from rdfcrawl.analysis.refresh.outlook import TARGET, RefreshOutlook
from rdfcrawl.analysis.report.activities import (
    ActivityCounts,
    FaultExample,
    HostActivity,
)
from rdfcrawl.analysis.report.content import (
    MAX_ROWS,
    ReportRow,
    ReportSection,
    ReportTable,
    shorten,
)
from rdfcrawl.analysis.verifications import NUMBERS, VerifiedSource

_N_HOSTS: Final = 20  # slowest, and most faulty
_NO_EXAMPLE: Final = FaultExample(0, "", "")
_Host = tuple[str, HostActivity]
EPOCHS: Final = "epochs"  # folder of the logs, within that of the crawl
_KEY: Final = "domain", "epoch", "began_ms"  # `fresh=1` restarts the epoch numbers
_MAX_LINE_BYTES: Final = 10_000


def make_outcome_table(counts: ActivityCounts) -> ReportTable:
    """Return the numbers of activities by outcome."""
    return _shares(
        counts.by_status,
        key="outcomes",
        title="Outcomes",
        sentence="Outcome of each URI that was taken from the queue, each time."
        " SUCCESSFUL: read completely. PARTIAL: read in part. UNCHANGED: not modified,"
        " or read with the stored statements."
        " DELETED: gone. REDIRECTED: redirects to another host. FAILED: nothing was"
        " read; “Faults” has the reason.",
        columns=("outcome", "share"),
    )


def make_refresh_table(counts: ActivityCounts) -> ReportTable:
    """Return costs and outcomes of the requests of `scrapy refresh`."""
    n_all = counts.refreshed.total()
    return ReportTable(
        key="refresh",
        title="Cost and result of refresh",
        sentence="Requests that `scrapy refresh` queued, and the bytes of their bodies,"
        " decompressed. SUCCESSFUL: a new version was stored. UNCHANGED: the server"
        " said that the page was not modified, or its statements were those stored,"
        " even if its content had changed. DELETED: the page is gone. FAILED: nothing"
        " was read.",
        columns=("outcome", "requests", "bytes"),
        rows=tuple(
            (shorten(name), MeasuredRatio(number, n_all), counts.refreshed_bytes[name])
            for name, number in _most(counts.refreshed)
        ),
        why_empty="No page was refreshed.",
    )


def make_document_format_table(counts: ActivityCounts) -> ReportTable:
    """Return the numbers of documents by format."""
    return _shares(
        counts.by_format,
        key="formats",
        title="Formats",
        sentence="Formats of the documents that could be read.",
        columns=("format", "share"),
    )


def make_fault_table(counts: ActivityCounts) -> ReportTable:
    """Return the faults by reason, with examples."""
    order = _most(counts.by_reason)
    rows: list[ReportRow] = []
    for reason, number in order[:MAX_ROWS]:
        rows += [
            (reason, number, each.url, each.detail)
            for each in counts.examples.get(reason) or [_NO_EXAMPLE]
        ]
    return ReportTable(
        key="faults",
        title="Faults",
        sentence="Number of faults by reason, with up to three examples each. A"
        " document may have several faults.",
        columns=("reason", "number", "example", "detail"),
        rows=tuple(rows),
        n_left_out=max(0, len(order) - MAX_ROWS),
        why_empty="No fault was found.",
    )


def make_slow_host_table(counts: ActivityCounts) -> ReportTable:
    """Return the hosts with the slowest fetches on average."""
    found = nlargest(
        _N_HOSTS,
        ((name, host) for name, host in counts.hosts.items() if host.n_timed),
        key=lambda each: (each[1].total_ms / each[1].n_timed, each[0]),
    )
    return ReportTable(
        key="slow-hosts",
        title="Slowest hosts",
        sentence="Seconds from the start of a fetch until the document was read,"
        " average and maximum.",
        columns=("host", "mean, s", "longest, s"),
        rows=tuple(
            (shorten(name), host.mean_secs, host.slowest_ms / 1000)
            for name, host in found
        ),
        n_left_out=_n_left_out(counts, found),
    )


def make_faulty_host_table(counts: ActivityCounts) -> ReportTable:
    """Return the hosts with the most faulty documents."""
    found = nlargest(
        _N_HOSTS,
        ((name, host) for name, host in counts.hosts.items() if host.n_faulty),
        key=lambda each: (each[1].n_faulty, each[0]),
    )
    return ReportTable(
        key="faulty-hosts",
        title="Hosts with most faults",
        sentence="Hosts with the most faulty URIs, and the share of these in all URIs"
        " requested there.",
        columns=("host", "with a fault"),
        rows=tuple((shorten(name), host.fault_share) for name, host in found),
        why_empty="No fault was found.",
        n_left_out=_n_left_out(counts, found),
    )


def _n_left_out(counts: ActivityCounts, found: Iterable[_Host]) -> int:
    return len(counts.hosts) - len(list(found))


def _most(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


def _shares(
    counts: Counter[str],
    *,
    key: str,
    title: str,
    sentence: str,
    columns: tuple[str, ...],
) -> ReportTable:
    order = _most(counts)
    return ReportTable(
        key=key,
        title=title,
        sentence=sentence,
        columns=columns,
        rows=tuple(
            (shorten(name), MeasuredRatio(number, counts.total()))
            for name, number in order[:MAX_ROWS]
        ),
        n_left_out=max(0, len(order) - MAX_ROWS),
    )


def outlook_section(
    outlooks: Iterable[RefreshOutlook], site: str | None = None
) -> ReportSection | None:
    """Return the section about budgets of refresh; None if they suffice.

    Args:
        outlooks: of the last epoch.
        site: registered domain to report; None: all.
    """
    shown = [
        each
        for each in outlooks
        if site is None or f".{each.hosts.partition(':')[0]}".endswith(f".{site}")
    ]
    if not shown:
        return None
    table = ReportTable(
        key="refresh-budgets",
        title="Budgets of refresh",
        sentence="Hosts that had more due pages than budget in the last epoch, those"
        " with the longest rounds. A round is over when each page was fetched once. The"
        " freshness is the share of time for which copies equal their pages, with the"
        " best frequencies for the estimated rates of change.",
        columns=(
            *("host", "pages due", "fetches an epoch", "round, days"),
            *("freshness", f"fetches for {TARGET}"),
        ),
        rows=tuple(
            (
                shorten(each.hosts),
                each.n_pages,
                each.n_fetches,
                each.round_days,
                each.freshness,
                each.needed,
            )
            for each in shown
        ),
    )
    sentence = "How long `scrapy refresh` takes to see all pages again."
    return ReportSection("budgets", "Budgets", sentence, (table,))


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


def verified_section(verified: Iterable[VerifiedSource]) -> ReportSection | None:
    """Return the section about verifications; None if there were none."""
    rows = [
        (
            *(each.site, each.kind, each.name),
            *(getattr(each, name) for name in NUMBERS),
            "all" if each.is_full else "a sample",
            each.ended[:16].replace("T", " "),
        )
        for each in verified
    ]
    if not rows:
        return None
    table = ReportTable(
        key="verified",
        title="Documents compared with their sites",
        sentence="The last result of “scrapy verify” for each site, by source: equal"
        " documents; stale ones, where the site has other statements; surplus ones,"
        " which the site does not have; missing ones, which only the site has; and"
        " unknown ones, without a usable response.",
        columns=("site", "source", "name", *NUMBERS, "pages", "UTC"),
        rows=tuple(rows[:MAX_ROWS]),
        n_left_out=max(0, len(rows) - MAX_ROWS),
    )
    return ReportSection(
        "verification", "Verification", "The crawl and its sites.", (table,)
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
