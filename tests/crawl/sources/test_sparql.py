"""SPARQL endpoints: `scrapy crawl sparql`, and those that a crawl comes upon."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox
import pytest

from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.messages import text_response
from rdfcrawl.dataweb.nodes.endpoint import EndpointOptions
from rdfcrawl.stores.log.crawl_log import iter_latest
from tests.support.command_forks import scrapy
from tests.support.sparql_services import Servers, sparql_servers
from tests.support.sparql_stores import iter_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rdfcrawl.dataweb.nodes.endpoint import EndpointNode
    from tests.support.crawl_fixtures import Commands, CrawlResult


__all__ = ["sparql_servers"]


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    """Yield a server of endpoints."""
    with LocalWeb(first_address="127.82.0.1", n_hosts=3) as web:
        yield web


def harvest(
    commands: Commands, endpoint: str, folder: Path | None = None, **given: Any
) -> CrawlResult:
    """Harvest one endpoint."""
    arguments = {"endpoints": endpoint}
    own = ("graphs", "skip_graphs", "take", "query", "follow")
    arguments |= {name: given.pop(name) for name in own if name in given}
    return commands.crawl(arguments=arguments, spider="sparql", folder=folder, **given)


def canonical(quads: Iterable[ox.Quad]) -> set[str]:
    """Return quads with labels of blank nodes that depend on the graph alone."""
    dataset = ox.Dataset(quads)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return set(map(str, dataset))


def stored(result: CrawlResult, endpoint: str) -> set[str]:
    """Return the harvested statements, without those about the endpoint."""
    data = b"".join(piece.quads for piece in iter_latest(result.folder / "quads"))
    quads = ox.parse(data, format=ox.RdfFormat.N_QUADS)
    default = ox.NamedNode(f"{endpoint}#default")
    harvested = []
    for quad in quads:
        graph = quad.graph_name
        if graph == default:
            graph = ox.DefaultGraph()
        elif str(graph).startswith((f"<{endpoint}#", f"<{endpoint}>")):
            continue
        harvested.append(ox.Quad(quad.subject, quad.predicate, quad.object, graph))
    return canonical(harvested)


@pytest.mark.in_turn(3, rooms=("sources",))
@pytest.mark.parametrize(
    "options",
    [
        EndpointOptions(n_triples=2000, n_named=2, has_default=True, row_cap=300),
        EndpointOptions(n_triples=400, row_cap=100, refusal="virtuoso", max_sorted=200),
        EndpointOptions(n_triples=400, blank_share=0.3, fresh_labels=True),
        EndpointOptions(n_triples=300, row_cap=100, unavailable_every=8),
        EndpointOptions(n_triples=500, row_cap=80, refusal="timeout", max_sorted=200),
        EndpointOptions(n_triples=500, row_cap=80, refusal="anytime", max_counted=200),
        EndpointOptions(
            n_triples=300, has_default=False, is_union=True, n_hub=250, row_cap=100
        ),
    ],
    ids=["cap", "no sorting", "blanks", "busy", "time-out", "anytime", "union and hub"],
)
def test_every_statement_comes_back(
    commands: Commands, web: LocalWeb, options: EndpointOptions
) -> None:
    """If an endpoint is harvested, then all its statements come, in their graphs."""
    node: EndpointNode = web.start(options)
    result = harvest(commands, node.endpoint_url)
    assert result.code == 0, result.stderr
    assert stored(result, node.endpoint_url) == canonical(node.quads())


def test_bookkeeping_is_no_data(
    commands: Commands, web: LocalWeb, tmp_path: Path
) -> None:
    """If an endpoint counts and describes itself, then exports have its data only."""
    node = web.start(EndpointOptions(n_triples=300, n_named=2, has_default=True))
    result = harvest(
        commands,
        node.endpoint_url,
        STORES=json.dumps({f"oxigraph:{tmp_path / 'store'}": {}}),
    )
    assert result.code == 0, result.stderr
    assert result.ask("?a rc:rows/rc:read ?x .")
    data = {*node.graphs, f"{node.endpoint_url}#default"}
    described = data | {f"{node.endpoint_url}#service"}
    for words, wanted in (((), data), (("--descriptions",), described)):
        path = tmp_path / f"{len(words)}.nq"
        folder = f"-sCRAWL_DIR={result.folder.parent}"
        done = scrapy("export", folder, "--to", str(path), *words)
        assert done.returncode == 0, done.stderr
        graphs = {str(quad.graph_name)[1:-1] for quad in ox.parse(path=str(path))}
        assert graphs == wanted
    store = ox.Store.read_only(str(tmp_path / "store"))
    followed = {str(graph)[1:-1] for graph in store.named_graphs()}
    assert {each for each in followed if not each.startswith("urn:")} == data


def test_graphs_may_be_chosen(commands: Commands, web: LocalWeb) -> None:
    """If graphs are named, then these are taken and no others."""
    node = web.start(EndpointOptions(n_triples=300, n_named=3, has_default=True))
    chosen = node.graphs[0]
    result = harvest(commands, node.endpoint_url, graphs=chosen)
    graphs = result.graphs
    assert chosen in graphs
    assert not graphs & {*node.graphs[1:]}


@pytest.mark.parametrize("given", ["skip_graphs", "default"])
def test_graphs_may_be_left_out(commands: Commands, web: LocalWeb, given: str) -> None:
    """If graphs are skipped, or only the default graph is named, they do not come."""
    node = web.start(EndpointOptions(n_triples=300, n_named=2, has_default=True))
    first, second = node.graphs[:2]
    chosen: dict[str, Any] = {"graphs": "default"}
    if given == "skip_graphs":
        chosen = {"skip_graphs": first}
    result = harvest(commands, node.endpoint_url, **chosen)
    assert first not in result.graphs
    assert (second in result.graphs) is (given == "skip_graphs")
    assert f"{node.endpoint_url}#default" in result.graphs


def test_own_query_is_sent_instead(
    commands: Commands, web: LocalWeb, tmp_path: Path
) -> None:
    """If a query is given, then its results are taken page by page, and no others."""
    node = web.start(EndpointOptions(n_triples=400, n_named=1, blank_share=0))
    graph = node.graphs[0]
    path = tmp_path / "own.rq"
    path.write_text(
        f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}"
        " ORDER BY ?s ?p ?o LIMIT {{limit}} OFFSET {{offset}}"
    )
    result = harvest(commands, node.endpoint_url, query=path, SPARQL_ROWS=50)
    data = b"".join(piece.quads for piece in iter_latest(result.folder / "quads"))
    quads = ox.parse(data, format=ox.RdfFormat.N_QUADS)
    found = {(str(q.subject), str(q.predicate), str(q.object)) for q in quads}
    wanted = {
        (str(q.subject), str(q.predicate), str(q.object))
        for q in node.quads()
        if q.graph_name == ox.NamedNode(graph)
    }
    assert wanted <= found


def test_endpoint_that_dies_is_reported(commands: Commands, web: LocalWeb) -> None:
    """If an endpoint dies, the received part stays, and the rest is a fault."""
    node = web.start(EndpointOptions(n_triples=4000, row_cap=100, describes=False))
    running = commands.start_crawl(
        arguments={"endpoints": node.endpoint_url}, spider="sparql"
    )
    commands.wait_until(lambda: len(web.targets(node)) > 15)
    setattr(node, "respond_other", lambda request: text_response(500))  # noqa: ARG005, B010
    result = running.wait()
    assert result.code == 0, result.stderr
    assert 0 < len(result.quads) < 4000
    assert "incomplete" in result.ask("?a sq:crawled ?u ; rc:fault/rc:reason ?x .")
    assert len(web.targets(node)) < 200


def test_next_run_replaces_former_data_of_the_endpoint(
    commands: Commands, web: LocalWeb
) -> None:
    """If an endpoint has changed, then the next run leaves its present statements."""
    node = web.start(EndpointOptions(n_triples=600, row_cap=100, blank_share=0.2))
    folder = commands.folder()
    harvest(commands, node.endpoint_url, folder)
    node.revise(changed=40)
    result = harvest(commands, node.endpoint_url, folder)
    assert stored(result, node.endpoint_url) == canonical(node.quads())


def test_endpoint_that_a_document_shows_is_harvested(
    commands: Commands, web: LocalWeb
) -> None:
    """If a crawl finds an endpoint, then it is harvested, and requested once."""
    node = web.start(EndpointOptions(n_triples=300))
    result = commands.crawl([node.endpoint_url])
    assert stored(result, node.endpoint_url) == canonical(node.quads())
    assert web.targets(node).count("/sparql") <= 2


def test_killed_harvest_loses_nothing(commands: Commands, web: LocalWeb) -> None:
    """If a harvest is killed, then the next one ends with every statement."""
    import signal

    node = web.start(EndpointOptions(n_triples=1500, row_cap=80))
    folder = commands.folder()
    running = commands.start_crawl(
        arguments={"endpoints": node.endpoint_url},
        spider="sparql",
        folder=folder,
        FRONTIER_LEASE_SECS=2,
    )
    commands.wait_until(lambda: len(web.targets(node)) > 10)
    running.send(signal.SIGKILL)
    running.process.wait()
    result = harvest(commands, node.endpoint_url, folder, FRONTIER_LEASE_SECS=2)
    assert stored(result, node.endpoint_url) == canonical(node.quads())


# -- Virtuoso and Fuseki ---------------------------------------------------------------


@pytest.mark.service
@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("server", "n_items", "cap"),
    [
        ("virtuoso", 500, 1_000),
        ("fuseki", 500, 0),
        pytest.param("virtuoso", 400, 100, marks=pytest.mark.soak),
        pytest.param("virtuoso", 11_500, 10_000, marks=pytest.mark.soak),
        pytest.param("fuseki", 11_500, 0, marks=pytest.mark.soak),
    ],
)
def test_every_triple_of_a_real_store_comes_back(
    commands: Commands,
    sparql_servers: Servers,
    tmp_path: Path,
    server: str,
    n_items: int,
    cap: int,
) -> None:
    """If a real endpoint is harvested, then its store is here, with its graphs."""
    lines = list(iter_store(n_items, with_default=server == "fuseki"))
    assert n_items < 10_000 or len(set(lines)) > 100_000
    path = tmp_path / "store.nq"
    path.write_text("".join(lines), encoding="utf-8")
    if server == "virtuoso":
        endpoint = sparql_servers.virtuoso(path, max_rows=cap).endpoint
    else:
        endpoint = sparql_servers.fuseki(path).endpoint
    result = harvest(commands, endpoint)
    sparql_servers.end()
    assert result.code == 0, result.stderr
    quads = ox.parse(path.read_bytes(), format=ox.RdfFormat.N_QUADS)
    assert stored(result, endpoint) == canonical(quads)
