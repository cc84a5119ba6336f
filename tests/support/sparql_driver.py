"""Runs the plan of a harvest against an endpoint, one request at a time."""

from __future__ import annotations

import http.client
import json
from collections import Counter, deque
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from rdfcrawl.core.content import ByteSource
from rdfcrawl.sources.sparql.exchange import SparqlFailure, SparqlResponse
from rdfcrawl.sources.sparql.outcome import learned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rdfcrawl.core.errors import Fault
    from rdfcrawl.core.source_tasks import SparqlTask
    from rdfcrawl.sources.sparql.exchange import SparqlRequest
    from rdfcrawl.sources.sparql.outcome import PartitionCheck
    from rdfcrawl.sources.sparql.plan import EndpointPlan

    Ask = Callable[[SparqlRequest], SparqlResponse | SparqlFailure]


@dataclass(slots=True)
class Harvested:
    """Result of a harvest.

    Attributes:
        lines: statements, each once.
        steps: requests by step.
        checks: of all partitions.
        faults: of all answers.
        failures: requests that gave nothing, by why.
        n_lines: statements, as often as they came.
        description: the endpoint's own description.
        queries: that were sent.
    """

    lines: set[bytes] = field(default_factory=set)
    steps: Counter[str] = field(default_factory=Counter)
    checks: list[PartitionCheck] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    n_lines: int = 0
    description: bytes = b""
    queries: list[str] = field(default_factory=list)

    @property
    def n_requests(self) -> int:
        """Requests in all."""
        return self.steps.total()

    @property
    def is_complete(self) -> bool:
        """Whether all checks say so, and there are some."""
        return bool(self.checks) and all(check.is_complete for check in self.checks)

    @property
    def document(self) -> bytes:
        """All statements."""
        return b"".join(sorted(self.lines))


def with_cap(ask: Ask, max_rows: int) -> Ask:
    """Return a function that cuts JSON tables after some rows, silently."""

    def cut(request: SparqlRequest) -> SparqlResponse | SparqlFailure:
        answer = ask(request)
        if isinstance(answer, SparqlFailure) or "json" not in answer.media_type:
            return answer
        table = json.loads(answer.body.data or b"")
        del table["results"]["bindings"][max_rows:]
        return replace(answer, body=ByteSource(json.dumps(table).encode()))

    return cut


@contextmanager
def over_http(timeout_secs: float = 60.0) -> Iterator[Ask]:
    """Yield a client that sends requests over connections that are kept open."""
    connections: dict[str, http.client.HTTPConnection] = {}

    def ask(request: SparqlRequest) -> SparqlResponse | SparqlFailure:
        parts = urlsplit(request.url)
        connection = connections.setdefault(
            parts.netloc,
            http.client.HTTPConnection(str(parts.hostname), parts.port, timeout_secs),
        )
        try:
            try:
                response = _response(connection, request)
            except ConnectionError:  # it was closed while it was idle
                connection.close()
                response = _response(connection, request)
            body = response.read()
        except TimeoutError:
            connection.close()
            return SparqlFailure.TIMEOUT
        fields = {name.lower(): text for name, text in response.getheaders()}
        return SparqlResponse(
            status=response.status, headers=fields, body=ByteSource(body)
        )

    yield ask
    for connection in connections.values():
        connection.close()


def _response(
    connection: http.client.HTTPConnection, request: SparqlRequest
) -> http.client.HTTPResponse:
    parts = urlsplit(request.url)
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    method = "POST" if request.body else "GET"
    connection.request(method, target, request.body, dict(request.headers))
    return connection.getresponse()


def query_of(request: SparqlRequest) -> str:
    """Return the query that a request carries; empty for none."""
    parts = urlsplit(request.url)
    text = request.body.decode() if request.body else parts.query
    return parse_qs(text).get("query", [""])[0]


def harvest_all(
    plan: EndpointPlan,
    ask: Ask,
    *,
    max_requests: int = 50_000,
    is_lost: Callable[[SparqlTask], bool] = lambda _: False,
) -> Harvested:
    """Return all that a plan gives; tasks are taken once each, as by the frontier.

    A worker that has done a task is lost before it acknowledges it if `is_lost`: the
    task is done again, later.
    """
    result = Harvested()
    waiting = deque(plan.seeds())
    seen = set(waiting)
    n_requests = 0
    while waiting:
        record = waiting.popleft()
        task = plan.adapted(record)
        n_requests += 1
        assert n_requests <= max_requests, result.steps
        result.steps[task.step] += 1
        request = plan.request(task)
        result.queries.append(query_of(request))
        answer = ask(request)
        if isinstance(answer, SparqlFailure):
            outcome = plan.failed(task, answer)
            faults = outcome.log.all()
        else:
            reading = plan.read(task, answer)
            for chunk in reading:
                if task.step == "describe":
                    result.description += chunk
                    continue
                lines = chunk.splitlines(keepends=True)
                result.n_lines += len(lines)
                result.lines.update(lines)
            outcome, faults = reading.outcome, reading.faults
        plan.lessons = learned(plan.lessons, task, outcome)
        if outcome.failure:
            result.failures[outcome.failure] += 1
        result.checks += outcome.checks
        result.faults += faults
        if outcome.retries or is_lost(record):
            waiting.append(record)
        for each in outcome.tasks:
            if each not in seen:
                seen.add(each)
                waiting.append(each)
    return result
