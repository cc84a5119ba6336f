"""Tables from the provenance: outcomes, formats, faults, slow and faulty hosts."""

from __future__ import annotations

from heapq import nlargest
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.measures.ratio import MeasuredRatio
from rdfcrawl.analysis.report.activities import FaultExample, HostActivity, shorten
from rdfcrawl.analysis.report.content import MAX_ROWS, ReportRow, ReportTable

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable

    from rdfcrawl.analysis.report.activities import ActivityCounts

_N_HOSTS: Final = 20  # slowest, and most faulty
_NO_EXAMPLE: Final = FaultExample(0, "", "")
_Host = tuple[str, HostActivity]


def make_outcome_table(counts: ActivityCounts) -> ReportTable:
    """Return the numbers of activities by outcome."""
    return _shares(
        counts.by_status,
        key="outcomes",
        title="Outcomes",
        sentence="Outcome of each URI that was taken from the queue, each time."
        " SUCCESSFUL: read completely. PARTIAL: read in part. UNCHANGED: not modified."
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
        " decompressed. SUCCESSFUL: a new version was stored. UNCHANGED: the page had"
        " not changed; if there are no bytes, the server said so. DELETED: the page is"
        " gone. FAILED: nothing was read.",
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
