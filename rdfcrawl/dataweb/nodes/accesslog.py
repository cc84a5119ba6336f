"""Log of the requests to each host: counts, repeats, manners."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any
from zlib import crc32

from rdfcrawl.dataweb.messages import RULES_PATHS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdfcrawl.dataweb.messages import NodeRequest
    from rdfcrawl.dataweb.nodes.base import WebNode

_CONDITIONS = frozenset({"if-none-match", "if-modified-since"})

MAX_TARGETS = 200_000  # per host; further ones are not checked for repeats
MAX_USER_AGENTS = 20  # per host
MAX_KEPT = 200_000  # individually stored requests of one host


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """One request with its response.

    Attributes:
        at: Unix time in seconds of the response.
        method, target: as sent.
        status: of the response.
        n_bytes: of the response, head and body.
        user_agent, accept: fields of the request; empty if absent.
        is_conditional: it had `If-None-Match` or `If-Modified-Since`.
        body: of a POST.
    """

    at: float
    method: str
    target: str
    status: int
    n_bytes: int = 0
    user_agent: str = ""
    accept: str = ""
    is_conditional: bool = False
    body: str = ""


@dataclass(slots=True, kw_only=True)
class HostLog:
    """Requests to one node; data requests are all except those for rules.

    Attributes:
        index, kind, origin: which node.
        n_requests: all of them.
        n_robots: for rules: robots.txt, and the file of reservations.
        n_distinct: different data requests (target, and body of a POST).
        n_duplicates: data requests that repeat an earlier one.
        n_documents: different data requests that were answered with 200.
        n_disallowed: paths that robots.txt disallows.
        n_disallowed_requested: how many of them were requested.
        delay_secs: `Crawl-delay` of robots.txt; 0 if it states none.
        min_gap_secs, mean_gap_secs: between the starts of two data requests in a
            row; None before the second.
        max_connections: maximum number of open connections.
        max_in_progress: maximum number of concurrent requests.
        n_connections: connections opened.
        n_refused: requests that were no valid HTTP or beyond the limits.
        bytes_sent: bodies and heads.
        statuses: responses by status.
        user_agents: requests by `User-Agent`.
    """

    index: int
    kind: str
    origin: str
    n_requests: int = 0
    n_robots: int = 0
    n_distinct: int = 0
    n_duplicates: int = 0
    n_documents: int = 0
    n_disallowed: int = 0
    n_disallowed_requested: int = 0
    delay_secs: float = 0.0
    min_gap_secs: float | None = None
    mean_gap_secs: float | None = None
    max_connections: int = 0
    max_in_progress: int = 0
    n_connections: int = 0
    n_refused: int = 0
    bytes_sent: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    user_agents: dict[str, int] = field(default_factory=dict)

    @property
    def delay_fulfilment(self) -> float | None:
        """Mean gap / crawl delay: at least 1 if obeyed (ORCA's measure)."""
        if not self.delay_secs or self.mean_gap_secs is None:
            return None
        return self.mean_gap_secs / self.delay_secs


class AccessLog:
    """The figures of one node while it is served.

    Args:
        node: whose log it is.
        keeps_requests: each request is kept too (`MAX_KEPT` of them).
    """

    def __init__(self, node: WebNode, *, keeps_requests: bool = False) -> None:
        self._node = node
        self._keeps_requests = keeps_requests
        self._kept: list[LoggedRequest] = []
        self._figures = HostLog(
            index=node.plan.index,
            kind=str(node.plan.kind),
            origin=node.plan.origin,
            n_disallowed=len(node.disallowed),
            delay_secs=node.delay_secs,
        )
        self._disallowed = node.disallowed
        self._statuses: Counter[int] = Counter()
        self._user_agents: Counter[str] = Counter()
        self._seen: set[tuple[str, int]] = set()
        self._disallowed_requested: set[str] = set()
        self._n_open = 0
        self._n_in_progress = 0
        self._first: float | None = None
        self._last: float | None = None

    @property
    def first(self) -> float | None:
        """Time of the first data request; None if there was none."""
        return self._first

    @property
    def last(self) -> float | None:
        """Time of the last data request."""
        return self._last

    def connection_opened(self) -> None:
        """Count a connection."""
        self._n_open += 1
        self._figures.n_connections += 1
        self._figures.max_connections = max(self._figures.max_connections, self._n_open)

    def connection_closed(self) -> None:
        """Take a connection off the count of open ones."""
        self._n_open -= 1

    def request_refused(self) -> None:
        """Count data that is not a valid request."""
        self._figures.n_refused += 1

    def request_started(
        self, request: NodeRequest, user_agent: str, now: float
    ) -> bool:
        """Count a request; return whether it is the first of its kind.

        Args:
            request: read completely.
            user_agent: value of `User-Agent`.
            now: monotonic time in seconds.
        """
        figures = self._figures
        figures.n_requests += 1
        self._n_in_progress += 1
        figures.max_in_progress = max(figures.max_in_progress, self._n_in_progress)
        if user_agent in self._user_agents or len(self._user_agents) < MAX_USER_AGENTS:
            self._user_agents[user_agent] += 1
        if request.target in RULES_PATHS:
            figures.n_robots += 1
            return False
        self._note_gap(now)
        if request.target in self._disallowed:
            self._disallowed_requested.add(request.target)
        key = (request.target, crc32(request.body) if request.body else 0)
        if key in self._seen:
            figures.n_duplicates += 1
            return False
        figures.n_distinct += 1
        if len(self._seen) < MAX_TARGETS:
            self._seen.add(key)
        return True

    def request_ended(self, status: int, n_bytes: int, *, is_first: bool) -> None:
        """Count a response.

        Args:
            status: of the response.
            n_bytes: sent.
            is_first: return value of `request_started`.
        """
        self._n_in_progress -= 1
        self._statuses[status] += 1
        self._figures.bytes_sent += n_bytes
        if is_first and status == 200:
            self._figures.n_documents += 1

    def keep(self, request: NodeRequest, status: int, n_bytes: int) -> None:
        """Keep one request, if requests are kept."""
        if not self._keeps_requests or len(self._kept) >= MAX_KEPT:
            return
        fields = request.fields
        self._kept.append(
            LoggedRequest(
                at=time.time(),
                method=request.method,
                target=request.target,
                status=status,
                n_bytes=n_bytes,
                user_agent=fields.get("user-agent", ""),
                accept=request.accept,
                is_conditional=not _CONDITIONS.isdisjoint(fields),
                body=request.body.decode(errors="replace"),
            )
        )

    @property
    def requests(self) -> tuple[LoggedRequest, ...]:
        """The kept requests, in the order of their responses."""
        return tuple(self._kept)

    def forget(self) -> None:
        """Drop the requests that were kept; the figures stay."""
        self._kept.clear()

    def figures(self) -> HostLog:
        """Return the present figures."""
        figures = self._figures
        figures.n_disallowed_requested = len(self._disallowed_requested)
        n_gaps = figures.n_requests - figures.n_robots - 1
        if n_gaps > 0 and self._first is not None and self._last is not None:
            figures.mean_gap_secs = (self._last - self._first) / n_gaps
        figures.statuses = {str(k): n for k, n in sorted(self._statuses.items())}
        figures.user_agents = dict(self._user_agents.most_common())
        return figures

    def _note_gap(self, now: float) -> None:
        if self._last is None:
            self._first = now
        else:
            gap, least = now - self._last, self._figures.min_gap_secs
            if least is None or gap < least:
                self._figures.min_gap_secs = gap
        self._last = now


@dataclass(frozen=True, slots=True)
class WebLog:
    """The figures of all hosts.

    Attributes:
        hosts: by node id.
        active_secs: from the first to the last data request of the web.
    """

    hosts: tuple[HostLog, ...]
    active_secs: float = 0.0

    def total(self, name: str) -> int:
        """Sum up a figure of `HostLog` that counts something."""
        return sum(int(getattr(host, name)) for host in self.hosts)

    @property
    def requested_disallowed_ratio(self) -> float | None:
        """ORCA's ratio of requested to all disallowed resources; None without any."""
        n_disallowed = self.total("n_disallowed")
        if not n_disallowed:
            return None
        return self.total("n_disallowed_requested") / n_disallowed

    def to_json(self) -> dict[str, Any]:
        """Return summary and hosts as in `log.json`."""
        hosts = [
            asdict(host) | {"delay_fulfilment": host.delay_fulfilment}
            for host in self.hosts
        ]
        return {"summary": self._summary(), "hosts": hosts}

    def _summary(self) -> dict[str, Any]:
        counts = (
            "n_requests",
            "n_robots",
            "n_distinct",
            "n_duplicates",
            "n_documents",
            "n_disallowed",
            "n_disallowed_requested",
            "n_connections",
            "n_refused",
            "bytes_sent",
        )
        fulfilments = _present(host.delay_fulfilment for host in self.hosts)
        gaps = _present(host.min_gap_secs for host in self.hosts)
        agents: Counter[str] = Counter()
        for host in self.hosts:
            agents.update(host.user_agents)
        return {
            "active_secs": self.active_secs,
            **{name: self.total(name) for name in counts},
            "requested_disallowed_ratio": self.requested_disallowed_ratio,
            "min_gap_secs": min(gaps, default=None),
            "min_delay_fulfilment": min(fulfilments, default=None),
            "mean_delay_fulfilment": (
                sum(fulfilments) / len(fulfilments) if fulfilments else None
            ),
            "max_delay_fulfilment": max(fulfilments, default=None),
            "max_connections": max((h.max_connections for h in self.hosts), default=0),
            "max_in_progress": max((h.max_in_progress for h in self.hosts), default=0),
            "user_agents": dict(agents.most_common(MAX_USER_AGENTS)),
        }


def parse_log(value: dict[str, Any]) -> WebLog:
    """Read the output of `WebLog.to_json`."""
    hosts = [
        HostLog(**{k: v for k, v in host.items() if k != "delay_fulfilment"})
        for host in value["hosts"]
    ]
    return WebLog(tuple(hosts), value["summary"]["active_secs"])


def collect_log(logs: Iterable[AccessLog]) -> WebLog:
    """Return the present figures of all hosts."""
    kept = list(logs)
    firsts = _present(log.first for log in kept)
    lasts = _present(log.last for log in kept)
    active_secs = max(lasts) - min(firsts) if firsts else 0.0
    return WebLog(tuple(log.figures() for log in kept), active_secs)


def _present(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
