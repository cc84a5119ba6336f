"""Aggregate the provenance of a crawl: hosts, formats, outcomes, faults, growth."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final, NamedTuple

from rdfcrawl.analysis.measures.first_seen import DAY_SECS
from rdfcrawl.analysis.measures.ratio import MeasuredRatio
from rdfcrawl.analysis.report.content import shorten
from rdfcrawl.core.tasks import RefreshedPage
from rdfcrawl.stores.provenance.records import Activity
from rdfcrawl.uri import host_of, registered_domain
from rdfcrawl.uri.hosts import host_of_iri

_MAX_HOSTS: Final = 100_000  # counted separately
_MAX_NAMES: Final = 1000  # of formats and reasons
_OTHERS: Final = "(others)"
MAX_EXAMPLES: Final = 3  # of a fault


class FaultExample(NamedTuple):
    """A document with a fault; examples sort by start time."""

    started_ms: int
    url: str
    detail: str


@dataclass(slots=True)
class HostActivity:
    """Outcomes and times of the requests to one host.

    Attributes:
        n_activities: number of processed URIs.
        n_faulty: of these, with any fault.
        n_timed: of these, with known start and end.
        total_ms: sum of the times from start to end.
        slowest_ms: the longest of these times.
    """

    n_activities: int = 0
    n_faulty: int = 0
    n_timed: int = 0
    total_ms: int = 0
    slowest_ms: int = 0

    def add(self, other: HostActivity) -> None:
        """Add the counts of other activities of the host."""
        self.n_activities += other.n_activities
        self.n_faulty += other.n_faulty
        self.n_timed += other.n_timed
        self.total_ms += other.total_ms
        self.slowest_ms = max(self.slowest_ms, other.slowest_ms)

    @property
    def mean_secs(self) -> MeasuredRatio:
        """The mean time of a fetch."""
        return MeasuredRatio(self.total_ms / 1000, self.n_timed)

    @property
    def fault_share(self) -> MeasuredRatio:
        """The share of URIs with a fault."""
        return MeasuredRatio(self.n_faulty, self.n_activities)


@dataclass(slots=True)
class ActivityCounts:
    """Counts over all activities of a crawl, or of one site.

    Memory: one entry for each host, day, format and reason, up to limits.

    Args:
        site: registered domain whose URIs count; None: all.
        begin_ms: activities that started earlier, or never started, do not count.

    Attributes:
        by_format: documents by `rc:format`.
        by_status: activities by `sq:status`.
        refreshed: of these, those of `scrapy refresh`.
        refreshed_bytes: length of their bodies by `sq:status`.
        by_reason: faults by `rc:reason`.
        examples: the earliest faults of each reason.
        documents: activities that stored statements, by day since 1970.
        statements: stored statements, by day.
        last_ms: start of the last activity.
    """

    site: str | None = None
    begin_ms: float = 0
    hosts: dict[str, HostActivity] = field(default_factory=dict)
    by_format: Counter[str] = field(default_factory=Counter)
    by_status: Counter[str] = field(default_factory=Counter)
    by_reason: Counter[str] = field(default_factory=Counter)
    refreshed: Counter[str] = field(default_factory=Counter)
    refreshed_bytes: Counter[str] = field(default_factory=Counter)
    examples: defaultdict[str, list[FaultExample]] = field(
        default_factory=lambda: defaultdict(list)
    )
    documents: Counter[int] = field(default_factory=Counter)
    statements: Counter[int] = field(default_factory=Counter)
    last_ms: int = 0

    def count(self, activity: Activity) -> None:
        """Count one activity."""
        url, status = activity.uri, activity.status
        started_ms, n_statements = activity.started_ms, activity.n_statements
        if not self._is_wanted(url, started_ms):
            return
        self.last_ms = max(self.last_ms, started_ms)
        self._count_host(url, activity)
        _count_name(self.by_status, status)
        if activity.format:
            _count_name(self.by_format, activity.format)
        if activity.task.startswith(RefreshedPage.TAG):
            _count_name(self.refreshed, status)
            _count_name(self.refreshed_bytes, status, max(activity.n_bytes, 0))
        if n_statements and started_ms:
            self.documents[started_ms // 1000 // DAY_SECS] += 1
            self.statements[started_ms // 1000 // DAY_SECS] += n_statements
        for reason, _, detail in activity.faults:
            _count_name(self.by_reason, reason)
            if reason in self.by_reason:
                example = FaultExample(started_ms, shorten(url), shorten(detail))
                self._keep_examples(reason, [example])

    def _keep_examples(self, reason: str, found: list[FaultExample]) -> None:
        kept = sorted(self.examples[reason] + found, key=itemgetter(0, 1))
        self.examples[reason] = kept[:MAX_EXAMPLES]

    def add(self, others: ActivityCounts) -> None:
        """Add the counts of other activities with the same site and begin."""
        for name, host in others.hosts.items():
            self._host(name).add(host)
        for counts, some in (
            (self.by_format, others.by_format),
            (self.by_status, others.by_status),
            (self.by_reason, others.by_reason),
            (self.refreshed, others.refreshed),
            (self.refreshed_bytes, others.refreshed_bytes),
        ):
            for name, number in some.items():
                _count_name(counts, name, number)
        for reason, examples in others.examples.items():
            if reason in self.by_reason:
                self._keep_examples(reason, examples)
        self.documents.update(others.documents)
        self.statements.update(others.statements)
        self.last_ms = max(self.last_ms, others.last_ms)

    def _is_wanted(self, url: str, started_ms: int) -> bool:
        if started_ms < self.begin_ms:
            return False
        return self.site is None or registered_domain(host_of(url)) == self.site

    def _count_host(self, url: str, activity: Activity) -> None:
        name = host_of_iri(url.encode("utf-8", "replace")).decode("utf-8", "replace")
        host = self._host(name)
        host.n_activities += 1
        host.n_faulty += bool(activity.faults)
        took_ms = activity.ended_ms - activity.started_ms
        if activity.started_ms and took_ms >= 0:
            host.n_timed += 1
            host.total_ms += took_ms
            host.slowest_ms = max(host.slowest_ms, took_ms)

    def _host(self, name: str) -> HostActivity:
        if name not in self.hosts and len(self.hosts) >= _MAX_HOSTS:
            name = _OTHERS
        return self.hosts.setdefault(name, HostActivity())


def _count_name(counts: Counter[str], name: str, number: int = 1) -> None:
    is_known = name in counts or len(counts) < _MAX_NAMES
    counts[name if is_known else _OTHERS] += number
