"""The generators: sizes, seeds, reachability."""

from __future__ import annotations

import random
import re
from collections import Counter, deque
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.dataweb.attachment import DegreeUrn
from rdfcrawl.dataweb.config import (
    EXPERIMENTS,
    ORCA_KINDS,
    NodeKind,
    WebConfig,
    parse_config,
    parse_weights,
)
from rdfcrawl.dataweb.messages import NodeRequest
from rdfcrawl.dataweb.nodegraph import choose_seeds, draw_graph, draw_kinds
from rdfcrawl.dataweb.rdfgraph import draw_rdf_graph
from rdfcrawl.dataweb.web import DataWeb, build_web, list_addresses


def reach(links: list[list[int]], starts: list[int]) -> set[int]:
    """Vertices that can be reached."""
    seen, queue = set(starts), deque(starts)
    while queue:
        for target in links[queue.popleft()]:
            if target not in seen:
                seen.add(target)
                queue.append(target)
    return seen


def test_experiment_two_has_the_published_size() -> None:
    """If experiment II is generated, it has 44,600 resources and 202,800 triples."""
    config = WebConfig(**EXPERIMENTS[2])
    web = build_web(config)
    truth = list(web.iter_truth())
    assert config.n_resources * len(web.nodes) == 44_600
    assert len(truth) == len(set(truth)) == 202_800
    assert sum(len(links) for links in web.graph.links) == 2_000


def test_experiment_one_has_every_kind() -> None:
    """If experiment I is generated, it has 100 nodes of five kinds, 1,000 links."""
    web = build_web(WebConfig(**EXPERIMENTS[1]))
    counts = Counter(web.graph.kinds)
    assert counts.total() == 100
    assert set(counts) == set(ORCA_KINDS)
    assert counts[NodeKind.DUMP] > counts[NodeKind.DEREFERENCING]
    assert sum(len(links) for links in web.graph.links) == 1_000


def test_equal_parameters_give_an_equal_web() -> None:
    """If a web is generated twice, truth and seeds are the same to the byte."""
    one, other = build_web(WebConfig()), build_web(WebConfig())
    assert list(one.iter_truth()) == list(other.iter_truth())
    assert one.seeds == other.seeds


def test_another_seed_gives_another_web() -> None:
    """If the random seed differs, so does the web."""
    one, other = build_web(WebConfig()), build_web(WebConfig(seed=7))
    assert list(one.iter_truth()) != list(other.iter_truth())


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 120),
    degree=st.integers(2, 12),
    seed=st.integers(0, 1 << 32),
)
def test_rdf_graph_is_connected_and_exact(n: int, degree: int, seed: int) -> None:
    """If a graph is drawn, it has ceil(nd/2) edges, all reachable from resource 0."""
    degree = min(degree, n - 1)
    if degree < 2 - 2 / n:
        return
    objects = draw_rdf_graph(n, degree=degree, rng=random.Random(seed))
    assert sum(map(len, objects)) == -(-n * degree // 2)
    assert all(len(set(one)) == len(one) for one in objects)
    assert all(k not in one for k, one in enumerate(objects))
    assert reach(objects, [0]) == set(range(n))


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(5, 60),
    degree=st.integers(2, 8),
    weights=st.lists(st.integers(0, 5), min_size=5, max_size=5).filter(any),
    seed=st.integers(0, 1 << 32),
)
def test_node_graph_is_reachable_from_its_seeds(
    n: int, degree: int, weights: list[int], seed: int
) -> None:
    """If nodes are linked, seeds reach all, and CKAN never links to dereferencing."""
    config = WebConfig(
        n_nodes=n,
        degree=min(degree, n - 1),
        weights=dict(zip(ORCA_KINDS, map(float, weights), strict=True)),
    )
    rng = random.Random(seed)
    kinds = draw_kinds(config, rng)
    graph = draw_graph(kinds, degree=config.degree, rng=rng)
    assert set(kinds) == set(config.kinds)
    assert list(kinds) == sorted(kinds, key=list(NodeKind).index)
    links = [list(targets) for targets in graph.links]
    assert reach(links, list(graph.seeds)) == set(range(n))
    assert all(len(set(targets)) == len(targets) for targets in links)
    forbidden = [
        target
        for source, targets in enumerate(links)
        for target in targets
        if kinds[source] is NodeKind.CKAN and kinds[target] is NodeKind.DEREFERENCING
    ]
    assert not forbidden
    assert all(node not in targets for node, targets in enumerate(links))


def test_an_urn_gives_all_it_has_and_no_more() -> None:
    """If more is drawn than is allowed, each allowed vertex comes once."""
    urn = DegreeUrn(random.Random(1))
    for vertex in range(300):
        urn.add_vertex(vertex)
    for _ in range(5000):
        urn.add_in_edge(0)
    assert sorted(urn.draw(300)) == list(range(300))
    assert urn.draw(5, allowed=lambda vertex: vertex == 7) == [7]
    assert urn.draw(0) == []


