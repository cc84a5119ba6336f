"""Format values of this room as lines of text, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rdfcrawl.core.messages import counted
from rdfcrawl.core.times import second_text
from rdfcrawl.monitor.operating.status import CrawlStatus, WorkerStatus, worker_state

if TYPE_CHECKING:
    from rdfcrawl.monitor.operating.exporting import MovedFrontier
    from rdfcrawl.monitor.operating.hosts import HostDetail, HostSummary
    from rdfcrawl.monitor.operating.steering import DrainedWorker, HostChange
    from rdfcrawl.monitor.operating.uris import UriStatus


def as_json(value: object) -> str:
    """Return a value of this room as one line of JSON."""
    default: Any = asdict  # an object that is not a dataclass is an error
    return json.dumps(value, default=default)


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return lines in columns; numbers are written with commas, and to the right.

    >>> table(["host", "queued"], [["a.example", 1200]])
    ['host       queued', 'a.example   1,200']
    """
    texts = [list(heads), *([_cell(each) for each in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = []
    for row in texts:
        cells = [
            text.rjust(width) if i else text.ljust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def _cell(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def secs_text(ms: float) -> str:
    """Return a duration in seconds: `1.5 s`."""
    return f"{ms / 1000:,.1f} s"


def status_lines(status: CrawlStatus, *, with_partitions: bool) -> list[str]:
    """Return the output of `frontier status`."""
    n = status.counts
    limit = f" of {_megabytes(status.limit_bytes)}" if status.limit_bytes else ""
    uris = {
        "queued": n.queued,
        "in flight": n.leased,
        "done": n.done,
        "dead": n.dead,
        "only marked as seen": n.known,
    }
    hosts = {
        "ready": status.total("n_ready"),
        "refusing": status.total("n_refusing"),
        "paused": status.total("n_paused"),
    }
    uris_seen = counted(n.seen, "URI seen", "URIs seen")
    lines = [
        f"crawl {status.crawl_id}: {uris_seen} on {counted(n.hosts, 'host')}",
        f"URIs: {_numbers(uris)}",
        f"given up as their hosts failed: {status.total('n_failed'):,} of those done",
        f"hosts: {_numbers(hosts)}; lag {secs_text(status.lag_ms)}",
        f"leases: {status.total('n_leases'):,}",
        f"runs that have ended: {status.runs_over:,}",
        f"memory of Redis: {_megabytes(status.used_bytes)}{limit}",
    ]
    lines += [f"note: {each}" for each in status.explanations()]
    if status.workers:
        lines += _worker_lines(status.workers)
    return lines + (_partition_lines(status) if with_partitions else [])


def _worker_lines(workers: Iterable[WorkerStatus]) -> list[str]:
    heads = ["worker", "state", "last report", "delay", "documents", "faults"]
    rows = [
        [
            *(each.name, worker_state(each), f"{each.silent_secs} s ago"),
            "?" if each.delay_secs is None else f"{each.delay_secs:g} s",
            *(each.n_documents, each.n_faults),
        ]
        for each in workers
    ]
    return table(heads, rows)


def _partition_lines(status: CrawlStatus) -> list[str]:
    names = ["queued", "leased", "done", "dead", "known", "waiting", "hosts"]
    more = {"ready": "n_ready", "leases": "n_leases", "paused": "n_paused"}
    rows = [
        [
            each.number,
            *(getattr(each.counts, name) for name in names),
            *(getattr(each, name) for name in more.values()),
            secs_text(each.lag_ms),
        ]
        for each in status.partitions
    ]
    return table(["partition", *names, *more, "lag"], rows)


def _numbers(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} {name}" for name, n in counts.items())


def _megabytes(n_bytes: int) -> str:
    return f"{n_bytes / 2**20:,.1f} MB"


def host_lines(hosts: Sequence[HostSummary], now_ms: int) -> list[str]:
    """Return the output of `frontier hosts`."""
    heads = ["host", "phase", "queued", "accepted", "delay", "by", "next", "failures"]
    return table(
        heads,
        [
            [
                each.key,
                each.phase,
                each.n_queued,
                each.n_accepted,
                secs_text(each.delay_ms),
                each.delay_from,
                f"in {secs_text(each.next_ms - now_ms)}"
                if each.next_ms > now_ms and each.n_queued
                else "now"
                if each.n_queued
                else "-",
                each.n_failures,
            ]
            for each in hosts
        ],
    )


def detail_lines(detail: HostDetail) -> list[str]:
    """Return the output of `frontier host`."""
    host, now = detail.summary, detail.now_ms
    budget = budget_text(host.budget)
    uris = {
        "queued": host.n_queued,
        "accepted": host.n_accepted,
        "over budget": host.n_over,
    }
    lines = [
        f"host {host.key}: {host.phase}, in partition {host.partition}",
        f"URIs: {_numbers(uris)}; budget: {budget}",
        f"delay: {secs_text(host.delay_ms)}, by {DELAY_ORIGINS[host.delay_from]}",
        f"next: {next_text(detail)}",
    ]
    if host.paused_at_ms:
        lines.append(f"paused: since {second_text(host.paused_at_ms)}")
    if host.n_failures:
        lines.append(
            f"refused: {counted(host.n_failures, 'visit')} in a row, since"
            f" {second_text(host.refusing_since_ms)}"
        )
    if host.rests_until_ms > now:
        lines.append(f"requests no visits until {second_text(host.rests_until_ms)}")
    if detail.crowd:
        lines.append(f"crowd: takes turns with the other hosts of {detail.crowd}")
    for each in detail.leases:
        what = "is being visited" if each.is_locking else "waits to be stored"
        lines.append(
            f"lease {each.epoch}: {counted(each.n_uris, 'URI')}, {what}; expires in"
            f" {secs_text(each.left_ms)}"
        )
    if detail.bands:
        bands = ", ".join(f"band {band}: {n:,}" for band, n in detail.bands.items())
        lines.append(f"queue: {bands}")
    lines += [f"  {url}" for _, url in detail.head]
    return lines


DELAY_ORIGINS = {
    "setting": "DOWNLOAD_DELAY",
    "host": "the host (robots.txt or pace)",
    "operator": "an operator (set-delay)",
}


def budget_text(most: int | None) -> str:
    """Return a budget as text."""
    if most is None:
        return "as its spider says"
    return f"{counted(most, 'URI')} (set-budget)" if most else "no limit (set-budget)"


def next_text(detail: HostDetail) -> str:
    """Return when a host is visited next, as text."""
    host = detail.summary
    if host.phase == "paused":
        return "never, until it is resumed"
    if host.phase == "leased":
        return "when its visit has ended, and the delay"
    if detail.due_ms is None:
        return "never, as none of its URIs is queued"
    left = detail.due_ms - detail.now_ms
    return f"in {secs_text(left)}" if left > 0 else "now"


def change_line(action: str, change: HostChange) -> str:
    """Return the result of a change to a host."""
    visited = "; the present visit continues"
    match action:
        case "pause" | "resume":
            state = "paused" if action == "pause" else "resumed"
            text = state if change.has_changed else _UNCHANGED[action]
            more = visited if change.is_visited and action == "pause" else ""
            waiting = counted(change.n_waiting, "URI waits", "URIs wait")
            return f"{change.key}: {text}, {waiting}{more}"
        case "drop":
            more = visited if change.is_visited else ""
            dropped = counted(change.n_dropped, "URI")
            return f"{change.key}: {dropped} dropped, but still marked as seen{more}"
    text = "set" if change.has_changed else "was so already"
    more = f", {counted(change.n_taken_up, 'URI')} queued" if change.n_taken_up else ""
    return f"{change.key}: {action.removeprefix('set-')} {text}{more}"


def moved_lines(what: str, moved: MovedFrontier) -> list[str]:
    """Return the result of an export or import."""
    n = moved.counts
    seen, hosts = counted(n["seen"], "URI"), counted(n["hosts"], "host")
    line = f"{moved.crawl}: {what}: {seen} seen, {n['queued']:,} queued, {hosts}"
    left = [f"left out, unknown to this version: {name}" for name in moved.left_out]
    return [line, *left]


def drain_line(drained: DrainedWorker) -> str:
    """Return the result of draining a worker."""
    texts = {
        "drained": f"drained in {secs_text(drained.waited_ms)}: it has given back its"
        " URIs, and ended",
        "gone": "has ended already",
        "dead": f"is dead: no report for {drained.silent_secs} s. Its URIs"
        " go to other workers when its leases expire (FRONTIER_LEASE_SECS)",
    }
    return f"{drained.worker}: {texts[drained.outcome]}"


def uri_line(status: UriStatus) -> str:
    """Return where a URI is."""
    line = f"{status.url}: {status.place}, host {status.key}"
    if status.n_before is not None and status.band is None:
        line += f", not among the first {status.n_before:,} of its host"
    elif status.n_before is not None:
        line += f", band {status.band}, {status.n_before:,} of its host before it"
    if status.epoch is not None:
        line += f", lease {status.epoch}"
    if status.refusal:
        line += f"; its last try failed: {status.refusal}"
    return line


_UNCHANGED = {"pause": "was paused already", "resume": "was not paused"}


def json_lines(values: Iterable[Any]) -> list[str]:
    """Return a line of JSON for each value."""
    return [as_json(each) for each in values]
