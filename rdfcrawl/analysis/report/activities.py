"""Aggregate the provenance of a crawl: hosts, formats, outcomes, faults, growth."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final, NamedTuple

from rdfcrawl.analysis.measures.first_seen import DAY_SECS
from rdfcrawl.analysis.measures.ratio import MeasuredRatio
from rdfcrawl.analysis.report.content import shorten
from rdfcrawl.core.namespaces import PROV, RC, SQUIRREL
from rdfcrawl.core.tasks import RefreshedPage
from rdfcrawl.rdf.terms import text_of_term, unix_ms, whole_number
from rdfcrawl.uri import host_of, registered_domain
from rdfcrawl.uri.hosts import host_of_iri

_MAX_HOSTS: Final = 100_000  # counted separately
_MAX_NAMES: Final = 1000  # of formats and reasons
_OTHERS: Final = "(others)"
MAX_EXAMPLES: Final = 3  # of a fault

_FACTS: Final = {
    predicate.encode(): name
    for predicate, name in (
        (f"{SQUIRREL}crawled", "url"),
        (f"{SQUIRREL}status", "status"),
        (f"{SQUIRREL}approxNumberOfTriples", "statements"),
        (f"{PROV}startedAtTime", "started"),
        (f"{PROV}endedAtTime", "ended"),
        (f"{RC}format", "format"),
        (f"{RC}task", "task"),
        (f"{RC}bytes", "bytes"),  # of the response
        (f"{RC}reason", "reason"),
        (f"{RC}detail", "detail"),
    )
}

# A line about an activity, or about a node of one. A term is an IRI, or a literal with
# escaped quotes.
_LINE: Final = re.compile(
    rb"^<(urn:rdfcrawl:activity:[0-9a-f]{32})([^>\n]*)> <(%b)>"
    rb' (?:<([^>\n]*)>|("(?:[^"\\\n]|\\.)*"))' % b"|".join(map(re.escape, _FACTS)),
    re.MULTILINE,
)


class FaultExample(NamedTuple):
    """A document with a fault; examples sort by start time."""

    started_ms: int
    url: str
    detail: str


class CrawlActivity(NamedTuple):
    """The provenance of one activity.

    Attributes:
        facts: `url`, `status`, `statements`, `started`, `ended`, `format`, `task` and
            `bytes`, if they are known.
        faults: reason and detail of each.
    """

    facts: dict[str, str]
    faults: list[list[str]]

    @property
    def is_complete(self) -> bool:
        """The activity has a URL and an outcome.

        Statements that are added later, such as `sameContentAs`, have neither.
        """
        return "url" in self.facts and "status" in self.facts


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

    def read(self, blocks: Iterable[bytes]) -> None:
        """Count the activities in blocks of complete lines, in their original order."""
        for each in iter_activities(blocks):
            self.count(each)

    def count(self, activity: CrawlActivity) -> None:
        """Count one activity, if it is complete; see `CrawlActivity.is_complete`."""
        if not activity.is_complete:
            return
        facts, faults = activity
        url = facts["url"]
        started, ended = (
            unix_ms(facts.get("started", "")),
            unix_ms(facts.get("ended", "")),
        )
        if not self._is_wanted(url, started):
            return
        self.last_ms = max(self.last_ms, started or 0)
        self._count_host(url, started, ended, has_fault=bool(faults))
        _count_name(self.by_status, facts["status"])
        if "format" in facts:
            _count_name(self.by_format, facts["format"])
        if facts.get("task", "").startswith(RefreshedPage.TAG):
            _count_name(self.refreshed, facts["status"])
            _count_name(
                self.refreshed_bytes,
                facts["status"],
                whole_number(facts.get("bytes", "")),
            )
        n_statements = whole_number(facts.get("statements", ""))
        if n_statements and started is not None:
            self.documents[started // 1000 // DAY_SECS] += 1
            self.statements[started // 1000 // DAY_SECS] += n_statements
        for reason, detail in faults:
            _count_name(self.by_reason, reason)
            if reason in self.by_reason:
                example = FaultExample(started or 0, shorten(url), shorten(detail))
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

    def _is_wanted(self, url: str, started: int | None) -> bool:
        if self.begin_ms and (started is None or started < self.begin_ms):
            return False
        return self.site is None or registered_domain(host_of(url)) == self.site

    def _count_host(
        self, url: str, started: int | None, ended: int | None, *, has_fault: bool
    ) -> None:
        name = host_of_iri(url.encode("utf-8", "replace")).decode("utf-8", "replace")
        host = self._host(name)
        host.n_activities += 1
        host.n_faulty += has_fault
        if started is not None and ended is not None and ended >= started:
            host.n_timed += 1
            host.total_ms += ended - started
            host.slowest_ms = max(host.slowest_ms, ended - started)

    def _host(self, name: str) -> HostActivity:
        if name not in self.hosts and len(self.hosts) >= _MAX_HOSTS:
            name = _OTHERS
        return self.hosts.setdefault(name, HostActivity())


def iter_activities(blocks: Iterable[bytes]) -> Iterator[CrawlActivity]:
    """Yield the activities in blocks of complete lines, in their original order."""
    current, facts, faults = b"", dict[str, str](), list[list[str]]()
    for block in blocks:
        for activity, part, predicate, iri, literal in _LINE.findall(block):
            name = _FACTS[predicate]
            if activity != current:
                yield CrawlActivity(facts, faults)
                current, facts, faults = activity, {}, []
            text = text_of_term(iri, literal)
            if name == "reason":
                faults.append([text, ""])
            elif name == "detail" and faults:
                faults[-1][1] = text
            elif not part or name == "bytes":
                facts[name] = text
    yield CrawlActivity(facts, faults)


def _count_name(counts: Counter[str], name: str, number: int = 1) -> None:
    is_known = name in counts or len(counts) < _MAX_NAMES
    counts[name if is_known else _OTHERS] += number
