"""Harvests of endpoints with all manners, and of the data web's own."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import ConfigError, Reason, SourceFault
from rdfcrawl.core.source_tasks import (
    MAX_STEP_CHARS,
    SparqlPart,
    SparqlStep,
    SparqlTask,
)
from rdfcrawl.sources.sparql.exchange import (
    SparqlFailure,
    SparqlResponse,
    judge,
    query_request,
)
from rdfcrawl.sources.sparql.outcome import SparqlOutcome
from rdfcrawl.sources.sparql.plan import EndpointPlan
from rdfcrawl.sources.sparql.settings import HarvestSettings
from tests.support.examples import examples
from tests.support.sparql_driver import Harvested, harvest_all, with_cap
from tests.support.sparql_endpoints import Endpoint, data_web_endpoint, failed, store_of
from tests.support.sparql_stores import canonical, iter_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.sources.sparql.exchange import SparqlRequest

URL = "http://example.org/sparql"
STORE = tuple(iter_store(150, with_default=True))
NO_BLANKS = tuple(line for line in STORE if "_:" not in line)


def _harvest(endpoint: Endpoint, **changes: object) -> Harvested:
    plan = EndpointPlan(URL, HarvestSettings(**changes))  # type: ignore[arg-type]
    return harvest_all(plan, endpoint)


def _assert_all(found: Harvested, lines: tuple[str, ...]) -> None:
    want, got = canonical("".join(lines).encode()), canonical(found.document)
    assert got == want
    assert found.is_complete, found.faults
    assert not [x for x in found.faults if x.reason is Reason.INCOMPLETE]


# -- everything comes --------------------------------------------------------------


@pytest.mark.parametrize("table", ["json", "xml", "tsv"])
def test_stable_labels_give_isomorphic_graphs(table: str) -> None:
    """If labels are the same in each response, then blank nodes come together."""
    endpoint = Endpoint(store_of(STORE), table=table, max_rows=1_000)
    _assert_all(_harvest(endpoint, page_rows=500), STORE)


@pytest.mark.parametrize("cap", [10_000, 1_000, 100])
def test_rows_beyond_a_silent_cap_come_by_other_requests(cap: int) -> None:
    """If an endpoint cuts its responses without a word, then all rows are read."""
    endpoint = Endpoint(store_of(STORE), max_rows=cap)
    _assert_all(_harvest(endpoint), STORE)


@pytest.mark.parametrize("page_rows", [10_000, 300])
def test_labels_of_one_answer_give_isomorphic_graphs(page_rows: int) -> None:
    """If labels hold in one answer only, then blank nodes come with all they touch."""
    lines = tuple(
        line for line in STORE if "shared" not in line and "_:hub" not in line
    )
    endpoint = Endpoint(store_of(lines), local_labels=True)
    found = _harvest(endpoint, page_rows=page_rows, n_roots=12, depth=6)
    want, got = canonical("".join(lines).encode()), canonical(found.document)
    assert got == want


def test_graphs_keep_their_names_and_the_default_graph_gets_one() -> None:
    """If the default graph is given a name, then the others keep theirs."""
    endpoint = Endpoint(store_of(NO_BLANKS))
    found = _harvest(endpoint, default_graph="http://example.org/default")
    graphs = {line.rsplit(b" ", 2)[1] for line in found.lines}
    assert b"<http://example.org/default>" in graphs
    assert b"<http://d.org/7>" in graphs


def test_union_default_graph_is_not_read_twice() -> None:
    """If the default graph is the union of the others, then it is left out."""
    lines = tuple(x for x in NO_BLANKS if x.count("<") > 3 or x.endswith("> .\n"))
    lines = tuple(x for x in lines if "graph/" in x or "//d.org" in x)
    found = _harvest(Endpoint(store_of(lines), union=True))
    _assert_all(found, lines)


def test_small_graphs_come_together() -> None:
    """If there are many small graphs, then few requests bring them."""
    lines = [
        f"<http://e/{n}> <http://e/p> <http://e/o> <http://e/{n}> .\n"
        for n in range(2_000)
    ]
    found = _harvest(Endpoint(store_of(lines)))
    _assert_all(found, tuple(lines))
    assert found.n_requests < 80


@pytest.mark.parametrize("order", ["as_is", "twice", "backwards"])
def test_tasks_may_be_taken_in_any_order_and_twice(order: str) -> None:
    """If tasks come again or in another order, then the union is the same."""
    endpoint, plan = Endpoint(store_of(STORE), max_rows=200), EndpointPlan(URL)
    waiting, seen, lines = list(plan.seeds()), set(plan.seeds()), set[bytes]()
    while waiting:
        task = waiting.pop(-1 if order == "backwards" else 0)
        for _ in range(2 if order == "twice" else 1):
            answer = endpoint(plan.request(task))
            assert isinstance(answer, SparqlResponse)
            reading = plan.read(task, answer)
            for chunk in reading:
                lines.update(chunk.splitlines(keepends=True))
        new = [x for x in reading.outcome.tasks if x not in seen]
        seen.update(new)
        waiting += new
    assert canonical(b"".join(lines)) == canonical("".join(STORE).encode())


# -- what endpoints do not bear ----------------------------------------------------


def _without(
    *words: str, status: int = 400, text: str = ""
) -> Callable[[str], SparqlResponse | None]:
    def refuse(query: str) -> SparqlResponse | None:
        found = any(word in query for word in words)
        return failed(status, text or "not supported") if found else None

    return refuse


@pytest.mark.parametrize(
    ("refuse", "is_sure"),
    [
        pytest.param(_without("GROUP BY"), True, id="no-group-by"),
        pytest.param(_without("GROUP BY", "COUNT("), False, id="no-counts"),
        pytest.param(_without("VALUES"), True, id="no-values"),
        pytest.param(_without("NOT EXISTS"), True, id="no-not-exists"),
        pytest.param(_without("MD5"), True, id="no-md5"),
        pytest.param(
            _without("DISTINCT", status=500, text="timed out"), True, id="slow"
        ),
    ],
)
def test_refused_queries_have_other_forms(
    refuse: Callable[[str], SparqlResponse | None], *, is_sure: bool
) -> None:
    """If an endpoint lacks a feature, then another way of asking brings all."""
    lines = tuple(x for x in NO_BLANKS if "hub" not in x)
    endpoint = Endpoint(store_of(lines), refuse=refuse)
    found = _harvest(endpoint, page_rows=500)
    assert canonical(found.document) == canonical("".join(lines).encode())
    assert found.is_complete or not is_sure


def test_sorting_everything_forbidden_partitions() -> None:
    """If a graph cannot be sorted, then its parts are."""

    def refuse(query: str) -> SparqlResponse | None:
        is_part = "<http://example.org/p/" in query or "class/" in query
        is_page = "?s ?p ?o" in query and "ORDER BY" in query and "GRAPH" in query
        if is_page and not is_part and "DISTINCT" not in query and "COUNT" not in query:
            return failed(
                500, "Virtuoso 22023 Error SR353: Sorted TOP clause ... ORDER BY"
            )
        return None

    found = _harvest(Endpoint(store_of(NO_BLANKS), refuse=refuse), page_rows=300)
    _assert_all(found, NO_BLANKS)


def test_pages_shrink_until_they_succeed() -> None:
    """If an endpoint times out on large pages, then smaller ones are requested."""

    def refuse(query: str) -> SparqlFailure | None:
        limit = query.rpartition("LIMIT ")[2].split()[0]
        if "COUNT" in query or "LIMIT" not in query or int(limit) <= 60:
            return (
                SparqlFailure.TIMEOUT
                if "LIMIT" not in query and "COUNT" not in query
                else None
            )
        return SparqlFailure.TIMEOUT if "?o" in query else None

    lines = tuple(x for x in NO_BLANKS if "d.org" not in x)
    found = _harvest(Endpoint(store_of(lines), refuse=refuse), page_rows=400)
    _assert_all(found, lines)


def test_nothing_is_sorted_at_all() -> None:
    """If no response is sorted, then rows are read by OFFSET, with a fault."""
    endpoint = Endpoint(
        store_of(NO_BLANKS),
        refuse=_without("ORDER BY", status=500, text="sort ORDER BY"),
    )
    found = _harvest(endpoint, page_rows=200)
    assert canonical(found.document) == canonical("".join(NO_BLANKS).encode())


@pytest.mark.parametrize("lacks", ["?never", "MD5"])
def test_large_partitions_are_cut(lacks: str) -> None:
    """If a partition is too large to be sorted, hashes cut it, even without MD5."""
    lines = tuple(x for x in NO_BLANKS if "hub" not in x)
    endpoint = Endpoint(store_of(lines), refuse=_without(lacks))
    found = _harvest(endpoint, page_rows=60, sort_rows=100)
    _assert_all(found, lines)
    assert found.steps["hashes"]


def test_classes_partition_types() -> None:
    """If there are too many types of things, then each class comes by itself."""
    lines = tuple(x for x in NO_BLANKS if "hub" not in x)
    found = _harvest(Endpoint(store_of(lines)), page_rows=20, pages_per_part=2)
    _assert_all(found, lines)
    assert any("class/4" in query for query in found.queries)


def test_request_to_busy_endpoint_is_retried() -> None:
    """If an endpoint is busy, then the same task is due again."""
    plan = EndpointPlan(URL)
    reading = plan.read(replace(plan.seeds()[0], step="probe"), failed(503))
    assert list(reading) == []
    assert reading.outcome.retries
    assert reading.outcome.tasks == []


def test_truncated_response_keeps_its_rows() -> None:
    """If a response ends early, then its rows are kept and the rest is read."""
    endpoint, n_cut = Endpoint(store_of(NO_BLANKS)), itertools.count()

    def ask(request: object) -> SparqlResponse | SparqlFailure:
        answer = endpoint(request)  # type: ignore[arg-type]
        if isinstance(answer, SparqlResponse) and len(answer.body.data or b"") > 20_000:
            next(n_cut)
            return SparqlResponse(
                status=200,
                headers=answer.headers,
                body=ByteSource((answer.body.data or b"")[:20_000]),
            )
        return answer

    found = harvest_all(EndpointPlan(URL, HarvestSettings(page_rows=400)), ask)
    assert next(n_cut) > 0
    _assert_all(found, NO_BLANKS)


def test_partial_answers_are_time_outs() -> None:
    """If Virtuoso returns a partial result, then the response is unusable."""
    assert (
        judge(SparqlResponse(status=200, headers={"x-sql-state": "S1TAT"}))
        is SparqlFailure.TIMEOUT
    )
    assert judge(SparqlResponse(status=206)) is SparqlFailure.TIMEOUT


def test_time_out_that_is_called_unavailable_is_no_business() -> None:
    """If Jena ends a query with status 503, then less is requested, not the same."""
    assert judge(failed(503, "Query timed out")) is SparqlFailure.TIMEOUT
    assert judge(failed(503, "Service Unavailable")) is SparqlFailure.BUSY
    assert judge(failed(429)) is SparqlFailure.BUSY


def test_characters_that_xml_has_not_come_in_json() -> None:
    """If a value cannot be written in XML, then the rest comes in JSON."""
    lines = tuple(
        f'<http://e/{n}> <http://e/p> "a{chr(11) if n == 7 else n}" <http://e/g> .\n'
        for n in range(20)
    )
    endpoint = Endpoint(store_of(lines))

    def ask(request: SparqlRequest) -> SparqlResponse | SparqlFailure:
        is_xml = request.headers["accept"].startswith("application/sparql-results+xml")
        endpoint.table = "xml" if is_xml else "json"
        return endpoint(request)

    endpoint.description = SparqlResponse(
        status=200, headers={"server": "Virtuoso/07.20"}
    )
    found = harvest_all(EndpointPlan(URL), ask)
    _assert_all(found, lines)


def test_probe_that_takes_too_long_is_left() -> None:
    """If no blank node is found in time, then the counts show whether there are any."""

    def refuse(query: str) -> SparqlFailure | None:
        return SparqlFailure.TIMEOUT if "isBlank(?b)" in query else None

    lines = tuple(x for x in NO_BLANKS if "hub" not in x)
    _assert_all(_harvest(Endpoint(store_of(lines), refuse=refuse)), lines)
    found = _harvest(Endpoint(store_of(STORE), refuse=refuse), page_rows=100)
    assert Reason.INCOMPLETE in {x.reason for x in found.faults}


def test_missing_rows_are_reported() -> None:
    """If an endpoint keeps rows back, then the harvest says how many."""
    endpoint = Endpoint(store_of(NO_BLANKS))

    def ask(request: object) -> SparqlResponse | SparqlFailure:
        answer = endpoint(request)  # type: ignore[arg-type]
        if isinstance(answer, SparqlResponse) and b"spoke/17" in (
            answer.body.data or b""
        ):
            table = json.loads(answer.body.data or b"")
            rows = [x for x in table["results"]["bindings"] if "spoke/17" not in str(x)]
            table["results"]["bindings"] = rows
            body = ByteSource(json.dumps(table).encode())
            return SparqlResponse(status=200, headers=answer.headers, body=body)
        return answer

    found = harvest_all(EndpointPlan(URL, HarvestSettings(page_rows=300)), ask)
    assert not found.is_complete
    assert [x for x in found.faults if x.reason is Reason.INCOMPLETE]


def test_server_that_ignores_conditions_ends() -> None:
    """If each response is the same page, then the harvest ends and says so."""
    rows = [
        {name: {"type": "uri", "value": f"http://e/{n}"} for name in "spogk"}
        | {"n": {"type": "literal", "value": "100000"}}
        for n in range(3)
    ]
    body = json.dumps({"results": {"bindings": rows}}).encode()
    same = SparqlResponse(status=200, headers={"content-type": "application/json"})

    def ask(_request: object) -> SparqlResponse:
        return SparqlResponse(
            status=same.status, headers=same.headers, body=ByteSource(body)
        )

    settings = HarvestSettings(page_rows=100, max_cuts=3)
    found = harvest_all(EndpointPlan(URL, settings), ask, max_requests=20_000)
    assert not found.is_complete


def test_closed_endpoint_is_left() -> None:
    """If an endpoint refuses everything, then a few requests find out."""
    found = harvest_all(EndpointPlan(URL), lambda _request: failed(403))
    assert found.n_requests <= 3
    assert not found.is_complete


# -- scope -------------------------------------------------------------------------


def test_listed_graphs_are_taken_without_listing() -> None:
    """If graphs are named, then only they are requested."""
    name = "http://d.org/5"
    found = _harvest(Endpoint(store_of(STORE)), include=(name,))
    assert found.lines == {
        b'<http://example.org/d/5> <http://example.org/p/0> "5" <http://d.org/5> .\n'
    }
    assert "graphs" not in found.steps


def test_patterns_choose_graphs_and_system_graphs_are_left_out() -> None:
    """If graphs are chosen by patterns, then those of the store itself stay out."""
    settings = HarvestSettings(include=("http://*",), exclude=("*/private",))
    assert settings.takes("http://e/g")
    assert not settings.takes("http://e/private")
    assert not settings.takes("urn:g")
    assert not settings.takes("http://www.openlinksw.com/schemas/virtrdf#")
    assert HarvestSettings(include=("urn:x-arq:UnionGraph",)).takes(
        "urn:x-arq:UnionGraph"
    )


# -- requests and tasks ------------------------------------------------------------


def test_long_queries_go_as_forms() -> None:
    """If a query is short it goes by GET, else by POST, with the URL's own query."""
    short = query_request("http://e/sparql?db=x", "SELECT 1", "text/csv")
    assert (short.body, short.url) == (b"", "http://e/sparql?db=x&query=SELECT+1")
    long = query_request("http://e/sparql?db=x", "x" * 3_000, "text/csv")
    assert (long.body[:9], long.url) == (b"query=xxx", "http://e/sparql?db=x")
    assert long.headers["content-type"] == "application/x-www-form-urlencoded"


