"""Reports of a crawl of the synthetic web for people: manners and recall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.core.messages import counted

if TYPE_CHECKING:
    from rdfcrawl.dataweb.nodes.accesslog import WebLog
    from rdfcrawl.dataweb.recall import RecallReport


def format_log(log: WebLog) -> str:
    """Sum up the access log in a few lines."""
    summary = log.to_json()["summary"]
    secs = summary["active_secs"]
    lines = [
        (
            f"{counted(summary['n_requests'], 'request')}"
            f" ({summary['n_robots']} for robots.txt) in {secs:.1f} s,"
            f" {counted(summary['n_documents'], 'document')},"
            f" {summary['n_duplicates']} requested again"
        ),
        (
            f"at once per host: {counted(summary['max_connections'], 'connection')},"
            f" {counted(summary['max_in_progress'], 'request')}"
        ),
    ]
    if summary["n_disallowed"]:
        lines.append(
            f"disallowed resources requested: {summary['n_disallowed_requested']}"
            f" of {summary['n_disallowed']}"
        )
    if summary["min_gap_secs"] is not None:
        lines.append(f"least gap on a host: {summary['min_gap_secs']:.3f} s")
    if summary["min_delay_fulfilment"] is not None:
        lines.append(
            "mean gap / crawl delay:"
            f" min {summary['min_delay_fulfilment']:.2f},"
            f" mean {summary['mean_delay_fulfilment']:.2f},"
            f" max {summary['max_delay_fulfilment']:.2f}"
        )
    # The user agent of a client is untrusted on a terminal.
    lines += [f"{n} by {agent!a}" for agent, n in summary["user_agents"].items()]
    return "\n".join(lines)


def format_recall(report: RecallReport, *, is_verbose: bool) -> list[str]:
    """Give the lines of a recall report."""
    lines = [f"{'nodes':8}{'found/expected':>20}{'micro':>10}{'macro':>10}"]
    for kind, (n_found, n_expected, macro) in report.kinds().items():
        lines.append(_format_row(kind, n_found, n_expected, macro))
    lines.append(_format_row("all", report.n_found, report.n_expected, report.macro))
    more = "" if report.is_surplus_exact else "more than "
    lines.append(
        f"surplus: {more}{counted(report.n_surplus, 'different statement')} beyond the"
        f" truth, of {report.n_read} read"
    )
    if is_verbose:
        lines += [f"missing: {one!a}"[:500] for one in report.missing]
        lines += [f"surplus: {one!a}"[:500] for one in report.surplus]
    return lines


def _format_row(kind: str, n_found: int, n_expected: int, macro: float) -> str:
    # Cut, not rounded: only a complete crawl shows 1.
    micro = int(n_found / n_expected * 10_000) / 10_000
    found = f"{n_found}/{n_expected}"
    return f"{kind:8}{found:>20}{micro:>10.4f}{int(macro * 10_000) / 10_000:>10.4f}"