def test_in_degrees_are_uneven() -> None:
    """If attachment is preferential, the best linked node stands far above the mean."""
    kinds = (NodeKind.DEREFERENCING,) * 200
    graph = draw_graph(kinds, degree=20, rng=random.Random(1))
    counts = Counter(target for targets in graph.links for target in targets)
    assert max(counts.values()) > 3 * 10


@pytest.mark.parametrize(
    ("links", "seeds"),
    [
        ([(1,), (2,), ()], (0,)),
        ([(1,), (0,), (3,), (2,)], (0, 2)),
        ([(), (0,), (0,)], (1, 2)),
    ],
    ids=["chain", "two-circles", "two-sources"],
)
def test_seeds(links: list[tuple[int, ...]], seeds: tuple[int, ...]) -> None:
    """If nodes cannot be reached from sources, the lowest of them becomes a seed."""
    assert choose_seeds(links) == seeds


def test_a_crawl_of_the_dereferencing_nodes_reaches_every_resource() -> None:
    """If links are followed from the seeds, each resource of each node is met."""
    web = build_web(WebConfig(weights=parse_weights("deref=1"), disallowed=0.1))
    hosts = {node.plan.origin: node for node in web.nodes}
    seen, queue, lines = set(web.seeds), deque(web.seeds), set()
    while queue:
        origin, _, path = queue.popleft().partition("/dataset")
        node = hosts[origin]
        request = NodeRequest("GET", "/dataset" + path, "application/n-triples")
        if request.target in node.disallowed:
            continue
        body = node.respond(request).body.decode()
        lines |= set(body.splitlines())
        for url in re.findall(r"<(http://\S*/resource-\d+)> \.", body):
            if url not in seen:
                seen.add(url)
                queue.append(url)
    assert len(seen) == 20 * (web.config.n_resources + web.config.n_disallowed)
    assert len(lines) == len(list(web.iter_truth()))


def test_disallowed_resources_are_extra() -> None:
    """If a tenth is disallowed, 4 of 44 resources are, and the truth excludes them."""
    web: DataWeb = build_web(
        WebConfig(weights=parse_weights("deref=1"), triples=100, disallowed=0.1)
    )
    assert web.config.n_resources == 40
    assert {len(node.disallowed) for node in web.nodes} == {4}
    assert all(node.disallowed for node in web.nodes)
    subjects = {line.split()[0] for line in web.iter_truth()}
    assert not any(subject.endswith("/resource-40>") for subject in subjects)


def test_addresses_avoid_network_and_broadcast() -> None:
    """If there are many hosts, no address ends in .0 or .255 and none repeats."""
    addresses = list_addresses(WebConfig(n_nodes=600, degree=2))
    assert len(set(addresses)) == 600
    assert not any(one.endswith((".0", ".255")) for one in addresses)
    assert addresses[254] == "127.42.1.1"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"n_nodes": 0}, "nodes"),
        ({"n_nodes": 3}, "nodes"),
        ({"degree": 1}, "degree"),
        ({"degree": 20}, "degree"),
        ({"rdf_degree": 60}, "rdf-degree"),
        ({"rdf_degree": 0}, "rdf-degree"),
        ({"profile": "2022"}, "profile"),
        ({"first_address": "10.0.0.1"}, "127.0.0.0/8"),
        ({"first_address": "here"}, "IPv4"),
        ({"compressed": 1.5}, "compressed"),
        ({"delay_secs": float("nan")}, "delay"),
        ({"weights": {}}, "weights"),
        ({"weights": {NodeKind.DUMP: -1.0}}, "weights"),
    ],
)
def test_bad_parameters_are_named(changes: dict[str, object], word: str) -> None:
    """If a parameter is out of range, the error names it."""
    with pytest.raises(ConfigError, match=word):
        WebConfig(**changes)  # type: ignore[arg-type]


def test_too_few_addresses_are_an_error() -> None:
    """If loopback ends before the hosts do, that is an error."""
    with pytest.raises(ConfigError, match="too few"):
        list_addresses(WebConfig(first_address="127.255.255.250"))


def test_config_survives_json() -> None:
    """If parameters go through JSON, they come back the same."""
    config = WebConfig(**EXPERIMENTS[1], delay_secs=0.5)
    assert parse_config(config.to_json()) == config
    assert parse_config(replace(config, port=0).to_json()).port == 0


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"weights": {"ftp": 1}}', '{"weights": {}, "colour": 1}']
)
def test_bad_json_config_is_an_error(text: str) -> None:
    """If the parameters are not in the form of `to_json`, that is a ConfigError."""
    with pytest.raises(ConfigError):
        parse_config(text)


def test_bad_weights_are_an_error() -> None:
    """If a weight has an unknown kind or no number, that is a ConfigError."""
    for text in ("gopher=1", "deref", "deref=x"):
        with pytest.raises(ConfigError, match="weight"):
            parse_weights(text)