def test_long_names_are_refused_by_name() -> None:
    """If a graph's name fits in no record, then that is a fault."""
    outcome = SparqlOutcome(HarvestSettings())
    part = SparqlPart(graph="http://e/" + "x" * MAX_STEP_CHARS)
    outcome.follow(SparqlTask(step="page", part=part))
    assert not outcome.tasks
    assert outcome.log.all()[0].reason is Reason.TOO_LARGE
    assert not outcome.checks[0].is_complete


@pytest.mark.parametrize(
    "iri", ["http://e/> } DROP ALL #", "http://e/\\u003E", "a b", "http://e/{x}"]
)
def test_names_cannot_break_out_of_a_query(iri: str) -> None:
    """If a name is not an IRI, then it is not requested."""
    task = SparqlTask(step="count", part=SparqlPart(graph=iri))
    with pytest.raises(SourceFault):
        EndpointPlan(URL).request(task)


def test_query_mode_needs_a_query() -> None:
    """If the mode is `query` without a query, then an error names the mode."""
    with pytest.raises(ConfigError):
        EndpointPlan(URL, HarvestSettings(mode="query"))


_STEPS: list[SparqlStep] = [
    "probe",
    "stable",
    "graphs",
    "default",
    "whole",
    "count",
    "group",
    "split",
    "page",
    "offset",
    "components",
    "datasets",
    "about",
    "describe",
]


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_damaged_answers_raise_nothing(data: st.DataObject) -> None:
    """If bytes of a response are wrong, then the plan still continues."""
    step = data.draw(st.sampled_from(_STEPS))
    body = bytearray(
        b'{"head":{"vars":["s","p","o","g","k","n"]},"results":{"bindings":[{'
        b'"s":{"type":"uri","value":"http://e/a"},"p":{"type":"uri","value":"http://e/p"},'
        b'"o":{"type":"bnode","value":"b0"},"g":{"type":"uri","value":"http://e/g"},'
        b'"k":{"type":"literal","value":"http://e/a"},"n":{"type":"literal","value":"12"}}]}}'
    )
    for _ in range(data.draw(st.integers(0, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    task = SparqlTask(step=step, limit=10, want=5, graphs=("http://e/g",))
    headers = {
        "content-type": data.draw(
            st.sampled_from(["application/json", "text/csv", "text/turtle"])
        )
    }
    plan = EndpointPlan(URL)
    reading = plan.read(
        task, SparqlResponse(status=200, headers=headers, body=ByteSource(bytes(body)))
    )
    b"".join(reading)
    for each in reading.outcome.tasks:
        assert decode(encode(each), SparqlTask) == each


# -- the data web's own ------------------------------------------------------------


def test_data_web_endpoint_is_read_completely() -> None:
    """If the data web's endpoint is harvested, then it is read completely."""
    ask, endpoint, truth = data_web_endpoint()
    found = harvest_all(EndpointPlan(endpoint), ask)
    assert {b" ".join(x.split()[:3]) for x in found.lines} == truth
    assert found.is_complete
    found = harvest_all(EndpointPlan(endpoint), with_cap(ask, 100))
    assert {b" ".join(x.split()[:3]) for x in found.lines} == truth
