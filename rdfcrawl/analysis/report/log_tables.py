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
    """Return how many activities ended in which way."""
    return _shares(
        counts.by_status,
        key="outcomes",
        title="Outcomes",
        sentence="What became of each URI that was taken from the queue, at each time."
        " SUCCESSFUL: all of it was read. PARTIAL: some of it was. UNCHANGED: it is as"
        " it was. DELETED: it is gone. REDIRECTED: it leads to another host. FAILED:"
        " nothing was read; “Faults” says why.",
        columns=("outcome", "share"),
    )


def make_refresh_table(counts: ActivityCounts) -> ReportTable:
    """Return what the fetches of `scrapy refresh` have cost and found."""
    n_all = counts.refreshed.total()
    return ReportTable(
        key="refresh",
        title="What refresh spent and found",
        sentence="Requests for what `scrapy refresh` had queued, and the bytes of their"
        " bodies, decompressed. SUCCESSFUL: what is stored now is new. UNCHANGED: it"
        " was fetched in vain; without a body, the server has said so. DELETED: it is"
        " gone. FAILED: nothing was learnt.",
        columns=("outcome", "requests", "bytes"),
        rows=tuple(
            (shorten(name), MeasuredRatio(number, n_all), counts.refreshed_bytes[name])
            for name, number in _most(counts.refreshed)
        ),
        why_empty="No page was refreshed.",
    )


def make_document_format_table(counts: ActivityCounts) -> ReportTable:
    """Return how many documents were read as which format."""
    return _shares(
        counts.by_format,
        key="formats",
        title="Formats",
        sentence="What documents were read as, if they could be read.",
        columns=("format", "share"),
    )


def make_fault_table(counts: ActivityCounts) -> ReportTable:
    """Return the faults by reason, each with examples."""
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
        sentence="How often each reason was given, with at most three examples of"
        " each. A document may have several faults.",
        columns=("reason", "number", "example", "detail"),
        rows=tuple(rows),
        n_left_out=max(0, len(order) - MAX_ROWS),
        why_empty="No fault was found.",
    )


def make_slow_host_table(counts: ActivityCounts) -> ReportTable:
    """Return the hosts whose fetches took longest on average."""
    found = nlargest(
        _N_HOSTS,
        ((name, host) for name, host in counts.hosts.items() if host.n_timed),
        key=lambda each: (each[1].total_ms / each[1].n_timed, each[0]),
    )
    return ReportTable(
        key="slow-hosts",
        title="Slowest hosts",
        sentence="Seconds from the begin of a fetch to the end of its reading, on"
        " average and at most.",
        columns=("host", "mean, s", "longest, s"),
        rows=tuple(
            (shorten(name), host.mean_secs, host.slowest_ms / 1000)
            for name, host in found
        ),
        n_left_out=_n_left_out(counts, found),
    )


def make_faulty_host_table(counts: ActivityCounts) -> ReportTable:
    """Return the hosts with most faulty documents."""
    found = nlargest(
        _N_HOSTS,
        ((name, host) for name, host in counts.hosts.items() if host.n_faulty),
        key=lambda each: (each[1].n_faulty, each[0]),
    )
    return ReportTable(
        key="faulty-hosts",
        title="Hosts with most faults",
        sentence="The hosts with most URIs that had a fault, and the share of these in"
        " all that were asked for there.",
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
