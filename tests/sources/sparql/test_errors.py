"""Errors that endpoints send with status 200: no table, or a part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.content import ByteSource
from rdfcrawl.sources.sparql.exchange import SparqlFailure, SparqlResponse
from rdfcrawl.sources.sparql.plan import EndpointPlan
from rdfcrawl.sources.sparql.settings import HarvestSettings
from tests.support.sparql_driver import harvest_all, query_of
from tests.support.sparql_endpoints import Endpoint, store_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.sources.sparql.exchange import SparqlRequest
    from tests.support.sparql_driver import Ask

URL = "http://e.example/sparql"
LINES = [
    f'<urn:x:s{n}> <urn:x:p{n % 3}> "value {n}" <http://e.example/g{g}> .\n'
    for g, n_triples in enumerate((700, 90, 8, 1))
    for n in range(n_triples)
]
HTML = (b"<!DOCTYPE html><html><body>Sorry, an error</body></html>", "text/html")
# Instead of the table.
WHOLE = {
    "html": HTML,
    "empty": (b"", "application/sparql-results+json"),
    "virtuoso": (b"Virtuoso S1T00 Error SR171: Transaction timed out", "text/plain"),
    "qlever": (
        b'{"exception":"Operation timed out.","status":"ERROR","resultsize":0}',
        "application/json",
    ),
    "neptune": (
        b'{"code":"TimeLimitExceededException","detailedMessage":"deadline exceeded"}',
        "application/json",
    ),
}
# After a part of it.
TAILS = {
    "cut": b"",
    "fuseki": b"\n## Query cancelled due to timeout during execution   ##\n",
    "blazegraph": (
        b"\njava.util.concurrent.ExecutionException: QueryTimeoutException: Query"
        b" deadline is expired.\n\tat com.bigdata.x(Y.java:1)\n"
    ),
    "neptune": b'{"code":"TimeLimitExceededException","detailedMessage":"x"}',
}


def broken(answer: SparqlResponse, name: str) -> SparqlResponse:
    """Return the response of an endpoint that gives up."""
    if name in WHOLE:
        body, media_type = WHOLE[name]
        headers = {"content-type": media_type}
        return SparqlResponse(status=200, headers=headers, body=ByteSource(body))
    data = answer.body.data or b""
    body = data[: len(data) * 2 // 3] + TAILS[name.removeprefix("tail ")]
    return SparqlResponse(status=200, headers=answer.headers, body=ByteSource(body))


def breaking(
    table: str, name: str, *, every: int, of: Callable[[str], bool] = bool
) -> Ask:
    """Return an endpoint each so-many-th answer of which is broken."""
    endpoint, n_answers = Endpoint(store_of(LINES), table=table), 0

    def ask(request: SparqlRequest) -> SparqlResponse | SparqlFailure:
        nonlocal n_answers
        answer, query = endpoint(request), query_of(request)
        if isinstance(answer, SparqlFailure) or answer.status != 200 or not of(query):
            return answer
        n_answers += 1
        return answer if n_answers % every else broken(answer, name)

    return ask


@pytest.mark.parametrize("table", ["json", "xml", "tsv", "csv"])
@pytest.mark.parametrize("name", [*WHOLE, *(f"tail {name}" for name in TAILS)])
def test_errors_that_come_as_200_lose_nothing(table: str, name: str) -> None:
    """If each third response is an error with status 200, then all triples are read."""
    settings = HarvestSettings(page_rows=300)
    ask = breaking(table, name, every=3)
    found = harvest_all(EndpointPlan(URL, settings), ask, max_requests=2_000)
    assert {x.decode() for x in found.lines} == {*LINES}
    assert found.faults


def test_counts_that_are_errors_are_no_zeros() -> None:
    """If counting gives an error page, then the graphs are read without numbers."""
    ask = breaking("json", "html", every=1, of=lambda query: "COUNT" in query)
    found = harvest_all(EndpointPlan(URL), ask, max_requests=2_000)
    assert {x.decode() for x in found.lines} == {*LINES}


def test_first_question_is_put_again() -> None:
    """If the first query has no table, then no others are sent."""
    harvest = EndpointPlan(URL)
    headers = {"content-type": "text/html"}
    answer = SparqlResponse(status=200, headers=headers, body=ByteSource(HTML[0]))
    (first,) = harvest.seeds()
    described = harvest.read(first, answer)
    assert list(described) == []
    (probe,) = described.outcome.tasks
    probed = harvest.read(probe, answer)
    assert list(probed) == []
    assert probed.outcome.retries
    assert probed.outcome.tasks == []
