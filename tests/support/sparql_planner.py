"""A planner that knows an endpoint's data and limits, as the judge of harvests."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from threading import Thread
from typing import Self

import pyoxigraph as ox

from rdfcrawl.core.content import ByteSource
from rdfcrawl.sources.sparql.exchange import (
    SparqlFailure,
    SparqlRequest,
    SparqlResponse,
)
from tests.support.sparql_driver import query_of
from tests.support.sparql_endpoints import Endpoint, failed, store_of

_HEAD = re.compile(r"\bSELECT\b.*?\bWHERE\b", re.DOTALL)
_TAIL = re.compile(r"\}\s*(?:(?:GROUP|ORDER) BY|LIMIT|OFFSET)\b[^{}]*\Z")
_TIMED_OUT = "Virtuoso S1T00 Error SR171: Transaction timed out"
_FIXED = 3  # the description, the list of graphs, the default graph


@dataclass(frozen=True, kw_only=True)
class EndpointLimits:
    """Limits of an endpoint.

    Attributes:
        cap: longer results are cut silently.
        rows: longer results time out; 0 for no limit.
        sorted: a query with ORDER BY times out if its pattern matches more rows.
        scanned: the same of COUNT, DISTINCT and FILTER.
        offset: of the largest OFFSET in a sorted query; beyond, an error (SR353).
        every: each nth query times out.
        outages: numbers of queries that time out.
        refusals: numbers of queries that are refused.
        counted: the number that the endpoint counts for some rows; None for no number.
        local_labels: blank nodes have other labels in each response.
        without: words of queries that are refused.
        breaks: words of queries whose connection is closed.
    """

    cap: int = 10_000
    rows: int = 0
    sorted: int = 0
    scanned: int = 0
    offset: int = 0
    every: int = 0
    outages: range = range(0)
    refusals: range = range(0)
    counted: Callable[[int], int | None] | None = None
    local_labels: bool = False
    without: tuple[str, ...] = ()
    breaks: tuple[str, ...] = ()

    @property
    def page(self) -> int:
        """Most rows of one response."""
        return min(self.cap, self.rows or self.cap)


@dataclass(slots=True)
class CostlyEndpoint:
    """An endpoint whose queries cost what they match; counts queries and failures."""

    lines: tuple[str, ...]
    limits: EndpointLimits
    n_queries: int = 0
    n_failed: int = 0
    endpoint: Endpoint = field(init=False)

    def __post_init__(self) -> None:
        self.endpoint = Endpoint(
            store_of(self.lines),
            max_rows=self.limits.cap,
            local_labels=self.limits.local_labels,
        )

    def __call__(self, request: SparqlRequest) -> SparqlResponse | SparqlFailure:
        """Answer a request."""
        query = query_of(request)
        if not query:
            return self.endpoint(request)
        self.n_queries += 1
        refused = self._refuse(query)
        if refused is not None:
            self.n_failed += 1
            return refused
        answer = self.endpoint(request)
        if self.limits.counted is None or "COUNT(" not in query:
            return answer
        return _with_counts(answer, self.limits.counted)

    def _refuse(self, query: str) -> SparqlResponse | SparqlFailure | None:
        limits, number = self.limits, self.n_queries
        if any(word in query for word in limits.breaks):
            return SparqlFailure.BROKEN
        is_refused = number in limits.refusals
        if is_refused or any(word in query for word in limits.without):
            return failed(400, "not supported")
        is_nth = limits.every and number % limits.every == 0
        if is_nth or number in limits.outages or self._is_costly(query):
            return failed(500, _TIMED_OUT)
        found = re.search(r"ORDER BY.*OFFSET (\d+)", query)
        if limits.offset and found and int(found[1]) > limits.offset:
            return failed(500, "Virtuoso 22023 Error SR353: Sorted TOP, ORDER BY")
        return None

    def _is_costly(self, query: str) -> bool:
        limits = self.limits
        is_sorted, bare = "ORDER BY" in query, re.sub(r"FILTER\(.*?\) \}", "}", query)
        is_scan = re.search(r"COUNT|FILTER|DISTINCT \?p", query)
        if limits.sorted and is_sorted and self._matches(query, limits.sorted):
            return True
        if limits.scanned and is_scan and self._matches(bare, limits.scanned):
            return True
        return bool(limits.rows) and self._returns(query) > limits.rows

    def _matches(self, query: str, most: int) -> bool:
        bare = _TAIL.sub("}", _HEAD.sub("SELECT * WHERE", query, count=1))
        rows = self.endpoint.store.query(bare)
        assert isinstance(rows, ox.QuerySolutions)
        return sum(1 for _ in islice(rows, most + 1)) > most

    def _returns(self, query: str) -> int:
        rows = self.endpoint.store.query(query)
        if isinstance(rows, ox.QueryBoolean):
            return 1
        assert isinstance(rows, ox.QuerySolutions)
        return sum(1 for _ in islice(rows, self.limits.cap))


def _with_counts(
    answer: SparqlResponse | SparqlFailure, counted: Callable[[int], int | None]
) -> SparqlResponse | SparqlFailure:
    if isinstance(answer, SparqlFailure) or "json" not in answer.media_type:
        return answer
    table = json.loads(answer.body.data or b"")
    for row in table["results"]["bindings"]:
        number = counted(int(row.pop("n")["value"]))
        if number is not None:
            row["n"] = {"type": "literal", "value": str(number)}
    return replace(answer, body=ByteSource(json.dumps(table).encode()))


def ideal_requests(lines: tuple[str, ...], limits: EndpointLimits) -> int:
    """Return the number of requests of a planner that knows data and limits.

    It fills each response up to the limits, by ranges that need no order; small graphs
    come together. Components of blank nodes with labels of one response are not split.
    """
    quads = ox.parse("".join(lines), ox.RdfFormat.N_QUADS)
    sizes, page = Counter(quad.graph_name for quad in quads), limits.page
    n_requests = _FIXED + sum(size // page for size in sizes.values())
    n_requests += math.ceil(sum(size % page for size in sizes.values()) / page)
    n_requests += sum(1 for number in limits.outages if number <= n_requests)
    if limits.every:
        return math.ceil(n_requests * limits.every / (limits.every - 1))
    return n_requests


def described(
    n: int, *, n_hub: int = 0, n_blank: int = 0, graph: str = "http://e.org/g"
) -> tuple[str, ...]:
    """Return resources of eight statements, a hub, and blank nodes with addresses."""
    at, e = f"<{graph}>", "http://e.org"
    a = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    lines = []
    for i in range(n):
        one = f"<{e}/r{i * 7919 % 99_991}>"
        lines.append(f"{one} {a} <{e}/C{i % 7}> {at} .\n")
        lines += (
            f'{one} <{e}/p{p}> "v{(i * 31 + p) % 997} é {i}" {at} .\n' for p in range(6)
        )
        lines.append(f"{one} <{e}/knows> <{e}/r{i * 17 % n}> {at} .\n")
        if i < n_blank:
            lines.append(f"{one} <{e}/addr> _:b{i} {at} .\n")
            lines.append(f"_:b{i} {a} <{e}/Address> {at} .\n")
            lines.append(f'_:b{i} <{e}/street> "street {i}" {at} .\n')
    lines += (f"<{e}/hub> <{e}/member> <{e}/m{i}> {at} .\n" for i in range(n_hub))
    return tuple(lines)


class CostlyServer(ThreadingHTTPServer):
    """Serves a `CostlyEndpoint`, which may be replaced between two runs."""

    daemon_threads = True

    def __init__(self, host: str, endpoint: CostlyEndpoint) -> None:
        super().__init__((host, 0), _Handler)
        self.endpoint = endpoint
        self.url = f"http://{host}:{self.server_port}/sparql"

    def __enter__(self) -> Self:
        Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: CostlyServer

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = SparqlRequest(url=self.path, headers={}, body=body)
        response: SparqlResponse | SparqlFailure = SparqlResponse(status=404)
        if self.path.startswith("/sparql"):
            response = self.server.endpoint(request)
        if isinstance(response, SparqlFailure):
            self.close_connection = True
            return
        content = response.body.data or b""
        self.send_response(response.status)
        self.send_header("Content-Type", response.media_type or "text/plain")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET  # noqa: N815 (named by the library)

    def log_message(self, *_: object) -> None:
        """Write nothing to the terminal."""
